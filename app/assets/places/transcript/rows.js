// Clips as the page holds them: read from the studio's short rows, sorted, filtered, counted.

import { translated } from '../../parts/translated.js';

const INCLUDED = 1;
const GONE = 2;
const EDITED = 4;
const DECIDED = 8;
export const MARKS = ['good', 'look', 'leave out', 'not checked'];

/** A clip of a row that the studio sent. */
export function clipOf([id, revision, recording, start, end, text, flags, mark, reason, against]) {
  return {
    id,
    revision,
    recording,
    start,
    end,
    text,
    included: (flags & INCLUDED) > 0,
    gone: (flags & GONE) > 0,
    edited: (flags & EDITED) > 0,
    decided: (flags & DECIDED) > 0,
    mark: MARKS[mark],
    reason,
    against: against ? against.split(' ') : [],
  };
}

/** Whether a clip waits for somebody to look at it: doubtful, and nobody has decided. */
export const toLookAt = (clip) => clip.included && clip.mark === 'look' && !clip.decided;

/** Why a clip is marked or left out; what a person gave as the reason stays as it is. */
export const reasonOf = (clip) => (clip.decided && !clip.included ? clip.reason : translated(clip.reason));

/** Where a clip stands, in one word. */
export function standing(clip) {
  if (!clip.included) return 'out';
  if (toLookAt(clip)) return 'look';
  if (clip.mark === 'not checked') return 'unchecked';
  return clip.decided && clip.mark !== 'good' ? 'decided' : 'good';
}

const TESTS = {
  all: () => true,
  look: toLookAt,
  edited: (clip) => clip.edited,
  out: (clip) => !clip.included,
  unchecked: (clip) => clip.mark === 'not checked',
};
export const GROUPS = Object.keys(TESTS);

/** Whether a clip belongs to what is chosen: {group, check, search, recording}. */
export function belongs(clip, { group, check, search, recording }) {
  if (check ? !clip.against.includes(check) : !TESTS[group](clip)) return false;
  if (recording && clip.recording !== recording) return false;
  return !search || clip.text.toLowerCase().includes(search);
}

/** How many clips each group and each check has. */
export function counted(clips) {
  const groups = Object.fromEntries(GROUPS.map((group) => [group, 0]));
  const checks = {};
  for (const clip of clips) {
    for (const group of GROUPS) groups[group] += TESTS[group](clip) ? 1 : 0;
    for (const check of clip.against) checks[check] = (checks[check] ?? 0) + 1;
  }
  return { groups, checks };
}

/** Sort clips as they are spoken; `places` gives the order of recordings. */
export const inOrder = (clips, places) =>
  clips.sort((a, b) => places.get(a.recording) - places.get(b.recording) || a.start - b.start || a.id - b.id);
