// The keys of the editor. Where letters are typed, letters stay letters.

import { html, useEffect } from '../../vendor/preact.js';
import { Dialog } from '../../parts/notes.js';
import { t } from '../../parts/words.js';
import * as deeds from './deeds.js';
import { togglePlay } from './sound.js';

export const KEYS = [
  ['play', ['Space']],
  ['playtyping', ['Ctrl', 'Space']],
  ['again', ['Shift', 'Space']],
  ['save', ['Enter']],
  ['back', ['Esc']],
  ['next', ['↓', 'J']],
  ['previous', ['↑', 'K']],
  ['split', ['S']],
  ['merge', ['M']],
  ['out', ['X']],
  ['undo', ['Ctrl', 'Z']],
  ['redo', ['Ctrl', 'Shift', 'Z']],
  ['search', ['/']],
  ['ends', ['←', '→']],
  ['list', ['?']],
];

const isTyped = (target) => target.closest('textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="range"])');
const isPressed = (target) => target.closest('button, a, summary, input, select');

/** What a key means, as a function, or nothing. `detail()` gives what is known of the chosen clip. */
function meaning(event, editor, detail, { search, showKeys }) {
  const { target, key } = event;
  const control = event.ctrlKey || event.metaKey;
  if (control && key === ' ') return () => togglePlay(editor);
  const typed = isTyped(target);
  if (control && key.toLowerCase() === 'z') {
    // While a text is changed and not saved, the browser's own undo takes back what was typed.
    if (typed && (target.dataset.clip == null || editor.drafts.has(editor.selected))) return null;
    return () => (event.shiftKey ? deeds.redo : deeds.undo)(editor);
  }
  if (typed || control || event.altKey) return null;
  if (key === 'Escape' && editor.typing) return () => editor.takeBack();
  if (key === ' ' || key === 'Enter') {
    if (isPressed(target) && !target.closest('.said')) return null;
    return key === ' ' ? () => togglePlay(editor, event.shiftKey) : () => editor.select(editor.selected, true);
  }
  const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
  if (key in moves) return () => editor.move(moves[key], false);
  const doing = {
    s: () => deeds.split(editor, detail()),
    m: () => deeds.merge(editor),
    x: () => deeds.outOrIn(editor),
  };
  if (key in doing) return editor.clip && doing[key];
  return { '/': search, '?': showKeys }[key];
}

/** Listen while the place is shown. */
export function useKeys(editor, detail, ways) {
  useEffect(() => {
    const press = (event) => {
      if (event.isComposing || event.defaultPrevented || document.querySelector('dialog[open]')) return;
      const act = meaning(event, editor, detail, ways);
      if (!act) return;
      event.preventDefault();
      act();
    };
    // Some browsers press a button when the space key comes up.
    const lift = (event) => event.key === ' ' && event.target.closest('.said') && event.preventDefault();
    document.addEventListener('keydown', press);
    document.addEventListener('keyup', lift);
    return () => {
      document.removeEventListener('keydown', press);
      document.removeEventListener('keyup', lift);
    };
  }, [editor]);
}

export function Keys({ onClose }) {
  return html`<${Dialog} title=${t('transcript.keys')} onClose=${onClose}>
    <dl class="keys">${KEYS.map(([name, keys]) => html`<dt key=${name}>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${t(`transcript.key.${name}`)}</dd>`)}</dl>
  <//>`;
}
