// The sound of a clip: played from its beginning or from the cursor.

import { fileUrl } from '../../parts/api.js';
import { element, pause, play } from '../../parts/player.js';

/** The address of a clip's sound, cut exactly. */
export const soundOf = (project, { recording, start, end }) => fileUrl('transcript.sound', { project, recording, start, end });

/** Which second of the recording is heard, while this clip plays; else null. */
export function heardSecond(project, clip) {
  const isThis = !element.paused && element.src.endsWith(soundOf(project, clip));
  return isThis ? clip.start + element.currentTime : null;
}

export const playFrom = (project, clip, at) => play(soundOf(project, clip), Math.max(0, (at ?? clip.start) - clip.start));

/** Play a clip from the cursor, or stop it. */
export function togglePlay(editor, fromBeginning = false) {
  const { clip, project, cursor } = editor;
  if (!clip) return;
  if (heardSecond(project, clip) != null && !fromBeginning) pause();
  else playFrom(project, clip, fromBeginning ? null : cursor);
}
