// Languages by the names they have in the page's language.

import { html, useEffect, useMemo, useRef } from '../../vendor/preact.js';
import { t } from '../../parts/words.js';

const named = () => new Intl.DisplayNames([document.documentElement.lang], { type: 'language' });

// Those for which Chromium has no names.
const UNNAMED = ['ba', 'bo'];

/** "German"; a code that the browser has no name for stays as it is. */
export function languageName(code) {
  if (!code) return t('recordings.language.none');
  if (UNNAMED.includes(code)) return t(`language.${code}`);
  try {
    return named().of(code) ?? code;
  } catch {
    return code;
  }
}

export function LanguageSelect({ codes, value, label, onChange, id, focus = false }) {
  const box = useRef();
  useEffect(() => { if (focus) box.current.focus(); }, []);
  const sorted = useMemo(() => codes.map((code) => ({ code, name: languageName(code) })).sort((a, b) => a.name.localeCompare(b.name)), [codes]);
  return html`<select ref=${box} id=${id} value=${value} aria-label=${label} onChange=${(event) => onChange(event.target.value)}>
    <option value="">${t('recordings.language.unknown')}</option>
    ${sorted.map(({ code, name }) => html`<option value=${code}>${name}</option>`)}
  </select>`;
}
