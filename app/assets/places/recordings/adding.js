// Bring recordings in: drop them or choose them, see how far each is, and what was refused.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { Act, doing, note, problem } from '../../parts/notes.js';
import { number, size, t } from '../../parts/words.js';
import { chosen, dropped, sorted } from './dropped.js';
import { cancel, forget, send, sendTexts, useSending } from './sending.js';

const ROWS = 8;
const some = (found) => (found.length === 1 ? 'one' : 'many');

export function Adding({ project, isEmpty, onRecord, again }) {
  const [over, setOver] = useState(false);
  const files = useRef();
  const folder = useRef();
  const bring = async (found) => {
    const { recordings, texts, others } = sorted(await found);
    if (others.length) problem({ what: t(`recordings.others.${some(others)}`, { n: others.length, first: others[0] }), fix: t('recordings.others.fix') });
    if (texts.length) await sendTexts(project.id, texts, true).then(() => note(t(`recordings.texts.${some(texts)}`, { n: texts.length })));
    if (recordings.length) await send(project.id, recordings);
    again();
  };
  useDropping(setOver, (transfer) => doing(() => bring(dropped(transfer))));
  const pick = (event) => {
    const found = chosen(event.target);
    event.target.value = '';
    doing(() => bring(found));
  };
  const fromDemo = () => call('recordings.demo', { project: project.id }).then(again);
  return html`<section class=${`card stack drop ${over ? 'over' : ''}`} aria-label=${t('recordings.add')}>
    <div class="row">
      <div class="grow"><h2>${t('recordings.add')}</h2>
        <p class="soft">${t(over ? 'recordings.drop.now' : 'recordings.drop')}</p></div>
      <button class=${isEmpty ? 'primary' : ''} onClick=${() => files.current.click()}>${t('recordings.files')}</button>
      <button onClick=${() => folder.current.click()}>${t('recordings.folder')}</button>
      <button id="to-record" onClick=${onRecord}>${t('recordings.record')}</button>
      <input ref=${files} hidden type="file" multiple onChange=${pick} />
      <input ref=${folder} hidden type="file" webkitdirectory onChange=${pick} />
    </div>
    ${isEmpty && html`<p class="row"><span class="soft">${t('recordings.nothing')}</span>
      <${Act} class="small" run=${fromDemo}>${t('recordings.demo')}<//></p>`}
    <${Sending} project=${project} />
  </section>`;
}

/** Anywhere on the page will do. */
function useDropping(setOver, take) {
  const taken = useRef(take);
  taken.current = take;
  useEffect(() => {
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
    const above = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const left = (event) => event.relatedTarget === null && setOver(false);
    const fell = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      taken.current(event.dataTransfer);
    };
    const events = { dragover: above, dragleave: left, drop: fell };
    for (const [name, each] of Object.entries(events)) document.addEventListener(name, each);
    return () => {
      for (const [name, each] of Object.entries(events)) document.removeEventListener(name, each);
    };
  }, []);
}

function Sending({ project }) {
  const { files, over } = useSending(project.id);
  if (!files.length) return null;
  const bytes = (each) => each.file.size * (each.state === 'there' ? 1 : each.share);
  const wanted = files.filter((each) => each.state !== 'cancelled' && each.state !== 'refused');
  const total = wanted.reduce((sum, each) => sum + each.file.size, 0);
  const done = wanted.reduce((sum, each) => sum + bytes(each), 0);
  const refused = files.filter((each) => each.state === 'refused');
  const waiting = files.filter((each) => ['waiting', 'sending'].includes(each.state));
  const there = wanted.filter((each) => each.state === 'there').length;
  return html`<div class="stack sending">
    ${!over && html`<div class="work">
      <div class="row"><b class="grow">${t('recordings.sending', { n: number(there), of: number(wanted.length) })}</b>
        <button class="small" onClick=${() => waiting.forEach(cancel)}>${t('recordings.cancel.all')}</button></div>
      <${Bar} share=${total ? done / total : 0} label=${t('recordings.sending', { n: there, of: wanted.length })} />
      <p class="soft small-text">${t('recordings.sent', { done: size(done), total: size(total) })}</p>
    </div>
    <ul class="list">${waiting.slice(0, ROWS).map((each) => html`<li key=${each.place + each.name}>
      <span class="grow">${each.name}</span><span class="soft small-text">${size(each.file.size)}</span>
      <span class="share"><${Bar} share=${each.share} label=${each.name} /></span>
      <button class="small" aria-label=${t('recordings.cancel.one', { name: each.name })} onClick=${() => cancel(each)}>${t('recordings.cancel')}</button>
    </li>`)}</ul>`}
    ${refused.length > 0 && html`<div role="alert"><ul class="list">${refused.map((each) => html`<li key=${each.place + each.name}>
      <span class="mark out">${t('recordings.refused')}</span><span class="grow"><b>${each.error.what}</b> ${each.error.fix ?? ''}</span></li>`)}</ul>
      ${over && html`<button class="small" onClick=${() => forget(project.id)}>${t('recordings.putaway')}</button>`}</div>`}
  </div>`;
}

/** What arrived and is not in the project: its import was cut off, or never begun. */
export function Arrived({ project, batches, importing, again }) {
  const { over } = useSending(project.id);
  const left = batches.filter((each) => !(importing && each.job === importing.id) && (each.job || over));
  if (!left.length) return null;
  const act = (name, batch) => call(`recordings.${name}`, { project: project.id, batch }).then(again);
  return html`<section class="card stack" aria-label=${t('recordings.arrived')}>
    ${left.map((each) => html`<div key=${each.id} class="row">
      <p class="grow"><b>${t(`recordings.arrived.${some(each.names)}`, { n: each.names.length })}</b> <span class="soft">${each.names.slice(0, 3).join(', ')}${each.names.length > 3 ? ' …' : ''}</span></p>
      <${Act} class="primary" run=${() => act('bring', each.id)}>${t('recordings.arrived.bring')}<//>
      <${Act} run=${() => act('drop', each.id)}>${t('recordings.arrived.drop')}<//>
    </div>`)}
  </section>`;
}
