// Recordings: bring them in or record them, see how good they are, build the dataset.

import { html, useEffect, useState } from '../vendor/preact.js';
import { call } from '../parts/api.js';
import { useLive } from '../parts/live.js';
import { Waiting, doing } from '../parts/notes.js';
import { style } from '../parts/style.js';
import { NoProject } from '../parts/where.js';
import { translated } from '../parts/translated.js';
import { clock, t } from '../parts/words.js';
import { Adding, Arrived } from './recordings/adding.js';
import { Build } from './recordings/build.js';
import { List } from './recordings/list.js';
import { Recorder, endListening } from './recordings/recorder.js';
import { AtWork, FilesSaid } from './recordings/steps.js';

style('recordings');

export default function Recordings({ project, go }) {
  return html`<div id="recordings">
    <h1>${t('place.recordings')}</h1>
    ${project ? html`<${OfProject} project=${project} go=${go} />` : html`<${NoProject} />`}
  </div>`;
}

function OfProject({ project, go }) {
  const { data, error, again } = useLive('recordings', { project: project.id });
  const [choices, setChoices] = useState(null);
  const [records, setRecords] = useState(false);
  useEffect(() => {
    doing(async () => setChoices(await call('recordings.choices', { project: project.id, language: null })));
    return endListening;
  }, []);
  useEffect(() => { if (records === null) document.getElementById('to-record')?.focus(); }, [records]);
  if (!data) return html`<${Waiting} error=${error} />`;
  const close = () => {
    endListening();
    setRecords(null);
  };
  const importing = data.import && data.import.cause === '' ? data.import : null;
  const { recordings } = data;
  const codes = choices?.languages ?? [];
  return html`
    ${recordings.length > 0 && html`<p class="lead soft">${t(data.seconds < data.good_seconds ? 'recordings.soon' : 'recordings.enough', { done: clock(data.seconds), good: clock(data.good_seconds) })}</p>`}
    ${records
      ? html`<${Recorder} project=${project} codes=${codes} goodSeconds=${data.good_seconds} seconds=${data.seconds} onClose=${close} again=${again} />`
      : html`<${Adding} project=${project} isEmpty=${!recordings.length && !importing} onRecord=${() => setRecords(true)} again=${again} />`}
    ${importing && html`<section class="card" aria-label=${t('recordings.importing')}>
      <${AtWork} work=${importing} title=${t('recordings.importing')} again=${again} /></section>`}
    <${Arrived} project=${project} batches=${data.arriving} importing=${importing?.job} again=${again} />
    <${Imported} work=${data.import} />
    ${recordings.length + data.trashed.length > 0 && html`<div class="two">
      <${List} project=${project} recordings=${recordings} away=${data.trashed} codes=${codes} again=${again} />
      ${recordings.length > 0 && html`<${Build} project=${project} data=${data} choices=${choices} go=${go} again=${again} />`}
    </div>`}`;
}

/** What came of the last import, where there is something to say. */
function Imported({ work }) {
  const [closed, setClosed] = useState('');
  if (!work || !work.cause || closed === work.job.id) return null;
  const went = work.cause === 'finished' || work.cause === 'stopped';
  if (went && !work.files.length) return null;
  return html`<section class="card stack" aria-label=${t('recordings.imported')}>
    <div class="row"><p class="grow">${went ? html`<b>${t(`recordings.brought.${['none', 'one'][work.brought] ?? 'many'}`, { n: work.brought })}</b>` : html`<span class="failed">${translated(work.job.line)}</span>`}</p>
      <button class="small" onClick=${() => setClosed(work.job.id)}>${t('frame.close')}</button></div>
    <${FilesSaid} files=${work.files} />
  </section>`;
}
