// Voices: the library beside the voice that was chosen; speaking with it, and listening to it.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { useLive } from '../parts/live.js';
import { Waiting } from '../parts/notes.js';
import { Player } from '../parts/compare.js';
import { style } from '../parts/style.js';
import { t } from '../parts/words.js';
import { Import } from './voices/travel.js';
import { Library } from './voices/library.js';
import { Voice } from './voices/voice.js';
import { Speak } from './voices/speak.js';
import { Kept } from './voices/kept.js';

style('voices');

// The address holds the voice (#project/voices/voice), so that a reload and a second tab show it.
const chosenHere = () => location.hash.slice(1).split('/')[2] ?? '';

export default function Voices({ project, now }) {
  const [search, setSearch] = useState('');
  const [tag, setTag] = useState('');
  const [chosen, setChosen] = useState(chosenHere());
  const [importing, setImporting] = useState(false);
  const { data: found, error, again } = useLive('voices', { search, tag }, 1500);
  // What was found before stays while the next letters are searched: so does the keyboard.
  const kept = useRef(null);
  if (found) kept.current = found;
  const data = kept.current;
  useEffect(() => {
    const moved = () => setChosen(chosenHere());
    addEventListener('hashchange', moved);
    moved();
    return () => removeEventListener('hashchange', moved);
  }, []);
  const choose = (id) => { location.hash = `${project?.id ?? ''}/voices/${id}`; };
  if (!data) return html`<div><h1>${t('voices.title')}</h1><${Waiting} error=${error} /></div>`;
  const id = chosen || data.voices[0]?.id || '';
  return html`<div>
    <div class="row"><h1 class="grow">${t('voices.title')}</h1>
      <button onClick=${() => setImporting(true)}>${t('voices.import')}</button></div>
    ${importing && html`<${Import} jobs=${now.jobs} onClose=${() => setImporting(false)} done=${(made) => { setImporting(false); again(); choose(made.id); }} />`}
    ${data.count === 0 && !data.trashed.length
      ? html`<div class="card empty"><p>${t('voices.none')}</p></div>`
      : html`<div class="voices">
          <${Library} data=${data} chosen=${id} choose=${choose} again=${again} search=${search} setSearch=${setSearch} tag=${tag} setTag=${setTag} />
          ${id ? html`<${Chosen} key=${id} id=${id} now=${now} again=${again} choose=${choose} />` : html`<div></div>`}
        </div>`}
  </div>`;
}

function Chosen({ id, now, again, choose }) {
  const voice = useLive('voices.one', { voice: id }, 2000);
  const kept = useLive('voices.kept', { voice: id });
  const [opened, setOpened] = useState('');
  const changed = () => { voice.again(); again(); };
  // While the studio does not answer (status 0) the voice and what is said stay as they are.
  if (voice.error && (voice.error.status || !voice.data)) return html`<div class="card empty"><p>${voice.error.what} ${voice.error.fix}</p><button onClick=${() => choose('')}>${t('voices.back')}</button></div>`;
  if (!voice.data) return html`<${Waiting} />`;
  return html`<div class="stack wide">
    <${Voice} voice=${voice.data} changed=${changed} />
    ${!voice.data.trashed && html`<${Speak} voice=${voice.data} now=${now} opened=${opened} setOpened=${setOpened} again=${kept.again} />`}
    <${Kept} voice=${voice.data} kept=${kept.data} opened=${opened} setOpened=${setOpened} again=${kept.again} />
    <section class="card stack" aria-label=${t('voices.listen')}>
      <h2>${t('voices.listen')}</h2>
      <${Player} voice=${id} />
    </section>
  </div>`;
}
