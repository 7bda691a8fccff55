// What people name (projects, runs, voices): called otherwise, put into the trash and taken back, the
// same everywhere.

import { html, useState } from '../vendor/preact.js';
import { Act, Dialog, note } from './notes.js';
import { number, t } from './words.js';

/** Ask for another name; `save` is given it. */
export function Rename({ item, save, onClose }) {
  const [name, setName] = useState(item.name);
  const done = async () => {
    await save(name);
    onClose();
  };
  return html`<${Dialog} title=${t('named.rename')} onClose=${onClose}>
    <form class="row bottom" onSubmit=${(event) => event.preventDefault()}>
      <label class="grow">${t('named.name')}<input value=${name} onInput=${(event) => setName(event.target.value)} /></label>
      <${Act} type="submit" class="primary" disabled=${!name.trim()} run=${done}>${t('named.rename')}<//>
    </form>
  <//>`;
}

const said = new Map();

/** Say that something is in the trash, and offer to take it back. */
export const trashed = (item, restore) =>
  said.set(item.id, note(t('named.trashed', { name: item.name }), { label: t('named.restore'), run: restore }));

/** Take something back: that it is in the trash is not said any longer. */
export function takeBack(item, restore) {
  said.get(item.id)?.();
  return restore(item);
}

/** What is in the trash, each with a way back. */
export function Bin({ items, restore }) {
  if (!items.length) return null;
  return html`<details><summary>${t('named.bin', { n: number(items.length) })}</summary>
    <ul class="list">${items.map((each) => html`<li key=${each.id}><span class="grow">${each.name}</span>
      <${Act} class="small" aria-label=${`${t('named.restore')}: ${each.name}`} run=${() => takeBack(each, restore)}>${t('named.restore')}<//></li>`)}</ul>
  </details>`;
}
