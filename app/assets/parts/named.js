// What people name (projects, runs, voices): called otherwise, put into the trash and taken back, the
// same everywhere.

import { html, useState } from '../vendor/preact.js';
import { Act, Dialog, note } from './notes.js';
import { number, t } from './words.js';

/** Ask for another name; `save` is given it. */
export function Rename({ item, save, onClose }) {
  const [name, setName] = useState(item.name);
  const [refused, setRefused] = useState(null);
  const done = async () => {
    try {
      await save(name);
      onClose();
    } catch (error) {
      if (!error.what) throw error;
      setRefused(error); // said here: a note would stand behind the dialog
    }
  };
  const type = (event) => {
    setName(event.target.value);
    setRefused(null);
  };
  return html`<${Dialog} title=${t('named.rename')} onClose=${onClose}>
    <form class="row bottom" onSubmit=${(event) => event.preventDefault()}>
      <label class="grow">${t('named.name')}<input value=${name} aria-invalid=${refused ? 'true' : null} aria-describedby=${refused ? 'refused' : null} onInput=${type} /></label>
      <${Act} type="submit" class="primary" disabled=${!name.trim()} run=${done}>${t('named.rename')}<//>
      ${refused && html`<p id="refused" class="small-text wrong" role="alert">${refused.what} ${refused.fix}</p>`}
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
