// Notes at the edge of the page, and questions that need an answer.

import { html, render, useEffect, useRef, useState } from '../vendor/preact.js';
import { fileUrl } from './api.js';
import { t } from './words.js';

const SHOWN_MS = 6000;
let show = () => () => {};
let count = 0;
const dialogs = []; // those that are open: each says itself what could not be done in it

/** Say something in passing, and give what takes it away; a problem stays until it is closed or another place is opened. `action` is {label, run}: undo, say. */
export const note = (text, action) => show({ text, action });
export const problem = (error) => {
  const said = { text: error.what ?? String(error), fix: error.fix ?? '', fault: error.fault };
  // A note would stand behind a dialog, where it can be neither closed nor read out.
  if (dialogs.length) dialogs.at(-1)(said);
  else show({ ...said, bad: true });
};

/** For a fault of Timbre's own: what somebody who helps needs to know. */
export const Report = () => html`<a class="button small" href=${fileUrl('system.diagnostics')} download>${t('frame.report')}</a>`;

/** The notes, newest last, read out by screen readers. */
export function Notes() {
  const [notes, setNotes] = useState([]);
  const close = (id) => setNotes((all) => all.filter((each) => each.id !== id));
  useEffect(() => {
    show = (each) => {
      const id = (count += 1);
      setNotes((all) => [...all.filter((old) => old.text !== each.text).slice(-3), { ...each, id }]);
      if (!each.bad) setTimeout(() => close(id), SHOWN_MS);
      return () => close(id);
    };
    // What could not be done is no matter of the next place; a fault of ours is wanted for the report.
    const moved = () => setNotes((all) => all.filter((each) => !each.bad || each.fault));
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  return html`<div class="notes" role="status" aria-live="polite">
    ${notes.map(
      (each) => html`<div key=${each.id} class=${each.bad ? 'note bad' : 'note'}>
        <p><b>${each.text}</b>${each.fix && html` <span>${each.fix}</span>`}</p>
        ${each.fault && html`<${Report} />`}
        ${each.action &&
        html`<button class="small" onClick=${() => { close(each.id); each.action.run(); }}>${each.action.label}</button>`}
        <button class="bare" aria-label=${t('frame.close')} onClick=${() => close(each.id)}>✕</button>
      </div>`,
    )}
  </div>`;
}

/** Run what a person asked for; a refusal is told. Give what it gave, or undefined. */
export async function doing(work) {
  try {
    dialogs.at(-1)?.(null);
    return await work();
  } catch (error) {
    if (error.name !== 'AbortError') problem(error);
    return undefined;
  }
}

/**
 * A button that waits while its work runs, and tells when it could not be done. One with `nothing`
 * to do looks like it, but keeps the keyboard and can be asked why.
 */
export function Act({ run, class: kind = '', children, disabled = false, nothing = false, ...rest }) {
  const [busy, setBusy] = useState(false);
  const atWork = useRef(false);
  const click = async () => {
    if (atWork.current) return;
    atWork.current = true;
    setBusy(true);
    await doing(run);
    atWork.current = false;
    setBusy(false);
  };
  // Not disabled while it waits: that would take the keyboard away from it.
  return html`<button type="button" class=${kind} disabled=${disabled} aria-disabled=${busy || nothing || null} aria-busy=${busy} onClick=${click} ...${rest}>
    ${children}
  </button>`;
}

/** A dialog of the browser's own: it holds the keyboard, Escape closes it; a refusal stands until something else is wished. */
export function Dialog({ title, onClose, children }) {
  const box = useRef();
  const [refused, setRefused] = useState(null);
  useEffect(() => {
    box.current.showModal();
    dialogs.push(setRefused);
    return () => {
      dialogs.splice(dialogs.indexOf(setRefused), 1);
      box.current?.close();
    };
  }, []);
  return html`<dialog ref=${box} aria-label=${title} onClose=${onClose} onInput=${() => setRefused(null)}>
    <div class="row"><h2 class="grow">${title}</h2>
      <button class="bare" aria-label=${t('frame.close')} onClick=${() => box.current.close()}>✕</button></div>
    ${children}
    ${refused && html`<p class="small-text wrong" role="alert">${refused.text} ${refused.fix} ${refused.fault && html`<${Report} />`}</p>`}
  </dialog>`;
}

/** In place of what is not there yet, or cannot be had: then why. */
export function Waiting({ error }) {
  if (!error) return html`<div aria-busy="true"></div>`;
  return html`<div class="card empty" role="alert"><p><b>${error.what}</b> ${error.fix}</p>${error.fault && html`<${Report} />`}</div>`;
}

/** Ask before something that a person may regret; give whether they said yes. */
export function asked(question, yes) {
  return new Promise((answer) => {
    const place = document.createElement('div');
    document.body.append(place);
    let said = false;
    const end = () => {
      render(null, place);
      place.remove();
      answer(said);
    };
    render(
      html`<${Dialog} title=${question} onClose=${end}>
        <div class="row end">
          <button onClick=${(event) => event.target.closest('dialog').close()}>${t('frame.no')}</button>
          <button class="primary" onClick=${(event) => { said = true; event.target.closest('dialog').close(); }}>${yes}</button>
        </div>
      <//>`,
      place,
    );
  });
}
