// The words of the page: t(name, {values}) in the language that was chosen.

import { learn } from './translated.js';

export const LANGUAGES = { en: 'English', zh: '简体中文' };
const KEPT = 'timbre.language';
let words = {};

/** The language that was chosen here, else the browser's, else English. */
export function language() {
  const wanted = [localStorage.getItem(KEPT), ...navigator.languages.map((each) => each.slice(0, 2))];
  return wanted.find((each) => each in LANGUAGES) ?? 'en';
}

export async function loadWords() {
  const chosen = language();
  const known = await (await fetch(`/timbre/words/${chosen}.json`)).json();
  words = known.words;
  learn(known.sentences);
  document.documentElement.lang = chosen === 'zh' ? 'zh-Hans' : chosen;
}

export async function speak(chosen) {
  localStorage.setItem(KEPT, chosen);
  await loadWords();
}

// {n}, and {n|clip|clips}: the first where there is one, the second otherwise.
const PLACE = /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g;

/** A word or sentence by its name, with {values} filled in. */
export function t(name, values = {}) {
  const said = words[name] ?? name;
  return said.replace(PLACE, (whole, key, one, many) => {
    if (one === undefined) return values[key] ?? whole;
    return String(values[key]) === '1' ? one : many;
  });
}

const locale = () => document.documentElement.lang;

/** A number as people write it here: 1,234.5 */
export const number = (value, digits = 0) =>
  value == null ? '–' : value.toLocaleString(locale(), { maximumFractionDigits: digits, minimumFractionDigits: digits });

/** A place in a recording, or a length: 0:07, 1:02:03; with digits 0:07.25 */
export function clock(seconds, digits = 0) {
  if (seconds == null) return '–';
  const rounded = Number(seconds.toFixed(digits));
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60];
  const rest = (rounded % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, '0');
  return hours ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

/** A time to wait: "40 s", "6 min", "2 h 10 min". */
export function duration(seconds) {
  if (seconds == null) return '';
  if (seconds < 90) return t('unit.seconds', { n: Math.round(seconds) });
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return t('unit.minutes', { n: minutes });
  return t('unit.hours', { h: Math.floor(minutes / 60), m: minutes % 60 });
}

/** A size on a disk, which counts by 1,000: "12 kB", "340 MB", "12.4 GB". */
export function size(bytes) {
  if (bytes == null) return '–';
  if (bytes < 999_500) return `${number(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${number(bytes / 1e6)} MB` : `${number(bytes / 1e9, 1)} GB`;
}

const MEBI = 2 ** 20;
/** Memory of so many million bytes, with 1,024 in each unit as cards are named: "350 MB", "13.1 GB". */
export function memory(mb) {
  if (mb == null) return '–';
  const mebi = (mb * 1e6) / MEBI;
  return mebi < 999.5 ? `${number(mebi)} MB` : `${number(mebi / 1024, 1)} GB`;
}

/** A moment of today as a time, of another day with its date. */
export function when(moment) {
  const then = new Date(moment);
  const isToday = then.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { day: 'numeric', month: 'short' };
  return then.toLocaleString(locale(), { ...day, hour: '2-digit', minute: '2-digit' });
}
