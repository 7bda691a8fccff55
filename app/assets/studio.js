// The frame: the places in the order of the work, the project, and what is running.
//
// The address holds where a person is (#project/place), so that a reload, a second tab and a
// bookmark show the same.

import { html, render, useEffect, useErrorBoundary, useRef, useState } from './vendor/preact.js';
import { useLive } from './parts/live.js';
import { Notes, Report, problem } from './parts/notes.js';
import { atWork } from './parts/jobs.js';
import { PLACES, go, here, theme } from './parts/where.js';
import { translated } from './parts/translated.js';
import { loadWords, t } from './parts/words.js';

function Place({ name, ...shared }) {
  const [loaded, setLoaded] = useState({});
  const [fault] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    let left = false; // for another place, before this one was there
    import(`./places/${name}.js`).then(
      (found) => left || setLoaded({ name, Shown: found.default }),
      () => left || problem({ what: t('frame.noplace'), fix: t('frame.reload') }),
    );
    return () => { left = true; };
  }, [name]);
  if (fault) return html`<${Broken} error=${fault} />`;
  if (loaded.name !== name) return html`<main id="place" aria-busy="true"></main>`;
  return html`<main id="place" tabindex="-1"><${loaded.Shown} key=${`${name} ${shared.project?.id}`} ...${shared} /></main>`;
}

/** In place of what could not be drawn. */
function Broken({ error }) {
  return html`<main id="place" tabindex="-1"><div class="card empty" role="alert">
    <p><b>${t('frame.fault', { error: String(error) })}</b> ${t('frame.fault.fix')}</p>
    <div class="row"><button class="primary" onClick=${() => location.reload()}>${t('frame.again')}</button><${Report} /></div></div></main>`;
}

function Running({ jobs }) {
  const [job, ...more] = atWork(jobs);
  if (!job) return html`<span class="running">${t('frame.quiet')}</span>`;
  const others = more.length ? ` +${more.length}` : '';
  return html`<a class="running on" href=${`#${here().project}/system`} title=${translated(job.line)}>
    <i></i><b>${translated(job.title)}</b><span>${translated(job.line || job.words)}${others}</span></a>`;
}

function Header({ place, project, now }) {
  const places = useRef();
  // Where all places do not fit beside each other, they scroll.
  useEffect(() => places.current.querySelector('[aria-current]').scrollIntoView({ block: 'nearest', inline: 'center' }), [place]);
  const chosen = (event) => go(place === 'home' || place === 'system' ? 'recordings' : place, event.target.value);
  return html`<header>
    <a class="skip" href="#place" onClick=${(event) => { event.preventDefault(); document.querySelector('main').focus(); }}>${t('frame.skip')}</a>
    <span class="brand">Timbre</span>
    <nav ref=${places} aria-label=${t('frame.places')}>
      ${PLACES.map((each) => html`<a href=${`#${project?.id ?? ''}/${each}`} aria-current=${each === place ? 'page' : null}>${t(`place.${each}`)}</a>`)}
    </nav>
    ${now?.projects.length > 0 && html`<select class="project" aria-label=${t('frame.project')} value=${project?.id ?? ''} onChange=${chosen}>
      ${!project && html`<option value="">${t('frame.choose')}</option>`}
      ${now.projects.map((each) => html`<option value=${each.id}>${each.name}</option>`)}
    </select>`}
    <${Running} jobs=${now?.jobs} />
  </header>`;
}

function Studio() {
  const [at, setAt] = useState(here());
  const [, redraw] = useState(0);
  const { data: now, error, again } = useLive('now');
  useEffect(() => {
    const moved = () => setAt(here());
    addEventListener('hashchange', moved);
    moved(); // the address may have changed since it was drawn
    return () => removeEventListener('hashchange', moved);
  }, []);
  const known = now?.projects ?? [];
  const project = known.find((each) => each.id === at.project) ?? (known.length === 1 && !at.project ? known[0] : null);
  useEffect(() => {
    document.title = project ? `${project.name} · ${t(`place.${at.place}`)} · Timbre` : 'Timbre';
  });
  const speak = () => redraw((count) => count + 1);
  return html`
    <${Header} place=${at.place} project=${project} now=${now} />
    ${error && html`<p class="gone" role="alert"><b>${error.what}</b> ${error.fix}</p>`}
    ${now && html`<${Place} key=${at.place} name=${at.place} project=${project} now=${now} go=${go} again=${again} onLanguage=${speak} />`}
    <${Notes} />
  `;
}

// A file that is dropped beside its place does not take the page away.
for (const name of ['dragover', 'drop']) {
  addEventListener(name, (event) => {
    if (event.defaultPrevented || event.target.closest?.('input, textarea')) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  });
}

/** Nothing goes wrong in silence; a studio that does not answer is named above every place. */
function failed(error) {
  if (error?.name === 'AbortError' || error?.status === 0) return;
  problem(error?.what ? error : { what: t('frame.fault', { error: String(error) }), fix: t('frame.fault.fix'), fault: true });
}

addEventListener('error', (event) => event.error && failed(event.error));
addEventListener('unhandledrejection', (event) => failed(event.reason));

theme();
await loadWords();
render(html`<${Studio} />`, document.getElementById('studio'));
