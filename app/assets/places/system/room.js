// What takes the room on the disk, and what of it can be freed.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { useLive } from '../../parts/live.js';
import { Act, asked, note } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { size, t, when } from '../../parts/words.js';

const KINDS = ['voice', 'run', 'project', 'model', 'job', 'cache', 'other'];
const SHOWN = 6;
const WORTH_BYTES = 1;

export function Room() {
  const { data, again } = useLive('system.disk', {}, 1500);
  const [all, setAll] = useState(false);
  const found = data?.found;
  return html`<section class="card stack" aria-label=${t('system.room')}>
    <div class="row"><h2 class="grow">${t('system.room')}</h2>
      <${Act} class="small" disabled=${data?.busy} run=${() => call('system.measure').then(again)}>${t('system.room.measure')}<//></div>
    <p class="why">${data?.busy || !found ? t('system.room.measuring') : t('system.room.at', { when: when(data.at), size: size(found.bytes) })}</p>
    ${data?.problem && html`<p class="mark out">${translated(data.problem)}</p>`}
    ${found && html`<${Kinds} found=${found} />
      <${Freeable} found=${found} again=${again} />
      <h3>${t('system.room.largest')}</h3>
      <ul class="list system-list">
        ${found.taken.slice(0, all ? undefined : SHOWN).map((each) => html`<li key=${`${each.kind} ${each.id}`}>
          <span class="grow">${nameOf(each)}</span>
          <span class="soft small-text">${t(`system.room.${each.kind}`)}</span><span class="size">${size(each.bytes)}</span></li>`)}
      </ul>
      ${found.taken.length > SHOWN && html`<div><button class="small" aria-expanded=${all} onClick=${() => setAll(!all)}>${t(all ? 'system.room.fewer' : 'system.room.all', { n: found.taken.length })}</button></div>`}`}
  </section>`;
}

/** What people call it; the folder of converted bases has no name of its own. */
const nameOf = ({ kind, name }) => (kind === 'model' && name === 'converted' ? t('system.room.converted') : name || t(`system.room.${kind}`));

function Kinds({ found }) {
  const there = KINDS.filter((kind) => found.kinds[kind] > 0);
  const said = there.map((kind) => `${t(`system.room.${kind}`)} ${size(found.kinds[kind])}`);
  return html`<div class="stacked" role="img" aria-label=${said.join(', ')}>
      ${there.map((kind) => html`<i key=${kind} class=${kind} style=${{ width: `${(100 * found.kinds[kind]) / found.bytes}%` }}></i>`)}
    </div>
    <p class="key">${there.map((kind, at) => html`<span key=${kind}><i class=${kind}></i>${said[at]}</span>`)}</p>`;
}

function Freeable({ found, again }) {
  const there = found.freeable.filter((each) => each.bytes >= WORTH_BYTES || ['run', 'project', 'voice'].includes(each.kind));
  const free = async (each) => {
    const words = { name: each.name, size: size(each.bytes) };
    if (!(await asked(t(`system.free.${each.kind}.ask`, words), t('system.free.yes')))) return;
    await call('system.free', { kind: each.kind, id: each.id });
    again();
    note(t('system.freed', words));
  };
  if (!there.length) return html`<p class="soft">${t('system.free.none')}</p>`;
  return html`<h3>${t('system.free.title')}</h3>
    <ul class="list system-list">${there.map((each) => html`<li key=${`${each.kind} ${each.id}`}>
      <div class="grow"><b>${t(`system.free.${each.kind}`, { name: each.name })}</b><p class="why">${t(`system.free.${each.kind}.why`)}</p></div>
      <span class="size">${size(each.bytes)}</span>
      <${Act} class="small danger" run=${() => free(each)}>${t('system.free.do')}<span class="hidden"> ${t(`system.free.${each.kind}`, { name: each.name })}</span><//>
    </li>`)}</ul>`;
}
