// A long work as every place shows it: a bar, a rate, the time left, and a button that ends it.

import { html } from '../vendor/preact.js';
import { call } from './api.js';
import { Act } from './notes.js';
import { translated } from './translated.js';
import { t } from './words.js';

const AT_WORK = ['running', 'stopping', 'waiting'];

/** Whether a job or a run is not over. */
export const isAtWork = ({ state }) => AT_WORK.includes(state);

/** Jobs that are not over, of some kinds ("import", "build", "train", "speak", ...) or of all. */
export const atWork = (jobs, ...kinds) =>
  (jobs ?? []).filter((job) => isAtWork(job) && (!kinds.length || kinds.includes(job.kind)));

export function Bar({ share, label }) {
  return share == null
    ? html`<progress aria-label=${label}></progress>`
    : html`<progress value=${share} max="1" aria-label=${label}></progress>`;
}

/** One job at work. */
export function Work({ job, stopLabel = t(job.state === 'waiting' ? 'jobs.takeout' : 'jobs.stop') }) {
  return html`<div class="work">
    <div class="row"><b class="grow">${translated(job.title)}</b>
      ${job.state === 'stopping'
        ? html`<span class="soft">${translated(job.words)}</span>`
        : html`<${Act} class="small" run=${() => call('jobs.stop', { job: job.id })}>${stopLabel}<//>`}
    </div>
    <${Bar} share=${job.state === 'waiting' ? 0 : job.share} label=${translated(job.title)} />
    <p class="soft small-text">${translated(job.line || job.words)}</p>
  </div>`;
}
