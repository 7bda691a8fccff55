// The engines as cards: what each is, what it needs, and whether it can be used here.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { Act, Dialog } from '../../parts/notes.js';
import { Typed } from '../../parts/typed.js';
import { translated } from '../../parts/translated.js';
import { memory, number, size, t } from '../../parts/words.js';

/** The engine to begin with: one that can learn at once, the main one before the small one. */
export function preferred({ engines }) {
  const ready = engines.filter((each) => !each.problem && each.bases.some((base) => base.here));
  return (ready.find((each) => each.name === 'xtts') ?? ready[0] ?? engines.find((each) => !each.problem) ?? engines[0]).name;
}

export function Engines({ known, chosen, wish, change, look }) {
  return html`<div class="card stack"><h2 id="engine">${t('train.engine')}</h2>
    <div class="even" role="radiogroup" aria-labelledby="engine">
      ${known.engines.map((each) => html`<${Engine} key=${each.name} engine=${each} isChosen=${each.name === chosen.name} look=${look}
        choose=${() => change({ engine: each.name, base: '', own: {} })} />`)}
    </div>
    <${Base} engine=${chosen} wish=${wish} change=${change} />
    <p class="why">${known.computes.length ? t('train.computes', { names: known.computes.map((each) => `${each.name} (${memory(each.total_mb)})`).join(', ') }) : t('train.computes.none')}</p></div>`;
}

function Engine({ engine, isChosen, choose, look }) {
  const [first] = engine.bases;
  return html`<div class=${isChosen ? 'engine on' : 'engine'}>
    <label class="inline"><input type="radio" name="engine" checked=${isChosen} onChange=${choose} /><b>${engine.title}</b></label>
    <p>${translated(engine.about)}</p>
    ${engine.problem && html`<p class="mark look">${translated(engine.problem.what)} ${translated(engine.problem.fix)}</p>`}
    <ul class="facts small-text soft">
      <li>${t('train.languages', { n: number(engine.languages.length), names: engine.languages.join(', ') })}</li>
      <li>${t('train.clips', { low: number(engine.clips[0], 1), high: number(engine.clips[1], 1) })}</li>
      <li>${t('train.licence', { code: translated(engine.licence) })}</li>
      ${engine.bases.map((base) => html`<li key=${base.name}>${t('train.base.licence', { name: base.name, licence: translated(base.licence) })}</li>`)}
    </ul>
    ${engine.bases.map((base) => html`<${Here} key=${base.name} engine=${engine} base=${base} look=${look} />`)}
    ${!first && html`<p class="soft">${t('train.base.named')}</p>`}
  </div>`;
}

/** Whether a base is here, and how it comes here. */
function Here({ engine, base, look }) {
  const [isAsked, ask] = useState(false);
  const job = base.job;
  if (base.here) return html`<p class="small-text"><span class="mark good">${t('train.base.here')}</span></p>`;
  if (job && job.state !== 'ended') {
    return html`<div class="work"><${Bar} share=${job.share} label=${translated(job.title)} /><p class="soft small-text">${translated(job.line || job.words)}</p>
      <${Act} class="small" run=${() => call('jobs.stop', { job: job.id }).then(look)}>${t('train.base.stop')}<//></div>`;
  }
  if (!base.download_mb) return html`<p class="small-text soft">${t('train.base.named')}</p>`;
  const fetch = async () => {
    await call('train.download', { base: base.called, agreed: true });
    ask(false);
    look();
  };
  return html`<div class="row small-text"><span class="mark look">${translated(base.problem) || t('train.base.missing')}</span>
    <button class="small" onClick=${() => ask(true)}>${t('train.base.download', { size: size(base.download_mb * 1e6) })}</button>
    ${job && job.cause !== 'stopped' && html`<p class="mark out">${translated(job.line)}</p>`}
    ${isAsked && html`<${Dialog} title=${t('train.base.agree', { name: engine.title })} onClose=${() => ask(false)}>
      <div class="stack"><p>${translated(base.licence)}</p><p class="soft">${t('train.base.fetched', { size: size(base.download_mb * 1e6) })}</p>
      <div class="row end"><${Act} class="primary" run=${fetch}>${t('train.base.agreed')}<//></div></div><//>`}</div>`;
}

function Base({ engine, wish, change }) {
  return html`<details open=${Boolean(wish.base)}><summary>${t('train.base.other')}</summary>
    <label>${t('train.base.folder')}<${Typed} value=${wish.base} placeholder=${t('train.base.example')} put=${(typed) => change({ base: typed.trim() })} />
      <span class="why">${t('train.base.why', { name: engine.title })}</span></label></details>`;
}
