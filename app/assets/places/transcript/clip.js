// The clip that is worked on: its waveform with ends to drag, its words, why it is marked, what to do.

import { html, useCallback, useMemo, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Act } from '../../parts/notes.js';
import { usePlaying } from '../../parts/player.js';
import { Wave } from '../../parts/wave.js';
import { translated } from '../../parts/translated.js';
import { clock, number, t } from '../../parts/words.js';
import * as deeds from './deeds.js';
import { useEditor } from './editor.js';
import { reasonOf, standing } from './rows.js';
import { heardSecond, playFrom, soundOf, togglePlay } from './sound.js';

const OF_THE_TEXT = ['agreement', 'repeats', 'certainty', 'speed', 'script', 'unknown'];
const OF_THE_SIZE = ['length', 'characters', 'tokens'];
const LONG_SECONDS = 6;

export function Clip({ editor, detail, error }) {
  const clip = useEditor(editor, () => editor.clip);
  if (!clip) return null;
  return html`<section class="card clip-card" aria-label=${t('transcript.clip', { n: clip.id })}>
    ${detail ? html`<${Sound} editor=${editor} clip=${clip} detail=${detail} />` : html`<div class="wave-room">${error && html`<p role="alert"><b>${error.what}</b> ${error.fix}</p>`}</div>`}
    <${Tools} editor=${editor} clip=${clip} detail=${detail} />
    <${Conflict} key=${clip.id} editor=${editor} clip=${clip} />
    <${Why} editor=${editor} clip=${clip} detail=${detail} />
  </section>`;
}

function Sound({ editor, clip, detail }) {
  const cursor = useEditor(editor, () => editor.cursor);
  const caret = useEditor(editor, () => editor.caret);
  const { outline, words } = detail;
  const others = useMemo(
    () => editor.around(clip.recording, outline.start, outline.end).filter((each) => each.id !== clip.id),
    [clip, outline],
  );
  const playing = useCallback(() => heardSecond(editor.project, clip), [clip]);
  const point = (at, word) => {
    editor.point(at);
    if (playing() != null) playFrom(editor.project, clip, at);
    return word;
  };
  const labels = {
    picture: t('transcript.wave', { start: clock(clip.start, 1), seconds: number(clip.end - clip.start, 1) }),
    begin: t('transcript.begin'),
    end: t('transcript.end'),
    word: (text, at) => t('transcript.word', { text, at: clock(at, 2) }),
  };
  const chosen = cursor == null && caret == null ? -1 : deeds.cursorWord(editor, detail);
  return html`<${Wave} outline=${outline} start=${clip.start} end=${clip.end} others=${others} words=${words} cursor=${cursor}
    chosenWord=${chosen} playing=${playing} labels=${labels} onTrim=${(side, at) => deeds.trim(editor, side, at)}
    onCursor=${point} onOther=${(id) => editor.select(id)} />`;
}

function Tools({ editor, clip, detail }) {
  const on = usePlaying().url === soundOf(editor.project, clip);
  const tool = (name, key, run) => html`<${Act} class="small" run=${run}>${t(`transcript.do.${name}`)} <kbd aria-hidden="true">${key}</kbd><//>`;
  return html`<div class="row tools">
    <button type="button" class="small" aria-pressed=${on} onClick=${() => togglePlay(editor)}>${t(on ? 'player.stop' : 'player.play')} <kbd aria-hidden="true">${t('transcript.space')}</kbd></button>
    ${tool('split', 'S', () => deeds.split(editor, detail))}
    ${tool('merge', 'M', () => deeds.merge(editor))}
    ${clip.included ? tool('out', 'X', () => deeds.outOrIn(editor)) : tool('in', 'X', () => deeds.outOrIn(editor))}
    <span class="soft small-text grow end-text">${t('transcript.place', {
      recording: editor.recordings.get(clip.recording)?.name ?? '',
      start: clock(clip.start, 2),
      end: clock(clip.end, 2),
    })}</span>
  </div>`;
}

/** Both texts of a clip that was changed here and elsewhere, and three ways out. */
function Conflict({ editor, clip }) {
  const draft = useEditor(editor, () => (editor.drafts.get(clip.id)?.state === 'conflict' ? editor.drafts.get(clip.id) : null));
  const [third, setThird] = useState('');
  if (!draft) return null;
  const { theirs } = draft;
  return html`<div class="conflict stack" role="alert">
    <p><b>${t('transcript.conflict')}</b></p>
    <div class="even">
      <div class="stack"><span class="why">${t('transcript.conflict.mine')}</span><p>${draft.text}</p>
        <div><${Act} class="small" run=${() => editor.drafts.settle(clip.id, draft.text)}>${t('transcript.conflict.keep')}<//></div></div>
      <div class="stack"><span class="why">${t('transcript.conflict.theirs')}</span><p>${theirs.text}</p>
        <div><${Act} class="small" run=${() => editor.drafts.settle(clip.id, theirs.text)}>${t('transcript.conflict.take')}<//></div></div>
    </div>
    <div class="row bottom"><label class="grow">${t('transcript.conflict.third')}
      <input value=${third} onInput=${(event) => setThird(event.target.value)} /></label>
      <${Act} class="small" disabled=${!third.trim()} run=${() => editor.drafts.settle(clip.id, third.trim())}>${t('transcript.conflict.write')}<//></div>
  </div>`;
}

/** What was typed in clips that are gone: it stays to be copied until it is let go. */
export function Homeless({ editor }) {
  const ids = useEditor(editor, () => editor.drafts.homeless.map((draft) => draft.id).join());
  if (!ids) return null;
  return html`<section class="conflict stack" role="alert"><p><b>${t('transcript.gone')}</b></p>
    ${editor.drafts.homeless.map((draft) => html`<div class="row" key=${draft.id}><p class="grow">${draft.text}</p>
      <button class="small" onClick=${() => editor.drafts.drop(draft)}>${t('transcript.gone.letgo')}</button></div>`)}
  </section>`;
}

/** Why a clip is marked, in words, each with what can be done about it. */
function Why({ editor, clip, detail }) {
  const state = standing(clip);
  const against = detail?.revision === clip.revision ? detail.findings.filter((each) => each.weight > 0) : [];
  const found = against.map((each) => translated(each.sentence));
  const reasons = clip.included && found.length ? found : [reasonOf(clip)].filter(Boolean);
  const ways = remedies(editor, clip, detail, state);
  const other = detail?.heard && detail.heard.trim() !== clip.text.trim() ? detail.heard : '';
  if (clip.included && !reasons.length && !ways.length && !other) return null;
  return html`<div class="stack why-card">
    ${!clip.included && html`<p><b>${t('transcript.leftout')}</b> ${reasons[0] ?? ''}</p>`}
    ${clip.included && reasons.length > 0 && html`<ul class="reasons">${reasons.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
    ${other && html`<p class="small-text"><span class="soft">${t('transcript.heard')}</span> ${other}</p>`}
    ${ways.length > 0 && html`<div class="row">${ways.map(([name, run]) => html`<${Act} key=${name} class="small" run=${run}>${t(`transcript.remedy.${name}`)}<//>`)}</div>`}
  </div>`;
}

function remedies(editor, clip, detail, state) {
  const ids = [clip.id];
  const has = (checks) => clip.against.some((each) => checks.includes(each));
  const ways = [];
  const other = detail?.heard && detail.heard.trim() !== clip.text.trim();
  if (other && (has(OF_THE_TEXT) || state === 'unchecked')) ways.push(['heard', () => deeds.takeHeard(editor, ids)]);
  if (/\d/.test(clip.text)) ways.push(['numbers', () => deeds.normalise(editor, ids)]);
  if (has(OF_THE_SIZE) && clip.end - clip.start > LONG_SECONDS && detail?.words.length > 1) ways.push(['halve', () => deeds.halve(editor, detail)]);
  if (has(OF_THE_SIZE) && clip.end - clip.start <= LONG_SECONDS && editor.neighbour(clip.id)) ways.push(['merge', () => deeds.merge(editor)]);
  if (state === 'look') ways.push(['fine', () => deeds.takeIn(editor, ids)], ['out', () => deeds.leaveOut(editor, ids, clip.reason)]);
  if (state === 'out') ways.push(['in', () => deeds.takeIn(editor, ids)]);
  if (state === 'unchecked') ways.push(['check', () => call('transcript.check', { project: editor.project })]);
  return ways;
}
