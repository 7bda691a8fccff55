// A command to copy: exactly what is run.

import { html } from '../../vendor/preact.js';
import { Act, note } from '../../parts/notes.js';
import { t } from '../../parts/words.js';

export function Command({ text, label }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    note(t('train.copied'));
  };
  return html`<details><summary>${label}</summary><pre tabindex="0" aria-label=${label}>${text}</pre>
    <${Act} class="small" run=${copy}>${t('train.copy')}<//></details>`;
}
