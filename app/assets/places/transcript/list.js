// The list of clips: thousands, of which only those that are seen are in the page.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../../vendor/preact.js';
import { Play } from '../../parts/player.js';
import { Virtual } from '../../parts/virtual.js';
import { clock, number, t } from '../../parts/words.js';
import { useEditor } from './editor.js';
import { reasonOf, standing } from './rows.js';
import { soundOf } from './sound.js';

const WIDE = 52;
const NARROW = 96;
const MOST_KEPT = 400;
const LOOKS = { look: 'mark look', out: 'mark out', good: 'mark', unchecked: 'mark', decided: 'mark' };

export function List({ editor }) {
  const shown = useEditor(editor, () => editor.shown);
  const selected = useEditor(editor, () => editor.selected);
  const [openHeight, setOpenHeight] = useState(0);
  const height = useNarrow() ? NARROW : WIDE;
  // The same description of a row again: while the list is scrolled, Preact passes over it.
  const rows = useRef(new Map());
  const content = (id, isOpen) => {
    const key = isOpen ? -id : id;
    if (rows.current.size > MOST_KEPT) rows.current.clear();
    if (!rows.current.has(key)) rows.current.set(key, html`<${Row} editor=${editor} id=${id} isOpen=${isOpen} onHeight=${setOpenHeight} />`);
    return rows.current.get(key);
  };
  const open = shown.indexOf(selected);
  if (!shown.length) return html`<p class="soft nothing">${t(editor.order.length ? 'transcript.nonehere' : 'transcript.none')}</p>`;
  return html`<${Virtual} count=${shown.length} height=${height} open=${open} openHeight=${Math.max(height, openHeight)} label=${t('transcript.list')}
    row=${(index) => ({
      key: shown[index],
      class: index === open ? 'line on' : 'line',
      'aria-current': index === open ? 'true' : null,
      content: content(shown[index], index === open),
    })} />`;
}

function Row({ editor, id, isOpen, onHeight }) {
  const clip = useEditor(editor, () => editor.clips.get(id));
  const typing = useEditor(editor, () => isOpen && editor.typing);
  const text = useEditor(editor, () => editor.drafts.textOf(id));
  const state = useEditor(editor, () => editor.drafts.get(id)?.state ?? '');
  const picked = useEditor(editor, () => editor.picked.has(id));
  const first = useRef();
  const line = () => first.current?.closest('li');
  useOpenHeight(line, isOpen, onHeight, [typing, text]);
  useWishedFocus(editor, line, isOpen);
  if (!clip) return null;
  const kind = standing(clip);
  const why = reasonOf(clip) || t(`transcript.state.${kind}`);
  return html`<input ref=${first} type="checkbox" checked=${picked} aria-label=${t('transcript.pick', { n: id })} onChange=${(event) => editor.pick(id, event.target.checked)} />
    <${Play} url=${soundOf(editor.project, clip)} label=${t('transcript.clip', { n: id })} />
    <span class="soft small-text when">${clock(clip.start, 1)} · ${t('unit.seconds', { n: number(clip.end - clip.start, 1) })}</span>
    ${typing
      ? html`<${Typed} editor=${editor} clip=${clip} text=${text} isHeld=${state === 'conflict'} />`
      : html`<button type="button" class=${clip.included ? 'bare said' : 'bare said soft'} onClick=${() => editor.select(id, true)}>${text || t('transcript.silent')}</button>`}
    <span class=${state === 'conflict' ? 'mark out' : LOOKS[kind]} title=${why}>${state === 'conflict' ? t('transcript.status.conflict') : kind === 'out' ? t('transcript.state.out') : kind === 'look' ? why : clip.edited && kind !== 'unchecked' ? t('transcript.state.edited') : t(`transcript.state.${kind}`)}</span>`;
}

/** The text of the open clip, typed in its place. */
function Typed({ editor, clip, text, isHeld }) {
  const box = useRef();
  useLayoutEffect(() => {
    box.current.style.height = '0';
    box.current.style.height = `${box.current.scrollHeight + 2}px`;
  }, [text]);
  const key = (event) => {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      editor.drafts.save(clip.id);
      if (editor.index < editor.shown.length - 1) editor.move(1, true);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      editor.takeBack();
    }
  };
  const caret = (event) => editor.caretAt(event.target.selectionStart);
  return html`<textarea ref=${box} rows="1" data-clip=${clip.id} aria-label=${t('transcript.text', { n: clip.id })} value=${text} readonly=${isHeld} spellcheck="true"
    onInput=${(event) => editor.drafts.type(clip.id, event.target.value)} onKeyDown=${key} onKeyUp=${caret} onClick=${caret} onBlur=${() => editor.drafts.save(clip.id)}></textarea>`;
}

function useOpenHeight(line, isOpen, onHeight, changed) {
  useLayoutEffect(() => {
    if (isOpen && line()) onHeight(line().offsetHeight);
  }, [isOpen, ...changed]);
}

/** Go to the row, or into its text, when that was wished for and not at each redraw. */
function useWishedFocus(editor, line, isOpen) {
  const wish = useEditor(editor, () => (isOpen ? editor.wish : 0));
  const done = useRef(isOpen ? 0 : wish);
  useLayoutEffect(() => {
    if (!isOpen || wish === done.current) return;
    done.current = wish;
    if (wish !== editor.calledOff) line()?.querySelector('textarea, .said')?.focus({ preventScroll: true });
  }, [wish, isOpen]);
}

function useNarrow() {
  const [narrow, setNarrow] = useState(() => matchMedia('(max-width: 900px)').matches);
  useEffect(() => {
    const query = matchMedia('(max-width: 900px)');
    const look = () => setNarrow(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, []);
  return narrow;
}
