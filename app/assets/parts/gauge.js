// A half circle that fills: parts of a whole, what is used in the middle. Unknown stays empty, never 0.
//
// Gauge({parts: [{kind, name, value}], total, middle, below, label})
//   parts  what the used part is made of, in order; a value of null is left out
//   label  all of it in a sentence, for those who do not see it

import { html } from '../vendor/preact.js';

const ARC = 'M12 74A62 62 0 0 1 136 74';

export function Gauge({ parts, total, middle, below, label }) {
  const known = total ? parts.filter((each) => each.value > 0) : [];
  let from = 0;
  return html`<svg class="gauge" viewBox="0 0 148 92" role="img" aria-label=${label}>
    <path class="rest" d=${ARC} pathLength="100" />
    ${known.map((each) => {
      const share = Math.min(100 - from, (100 * each.value) / total);
      const drawn = html`<path key=${each.name} class=${`part ${each.kind}`} d=${ARC} pathLength="100"
        stroke-dasharray=${`${share} 200`} stroke-dashoffset=${-from} />`;
      from += share;
      return drawn;
    })}
    <text class="middle" x="74" y="66" text-anchor="middle">${middle}</text>
    <text class="below" x="74" y="86" text-anchor="middle">${below}</text>
  </svg>`;
}

/** What the parts of a gauge mean. */
export function Key({ parts, write }) {
  return html`<p class="key gauge-key">
    ${parts.map((each) => html`<span key=${each.name}><i class=${each.kind}></i>${each.name} <b>${write(each.value)}</b></span>`)}
  </p>`;
}
