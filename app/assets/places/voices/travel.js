// Voices travel: in from one file, out as one file or as other programs have them.

import { html, useState } from '../../vendor/preact.js';
import { call, fileUrl, upload } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { Act, Dialog, doing, note } from '../../parts/notes.js';
import { t } from '../../parts/words.js';
import { consentWords } from './voice.js';

export function Import({ onClose, done }) {
  const [share, setShare] = useState(null);
  const [path, setPath] = useState('');
  const taken = (made) => {
    note(t('voices.imported', { name: made.name }));
    done(made);
  };
  const send = (event) => doing(async () => {
    const [file] = event.target.files;
    event.target.value = '';
    setShare(0);
    try {
      taken(await call('voices.import', { upload: await upload(file, { progress: setShare }) }));
    } finally {
      setShare(null);
    }
  });
  return html`<${Dialog} title=${t('voices.import')} onClose=${onClose}>
    <div class="stack">
      <p>${t('voices.import.why')}</p>
      <label>${t('voices.import.file')}<input type="file" accept=".timbre" onChange=${send} /></label>
      ${share != null && html`<${Bar} share=${share < 1 ? share : null} label=${t('voices.import.file')} />`}
      <form class="row bottom" onSubmit=${(event) => event.preventDefault()}>
        <label class="grow">${t('voices.import.path')}<input value=${path} onInput=${(event) => setPath(event.target.value)} /></label>
        <${Act} type="submit" disabled=${!path.trim()} run=${async () => taken(await call('voices.import', { path }))}>${t('voices.import.take')}<//>
      </form>
    </div>
  <//>`;
}

export function Export({ voice, onClose }) {
  return html`<${Dialog} title=${t('voices.export')} onClose=${onClose}>
    <div class="stack">
      <p>${consentWords(voice)} ${t('voices.export.consent')}</p>
      <p><a class="button" href=${fileUrl('voices.export', { voice: voice.id })} download>${t('voices.export.timbre')}</a></p>
      <p class="why">${t('voices.export.why')}</p>
      ${voice.forms.map((form) => html`<${Form} voice=${voice} form=${form} />`)}
    </div>
  <//>`;
}

function Form({ voice, form }) {
  const title = t('voices.export.form', { form: form || voice.title });
  return html`<div class="row"><span class="grow">${title}</span>
    <a class="button" href=${fileUrl('voices.zip', { voice: voice.id, form })} download>${t('voices.export.zip')}</a></div>`;
}
