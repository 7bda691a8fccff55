// Above the list: whether all is saved, which clips are shown, and what to do with all of them.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { Act } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { number, t } from '../../parts/words.js';
import * as deeds from './deeds.js';
import { useEditor } from './editor.js';
import { LeaveOut, Normalise, Replace, TakeHeard } from './many.js';
import { GROUPS } from './rows.js';

const STATES = { saved: 'mark good', saving: 'mark', conflict: 'mark out', waiting: 'mark look', refused: 'mark out' };

export function Status({ editor }) {
  const state = useEditor(editor, () => editor.state);
  const count = useEditor(editor, () => editor.drafts.conflicts.length);
  const go = () => editor.select(editor.drafts.conflicts[0].id, false, false);
  return html`<span class="row">
    <span role="status" class=${STATES[state]} data-state=${state}>${t(`transcript.status.${state}`)}</span>
    ${count > 0 && html`<button class="small" onClick=${go}>${t('transcript.conflict.show', { n: count })}</button>`}
    ${state === 'waiting' && html`<button class="small" onClick=${() => editor.drafts.saveWaiting()}>${t('transcript.sendagain')}</button>`}
  </span>`;
}

export function Turns({ editor, onKeys }) {
  return html`<span class="row">
    <${Turn} editor=${editor} name="undo" />
    <${Turn} editor=${editor} name="redo" />
    ${onKeys && html`<button class="small" onClick=${onKeys}>${t('transcript.keys')} <kbd aria-hidden="true">?</kbd></button>`}
  </span>`;
}

/** Undo or redo, with what that would be; what is typed and not saved can be undone too. */
function Turn({ editor, name }) {
  const what = useEditor(editor, () => editor.turns[name]);
  const isTyped = useEditor(editor, () => name === 'undo' && editor.drafts.size > 0);
  return html`<${Act} class="small" nothing=${!what && !isTyped} title=${what ? t(`transcript.what.${name}`, { what: translated(what) }) : null} run=${() => deeds[name](editor)}>${t(`transcript.${name}`)}<//>`;
}

export function Filters({ editor }) {
  const counts = useEditor(editor, () => editor.counts);
  const filter = useEditor(editor, () => editor.filter);
  const checks = Object.entries(counts.checks).sort((a, b) => b[1] - a[1]);
  const chip = (label, count, on, chosen) => html`<button type="button" class="chip" aria-pressed=${on} onClick=${() => editor.choose(chosen)}>${label} ${number(count)}</button>`;
  return html`<div class="chips" role="group" aria-label=${t('transcript.filters')}>
    ${GROUPS.filter((group) => group === 'all' || counts.groups[group]).map((group) =>
      chip(t(`transcript.group.${group}`), counts.groups[group], !filter.check && filter.group === group, { group, check: '' }))}
    ${checks.length > 0 && html`<span class="soft small-text by">${t('transcript.bycheck')}</span>`}
    ${checks.map(([check, count]) => chip(t(`transcript.check.${check}`), count, filter.check === check, { check }))}
  </div>`;
}

const asSearched = (typed) => typed.trim().toLowerCase();

export function Finding({ editor, box }) {
  const filter = useEditor(editor, () => editor.filter);
  const recordings = useEditor(editor, () => editor.recordings);
  const timer = useRef();
  // What is searched for outlives the place, and undoing may end it: the box says what holds.
  useEffect(() => {
    if (asSearched(box.current.value) !== filter.search) box.current.value = filter.search;
    return () => clearTimeout(timer.current);
  }, [filter.search]);
  const find = (event) => {
    const search = asSearched(event.target.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => editor.choose({ search }), 120);
  };
  return html`<div class="row">
    <input ref=${box} type="search" class="grow" aria-label=${t('transcript.search')} placeholder=${t('transcript.search')} onInput=${find} />
    ${recordings.size > 1 && html`<select aria-label=${t('transcript.recording')} value=${filter.recording} onChange=${(event) => editor.choose({ recording: event.target.value })}>
      <option value="">${t('transcript.allrecordings')}</option>
      ${[...recordings.values()].map((each) => html`<option value=${each.id}>${each.name}</option>`)}
    </select>`}
    <${Many} editor=${editor} />
  </div>`;
}

/** Actions for all the clips that are picked or shown. */
function Many({ editor }) {
  const count = useEditor(editor, () => editor.many.length);
  const picked = useEditor(editor, () => editor.picked.size);
  const [dialog, setDialog] = useState(null);
  const [open, setOpen] = useState(false);
  const box = useRef();
  useEffect(() => {
    const away = (event) => box.current?.contains(event.target) || setOpen(false);
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, []);
  const toggle = useRef();
  const shut = () => {
    setOpen(false);
    toggle.current.focus();
  };
  const show = (Shown) => () => {
    shut();
    setDialog({ Shown, ids: [...editor.many] });
  };
  const takeIn = async () => {
    shut();
    await deeds.takeIn(editor, editor.many);
  };
  return html`<div class="many" ref=${box} onKeyDown=${(event) => event.key === 'Escape' && open && shut()}>
    <button ref=${toggle} type="button" aria-expanded=${open} disabled=${!count} onClick=${() => setOpen(!open)}>${t(picked ? 'transcript.many.picked' : 'transcript.many.shown', { n: number(count) })} ▾</button>
    ${open && html`<div class="card menu">
      <button class="bare" onClick=${show(Replace)}>${t('transcript.replace')}</button>
      <button class="bare" onClick=${show(TakeHeard)}>${t('transcript.takeheard')}</button>
      <button class="bare" onClick=${show(Normalise)}>${t('transcript.normalise')}</button>
      <button class="bare" onClick=${show(LeaveOut)}>${t('transcript.leaveout')}</button>
      <${Act} class="bare" run=${takeIn}>${t('transcript.takein')}<//>
      ${picked > 0 && html`<button class="bare" onClick=${() => { editor.picked = new Set(); shut(); editor.tell(); }}>${t('transcript.unpick')}</button>`}
    </div>`}
    ${dialog && html`<${dialog.Shown} editor=${editor} ids=${dialog.ids} onClose=${() => setDialog(null)} />`}
  </div>`;
}
