// Inputs whose value counts once they are left, Enter is pressed or the slider is let go.

import { html, useState } from '../vendor/preact.js';

/**
 * `put(value)` takes what was typed or moved; until it has, what is shown is that, whatever is drawn
 * again meanwhile. `as` is "input" or "textarea"; everything else is given to it.
 */
export function Typed({ value, put, as = 'input', ...rest }) {
  const [typed, setTyped] = useState(null);
  const done = async (event) => {
    const given = event.target.value;
    await put(given);
    setTyped((now) => (now === given ? null : now)); // more was typed meanwhile: it stays
  };
  return html`<${as} ...${rest} value=${typed ?? value} onInput=${(event) => setTyped(event.target.value)} onChange=${done} />`;
}
