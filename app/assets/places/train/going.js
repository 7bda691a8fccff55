// How one training goes: its curves, its memory, its samples, and what can be done with it now.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Chart } from '../../parts/chart.js';
import { labelOf, settingSaid } from '../../parts/form.js';
import { Bar } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, Waiting, note } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { clock, duration, memory, number, t } from '../../parts/words.js';
import { Command } from './command.js';
import { Listen } from './listen.js';

export function Going({ run, project, go, goOn, anew, again }) {
  const { data, error } = useLive('train.run', { run: run.id });
  if (!data) return html`<section class="card stack"><h2>${run.name}</h2><${Waiting} error=${error} /></section>`;
  return html`<section class="two going" aria-label=${t('train.going', { name: data.name })}>
    <div class="card stack">
      <div class="row"><h2 class="grow">${data.name}</h2><span class=${mark(data.state)} role="status">${translated(data.words)}</span></div>
      <${Ways} data=${data} go=${go} goOn=${goOn} anew=${anew} again=${again} />
      <${Ended} data=${data} />
      <${Far} data=${data} />
      <${Curves} data=${data} />
      <${Pace} data=${data} />
      <${Machine} data=${data} />
      <${Behind} data=${data} />
    </div>
    <${Listen} data=${data} project=${project} go=${go} />
  </section>`;
}

const mark = (state) => ({ failed: 'mark out', interrupted: 'mark look', finished: 'mark good', running: 'mark good' })[state] ?? 'mark';

/** Buttons for what can be done now; which these are the studio says. */
function Ways({ data, go, goOn, anew, again }) {
  const has = (way) => data.ways.includes(way) && (way !== 'anew' || data.wish);
  const ask = (what) => async () => {
    await call('train.ask', { run: data.id, what });
    note(t(`train.asked.${what}`));
  };
  const act = (name, args = {}) => () => call(name, { run: data.id, ...args }).then(again);
  return html`<div class="row">
    ${has('speak') && html`<button class="primary" onClick=${() => go('voices')}>${t('train.tovoices')}</button>`}
    ${has('lighter') && html`<${Act} class="primary" run=${act('train.resume', { lighter: true })}>${t('train.lighter', { n: data.smaller })}<//>`}
    ${has('disk') && html`<button class="primary" onClick=${() => go('system')}>${t('train.makeroom')}</button>`}
    ${has('anew') && html`<button class="primary" onClick=${() => anew(data)}>${t('train.anew')}</button>`}
    ${has('resume') && html`<${Act} class=${['lighter', 'disk', 'anew'].some(has) ? '' : 'primary'} run=${act('train.resume')}>${t('train.resume')}<//>`}
    ${has('stop') && html`<${Act} run=${act('train.stop')} title=${t('train.stop.why')}>${t(data.state === 'waiting' ? 'train.unqueue' : 'train.stop')}<//>`}
    ${has('up') && html`<${Act} class="small" disabled=${data.place === 1} run=${act('train.move', { direction: 'up' })}>${t('train.earlier')}<//>
      <${Act} class="small" run=${act('train.move', { direction: 'down' })}>${t('train.later')}<//>`}
    ${has('sample') && html`<${Act} class="small" run=${ask('sample')}>${t('train.sample')}<//>`}
    ${has('save') && html`<${Act} class="small" run=${ask('save')}>${t('train.save')}<//>`}
    ${has('continue') && html`<button class="small" onClick=${() => goOn(data.id)}>${t('train.goon')}</button>`}
    ${has('stop') && html`<p class="why">${t(data.state === 'waiting' ? 'train.place' : 'train.stop.why', { n: data.place })}</p>`}
  </div>`;
}

function Ended({ data }) {
  const ended = data.ended;
  if (!ended || ended.cause === 'finished') return null;
  return html`<div class=${data.state === 'failed' ? 'said bad' : 'said'}><p>${translated(ended.what)} ${translated(ended.fix)}</p>
    ${data.ways.includes('lighter') && html`<p class="why">${t('train.lighter.why')}</p>`}
    ${ended.first_cause && html`<p class="why">${t('train.first', { error: ended.first_cause })}</p>`}</div>`;
}

function Far({ data }) {
  const { progress, now } = data;
  if (!['running', 'stopping'].includes(data.state)) return data.total ? html`<p class="soft">${t('train.step', { step: number(data.step), total: number(data.total) })}</p>` : null;
  const left = now?.seconds_left != null ? ` · ${t('train.left', { time: duration(now.seconds_left) })}` : '';
  const line = now && data.step ? `${t('train.step', { step: number(data.step), total: number(data.total) })}${left}` : translated(progress?.line) || t('train.preparing');
  return html`<div class="work"><${Bar} share=${data.total ? data.step / data.total : progress?.share} label=${data.name} /><p>${line}</p></div>`;
}

function Curves({ data }) {
  const losses = [
    { name: t('train.loss.training'), points: data.curve.map(([step, loss]) => [step, loss]) },
    { name: t('train.loss.check'), points: data.checks, kind: 'second dots' },
  ].filter((each) => each.points.length);
  if (!losses.length) return null;
  const step = { format: (value) => t('train.at', { step: number(Math.round(value)) }), min: 0, max: seen(data) };
  const rate = data.curve.map(([at, , value]) => [at, value]);
  return html`<div class="stack">
    <h3>${t('train.loss')}</h3>
    <${Chart} series=${losses} x=${step} height=${220} label=${spoken(data)} />
    <p class="why">${t('train.loss.why')}</p>
    <details><summary>${t('train.rate')}</summary>
      <${Chart} series=${[{ name: t('train.rate'), points: rate }]} x=${step} y=${{ min: 0, format: (value) => (value ? value.toExponential(1) : '0') }} height=${110}
        label=${t('train.rate.now', { rate: rate.length ? rate.at(-1)[1].toExponential(1) : '–' })} /></details>
  </div>`;
}

/** How far the steps are drawn: what is done fills at least half, until the whole run is in sight. */
const seen = ({ step, total }) => Math.min(total || Infinity, Math.max(16, 2 ** Math.ceil(Math.log2(step + 1))));

/** The curve in a sentence. */
function spoken({ curve, checks }) {
  const ends = (points) => [points[0][1], points.at(-1)[1]].map((each) => number(each, 2));
  const said = [];
  if (curve.length) said.push(t('train.loss.said', { from: ends(curve)[0], to: ends(curve)[1] }));
  if (checks.length) said.push(t('train.check.said', { from: ends(checks)[0], to: ends(checks)[1] }));
  return said.join(' ');
}

function Pace({ data }) {
  const { now, planned } = data;
  if (!now) return null;
  const whole = Object.values(now.ms).reduce((sum, each) => sum + each, 0);
  const share = (names) => number((100 * names.reduce((sum, name) => sum + (now.ms[name] ?? 0), 0)) / whole);
  const used = now.memory_mb.reserved ?? null;
  return html`<div class="chips">
    <span class="chip">${t('train.speed', { n: number(now.clips_per_second, 1) })}</span>
    ${whole > 0 && html`<span class="chip">${t('train.split', { data: share(['data']), compute: share(['forward', 'backward', 'optimizer']) })}</span>`}
    ${used != null && html`<span class="chip">${t('train.memory.now', { now: memory(used), planned: memory(planned?.taken_mb) })}</span>`}
    ${used == null && planned && html`<span class="chip">${t('train.memory.planned', { planned: memory(planned.taken_mb) })}</span>`}
    <span class="chip">${t('train.epoch', { n: number(now.epoch) })}</span>
    ${data.saved != null && html`<span class="chip">${t('train.saved', { step: number(data.saved) })}</span>`}
  </div>`;
}

const PHASES = ['data', 'forward', 'backward', 'optimizer'];

// Drawn in these, so that the lines behind stand at round figures.
const MB_IN_GIB = 2 ** 30 / 1e6;
const inGib = (mb) => (mb == null ? null : mb / MB_IN_GIB);

/** Memory over time beside what was planned, and by phase of the newest step. */
function Machine({ data }) {
  const [isOpen, open] = useState(false);
  const { data: seen } = useLive('train.machine', isOpen ? { run: data.id } : null, 10000);
  const phases = PHASES.filter((name) => data.now?.memory_mb[name] != null);
  const lines = seen ? [{ name: t(`train.used.${seen.of}`), points: seen.used.map(([at, mb]) => [at, inGib(mb)]), kind: 'area' }] : [];
  if (seen?.of === 'gpu' && data.planned && seen.used.length) {
    lines.push({ name: t('train.planned'), points: seen.used.map(([at]) => [at, inGib(data.planned.taken_mb)]), kind: 'second' });
  }
  return html`<details onToggle=${(event) => open(event.target.open)}><summary>${t('train.machine')}</summary>
    ${seen && html`<${Chart} series=${lines} x=${{ format: (value) => clock(value) }} y=${{ min: 0, format: (gib) => memory(gib * MB_IN_GIB) }} height=${130} label=${t('train.machine.said')} />`}
    ${phases.length > 0 && html`<table><caption class="hidden">${t('train.machine')}</caption><tbody>${phases.map((name) => html`<tr><th scope="row">${t(`train.phase.${name}`)}</th><td>${memory(data.now.memory_mb[name])}</td></tr>`)}</tbody></table>`}
  </details>`;
}

function Behind({ data }) {
  const reasons = [...data.chosen, ...(data.planned?.reasons ?? [])];
  const settings = Object.entries(data.settings);
  return html`<div class="stack">
    <details><summary>${t('train.chosen')}</summary><ul class="facts why">
      ${data.continues && html`<li>${t('train.continues', { name: data.continues })}</li>`}
      ${reasons.map((each) => html`<li key=${each}>${translated(each)}</li>`)}
      ${settings.map(([name, value]) => html`<li key=${name}>${labelOf({ name })}: ${settingSaid(value)}</li>`)}</ul></details>
    <${Log} run=${data.id} />
    ${data.command && html`<${Command} text=${data.command} label=${t('train.command.ran')} />`}
  </div>`;
}

function Log({ run }) {
  const [isOpen, open] = useState(false);
  const { data } = useLive('train.log', isOpen ? { run } : null, 2000);
  return html`<details onToggle=${(event) => open(event.target.open)}><summary>${t('train.log')}</summary>
    ${data && html`<pre tabindex="0" aria-label=${t('train.log')}>${[...data.said.map(translated), data.log].filter(Boolean).join('\n') || t('train.log.empty')}</pre>`}</details>`;
}
