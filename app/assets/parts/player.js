// One player for the whole page: what starts to play ends what played before.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { problem } from './notes.js';
import { t } from './words.js';

const audio = document.createElement('audio');
audio.id = 'player';
audio.preload = 'auto';
document.body.append(audio);

const heard = new Set();
let playing = '';
const tell = () => heard.forEach((each) => each());
for (const event of ['play', 'pause', 'ended', 'timeupdate']) audio.addEventListener(event, tell);
audio.addEventListener('ended', () => { playing = ''; tell(); });

/** Play a sound from its beginning, or from `at` seconds. */
export async function play(url, at = 0) {
  if (!audio.src.endsWith(url)) audio.src = url;
  playing = url;
  audio.currentTime = at;
  try {
    await audio.play();
  } catch (error) {
    if (error.name === 'AbortError') return; // another sound was asked for meanwhile
    playing = '';
    audio.removeAttribute('src'); // asked for anew the next time
    tell();
    problem({ what: t('player.cannot'), fix: t('player.cannot.fix') });
  }
}

export function pause() {
  audio.pause();
  playing = '';
  tell();
}

export const toggle = (url) => (playing === url && !audio.paused ? pause() : play(url));

/** What is playing and where: {url, at, seconds}; a component that uses it is drawn as it goes on. */
export function usePlaying() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const again = () => redraw((count) => count + 1);
    heard.add(again);
    return () => heard.delete(again);
  }, []);
  return { url: audio.paused ? '' : playing, at: audio.currentTime, seconds: audio.duration || 0 };
}

/** Whether this sound is heard now; a component that uses it is drawn only when that changes. */
export function useIsPlaying(url) {
  const [, redraw] = useState(0);
  const isOn = () => playing === url && !audio.paused;
  const shown = useRef(false);
  shown.current = isOn();
  useEffect(() => {
    const look = () => { if (isOn() !== shown.current) redraw((count) => count + 1); };
    look();
    heard.add(look);
    return () => heard.delete(look);
  }, [url]);
  return shown.current;
}

/** The element itself, for what needs more than playing a sound. */
export const element = audio;

/** A round button that plays a sound, or stops it. */
export function Play({ url, label }) {
  const on = useIsPlaying(url);
  return html`<button type="button" class="play" aria-pressed=${on} aria-label=${`${t(on ? 'player.stop' : 'player.play')}: ${label}`} onClick=${() => toggle(url)}>
    ${on ? html`<svg viewBox="0 0 10 10" aria-hidden="true"><path d="M1 1h3v8H1zM6 1h3v8H6z" /></svg>` : html`<svg viewBox="0 0 10 10" aria-hidden="true"><path d="M2 .5 9.5 5 2 9.5z" /></svg>`}
  </button>`;
}
