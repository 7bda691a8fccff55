// Home: what is going on, what to do next, the projects.

import { html, useState } from '../vendor/preact.js';
import { call } from '../parts/api.js';
import { Work, atWork } from '../parts/jobs.js';
import { useLive } from '../parts/live.js';
import { Bin, Rename, trashed } from '../parts/named.js';
import { Act, Waiting } from '../parts/notes.js';
import { t, when } from '../parts/words.js';

export default function Home({ now, project, go, again: frameAgain }) {
  const { data, error, again: homeAgain } = useLive('home', { project: project?.id ?? null });
  const again = () => Promise.all([homeAgain(), frameAgain()]);
  if (!data) return html`<${Waiting} error=${error} />`;
  return html`<div>
    <h1>${t('home.title')}</h1>
    <${Next} next=${data.next} project=${project} go=${go} />
    ${atWork(now.jobs).length > 0 && html`<section class="card stack" aria-label=${t('home.running')}>
      ${atWork(now.jobs).map((job) => html`<${Work} key=${job.id} job=${job} />`)}
    </section>`}
    <div class="two">
      <${Projects} data=${data} project=${project} again=${again} go=${go} />
      <${Latest} voices=${data.voices} go=${go} />
    </div>
  </div>`;
}

function Next({ next, project, go }) {
  const act = async () => {
    if (next.name === 'create') document.getElementById('new-project').focus();
    else if (next.name === 'try') await call('home.try');
    else go(next.place, project?.id ?? '');
  };
  return html`<section class="card row" aria-label=${t('home.next')}>
    <div class="grow"><h2>${t('home.next')}</h2><p>${t(`next.${next.name}`, next.values)}</p></div>
    <${Act} class="primary" run=${act}>${t(`next.${next.name}.do`)}<//>
    ${next.name === 'create' && html`<${Act} run=${() => call('home.try')}>${t('home.try')}<//>
      <p class="why">${t('home.try.why')}</p>`}
  </section>`;
}

function Projects({ data, project, again, go }) {
  const [name, setName] = useState('');
  const [renamed, setRenamed] = useState(null);
  const create = async () => {
    const made = await call('home.create', { name });
    setName('');
    await again();
    go('recordings', made.id);
  };
  const restore = (each) => call('home.restore', { project: each.id }).then(again);
  const trash = async (each) => {
    await call('home.trash', { project: each.id });
    again();
    trashed(each, () => restore(each));
  };
  return html`<section class="card stack" aria-label=${t('home.projects')}>
    <h2>${t('home.projects')}</h2>
    <form class="row bottom" onSubmit=${(event) => event.preventDefault()}>
      <label class="grow">${t('home.new')}
        <input id="new-project" value=${name} placeholder=${t('home.example')} onInput=${(event) => setName(event.target.value)} /></label>
      <${Act} type="submit" class="primary" disabled=${!name.trim()} run=${create}>${t('home.create')}<//>
    </form>
    <ul class="list">
      ${data.projects.map((each) => html`<li key=${each.id} class=${each.id === project?.id ? 'on' : ''}>
        <a class="grow" href=${`#${each.id}/recordings`}>${each.name}</a>
        <span class="soft small-text">${when(each.made)}</span>
        <button class="small" onClick=${() => setRenamed(each)}>${t('named.rename')}</button>
        <${Act} class="small" run=${() => trash(each)}>${t('named.trash')}<//>
      </li>`)}
    </ul>
    <${Bin} items=${data.trashed} restore=${restore} />
    ${renamed && html`<${Rename} item=${renamed} onClose=${() => setRenamed(null)} save=${(name) => call('home.rename', { project: renamed.id, name }).then(again)} />`}
  </section>`;
}

function Latest({ voices, go }) {
  return html`<section class="card stack" aria-label=${t('home.voices')}>
    <h2>${t('home.voices')}</h2>
    ${voices.length === 0 && html`<p class="soft">${t('home.novoices')}</p>`}
    <ul class="list">${voices.map((each) => html`<li key=${each.id}><span class="grow">${each.name}</span>
      <span class="soft small-text">${each.engine} · ${when(each.made)}</span></li>`)}</ul>
    ${voices.length > 0 && html`<div><button onClick=${() => go('voices')}>${t('home.allvoices')}</button></div>`}
  </section>`;
}
