// A list of thousands: only the rows that are seen are in the page, each in its place.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../vendor/preact.js';

const BESIDE = 4;

/**
 * Rows of one height but for one, `open`, which may be higher. `row(index)` gives {key, content} and
 * the attributes of its line.
 *
 * The open row stays in the page wherever the list is, so that it keeps the keyboard.
 */
export function Virtual({ count, height, open, openHeight, row, label }) {
  const box = useRef();
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  const extra = open >= 0 ? openHeight - height : 0;
  const top = (index) => index * height + (open >= 0 && index > open ? extra : 0);

  useEffect(() => {
    const look = () => {
      const { scrollTop, clientHeight } = box.current;
      // In steps of two rows: between them nothing is drawn again.
      const step = Math.floor(scrollTop / (height * 2)) * height * 2;
      setSeen((before) => (before.top === step && before.height === clientHeight ? before : { top: step, height: clientHeight }));
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(box.current);
    box.current.addEventListener('scroll', look, { passive: true });
    const at = box.current;
    return () => {
      watch.disconnect();
      at.removeEventListener('scroll', look);
    };
  }, [height]);

  useLayoutEffect(() => {
    if (open < 0) return;
    const { scrollTop, clientHeight } = box.current;
    const [first, last] = [top(open), top(open) + openHeight];
    if (first < scrollTop) box.current.scrollTop = Math.max(0, first - height / 2);
    else if (last > scrollTop + clientHeight) box.current.scrollTop = Math.min(first, last - clientHeight + height / 2);
  }, [open, openHeight, count > 0]);

  useKeyboard(box);
  const first = Math.max(0, Math.floor((seen.top - Math.max(0, extra)) / height) - BESIDE);
  const last = Math.min(count - 1, Math.ceil((seen.top + seen.height) / height) + 2 + BESIDE);
  const indices = [];
  for (let index = first; index <= last; index += 1) indices.push(index);
  if (open >= 0 && open < first) indices.unshift(open);
  if (open > last && open < count) indices.push(open);
  return html`<div class="virtual" ref=${box}>
    <ul aria-label=${label} style=${{ height: `${count * height + extra}px` }}>
      ${indices.map((index) => {
        // An element and no component: Preact moves those more often.
        const { key, content, ...line } = row(index);
        return html`<li key=${key} style=${{ transform: `translateY(${top(index)}px)` }} aria-setsize=${count} aria-posinset=${index + 1} ...${line}>${content}</li>`;
      })}
    </ul>
  </div>`;
}

/** A line that Preact moves in the page loses the keyboard: it gets it back before a key can be lost. */
function useKeyboard(box) {
  const had = box.current?.contains(document.activeElement) ? document.activeElement : null;
  useLayoutEffect(() => {
    if (had?.isConnected && document.activeElement !== had) had.focus({ preventScroll: true });
  });
}
