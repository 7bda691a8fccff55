// What a run speaks at each stop, beside the real voice and the base.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { call, fileUrl } from '../../parts/api.js';
import { Player } from '../../parts/compare.js';
import { doing } from '../../parts/notes.js';
import { Play } from '../../parts/player.js';
import { translated } from '../../parts/translated.js';
import { clock, number, t } from '../../parts/words.js';

const SHOWN = 4;

export function Listen({ data, go }) {
  const [real, setReal] = useState([]);
  const [at, setAt] = useState(0);
  const [comparing, compare] = useState(false);
  useEffect(() => { doing(async () => setReal(await call('train.real', { run: data.id }))); }, [data.id]);
  const sentence = data.samples[Math.min(at, data.samples.length - 1)];
  return html`<section class="card stack" aria-label=${t('train.listen')}><h2>${t('train.listen')}</h2>
    <${Best} data=${data} />
    ${data.voice && html`<div class="row"><${Play} url=${fileUrl('train.voice', { run: data.id, what: 'sample' })} label=${t('train.voice')} />
      <div class="grow"><b>${t('train.voice')}</b><p class="why">${t('train.voice.why')}</p></div><button onClick=${() => go('voices')}>${t('train.tovoices')}</button></div>`}
    ${sentence
      ? html`<label>${t('train.sentence')}<select value=${String(at)} onChange=${(event) => setAt(Number(event.target.value))}>
            ${data.samples.map((each, number_) => html`<option value=${String(number_)}>${each.text}</option>`)}</select></label>
          <${Spoken} data=${data} sentence=${sentence} />`
      : html`<p class="soft">${t('train.listen.none')}</p>`}
    <${Real} run=${data.id} clips=${real} />
    ${sentence && html`<details onToggle=${(event) => compare(event.target.open)}><summary>${t('train.compare.listen')}</summary>
      ${comparing && html`<${Player} run=${data.id} />`}</details>`}
  </section>`;
}

function Best({ data }) {
  const { step, why } = data.best;
  return html`${step != null && html`<p><b>${step === 0 ? t('train.best.base') : t('train.best', { step: number(step) })}</b> <span class="soft">${translated(why)}</span></p>`}
    ${data.advice && html`<p class="said">${translated(data.advice)}</p>`}`;
}

/** One sentence across checkpoints, the newest first; the base stays in sight. */
function Spoken({ data, sentence }) {
  const [isAll, all] = useState(false);
  const heard = sentence.heard;
  const kept = heard.filter((each, at) => isAll || at < SHOWN || each.step === data.best.step || each.step === 0);
  return html`<ul class="list" aria-label=${sentence.text}>
    ${kept.map((each) => html`<li key=${each.step} class=${each.step === data.best.step ? 'on' : ''}>
      <${Play} url=${fileUrl('train.sample', { run: data.id, step: each.step, file: each.file })} label=${`${where(each.step)}: ${sentence.text}`} />
      <span class="grow">${where(each.step)}${each.step === data.best.step ? html` <span class="mark good">${t('train.best.short')}</span>` : ''}</span>
      <span class="small-text soft">${figures(each)}</span></li>`)}
    ${kept.length < heard.length && html`<li><button class="small" onClick=${() => all(true)}>${t('train.listen.all', { n: number(heard.length) })}</button></li>`}
  </ul>`;
}

const where = (step) => (step === 0 ? t('train.base') : t('train.at', { step: number(step) }));

function figures({ similarity, errors }) {
  const said = [];
  if (similarity != null) said.push(t('train.alike', { n: number(similarity, 2) }));
  if (errors != null) said.push(t('train.errors', { n: number(100 * errors) }));
  return said.join(' · ');
}

function Real({ run, clips }) {
  if (!clips.length) return null;
  return html`<h3>${t('train.real')}</h3><ul class="list">
    ${clips.map((each) => html`<li key=${each.clip}><${Play} url=${fileUrl('train.real', { run, clip: each.clip })} label=${each.text} />
      <span class="grow">${each.text}</span><span class="small-text soft">${clock(each.seconds, 1)}</span></li>`)}</ul>`;
}
