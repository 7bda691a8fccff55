// A waveform to look at, to listen at and to cut: a canvas, two ends that can be moved, the words.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { element } from './player.js';
import { clock } from './words.js';

const HEIGHT = 96;
const STEP = 0.01;
const FAR = 0.1;
const SHORTEST = 0.05;
const WORD_PX = 62;
const MOST_LANES = 4;
const PLAYS = ['playing', 'pause', 'ended', 'seeked'];

const share = (at, outline) => (at - outline.start) / (outline.end - outline.start);
const percent = (at, outline) => `${(share(at, outline) * 100).toFixed(3)}%`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/**
 * `outline` is {start, end, points}; `start`, `end` are the ends of what is chosen in it; `others` are
 * its neighbours, [{id, start, end, name}]; `words` [[text, start, end]]; `cursor` the second to play from.
 *
 * `playing()` gives the second that is heard, or null. `labels` are {begin, end, picture, word(text, at)}.
 */
export function Wave({ outline, start, end, others, words, cursor, chosenWord, playing, labels, onTrim, onCursor, onOther }) {
  const box = useRef();
  const canvas = useRef();
  const width = useWidth(box);
  const [dragged, setDragged] = useState(null);
  const ends = dragged ?? { start, end };

  const scheme = useScheme();

  useEffect(() => setDragged(null), [start, end, outline]);
  useEffect(() => draw(canvas.current, width, outline, ends, others), [width, outline, ends.start, ends.end, others, scheme]);
  usePlayhead(box, outline, words, playing);

  const second = (event) => {
    const seen = box.current.getBoundingClientRect();
    return clamp(outline.start + ((event.clientX - seen.left) / seen.width) * (outline.end - outline.start), outline.start, outline.end);
  };
  const press = (event) => {
    const at = second(event);
    const other = at < start || at > end ? others.find((each) => at >= each.start && at <= each.end) : null;
    if (other) onOther(other.id);
    else onCursor(clamp(at, start, end));
  };
  const moved = (side, at) => {
    const now = side === 'start' ? { ...ends, start: clamp(at, 0, ends.end - SHORTEST) } : { ...ends, end: Math.max(at, ends.start + SHORTEST) };
    setDragged(now);
    return now;
  };
  return html`<div class="wave">
    <div class="picture" ref=${box} onPointerDown=${press}>
      <canvas ref=${canvas} role="img" aria-label=${labels.picture}></canvas>
      <i class="playhead" hidden></i>
      ${cursor != null && html`<i class="cursor" style=${{ left: percent(cursor, outline) }}></i>`}
      ${['start', 'end'].map((side) => html`<${End} key=${side} side=${side} at=${ends[side]} outline=${outline}
        label=${side === 'start' ? labels.begin : labels.end} second=${second} moved=${moved} onTrim=${onTrim} />`)}
    </div>
    <${Words} words=${words} outline=${outline} width=${width} chosen=${chosenWord} labels=${labels} onCursor=${onCursor} />
  </div>`;
}

/** One end: dragged by pointer, or moved by arrow keys in hundredths of a second (Shift: tenths). */
function End({ side, at, outline, label, second, moved, onTrim }) {
  const held = useRef(null);
  const timer = useRef(0);
  const down = (event) => {
    event.stopPropagation();
    event.preventDefault();
    event.target.focus();
    event.target.setPointerCapture(event.pointerId);
    held.current = null;
  };
  const move = (event) => {
    if (event.target.hasPointerCapture(event.pointerId)) held.current = moved(side, second(event));
  };
  const up = () => {
    if (held.current) onTrim(side, held.current[side]);
    held.current = null;
  };
  const key = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const ends = moved(side, at + by * (event.shiftKey ? FAR : STEP));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onTrim(side, ends[side]), 400); // one edit for a row of presses
  };
  return html`<span class=${`end ${side}`} role="slider" tabindex="0" aria-label=${label} aria-orientation="horizontal"
    aria-valuemin=${outline.start.toFixed(2)} aria-valuemax=${outline.end.toFixed(2)} aria-valuenow=${at.toFixed(2)} aria-valuetext=${clock(at, 2)}
    style=${{ left: percent(clamp(at, outline.start, outline.end), outline) }}
    onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onKeyDown=${key}></span>`;
}

/** The words in their places, in as many lines as they need to be read. */
function Words({ words, outline, width, chosen, labels, onCursor }) {
  const perSecond = width / (outline.end - outline.start);
  const lanes = useMemo(() => {
    const usual = words.length ? ((words.at(-1)[2] - words[0][1]) / words.length) * perSecond : WORD_PX;
    return clamp(Math.ceil(WORD_PX / Math.max(usual, 1)), 1, MOST_LANES);
  }, [words, perSecond]);
  return html`<div class="words" style=${{ height: `${lanes * 24}px` }}>
    ${words.map(([text, from, to], index) => {
      const next = words[index + lanes]?.[1] ?? outline.end;
      return html`<button type="button" key=${index} class=${index === chosen ? 'word on' : 'word'} data-from=${from} data-to=${to}
        aria-pressed=${index === chosen} title=${labels.word(text, from)} onClick=${() => onCursor(from, index)}
        style=${{ left: percent(from, outline), top: `${(index % lanes) * 24}px`, maxWidth: `${Math.max(18, (next - from) * perSecond - 3)}px` }}>${text}</button>`;
    })}
  </div>`;
}

// ---- Drawing ----

function draw(canvas, width, outline, ends, others) {
  if (!width) return;
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = HEIGHT * scale;
  canvas.style.height = `${HEIGHT}px`;
  const paint = canvas.getContext('2d');
  paint.scale(scale, scale);
  const x = (at) => share(at, outline) * width;
  const colours = { accent: paintable(canvas, '--accent'), soft: paintable(canvas, '--accent-soft'), wave: paintable(canvas, '--wave'), line: paintable(canvas, '--line') };
  paint.fillStyle = colours.line;
  for (const other of others) paint.fillRect(x(other.start), HEIGHT - 5, Math.max(2, x(other.end) - x(other.start) - 1), 3);
  paint.fillStyle = colours.soft;
  paint.fillRect(x(ends.start), 0, x(ends.end) - x(ends.start), HEIGHT - 8);
  bars(paint, width, outline, ends, colours);
}

/** One bar for three pixels, as loud as the loudest in it; dark inside the clip. */
function bars(paint, width, outline, ends, colours) {
  const { points, start, end } = outline;
  const loudest = Math.max(20, ...points);
  const middle = (HEIGHT - 8) / 2;
  const count = Math.floor(width / 3);
  for (let bar = 0; bar < count; bar += 1) {
    const from = Math.floor((bar / count) * points.length);
    const to = Math.max(from + 1, Math.floor(((bar + 1) / count) * points.length));
    let high = 0;
    for (let point = from; point < to; point += 1) high = Math.max(high, points[point]);
    const half = Math.max(0.8, (high / loudest) * (middle - 4));
    const at = start + ((bar + 0.5) / count) * (end - start);
    paint.fillStyle = at >= ends.start && at <= ends.end ? colours.accent : colours.wave;
    paint.fillRect(bar * 3, middle - half, 1.8, half * 2);
  }
}

/** A colour of the theme as a canvas understands it: light-dark() is settled by the browser. */
function paintable(canvas, name) {
  const probe = canvas.parentElement;
  const before = probe.style.outlineColor;
  probe.style.outlineColor = `var(${name})`;
  const found = getComputedStyle(probe).outlineColor;
  probe.style.outlineColor = before;
  return found;
}

function useWidth(box) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const look = () => setWidth(Math.floor(box.current.clientWidth));
    look();
    const watch = new ResizeObserver(look);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

/** Changes when the page turns dark or light. */
function useScheme() {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const look = () => setDark(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, []);
  return `${dark} ${document.documentElement.dataset.theme}`;
}

/** Move the playhead and light the words as they are heard, without drawing anything again. */
function usePlayhead(box, outline, words, playing) {
  useEffect(() => {
    let frame = 0;
    const head = box.current.querySelector('.playhead');
    const said = [...box.current.parentElement.querySelectorAll('.word')];
    const step = () => {
      const at = playing();
      head.hidden = at == null;
      if (at != null) head.style.left = percent(at, outline);
      for (const word of said) word.classList.toggle('said', at != null && at >= Number(word.dataset.from) && at < Number(word.dataset.to));
      frame = at == null ? 0 : requestAnimationFrame(step);
    };
    const begin = () => frame || step();
    begin();
    for (const event of PLAYS) element.addEventListener(event, begin);
    return () => {
      cancelAnimationFrame(frame);
      for (const event of PLAYS) element.removeEventListener(event, begin);
    };
  }, [outline, words, playing]);
}
