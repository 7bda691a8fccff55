// A work on the recordings, a bar a step, and what came of it.

import { html } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { Act } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { clock, duration, number, t } from '../../parts/words.js';

const amount = (name, value) => (name === 'hear' ? clock(value) : number(value));

/** "3 of 10 files, 2 a second, 4 s left". */
function line({ name, state, done, total, per_second: rate, seconds_left: left }) {
  if (state === 'waiting') return t('recordings.step.waiting');
  if (!total) return state === 'running' ? t('recordings.step.begins') : t('recordings.step.done');
  if (state === 'running' && done >= total) return t('recordings.step.ends');
  const said = [t(`recordings.line.${name}`, { done: amount(name, state === 'done' ? total : done), total: amount(name, total) })];
  if (state === 'running' && rate) said.push(t(`recordings.rate.${name}`, { rate: number(rate, rate < 10 ? 1 : 0) }));
  if (state === 'running' && left != null) said.push(t('recordings.left', { time: duration(left) }));
  return said.join(' · ');
}

const share = (step) => (step.state === 'done' ? 1 : step.total ? step.done / step.total : step.state === 'running' ? null : 0);

export function Steps({ steps }) {
  return html`<ol class="steps">${steps.map((step) => html`<li key=${step.name} class=${step.state}>
    <div class="row"><b class="grow">${t(`recordings.step.${step.name}`)}</b><span class="soft small-text">${line(step)}</span></div>
    <${Bar} share=${share(step)} label=${t(`recordings.step.${step.name}`)} />
    ${step.inside && html`<p class="soft small-text">${number(step.inside.done)} / ${number(step.inside.total)} ${translated(step.inside.unit)}</p>`}
  </li>`)}</ol>`;
}

/** A work that goes on, with a way to end it. */
export function AtWork({ work, title, again }) {
  const { job } = work;
  return html`<div class="stack">
    <div class="row"><h2 class="grow">${title}</h2>
      ${job.state === 'stopping'
        ? html`<span class="soft">${t('recordings.stopping')}</span>`
        : html`<${Act} run=${() => call('jobs.stop', { job: job.id }).then(again)}>${t('jobs.stop')}<//>`}</div>
    ${job.state === 'waiting' && html`<p class="soft">${t('recordings.queued')}</p>`}
    <${Steps} steps=${work.steps} />
    <p class="why">${t('recordings.mayclose')}</p>
  </div>`;
}

/** Files of which there is something to say: not usable, or there before. */
export function FilesSaid({ files }) {
  if (!files.length) return null;
  return html`<ul class="list">${files.map((each) => html`<li key=${each.name}>
    <span class=${`mark ${each.recording ? '' : 'out'}`}>${t(each.recording ? 'recordings.known' : 'recordings.unusable')}</span>
    <span class="grow"><b>${each.name}</b> <span class="soft">${translated(each.said)}</span></span></li>`)}</ul>`;
}

const MARKS = { good: 'good', look: 'look', 'leave out': 'out' };

/** What came of a build. */
export function Came({ work, go }) {
  const ended = work.cause === 'finished';
  return html`<div class="stack">
    ${ended && work.clips > 0 && html`<p><span class="number">${number(work.clips)}</span> ${t(`recordings.clips.${work.clips === 1 ? 'one' : 'many'}`)}
      <span class="soft"> · ${duration(work.seconds)}</span></p>`}
    ${ended && !work.clips && html`<p>${t('recordings.noclips')}</p>`}
    ${ended && html`<div class="chips">${Object.entries(work.marks ?? {}).filter(([mark]) => mark in MARKS).map(([mark, count]) => html`
      <span key=${mark} class=${`mark ${MARKS[mark]}`}>${number(count)} ${t(`recordings.mark.${MARKS[mark]}`)}</span>`)}</div>`}
    ${work.clips > 0 && html`<div><button class="primary" onClick=${() => go('transcript')}>${t('recordings.totranscript')}</button></div>`}
    ${work.problems.length > 0 && html`<details open=${!work.clips}><summary>${t('recordings.problems', { n: number(work.problems.length + work.more_problems) })}</summary>
      <ul class="list small-text">${work.problems.map((each, index) => html`<li key=${index}>
        <b>${each.file}${each.number ? `, ${t('recordings.line', { n: each.number })}` : ''}</b><span class="grow">${translated(each.sentence)}</span></li>`)}</ul>
    </details>`}
    <${FilesSaid} files=${work.files} />
  </div>`;
}
