// The library: every voice, found by words and tags; favourites first; the trash below.

import { html } from '../../vendor/preact.js';
import { call, fileUrl } from '../../parts/api.js';
import { Bin } from '../../parts/named.js';
import { Act } from '../../parts/notes.js';
import { Play } from '../../parts/player.js';
import { t } from '../../parts/words.js';

export function Library({ data, chosen, choose, again, search, setSearch, tag, setTag }) {
  return html`<section class="card stack" aria-label=${t('voices.library')}>
    <label>${t('voices.search')}
      <input type="search" value=${search} onInput=${(event) => setSearch(event.target.value)} /></label>
    ${data.tags.length > 0 && html`<div class="chips" role="group" aria-label=${t('voices.tags')}>
      ${data.tags.map((each) => html`<button class="chip" aria-pressed=${each === tag} onClick=${() => setTag(each === tag ? '' : each)}>${each}</button>`)}
    </div>`}
    ${data.voices.length === 0 && html`<p class="soft">${t(data.count ? 'voices.nothing' : 'voices.none')}</p>`}
    <ul class="list shelf">${data.voices.map((each) => html`<${Row} key=${each.id} voice=${each} on=${each.id === chosen} choose=${choose} again=${again} />`)}</ul>
    <${Bin} items=${data.trashed} restore=${(each) => call('voices.restore', { voice: each.id }).then(again)} />
  </section>`;
}

function Row({ voice, on, choose, again }) {
  const favour = () => call('voices.favour', { voice: voice.id, favourite: !voice.favourite }).then(again);
  return html`<li class=${on ? 'on' : ''}>
    <${Picture} voice=${voice} />
    <button class="bare name grow" aria-current=${on ? 'true' : null} onClick=${() => choose(voice.id)}>
      <b>${voice.name}</b><span class="soft small-text">${[voice.title, voice.language, ...voice.tags].filter(Boolean).join(' · ')}</span></button>
    ${voice.sample && html`<${Play} url=${fileUrl('compare.sound', { sound: `voice/${voice.id}/sample` })} label=${t('voices.sample.of', { name: voice.name })} />`}
    <${Act} class="bare star" aria-pressed=${voice.favourite} aria-label=${t('voices.favourite', { name: voice.name })} run=${favour}>
      <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M10 2.2l2.4 4.9 5.4.8-3.9 3.8.9 5.4-4.8-2.6-4.8 2.6.9-5.4L2.2 7.9l5.4-.8z" /></svg><//>
  </li>`;
}

/** Its picture, else its first letter. */
export function Picture({ voice, large = false }) {
  const kind = large ? 'portrait large' : 'portrait';
  if (!voice.picture) return html`<span class=${kind} aria-hidden="true">${[...voice.name][0]}</span>`;
  return html`<img class=${kind} alt="" src=${fileUrl('voices.portrait', { voice: voice.id, at: voice.picture })} />`;
}
