// Speech that is heard while it is spoken, and its sentences.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { Play } from '../../parts/player.js';
import { Speech } from '../../parts/sound.js';
import { pieces } from '../../parts/sound_stream.js';
import { Act, problem } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { clock, t } from '../../parts/words.js';

/** Speak, hear it, stop it: {now, begin, stop}; `now` is null while nothing is spoken or heard. */
export function useSpeaking() {
  const [, redraw] = useState(0);
  const turn = useRef(null);
  const again = () => redraw((count) => count + 1);
  const stop = () => turn.current?.speech.stop();
  useEffect(() => stop, []);

  /** Give the id of what is kept once all was said; undefined where it was stopped. */
  const begin = async (name, args) => {
    stop();
    const mine = { control: new AbortController(), lines: [], speech: null };
    mine.speech = new Speech(() => {
      if (turn.current !== mine) return;
      if (mine.speech.over) {
        mine.control.abort();
        turn.current = null;
      }
      again();
    });
    turn.current = mine;
    again();
    let kept;
    try {
      for await (const piece of pieces(name, args, mine.control.signal)) {
        if (piece.kind === 'sentence') mine.lines = [...mine.lines, piece];
        else if (piece.kind === 'sound') mine.speech.add(piece.samples, piece.rate, mine.lines.length - 1);
        else if (piece.kind === 'kept') kept = piece.id;
        if (turn.current === mine) again();
      }
      mine.speech.end();
    } catch (error) {
      const stopped = mine.control.signal.aborted;
      mine.speech.stop();
      if (!stopped) problem(error);
    }
    return kept;
  };
  return { now: turn.current, begin, stop };
}

/** How it goes: the sentence, the time, how loud it is. */
export function Going({ now }) {
  const { speech } = now;
  const waits = speech.line < 0;
  return html`<div class="row going">
    <meter min="0" max="0.3" value=${speech.level} aria-label=${t('voices.level')}></meter>
    <span class="soft">${waits ? t(now.lines.length ? 'voices.starts' : 'voices.waits') : t('voices.going', { n: speech.line + 1, time: clock(speech.at) })}</span>
  </div>`;
}

/** Sentences: as written, how each is read out, what is wrong with it. `sound` gives its address. */
export function Lines({ lines, on = -1, sound = null, sayAgain = null, busy = false }) {
  return html`<ol class="list lines">${lines.map((line, at) => html`<li key=${at} class=${at === on ? 'on' : ''}>
    ${sound && html`<${Play} url=${sound(at)} label=${t('voices.sentence', { n: at + 1 })} />`}
    <div class="grow"><p>${line.text}</p>
      <${ReadAs} line=${line} />
      ${line.faults.length > 0 && html`<p><span class="mark look">${t('voices.wrong')}</span> <span class="small-text">${line.faults.map(translated).join(' ')}</span></p>`}
    </div>
    ${sayAgain && html`<${Act} class="small" disabled=${busy} aria-label=${t('voices.again.of', { n: at + 1 })} run=${() => sayAgain(at)}>${t('voices.again')}<//>`}
  </li>`)}</ol>`;
}

/** What is said where it is not what is written; words that are new stand out. */
function ReadAs({ line }) {
  const bare = (text) => text.replace(/[\s.。।]+$/u, '').replace(/\s+/gu, ' ').trim();
  if (bare(line.spoken) === bare(line.text)) return null;
  const written = new Set(line.text.split(/\s+/u));
  const words = line.spoken.split(/\s+/u).map((word) => (written.has(word) ? `${word} ` : html`<b>${word}</b> `));
  return html`<p class="why">${t('voices.readas')} ${words}</p>`;
}
