// What a person does with clips, for keys and buttons alike.

import { note, problem } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { t } from '../../parts/words.js';
import { heardSecond } from './sound.js';
import { wordAt, wordInText } from './detail.js';

/** Do something and say what hindered it; give whether it was done. */
async function tried(work) {
  try {
    return (await work()) ?? true;
  } catch (error) {
    problem(error);
    return false;
  }
}

export const trim = (editor, side, at) =>
  tried(() => editor.one('trim', editor.selected, { start: side === 'start' ? at : null, end: side === 'end' ? at : null }));

/** Where the cursor stands: the word that a second clip would begin with. */
export function cursorWord(editor, detail) {
  const { clip, project, cursor, caret } = editor;
  const words = detail?.words ?? [];
  if (!clip || !words.length) return -1;
  const second = heardSecond(project, clip) ?? cursor;
  if (second != null) return wordAt(words, second);
  return caret == null ? -1 : wordInText(words, editor.drafts.textOf(clip.id), caret);
}

export function split(editor, detail) {
  const { clip, cursor, caret } = editor;
  const word = cursorWord(editor, detail);
  if (word > 0) return tried(() => editor.one('split', clip.id, { word }));
  const text = editor.drafts.textOf(clip.id);
  if (detail && !detail.words.length && cursor != null && caret) {
    const parts = { at: cursor, left: text.slice(0, caret).trim(), right: text.slice(caret).trim() };
    return tried(() => editor.one('split_at', clip.id, parts));
  }
  note(t(detail?.words.length ? 'transcript.split.where' : 'transcript.split.nowords'));
  return false;
}

/** Split a clip that is too long at the word nearest to its middle. */
export function halve(editor, detail) {
  const { clip } = editor;
  const middle = (clip.start + clip.end) / 2;
  const word = detail.words.reduce((best, [, from], index) => (Math.abs(from - middle) < Math.abs(detail.words[best][1] - middle) ? index : best), 0);
  return tried(() => editor.one('split', clip.id, { word: Math.max(1, word) }));
}

export function merge(editor) {
  const { clip } = editor;
  const next = editor.neighbour(clip.id);
  if (!next) {
    note(t('transcript.merge.none'));
    return false;
  }
  return tried(() => editor.act('merge', () => ({ pair: editor.seen([clip.id, next.id]) })));
}

export const leaveOut = (editor, ids, reason = t('transcript.out.byhand')) =>
  tried(() => editor.act('leave_out', () => ({ clips: editor.seen(ids), reason })));

export const takeIn = (editor, ids) => tried(() => editor.act('take_in', () => ({ clips: editor.seen(ids) })));

export const takeHeard = (editor, ids) => tried(() => editor.act('take_heard', () => ({ clips: editor.seen(ids) })));

export const normalise = (editor, ids) => tried(() => editor.act('normalise', () => ({ clips: editor.seen(ids), do: true })));

export const outOrIn = (editor) => (editor.clip.included ? leaveOut : takeIn)(editor, [editor.selected]);

async function turn(editor, name) {
  const before = new Map([...editor.clips].map(([id, { revision }]) => [id, revision]));
  const done = await tried(() => editor.act(name, () => ({})));
  if (!done) return;
  if (!done.label) note(t(`transcript.noturn.${name}`));
  else {
    const changed = editor.order.find((id) => before.get(id) !== editor.clips.get(id).revision);
    if (changed != null && !editor.shown.includes(changed)) editor.choose({ group: 'all', check: '', search: '', recording: '' });
    if (changed != null) editor.select(changed, false, false);
    note(t(`transcript.turned.${name}`, { what: translated(done.label) }));
  }
}

/** Say what was done, and offer to undo it for as long as it is the last change. */
export function undoable(editor, text) {
  const { revision } = editor;
  const takeAway = note(text, { label: t('transcript.undo'), run: () => undo(editor) });
  const stop = editor.subscribe(() => {
    if (editor.revision === revision && !editor.drafts.size) return;
    takeAway();
    stop();
  });
}

export const undo = (editor) => turn(editor, 'undo');
export const redo = (editor) => turn(editor, 'redo');
