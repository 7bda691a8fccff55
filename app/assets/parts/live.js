// State that follows the studio: asked again while the page is seen, drawn again when it changed.

import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';
import { look } from './api.js';

const HIDDEN_MS = 5000;

/**
 * What a call gives, kept up to date: {data, error, again}.
 *
 * `again()` asks at once, after something was done. While the studio does not answer, the last data
 * stays and `error` says so; nothing is asked when `args` is null.
 */
export function useLive(name, args = {}, everyMs = 1000) {
  const key = args && JSON.stringify(args);
  const [seen, setSeen] = useState({ key: null, data: null, error: null });
  const poke = useRef(() => {});

  useEffect(() => {
    if (key === null) return undefined;
    let mark = '';
    let ended = false;
    let timer = 0;
    let asking = false;
    let asked = false;

    const ask = async () => {
      clearTimeout(timer);
      if (asking) {
        asked = true;
        return;
      }
      asking = true;
      try {
        const found = await look(name, JSON.parse(key), mark);
        if (ended) return;
        if (!found.same) setSeen({ key, data: found.data, error: null });
        else setSeen((before) => (before.error ? { ...before, error: null } : before));
        mark = found.mark ?? mark;
      } catch (error) {
        if (!ended) setSeen((before) => ({ key, data: before.key === key ? before.data : null, error }));
        mark = '';
      } finally {
        asking = false;
        if (!ended) timer = setTimeout(ask, asked ? 0 : document.hidden ? HIDDEN_MS : everyMs);
        asked = false;
      }
    };
    const seenAgain = () => document.hidden || ask();
    poke.current = ask;
    document.addEventListener('visibilitychange', seenAgain);
    ask();
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seenAgain);
    };
  }, [name, key, everyMs]);

  const again = useCallback(() => poke.current(), []);
  const current = seen.key === key ? seen : { data: null, error: null };
  return { data: current.data, error: current.error, again };
}
