// Lines over steps or time, drawn as SVG: with axes, values under the pointer and by arrow keys.
//
// Chart({series: [{name, points: [[x, y], ...], kind}], x, y, label, height, lasts})
//   kind   '' (the first), 'second' ... 'sixth': how the line looks; add 'dots' to mark its points,
//          'area' to fill what is under it. A point whose y is null interrupts the line.
//   x, y   {name, format, min, max, ends}: how a value is written, and what must be in sight. `ends` of
//          x (of y: `ticks`) draws only these values on the axis.
//   lasts  whether the last value of a line holds on after its end; if not, nothing is said there.
//   label  what the drawing shows, in a sentence, for those who do not see it.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { style } from './style.js';
import { number } from './words.js';

const LEFT = 52;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 24;
const KINDS = ['', 'second', 'third', 'fourth', 'fifth', 'sixth'];
const FEW = 40;

style('../parts/chart');

/** How the n-th of several lines looks. */
export const kindOf = (at) => KINDS[at % KINDS.length];

export function Chart({ series, x = {}, y = {}, label, height = 190, lasts = true }) {
  const [box, width] = useWidth();
  const [at, setAt] = useState(null);
  const shown = series.filter((each) => each.points.some(([, value]) => value != null));
  const across = range(shown.flatMap((each) => each.points.map(([value]) => value)), x);
  const up = range(shown.flatMap((each) => each.points.map(([, value]) => value)), y, true);
  const right = (value) => LEFT + share(value, across) * (width - LEFT - RIGHT);
  const down = (value) => height - BOTTOM - share(value, up) * (height - TOP - BOTTOM);
  const places = stops(shown);
  const here = at == null ? null : places[nearest(places, at)];
  const values = shown.map((each) => ({ ...each, value: valueAt(each.points, here ?? places.at(-1), lasts) }));
  const said = `${write(x, here ?? places.at(-1))}: ${values.map((each) => `${each.name} ${write(y, each.value)}`).join(', ')}`;
  const point = (event) => {
    const seen = event.currentTarget.getBoundingClientRect();
    setAt(across[0] + ((event.clientX - seen.left - LEFT) / (width - LEFT - RIGHT)) * (across[1] - across[0]));
  };
  const key = (event) => {
    const now = here == null ? places.length - 1 : places.indexOf(here);
    const far = Math.max(1, Math.round(places.length / 20));
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, PageDown: now - far, PageUp: now + far, Home: 0, End: places.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setAt(places[Math.min(places.length - 1, Math.max(0, to))]);
  };
  return html`<div class="chart" ref=${box}>
    ${places.length > 0 && html`<div class="drawn" role="slider" tabindex="0" aria-label=${label} aria-valuemin=${across[0]} aria-valuemax=${across[1]}
      aria-valuenow=${here ?? places.at(-1)} aria-valuetext=${said} onPointerMove=${point} onPointerLeave=${() => setAt(null)} onBlur=${() => setAt(null)} onKeyDown=${key}>
      <svg width=${width} height=${height} aria-hidden="true">
        <${Axes} ...${{ across, up, right, down, width, height, x, y }} />
        ${shown.map((each) => html`<${Line} key=${each.name} ...${{ each, right, down, floor: height - BOTTOM }} />`)}
        ${here != null && html`<path class="at" d=${`M${right(here)} ${TOP}V${height - BOTTOM}`} />`}
        ${here != null && values.map((each) => each.value != null && html`<circle class=${`dot ${each.kind ?? ''}`} cx=${right(here)} cy=${down(each.value)} r="4" />`)}
      </svg></div>
      <p class="key"><b>${write(x, here ?? places.at(-1))}</b>
        ${values.map((each) => html`<span key=${each.name}><svg class="sign" width="18" height="8" aria-hidden="true"><path class=${`line ${each.kind ?? ''}`} d="M0 4H18" /></svg>
          ${each.name} <b>${write(y, each.value)}</b></span>`)}</p>`}
  </div>`;
}

function Axes({ across, up, right, down, width, height, x, y }) {
  const rows = (y.ticks ?? ticks(up, Math.max(2, Math.floor(height / 48)))).filter((each) => each >= up[0] && each <= up[1]);
  const columns = x.ends ?? ticks(across, Math.max(2, Math.floor(width / 110)));
  return html`<g>
    ${rows.map((each) => html`<path class="grid" d=${`M${LEFT} ${down(each)}H${width - RIGHT}`} />
      <text x=${LEFT - 6} y=${down(each) + 4} text-anchor="end">${write(y, each, digits(rows))}</text>`)}
    ${columns.map((each) => html`<text x=${right(each)} y=${height - 6} text-anchor=${anchor(right(each), width)}>${write(x, each, digits(columns))}</text>`)}
  </g>`;
}

function Line({ each, right, down, floor }) {
  const pieces = unbroken(each.points);
  const kind = each.kind ?? '';
  const path = (points) => `M${points.map(([x, y]) => `${round(right(x))} ${round(down(y))}`).join('L')}`;
  const dots = kind.includes('dots') || each.points.length <= 2 ? pieces.flat().slice(-FEW) : [];
  return html`<g>
    ${kind.includes('area') && pieces.map((points) => html`<path class=${`area ${kind}`} d=${`${path(points)}V${floor}H${round(right(points[0][0]))}Z`} />`)}
    ${pieces.map((points) => html`<path class=${`line ${kind}`} d=${path(points)} />`)}
    ${dots.map(([x, y]) => html`<circle class=${`dot ${kind}`} cx=${round(right(x))} cy=${round(down(y))} r="2.5" />`)}
  </g>`;
}

/** How wide the drawing may be, kept up to date. */
function useWidth() {
  const box = useRef();
  const [width, setWidth] = useState(420);
  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setWidth(Math.max(160, Math.floor(entry.contentRect.width))));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  return [box, width];
}

function range(values, { min, max }, roomy = false) {
  const known = values.filter((each) => each != null);
  if (min != null) known.push(min);
  if (max != null) known.push(max);
  const [low, high] = known.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, -Infinity]);
  if (!(low <= high)) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) / 10, high + (Math.abs(high) || 1) / 10];
  const room = roomy ? (high - low) / 20 : 0;
  return [min == null ? low - room : low, max == null ? high + room : high];
}

/** Round values within a range, about so many. */
export function ticks([low, high], count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step / 1e6; at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** Every x at which there is something to read. */
function stops(series) {
  return [...new Set(series.flatMap((each) => each.points.filter(([, y]) => y != null).map(([x]) => x)))].sort((a, b) => a - b);
}

function nearest(places, at) {
  let [low, high] = [0, places.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (places[middle] < at) low = middle;
    else high = middle;
  }
  return at - places[low] < places[high] - at ? low : high;
}

/** What a line says at an x: its newest value there or before; nothing before it begins, nor after its end where it does not last. */
function valueAt(points, x, lasts) {
  if (!lasts && !(points.at(-1)[0] >= x)) return null;
  let found = null;
  for (const [at, value] of points) {
    if (at > x) break;
    found = value;
  }
  return found;
}

function unbroken(points) {
  const pieces = [[]];
  for (const point of points) {
    if (point[1] == null) pieces.push([]);
    else pieces.at(-1).push(point);
  }
  return pieces.filter((each) => each.length > 0);
}

const share = (value, [low, high]) => (value - low) / (high - low);
const round = (value) => Math.round(value * 10) / 10;
const anchor = (at, width) => (at < LEFT + 20 ? 'start' : at > width - 40 ? 'end' : 'middle');
/** How many digits behind the point tell values of an axis apart. */
const digits = (values) => Math.max(0, ...values.map((each) => (String(each).split('.')[1] ?? '').length));
const usual = (value) => (Number.isInteger(value) ? 0 : Math.abs(value) < 10 ? 2 : 1);
const write = ({ format }, value, places = usual(value)) => (value == null ? '–' : format ? format(value) : number(value, places));
