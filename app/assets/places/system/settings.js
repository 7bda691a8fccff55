// Language, look, and what Timbre is and where it keeps things.

import { html, useState } from '../../vendor/preact.js';
import { useLive } from '../../parts/live.js';
import { theme } from '../../parts/where.js';
import { LANGUAGES, language, speak, t } from '../../parts/words.js';

const ABOUT_MS = 60_000;

export function Settings({ onLanguage }) {
  const { data } = useLive('system.about', {}, ABOUT_MS);
  const [look, setLook] = useState(theme());
  const talk = async (event) => {
    await speak(event.target.value);
    onLanguage();
  };
  return html`<section class="card stack" aria-label=${t('system.settings')}>
    <h2>${t('system.settings')}</h2>
    <label>${t('system.language')}
      <select value=${language()} onChange=${talk}>${Object.entries(LANGUAGES).map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
    <label>${t('system.theme')}
      <select value=${look} onChange=${(event) => setLook(theme(event.target.value))}>
        <option value="">${t('system.theme.system')}</option><option value="light">${t('system.theme.light')}</option><option value="dark">${t('system.theme.dark')}</option>
      </select></label>
    ${data && html`<dl class="facts">
      <div><dt>${t('system.version')}</dt><dd>Timbre ${data.version}</dd></div>
      <div><dt>${t('system.network')}</dt><dd>${t(data.offline ? 'system.network.off' : 'system.network.on')}</dd></div>
      <div><dt>torch</dt><dd>${data.torch ?? t('system.unknown')}${data.cuda ? `, CUDA ${data.cuda}` : ''}</dd></div>
      <div><dt>Python</dt><dd>${data.python}</dd></div>
    </dl>
    <div><h3>${t('system.workspace')}</h3><p><code>${data.workspace}</code></p><p class="why">${t('system.workspace.why')}</p></div>`}
  </section>`;
}
