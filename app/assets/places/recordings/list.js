// The recordings there are: how each sounds, how long and how good it is, its language.

import { html, useEffect, useMemo, useState } from '../../vendor/preact.js';
import { call, fileUrl } from '../../parts/api.js';
import { Bin, trashed } from '../../parts/named.js';
import { Act, doing } from '../../parts/notes.js';
import { Play, play, useIsPlaying, usePlaying } from '../../parts/player.js';
import { translated } from '../../parts/translated.js';
import { clock, t } from '../../parts/words.js';
import { LanguageSelect, languageName } from './languages.js';

const outlines = new Map(); // by recording: each is asked for once

async function outlineOf(project, recording) {
  if (!outlines.has(recording)) {
    const answer = await fetch(fileUrl('recordings.wave', { project, recording }));
    if (!answer.ok) return '';
    outlines.set(recording, path(new Int8Array(await answer.arrayBuffer())));
  }
  return outlines.get(recording);
}

/** Lows and highs as one outline, a unit for each, from -127 to 127. */
function path(pairs) {
  const [over, under] = [[], []];
  for (let at = 0; at < pairs.length / 2; at += 1) {
    over.push(`${at} ${-pairs[2 * at + 1] - 1}`);
    under.unshift(`${at} ${-pairs[2 * at] + 1}`);
  }
  return over.length ? `M${over.join('L')}L${under.join('L')}Z` : '';
}

function Wave({ project, recording, url }) {
  const [drawn, setDrawn] = useState(outlines.get(recording.id) ?? '');
  const isOn = useIsPlaying(url);
  useEffect(() => {
    if (recording.wave && !drawn) outlineOf(project.id, recording.id).then(setDrawn, () => {}); // a picture only
  }, [recording.wave]);
  const from = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    play(url, ((event.clientX - box.left) / box.width) * recording.seconds);
  };
  // A picture, and a way to jump for those who point: the button beside it plays for everybody.
  return html`<div class="wave" aria-hidden="true" onClick=${from}>
    <svg viewBox="0 -128 240 256" preserveAspectRatio="none"><path d=${drawn} /></svg>
    ${isOn && html`<${Head} seconds=${recording.seconds} />`}
  </div>`;
}

/** Where it is heard. */
function Head({ seconds }) {
  const { at } = usePlaying();
  return html`<i style=${{ left: `${(100 * at) / seconds}%` }}></i>`;
}

const MARKS = { good: 'good', look: 'look', bad: 'out' };

/** Into the trash or back. */
async function moved(name, project, recording, again) {
  await call(name, { project: project.id, recording: recording.id });
  again();
}

function Row({ project, recording, codes, again }) {
  const [changing, setChanging] = useState(false);
  const url = fileUrl('recordings.sound', { project: project.id, recording: recording.id });
  const speaks = (language) => doing(async () => {
    await call('recordings.language', { project: project.id, recording: recording.id, language });
    setChanging(false);
    again();
  });
  const away = async () => {
    await moved('recordings.trash', project, recording, again);
    trashed(recording, () => moved('recordings.restore', project, recording, again));
  };
  return html`<li class="recording">
    <${Play} url=${url} label=${recording.name} />
    <div class="named"><b>${recording.name}</b><p class="why">${recording.said.map(translated).join(' ')}</p></div>
    <${Wave} project=${project} recording=${recording} url=${url} />
    <span class="length">${clock(recording.seconds)}</span>
    <span class=${`mark ${MARKS[recording.verdict]}`}>${t(`recordings.verdict.${recording.verdict}`)}</span>
    ${changing
      ? html`<${LanguageSelect} codes=${codes} value=${recording.language} label=${t('recordings.language.of', { name: recording.name })} onChange=${speaks} focus=${true} />`
      : html`<button class="bare small" aria-label=${t('recordings.language.change', { name: recording.name, language: languageName(recording.language) })} onClick=${() => setChanging(true)}>${languageName(recording.language)}</button>`}
    <${Act} class="bare small" aria-label=${t('recordings.trash', { name: recording.name })} title=${t('named.trash')} run=${away}>✕<//>
  </li>`;
}

export function List({ project, recordings, away, codes, again }) {
  const restore = (recording) => moved('recordings.restore', project, recording, again);
  const total = useMemo(() => recordings.reduce((sum, each) => sum + each.seconds, 0), [recordings]);
  return html`<section class="card stack" aria-label=${t('recordings.list')}>
    <div class="row"><h2 class="grow">${t('recordings.list')}</h2>
      <span class="soft">${t(`recordings.total.${recordings.length === 1 ? 'one' : 'many'}`, { n: recordings.length, time: clock(total) })}</span></div>
    <ul class="list recordings">${recordings.map((each) => html`<${Row} key=${each.id} project=${project} recording=${each} codes=${codes} again=${again} />`)}</ul>
    <${Bin} items=${away} restore=${restore} />
  </section>`;
}
