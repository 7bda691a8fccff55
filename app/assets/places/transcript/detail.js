// What is known of the clip that is looked at: its words with times, its outline, what was found.

import { useEffect, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';

const KEPT = 40;
const known = new Map();

const keyOf = (project, clip) => `${project} ${clip.id} ${clip.revision}`;

async function detailOf(project, clip) {
  const key = keyOf(project, clip);
  if (!known.has(key)) {
    known.set(key, await call('transcript.clip', { project, clip: clip.id }));
    if (known.size > KEPT) known.delete(known.keys().next().value);
  }
  return known.get(key);
}

/** The details of a clip; until new ones are there, those from before its last change. */
export function useDetail(editor, clip) {
  const [seen, setSeen] = useState(null);
  useEffect(() => {
    if (!clip) return undefined;
    let wanted = true;
    const show = (detail) => wanted && setSeen({ detail });
    detailOf(editor.project, clip).then(show, (error) => wanted && setSeen({ error, detail: null, id: clip.id }));
    return () => {
      wanted = false;
    };
  }, [editor, clip?.id, clip?.revision]);
  if (!clip) return {};
  if (seen?.detail?.id === clip.id) return { detail: seen.detail };
  return seen?.error && seen.id === clip.id ? { error: seen.error } : { detail: known.get(keyOf(editor.project, clip)) };
}

/** The word, by its number from 0, that is spoken at a second, or the next one. */
export const wordAt = (words, second) => words.findIndex(([, , end]) => end > second);

/** The word that a place in the text is in, or the next one. */
export function wordInText(words, text, place) {
  let from = 0;
  return words.findIndex(([word]) => {
    const found = text.indexOf(word, from);
    if (found >= 0) from = found + word.length;
    return from > place;
  });
}
