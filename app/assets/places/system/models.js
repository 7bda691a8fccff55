// Downloads: what is here, what can be fetched, one that goes on.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Work, atWork } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, Dialog, asked, note } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { size, t } from '../../parts/words.js';

const MB = 1e6;

export function Models({ now, again }) {
  const { data, again: look } = useLive('system.models', {}, 3000);
  const loading = atWork(now.jobs, 'download');
  const models = data?.models ?? [];
  const here = models.filter((each) => each.here || each.problem);
  const others = models.filter((each) => !each.here && !each.problem);
  const shared = { isOffline: data?.offline, again: () => { look(); again(); }, loading };
  return html`<section class="card stack" aria-label=${t('system.models')} aria-busy=${!data}>
    <h2>${t('system.models')}</h2>
    ${loading.map((job) => html`<${Work} key=${job.id} job=${job} stopLabel=${t('system.models.pause')} />`)}
    ${data?.offline && html`<p class="why">${t('system.models.offline')}</p>`}
    ${data && here.length === 0 && html`<p class="soft">${t('system.models.none')}</p>`}
    <ul class="list system-list">${here.map((each) => html`<${Model} key=${each.name} each=${each} ...${shared} />`)}</ul>
    ${others.length > 0 && html`<details><summary>${t('system.models.more', { n: others.length })}</summary>
      <ul class="list system-list">${others.map((each) => html`<${Model} key=${each.name} each=${each} ...${shared} />`)}</ul></details>`}
  </section>`;
}

const titleOf = (each) => (each.kind === 'whisper' ? `Whisper ${each.name}` : each.name);

function Model({ each, isOffline, again, loading }) {
  const [agreeing, setAgreeing] = useState(false);
  const fetching = loading.some((job) => job.title === `Download ${each.name}`);
  const get = async (agreed) => {
    await call('system.download', { name: each.name, agreed });
    setAgreeing(false);
    again();
  };
  const remove = async () => {
    const words = { name: titleOf(each), size: size(each.mb * MB) };
    if (!(await asked(t('system.models.delete.ask', words), t('system.free.yes')))) return;
    await call('system.free', { kind: 'model', id: each.folder });
    again();
    note(t('system.freed', words));
  };
  return html`<li>
    <div class="grow"><b>${titleOf(each)}</b> ${each.here && html`<span class="mark good">${t(each.folder ? 'system.models.here' : 'system.models.ships')}</span>`}
      ${each.problem && html`<span class="mark out">${translated(each.problem)}</span>`}
      <p class="why">${translated(each.about)} ${t('system.models.licence', { licence: translated(each.licence) })}</p></div>
    <span class="size">${each.mb ? size(each.mb * MB) : ''}</span>
    ${!each.here && html`<${Act} class="small" disabled=${isOffline || fetching} run=${async () => (each.kind === 'base' ? setAgreeing(true) : get(false))}>
      ${t(each.partly ? 'system.models.goon' : 'system.models.get')}<span class="hidden"> ${titleOf(each)}</span><//>`}
    ${(each.here || each.problem) && each.folder && html`<${Act} class="small danger" run=${remove}>${t('system.models.delete')}<span class="hidden"> ${titleOf(each)}</span><//>`}
    ${agreeing && html`<${Dialog} title=${titleOf(each)} onClose=${() => setAgreeing(false)}>
      <p>${t('system.models.agree.ask', { licence: translated(each.licence), size: size(each.mb * MB) })}</p>
      <div class="row end"><${Act} class="primary" run=${() => get(true)}>${t('system.models.agree')}<//></div>
    <//>`}
  </li>`;
}
