// Below the list: how long the clips are, what they make together, the datasets, texts in and out.

import { html, useCallback, useEffect, useMemo, useState } from '../../vendor/preact.js';
import { call, fileUrl, upload } from '../../parts/api.js';
import { Work, atWork } from '../../parts/jobs.js';
import { Act, doing, note, problem } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { number, size, t, when } from '../../parts/words.js';
import { useEditor } from './editor.js';

const AFTER_MS = 1500;
const WIDE = 330;
const TEXTS = '.txt,.srt,.vtt,.csv,.tsv,.json,.jsonl,.lab,.TextGrid';

/** What is counted by the studio: again a while after the last change. */
export function useSummary(editor, ended) {
  const revision = useEditor(editor, () => editor.revision);
  const [summary, setSummary] = useState(null);
  const look = useCallback(() => call('transcript.summary', { project: editor.project }).then(setSummary, problem), [editor]);
  useEffect(() => {
    if (revision < 0) return undefined;
    const timer = setTimeout(look, summary ? AFTER_MS : 300);
    return () => clearTimeout(timer);
  }, [revision, ended]);
  return [summary, look];
}

export function Lengths({ editor, summary }) {
  const order = useEditor(editor, () => editor.order);
  const counts = useEditor(editor, () => editor.counts);
  const lengths = useMemo(() => order.map((id) => editor.clips.get(id)).filter((clip) => clip.included).map((clip) => clip.end - clip.start), [order, counts]);
  const seconds = lengths.reduce((sum, each) => sum + each, 0);
  return html`<section class="card stack" aria-label=${t('transcript.quality')}>
    <h2>${t('transcript.quality')}</h2>
    <div class="row"><span><span class="number">${number(seconds / 60, 1)}</span> ${t('transcript.minutes')}</span>
      <span><span class="number">${number(lengths.length)}</span> ${t('transcript.clips')}</span>
      ${summary && html`<span><span class="number">${number(summary.words)}</span> ${t('transcript.words')}</span>`}</div>
    ${summary && lengths.length > 0 && html`<p class="why">${translated(summary.advice)}</p>`}
    <${Marks} counts=${counts} total=${order.length} />
    <h3>${t('transcript.lengths')}</h3>
    <${Histogram} lengths=${lengths} />
    ${summary?.rare.length > 0 && html`<p class="small-text"><span class="soft">${t('transcript.rare')}</span> ${summary.rare.join(' ')}</p>`}
  </section>`;
}

/** How the clips stand, as parts of a whole. */
function Marks({ counts, total }) {
  const { look, out, unchecked } = counts.groups;
  const parts = [['good', Math.max(0, total - look - out - unchecked)], ['look', look], ['out', out], ['unchecked', unchecked]].filter(([, count]) => count > 0);
  if (!total) return null;
  const said = parts.map(([name, count]) => `${t(`transcript.state.${name}`)} ${number(count)}`);
  return html`<div class="stacked" role="img" aria-label=${said.join(', ')}>${parts.map(([name, count]) => html`<i key=${name} class=${`part ${name}`} style=${{ width: `${(count / total) * 100}%` }}></i>`)}</div>
    <div class="key">${parts.map(([name], index) => html`<span><i class=${`part ${name}`}></i>${said[index]}</span>`)}</div>`;
}

function Histogram({ lengths }) {
  if (!lengths.length) return null;
  const last = Math.min(30, Math.ceil(lengths.reduce((most, each) => Math.max(most, each), 1)));
  const bins = Array(last).fill(0);
  for (const each of lengths) bins[Math.min(last - 1, Math.floor(each))] += 1;
  const most = Math.max(...bins);
  const wide = WIDE / last;
  const usual = bins.indexOf(most);
  return html`<svg class="histogram" viewBox=${`0 0 ${WIDE} 120`} role="img" aria-label=${t('transcript.lengths.said', { n: number(most), from: usual, to: usual + 1, last })}>
    ${bins.map((count, bin) => html`<rect class="bar" x=${bin * wide + 1} width=${Math.max(1, wide - 2)} y=${100 - (count / most) * 94} height=${(count / most) * 94} rx="2"><title>${t('transcript.lengths.bin', { from: bin, to: bin + 1, n: number(count) })}</title></rect>`)}
    ${[0, Math.round(last / 2), last].map((second) => html`<text x=${Math.min(second * wide, WIDE - 24)} y="116">${t('unit.seconds', { n: second })}</text>`)}
  </svg>`;
}

export function Datasets({ editor, summary, look, jobs, go }) {
  const [chosen, setChosen] = useState({ format: 'ljspeech', audio: 'wav' });
  if (!summary) return html`<section class="card" aria-busy="true"></section>`;
  const { versions } = summary;
  const set = (name) => (event) => setChosen({ ...chosen, [name]: event.target.value });
  const pack = async (version) => {
    const { job } = await call('transcript.export', { project: editor.project, version, ...chosen });
    if (!job) await look();
  };
  return html`<section class="card stack" aria-label=${t('transcript.datasets')}>
    <h2>${t('transcript.datasets')}</h2>
    ${versions.length === 0 && html`<p class="soft">${t('transcript.datasets.none')}</p>`}
    <ul class="list">${versions.map((each) => html`<li key=${each.number}>
      <span class="grow"><b>${t('transcript.dataset', { n: each.number })}</b> <span class="soft small-text">${t('transcript.dataset.facts', { clips: number(each.train + each.check), minutes: number(each.minutes, 1), check: number(each.check) })} · ${when(each.at)}</span>
        ${each.changed && html`<span class="why block">${t('transcript.dataset.changed', { what: translated(each.changed) })}</span>`}</span>
      <${Act} class="small" run=${() => pack(each.number)}>${t('transcript.export', { n: each.number })}<//></li>`)}</ul>
    ${versions.length > 0 && html`<p class="why">${summary.since ? t('transcript.since', { what: translated(summary.since) }) : t('transcript.nothingsince')}</p>
      <div class="row bottom"><label>${t('transcript.format')}<select value=${chosen.format} onChange=${set('format')}>${summary.formats.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <label>${t('transcript.audio')}<select value=${chosen.audio} onChange=${set('audio')}>${summary.audio.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <button class="small" onClick=${() => go('train')}>${t('transcript.totrain')}</button></div>`}
    ${atWork(jobs, 'export').map((job) => html`<${Work} key=${job.id} job=${job} />`)}
    ${summary.ready.length > 0 && html`<ul class="list">${summary.ready.map((each) => html`<li key=${each.id}><span class="grow">${t('transcript.packed', { n: each.version, format: each.format, audio: each.audio })} <span class="soft small-text">${size(each.bytes)}</span></span>
      <a class="button" href=${fileUrl('transcript.download', { project: editor.project, id: each.id })} download>${t('transcript.download')}</a></li>`)}</ul>`}
  </section>`;
}

export function Freeze({ editor, summary, look }) {
  const next = (summary?.versions[0]?.number ?? 0) + 1;
  const freeze = async () => {
    const { number: frozen, new: isNew } = await editor.after(() => call('transcript.freeze', { project: editor.project }));
    note(t(isNew ? 'transcript.frozen' : 'transcript.frozen.same', { n: frozen }));
    await look();
  };
  return html`<${Act} class="primary" disabled=${!summary} run=${freeze}>${t('transcript.freeze', { n: next })}<//>`;
}

export function BringText({ editor, jobs }) {
  const bring = async (event) => {
    const [file] = event.target.files;
    event.target.value = '';
    if (!file) return;
    const sent = await upload(file);
    await call('transcript.bring_text', { project: editor.project, upload: sent });
    note(t('transcript.bring.begun'));
  };
  return html`<section class="card stack" aria-label=${t('transcript.bring')}>
    <h2>${t('transcript.bring')}</h2>
    <p class="why">${t('transcript.bring.why')}</p>
    <div><label class="button file">${t('transcript.bring.choose')}<input type="file" class="hidden" accept=${TEXTS} onChange=${(event) => doing(() => bring(event))} /></label></div>
    ${atWork(jobs, 'build').map((job) => html`<${Work} key=${job.id} job=${job} />`)}
  </section>`;
}
