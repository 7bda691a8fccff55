// How loud it is, drawn without going through the page's state twenty times a second.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { clock, t } from '../../parts/words.js';

const LOWEST_DB = -60;
const TOP = 0.985;
const QUIET_DB = -36;
const SOON_MS = 2500;

const share = (db) => Math.min(1, Math.max(0, 1 - db / LOWEST_DB));

/** `told.current` takes what the microphone says: ({peak, db}, seconds of the take or null). */
export function Meter({ told, doesRecord, isDone }) {
  const [bar, top, time] = [useRef(), useRef(), useRef()];
  const [said, setSaid] = useState('');
  const loudest = useRef({ peak: 0, at: 0, louder: -120, since: performance.now() });

  useEffect(() => {
    Object.assign(loudest.current, { louder: -120, since: performance.now() });
    if (doesRecord) setSaid('');
  }, [doesRecord]);
  useEffect(() => {
    told.current = ({ peak, db }, seconds) => {
      const now = performance.now();
      const held = loudest.current;
      if (peak >= held.peak || now - held.at > 1000) Object.assign(held, { peak, at: now });
      held.louder = Math.max(held.louder, db);
      bar.current.style.width = `${100 * share(db)}%`;
      top.current.style.left = `${100 * share(20 * Math.log10(Math.max(held.peak, 1e-6)))}%`;
      time.current.textContent = seconds === null ? '' : clock(seconds, 1);
      if (held.peak >= TOP) setSaid('loud');
      else if (seconds !== null && now - held.since > SOON_MS && held.louder < QUIET_DB) setSaid('quiet');
      else if (seconds === null || held.louder >= QUIET_DB) setSaid('');
    };
    return () => { told.current = null; };
  }, []);
  return html`<div class="stack tight">
    <div class="row"><div class="meter" role="img" aria-label=${t('recordings.meter')}><i ref=${bar}></i><b ref=${top}></b></div>
      <span class="length" ref=${time}></span></div>
    <p class="warned" role="status">${said && !isDone && t(`recordings.hint.${said}`)}</p>
  </div>`;
}
