// Train: the plan before a training, how one goes, and the runs there are.

import { html, useState } from '../vendor/preact.js';
import { Work, atWork, isAtWork } from '../parts/jobs.js';
import { useLive } from '../parts/live.js';
import { Waiting } from '../parts/notes.js';
import { style } from '../parts/style.js';
import { NoProject } from '../parts/where.js';
import { duration, number, t } from '../parts/words.js';
import { Begin } from './train/begin.js';
import { Going } from './train/going.js';
import { Runs } from './train/runs.js';

export default function Train({ project, now, go }) {
  style('train');
  if (!project) return html`<div><h1>${t('train.title')}</h1><${NoProject} /></div>`;
  return html`<${Place} project=${project} now=${now} go=${go} />`;
}

function Place({ project, now, go }) {
  const { data, error, again } = useLive('train', { project: project.id });
  const [chosen, setChosen] = useState('');
  const [wanted, setWanted] = useState(null);
  if (!data) return html`<div><h1>${t('train.title')}</h1><${Waiting} error=${error} /></div>`;
  const working = data.runs.find(isAtWork);
  const run = data.runs.find((each) => each.id === chosen) ?? working ?? data.runs[0];
  const isOpen = wanted ? true : wanted === null && !run;
  const begun = (made) => {
    setWanted(false);
    setChosen(made);
    again();
  };
  const goOn = (from) => setWanted({ key: from, first: { continues: from } });
  const anew = ({ id, name, wish }) => setWanted({ key: `anew ${id}`, like: name, first: { ...wish, name: '' } });
  return html`<div>
    <div class="row"><h1 class="grow">${t('train.title')}</h1>
      <span class="soft">${dataset(data.versions[0])}</span>
      ${run && html`<button aria-expanded=${isOpen} onClick=${() => setWanted(isOpen ? false : {})}>${t(isOpen ? 'train.begin.close' : 'train.begin')}</button>`}</div>
    ${!working && atWork(now.jobs, 'make').map((job) => html`<section class="card" key=${job.id} aria-label=${job.title}><${Work} job=${job} /></section>`)}
    ${data.versions.length === 0
      ? html`<div class="card empty"><p>${t('train.nodata')}</p><button class="primary" onClick=${() => go('recordings')}>${t('train.todata')}</button></div>`
      : isOpen && html`<${Begin} key=${wanted?.key ?? ''} data=${data} project=${project} first=${wanted?.first ?? {}} like=${wanted?.like} begun=${begun} go=${go} again=${again} />`}
    ${run && html`<${Going} key=${run.id} run=${run} project=${project} go=${go} goOn=${goOn} anew=${anew} again=${again} />`}
    ${(data.runs.length > 0 || data.trashed.length > 0) && html`<${Runs} data=${data} run=${run} choose=${setChosen} again=${again} />`}
  </div>`;
}

function dataset(version) {
  if (!version) return '';
  return t('train.dataset', { n: version.number, length: duration(version.seconds), clips: number(version.clips), checked: number(version.checked) });
}
