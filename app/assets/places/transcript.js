// Transcript: every clip with its sound and its text, corrected by hand, frozen as datasets.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { style } from '../parts/style.js';
import { NoProject } from '../parts/where.js';
import { t } from '../parts/words.js';
import { Clip, Homeless } from './transcript/clip.js';
import { useDetail } from './transcript/detail.js';
import { editorOf, useEditor } from './transcript/editor.js';
import { Keys, useKeys } from './transcript/keys.js';
import { List } from './transcript/list.js';
import { BringText, Datasets, Freeze, Lengths, useSummary } from './transcript/side.js';
import { Filters, Finding, Status, Turns } from './transcript/top.js';

const BUILDS = ['build', 'make'];

export default function Place({ project, now, go }) {
  useEffect(() => style('transcript'), []);
  if (!project) return html`<div><h1>${t('transcript.title')}</h1><${NoProject} /></div>`;
  return html`<${Transcript} key=${project.id} editor=${editorOf(project.id)} jobs=${now.jobs} go=${go} />`;
}

function Transcript({ editor, jobs, go }) {
  const loaded = useEditor(editor, () => editor.loaded);
  const error = useEditor(editor, () => editor.error);
  const some = useEditor(editor, () => editor.order.length > 0);
  useEffect(() => editor.follow(), [editor]);
  const ended = useReloads(editor, jobs);
  if (!loaded) return html`<div aria-busy="true"><h1>${t('transcript.title')}</h1>${error && html`<p role="alert"><b>${error.what}</b> ${error.fix}</p>`}</div>`;
  if (!some) return html`<${Empty} editor=${editor} jobs=${jobs} go=${go} />`;
  return html`<${Full} editor=${editor} jobs=${jobs} go=${go} ended=${ended} />`;
}

function Empty({ editor, jobs, go }) {
  return html`<div><h1>${t('transcript.title')}</h1>
    <div class="card empty"><p>${t('transcript.none')}</p><button class="primary" onClick=${() => go('recordings')}>${t('transcript.torecordings')}</button><${Turns} editor=${editor} /></div>
    <${BringText} editor=${editor} jobs=${jobs} />
  </div>`;
}

function Full({ editor, jobs, go, ended }) {
  const [keys, setKeys] = useState(false);
  const box = useRef();
  const clip = useEditor(editor, () => editor.clip);
  const { detail, error } = useDetail(editor, clip);
  const latest = useRef();
  latest.current = detail;
  const [summary, look] = useSummary(editor, ended);
  const search = () => {
    editor.callOff();
    box.current.focus();
  };
  useKeys(editor, () => latest.current, { search, showKeys: () => setKeys(true) });
  useEffect(() => {
    if (editor.selected == null || !editor.clips.has(editor.selected)) editor.choose({ group: editor.counts.groups.look ? 'look' : 'all' });
  }, [editor]);
  return html`<div class="transcript">
    <div class="row"><h1>${t('transcript.title')}</h1><span class="grow"></span><${Status} editor=${editor} /><${Turns} editor=${editor} onKeys=${() => setKeys(true)} /></div>
    <${Filters} editor=${editor} />
    <${Finding} editor=${editor} box=${box} />
    <${Homeless} editor=${editor} />
    <${Clip} editor=${editor} detail=${detail} error=${error} />
    <section class="card lines" aria-label=${t('transcript.list')}><${List} editor=${editor} />
      <div class="row foot"><span class="row soft small-text grow">
        <span><kbd>Enter</kbd> ${t('transcript.key.save')}</span><span><kbd>J</kbd> <kbd>K</kbd> ${t('transcript.hint.move')}</span></span>
        <${Freeze} editor=${editor} summary=${summary} look=${look} /></div></section>
    <div class="even"><${Lengths} editor=${editor} summary=${summary} />
      <${Datasets} editor=${editor} summary=${summary} look=${look} jobs=${jobs} go=${go} />
      <${BringText} editor=${editor} jobs=${jobs} /></div>
    ${keys && html`<${Keys} onClose=${() => setKeys(false)} />`}
  </div>`;
}

/** Marks come of checks, which are no edits: when a work has ended everything is read again. */
function useReloads(editor, jobs) {
  const ended = jobs.filter((job) => BUILDS.includes(job.kind) && !['running', 'waiting', 'stopping'].includes(job.state)).map((job) => job.id).join();
  const exported = jobs.filter((job) => job.kind === 'export').map((job) => `${job.id}${job.state}`).join();
  const before = useRef(ended);
  useEffect(() => {
    if (before.current !== ended) editor.reload();
    before.current = ended;
  }, [ended]);
  return ended + exported;
}
