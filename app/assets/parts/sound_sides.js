// Sounds side by side in a component, drawn again while they are heard.

import { useEffect, useRef, useState } from '../vendor/preact.js';
import { problem } from './notes.js';
import { Sides } from './sound.js';

const DRAWN_MS = 60;

/** The sounds at some addresses, loaded when those change; `again` loads them anew. */
export function useSides(urls, { again = '', matched = false } = {}) {
  const [, redraw] = useState(0);
  const sides = useRef(null);
  sides.current ??= new Sides(() => redraw((count) => count + 1), matched);
  useEffect(() => {
    let wanted = true;
    sides.current.load(urls).catch((error) => wanted && problem(error));
    return () => { wanted = false; };
  }, [urls.join(), again]);
  useEffect(() => {
    const timer = setInterval(() => sides.current.playing && sides.current.changed(), DRAWN_MS);
    return () => {
      clearInterval(timer);
      sides.current.close();
    };
  }, []);
  return sides.current;
}
