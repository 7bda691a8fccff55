// All jobs: at work, waiting in order, ended; each with its log, its command and what went wrong.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Work } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, Dialog, Waiting, note } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { t, when } from '../../parts/words.js';

const LIST_MS = 1500;
const SHOWN = 6;

export function Jobs({ again }) {
  const { data: jobs, error, again: look } = useLive('system.jobs', {}, LIST_MS);
  const [shown, setShown] = useState(null);
  const [all, setAll] = useState(false);
  if (!jobs) return html`<section class="card stack"><h2>${t('system.jobs')}</h2><${Waiting} error=${error} /></section>`;
  const live = jobs.filter((each) => each.state !== 'ended');
  const ended = jobs.filter((each) => each.state === 'ended');
  const changed = () => { look(); again(); };
  return html`<section class="card stack" aria-label=${t('system.jobs')}>
    <h2>${t('system.jobs')}</h2>
    ${live.length === 0 && html`<p class="soft">${t('system.jobs.none')}</p>`}
    ${live.map((job) => html`<div class="stack" key=${job.id}>
      <${Work} job=${job} />
      <div class="row">
        ${job.state === 'waiting' && html`<${Act} class="small" run=${() => call('jobs.move', { job: job.id, direction: 'up' }).then(changed)}>${t('system.jobs.earlier')}<//>
          <${Act} class="small" run=${() => call('jobs.move', { job: job.id, direction: 'down' }).then(changed)}>${t('system.jobs.later')}<//>`}
        <button class="small" onClick=${() => setShown(job.id)}>${t('system.jobs.details')}<span class="hidden"> ${translated(job.title)}</span></button>
      </div></div>`)}
    ${ended.length > 0 && html`<h3>${t('system.jobs.ended')}</h3>
      <ul class="list system-list">${(all ? ended : ended.slice(0, SHOWN)).map((job) => html`<li key=${job.id}>
        <div class="grow"><b>${translated(job.title)}</b> <span class=${`mark ${markOf(job)}`}>${translated(job.words)}</span>
          <p class="why">${translated(job.line)}</p></div>
        <span class="soft small-text">${when(job.queued_at)}</span>
        <button class="small" onClick=${() => setShown(job.id)}>${t('system.jobs.details')}<span class="hidden"> ${translated(job.title)}</span></button>
      </li>`)}</ul>
      ${ended.length > SHOWN && html`<div><button class="small" aria-expanded=${all} onClick=${() => setAll(!all)}>${t(all ? 'system.jobs.fewer' : 'system.jobs.all', { n: ended.length })}</button></div>`}`}
    ${shown && html`<${Details} id=${shown} onClose=${() => setShown(null)} />`}
  </section>`;
}

const markOf = (job) => ({ finished: 'good', stopped: '', interrupted: 'look' })[job.cause] ?? 'out';

function Details({ id, onClose }) {
  const { data: job, error } = useLive('system.job', { job: id }, LIST_MS);
  const copy = async () => {
    await navigator.clipboard.writeText(job.command);
    note(t('system.jobs.copied'));
  };
  return html`<${Dialog} title=${job ? translated(job.title) : t('system.jobs.details')} onClose=${onClose}>
    ${error && html`<p class="soft">${error.what} ${error.fix}</p>`}
    ${job && html`<div class="stack">
      <p><span class=${`mark ${job.state === 'ended' ? markOf(job) : ''}`}>${translated(job.words)}</span> ${translated(job.line)}</p>
      ${job.first_cause && html`<div><h3>${t('system.jobs.first')}</h3><p><code>${job.first_cause}</code></p></div>`}
      <div class="stack"><div class="row"><h3 class="grow">${t('system.jobs.command')}</h3><${Act} class="small" run=${copy}>${t('system.jobs.copy')}<//></div>
        <pre tabindex="0" aria-label=${t('system.jobs.command')}>${job.command}</pre></div>
      <div class="stack"><h3>${t('system.jobs.log')}</h3>
        ${job.log ? html`<pre tabindex="0" aria-label=${t('system.jobs.log')}>${job.log}</pre>` : html`<p class="soft">${t('system.jobs.nolog')}</p>`}</div>
      <p class="why">${t('system.jobs.folder')} ${job.folder}</p>
    </div>`}
  <//>`;
}
