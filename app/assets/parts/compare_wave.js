// The outline of a sound, and its spectrogram on demand; a click goes to a place in it.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { call, fileUrl } from './api.js';
import { t } from './words.js';

const HEIGHT = 56;
const KEPT = 100;
const known = new Map();

async function outlined(address) {
  if (!known.has(address)) known.set(address, call('compare.outline', { sound: address }));
  if (known.size > KEPT) known.delete(known.keys().next().value);
  try {
    return await known.get(address);
  } catch {
    known.delete(address); // it may be there the next time
    return null;
  }
}

/** `total` is how long the whole width is, in seconds; `at` where it is played, or null. */
export function Wave({ address, total, at, seek, picture }) {
  const canvas = useRef();
  const [found, setFound] = useState(null);
  useEffect(() => {
    let wanted = true;
    outlined(address).then((outline) => wanted && setFound(outline));
    return () => { wanted = false; };
  }, [address]);
  useEffect(() => found && draw(canvas.current, found, total, at));
  const share = found && total ? Math.min(1, found.seconds / total) : 1;
  return html`<div class="wave">
    <canvas ref=${canvas} aria-hidden="true" onClick=${(event) => seek((event.offsetX / event.target.clientWidth) * total)}></canvas>
    ${picture && html`<img class="spectrogram" style=${{ width: `${share * 100}%` }} alt=${t('compare.picture')} src=${fileUrl('compare.spectrogram', { sound: address })} />`}
  </div>`;
}

function draw(canvas, { peaks, seconds }, total, at) {
  const scale = devicePixelRatio;
  const [width, height] = [canvas.clientWidth * scale, HEIGHT * scale];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext('2d');
  // A canvas knows no CSS variables: compare.css gives their colours by properties that do nothing else.
  const { color: rest, caretColor: played, columnRuleColor: place } = getComputedStyle(canvas);
  pen.clearRect(0, 0, width, height);
  const step = (width * Math.min(1, seconds / (total || seconds))) / peaks.length;
  const gone = at == null || !total ? -1 : (at / total) * width;
  peaks.forEach(([low, high], point) => {
    const x = point * step;
    pen.fillStyle = x < gone ? played : rest;
    const top = height / 2 - (high / 127) * (height / 2);
    pen.fillRect(x, top, Math.max(scale / 2, step), Math.max(scale, ((high - low) / 127) * (height / 2)));
  });
  if (gone >= 0) {
    pen.fillStyle = place;
    pen.fillRect(gone, 0, scale, height);
  }
}
