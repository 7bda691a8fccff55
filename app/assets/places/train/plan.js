// The plan as a card: what fits and why, and sliders that plan anew at once.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Figure } from '../../parts/form.js';
import { Bar } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { duration, memory, number, size, t } from '../../parts/words.js';
import { Command } from './command.js';

const SETTLED_MS = 120;
const ASK_MS = 700;
const MOST_TRIES = 5;
const LONGEST_BATCH = 64;

/** The plan for a wish: the newest there is, and whether it is of just this wish. */
function usePlan(project, wish) {
  const key = JSON.stringify(wish);
  const [settled, setSettled] = useState(key);
  const kept = useRef(null);
  const command = useRef('');
  const [tries, setTries] = useState(0);
  const [trouble, setTrouble] = useState(null);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [key]);
  useEffect(() => setTries(0), [settled]); // another wish is asked for anew
  const args = { project: project.id, wish: JSON.parse(settled) };
  const { data, again } = useLive('train.plan', args, 1000);
  const ask = () => call('train.plan', { ...args, ask: true }).then(again);
  useEffect(() => {
    if (data?.state !== 'none') return undefined;
    if (tries > MOST_TRIES) return undefined;
    const refused = (error) => {
      setTrouble(error);
      setTries(tries + 1);
    };
    const asked = () => {
      setTrouble(null);
      setTries(0);
    };
    const timer = setTimeout(() => ask().then(asked, refused), ASK_MS * 2 ** tries);
    return () => clearTimeout(timer);
  }, [data?.state, settled, tries]);
  if (data?.state === 'ready') kept.current = data;
  if (data) command.current = data.command ?? '';
  return { plan: data, shown: data?.state === 'ready' ? data : kept.current, command: command.current, ask, trouble };
}

export function Plan({ project, engine, wish, change, onUnfit, children }) {
  const { plan, shown, command, ask, trouble } = usePlan(project, wish);
  const train = (name, value, first = 0) => {
    const { [name]: _, ...rest } = wish.train;
    change({ train: value === first ? rest : { ...rest, [name]: value } });
  };
  const isNow = plan?.state === 'ready' || plan == null;
  return html`<div class="card stack plan">
    <div class="row"><h2 class="grow">${t('train.plan')}</h2>${shown && isNow && html`<${Fits} plan=${shown} />`}</div>
    ${trouble && plan?.state === 'none' && html`<p class="mark look">${trouble.what} ${trouble.fix}</p><div><${Act} class="small" run=${ask}>${t('train.plan.again')}<//></div>`}
    <${State} plan=${plan} shown=${shown} ask=${ask} />
    ${shown && plan?.state !== 'refused' && html`<div class=${isNow ? 'stack' : 'stack older'}>
      <${Memory} plan=${shown} />
      <${Choices} plan=${shown} engine=${engine} wish=${wish} change=${change} train=${train} onUnfit=${onUnfit} />
      <${Length} plan=${shown} wish=${wish} />
      <details open><summary>${t('train.reasons')}</summary><ul class="facts why">${shown.reasons.map((each) => html`<li key=${each}>${translated(each)}</li>`)}</ul></details>
    </div>`}
    <${OtherCard} wish=${wish} change=${change} onUnfit=${onUnfit} />
    ${children}
    ${command && html`<${Command} text=${command} label=${t('train.command')} />`}
  </div>`;
}

function Fits({ plan }) {
  const { chosen, room } = plan;
  if (!chosen.fits) return html`<span class="mark out">${t('train.over', { size: memory(chosen.over_mb) })}</span>`;
  return html`<span class="mark good">${t('train.fits', { size: memory(room.budget_mb - chosen.taken_mb) })}</span>`;
}

function State({ plan, shown, ask }) {
  if (plan?.state === 'refused' || plan?.state === 'failed') {
    return html`<p class="mark look">${translated(plan.problem.what)} ${translated(plan.problem.fix)}</p>
      ${plan.state === 'failed' && html`<div><${Act} class="small" run=${ask}>${t('train.plan.again')}<//></div>`}`;
  }
  if (plan?.state === 'working' || plan?.state === 'none') {
    return html`<div class="work"><${Bar} share=${null} label=${t('train.plan.working')} /><p class="soft small-text" role="status">
      ${plan.job?.state === 'waiting' ? t('train.plan.waiting') : t('train.plan.working')} ${translated(plan.job?.line ?? '')}</p></div>`;
  }
  return shown?.estimate ? html`<p class="why">${t('train.estimate')}</p>` : null;
}

const PARTS = ['weights', 'gradients', 'optimizer', 'clips', 'others'];

/** The fullest moment against what is free. */
function Memory({ plan }) {
  const { room, parts_mb: parts, chosen } = plan;
  const whole = Math.max(room.free_mb, chosen.taken_mb);
  const free = room.free_mb - chosen.taken_mb;
  const label = t('train.memory', { taken: memory(chosen.taken_mb), free: memory(room.free_mb) });
  return html`<div class="stack">
    <div class=${chosen.fits ? 'stacked' : 'stacked over'} role="img" aria-label=${label}>
      ${PARTS.map((name, at) => parts[name] > 0 && html`<i style=${{ width: `${(100 * parts[name]) / whole}%`, background: `var(--part-${at + 1})` }}></i>`)}
    </div>
    <p class="key">${PARTS.map((name, at) => parts[name] > 0 && html`<span><i style=${{ background: `var(--part-${at + 1})` }}></i>${t(name === 'others' && plan.on === 'computer' ? 'train.part.program' : `train.part.${name}`)} ${memory(parts[name])}</span>`)}
      <span>${free >= 0 ? t('train.part.free', { free: memory(free), all: memory(room.free_mb) }) : t('train.part.over', { all: memory(room.free_mb) })}</span></p>
    ${plan.peak && html`<p class="why">${t('train.peak', { when: translated(plan.peak), kept: memory(room.headroom_mb) })}</p>`}
  </div>`;
}

function Choices({ plan, engine, wish, change, train, onUnfit }) {
  const { chosen } = plan;
  const sizes = [...plan.options].sort((a, b) => a.micro_batch - b.micro_batch);
  // What was moved stays where it was put, while the plan for it is on its way.
  const at = Math.max(0, sizes.findIndex((each) => each.micro_batch === (wish.train.micro_batch || chosen.micro_batch)));
  const [batch, epochs] = [wish.train.batch || plan.batch, wish.train.epochs || plan.epochs];
  const rank = wish.own.lora_rank ?? 0;
  const hasRank = engine.fields.some((each) => each.name === 'lora_rank');
  const own = (name, value) => {
    const { [name]: _, ...rest } = wish.own;
    change({ own: value ? { ...rest, [name]: value } : rest });
  };
  const figure = (name, value) => html`<${Figure} field=${engine.train_fields.find((each) => each.name === name)} value=${value} isOwn=${Boolean(wish.train[name])} late
    put=${(typed) => train(name, typed)} onUnfit=${onUnfit} />`;
  return html`<div class="choices">
    <${Slide} label=${t('train.batch')} value=${batch} low=${1} high=${Math.max(LONGEST_BATCH, batch)} put=${(value) => train('batch', value)}
      said=${t('train.batch.is', { n: number(batch) })} isOwn=${wish.train.batch} back=${() => train('batch', 0)} why=${t('train.batch.why')} />
    <${Slide} label=${t('train.micro')} value=${at} low=${0} high=${sizes.length - 1} put=${(value) => train('micro_batch', sizes[value].micro_batch)}
      said=${option(sizes[at] ?? chosen)} isOwn=${wish.train.micro_batch} back=${() => train('micro_batch', 0)} why=${t('train.micro.why')} />
    <${Slide} label=${t('train.epochs')} value=${epochs} low=${1} high=${Math.max(200, epochs)} put=${(value) => train('epochs', value)}
      said=${t('train.epochs.is', { n: number(epochs), steps: number(plan.steps) })} isOwn=${wish.train.epochs} back=${() => train('epochs', 0)} why=${t('train.epochs.why')} />
    <div class="even">
      <label>${t('train.minutes')}${figure('minutes', wish.train.minutes ?? 0)}
        <span class="why">${t('train.minutes.why')}</span></label>
      <label>${t('train.rate')}${figure('learning_rate', wish.train.learning_rate || plan.learning_rate)}
        <span class="why">${t(wish.train.learning_rate ? 'train.rate.own' : 'train.rate.advised')}</span></label>
      <label>${t('train.precision')}<select value=${wish.train.precision ?? 'auto'} onChange=${(event) => train('precision', event.target.value, 'auto')}>
        ${['auto', 'bf16', 'fp16', 'fp32'].map((each) => html`<option value=${each}>${each === 'auto' ? t('train.auto', { chosen: chosen.precision }) : each}</option>`)}</select>
        <span class="why">${t('train.precision.why')}</span></label>
      <label>${t('train.recompute')}<select value=${wish.train.recompute ?? 'auto'} onChange=${(event) => train('recompute', event.target.value, 'auto')}>
        ${['auto', 'no', 'yes'].map((each) => html`<option value=${each}>${each === 'auto' ? t('train.auto', { chosen: t(`train.recompute.${chosen.recompute ? 'yes' : 'no'}`) }) : t(`train.recompute.${each}`)}</option>`)}</select>
        <span class="why">${t('train.recompute.why')}</span></label>
      ${hasRank && html`<label>${t('train.lora')}<select value=${rank} onChange=${(event) => own('lora_rank', Number(event.target.value))}>
        ${[0, 8, 16, 32, 64, 128].map((each) => html`<option value=${each}>${each ? t('train.lora.rank', { n: each }) : t('train.lora.none')}</option>`)}</select>
        <span class="why">${t('train.lora.why')}</span></label>`}
    </div>
    ${plan.rates.map((each) => html`<p key=${each.rule} class="row why"><button class="small" onClick=${() => train('learning_rate', each.rate)}>${t('train.rate.take', { rate: each.rate.toPrecision(2) })}</button>
      <span class="grow">${t('train.rate.rule', { rule: translated(each.rule), reason: translated(each.reason) })}</span></p>`)}
  </div>`;
}

/** "8 at once: 13.1 GB, does not fit by 1.4 GB". */
function option(each) {
  const times = each.accumulation === 1 ? t('train.micro.whole') : t('train.micro.times', { n: number(each.accumulation) });
  const words = { n: number(each.micro_batch), times, taken: memory(each.taken_mb), over: memory(each.over_mb), speed: number(each.clips_per_second, 1) };
  return t(each.fits ? (each.clips_per_second ? 'train.micro.speed' : 'train.micro.fits') : 'train.micro.over', words);
}

function Slide({ label, value, low, high, put, said, isOwn, back, why }) {
  return html`<div class="slide"><label>${label}
      <input type="range" min=${low} max=${high} value=${value} disabled=${high <= low} aria-valuetext=${said} onInput=${(event) => put(Number(event.target.value))} /></label>
    <div><b>${said}</b>${isOwn ? html` <button class="bare small" onClick=${back} aria-label=${t('train.back', { what: label })}>↺</button>` : ''}<p class="why">${isOwn ? t('train.yours') : why}</p></div></div>`;
}

function Length({ plan }) {
  return html`<p><b>${plan.seconds ? t('train.takes', { time: duration(plan.seconds) }) : t('train.takes.unknown')}</b>
    ${plan.disk_mb != null && html`${' '}<span class="soft">${t('train.disk', { size: size(plan.disk_mb * 1e6) })}</span>`}</p>`;
}

const GIB = { name: 'gib', kind: 'number', low: 1, high: 1024, default: null };
const CAPABILITY = { name: 'capability', kind: 'number', low: 1, high: 99, default: 8.6 };

function OtherCard({ wish, change, onUnfit }) {
  return html`<details open=${Boolean(wish.gib)}><summary>${t('train.other')}</summary>
    <div class="row bottom">
      <label>${t('train.other.memory')}<${Figure} field=${GIB} value=${wish.gib} isOwn=${Boolean(wish.gib)} late placeholder=${t('train.other.none')}
        put=${(gib) => change({ gib })} onUnfit=${onUnfit} /></label>
      <label>${t('train.other.capability')}<${Figure} field=${CAPABILITY} value=${wish.capability} late size="5" put=${(typed) => change({ capability: String(typed) })} onUnfit=${onUnfit} /></label>
      <p class="why grow">${t('train.other.why')}</p>
      ${wish.gib && html`<button class="small" onClick=${() => change({ gib: null })}>${t('train.other.back')}</button>`}
    </div></details>`;
}
