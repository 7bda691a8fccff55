// Voices travel: in from one file or another program's folder, out as one file or as other programs have them.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { call, fileUrl, upload } from '../../parts/api.js';
import { Bar, Work, atWork, isAtWork } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, Dialog, Waiting, note, problem } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { size, t } from '../../parts/words.js';
import { languageName } from '../recordings/languages.js';
import { consentWords } from './voice.js';

// ---- In ----

export function Import({ jobs, onClose, done }) {
  const [asked, setAsked] = useState('');
  const [given, setGiven] = useState({ path: '', language: '', reference: '' });
  const [refused, setRefused] = useState(null);
  const { data, error } = useLive('voices.import.job', asked ? { job: asked } : null, 500);
  const taken = (made) => {
    note(t('voices.imported', { name: made.name }));
    done(made);
  };
  useEffect(() => { if (data?.voice) taken(data.voice); }, [data?.voice?.id]);
  const job = asked ? data?.job : atWork(jobs, 'adopt')[0];
  const going = job && isAtWork(job);
  const waits = asked && (job ? going : !error?.status);
  return html`<${Dialog} title=${t('voices.import')} onClose=${onClose}>
    <div class="stack">
      <p>${t('voices.import.why')}</p>
      ${going && html`<${Going} job=${job} /><p class="why">${t('voices.import.goeson')}</p>`}
      ${asked && job && !going && !data.voice && html`<${Ended} job=${job} />`}
      ${!waits && html`<${Sent} taken=${taken} setRefused=${setRefused} />
        <${Lying} given=${given} setGiven=${setGiven} taken=${taken} setAsked=${setAsked} setRefused=${setRefused} wasRefused=${Boolean(asked)} />
        <${Refusal} error=${refused} />`}
    </div>
  <//>`;
}

/** There is nothing to save in a job that is stopped; one that waits is taken out. */
const Going = ({ job }) => html`<${Work} job=${job} stopLabel=${job.state === 'waiting' ? undefined : t('voices.stop')} />`;

/** What happened, and what to do: here and not in a note, which would lie behind the dialog. */
const Refusal = ({ error }) => error && html`<p class="failed" role="alert"><b>${error.what}</b> ${error.fix}</p>`;

/** A job that brought nothing: the same. */
const Ended = ({ job }) => html`<p class=${job.outcome?.cause === 'stopped' ? '' : 'failed'} role="alert">${translated(job.line)}</p>`;

function Sent({ taken, setRefused }) {
  const [share, setShare] = useState(null);
  const send = async (event) => {
    const [file] = event.target.files;
    event.target.value = '';
    setShare(0);
    setRefused(null);
    try {
      taken((await call('voices.import', { upload: await upload(file, { progress: setShare }) })).voice);
    } catch (error) {
      setRefused(error);
    } finally {
      setShare(null);
    }
  };
  return html`<label>${t('voices.import.file')}<input type="file" accept=".timbre" onChange=${send} /></label>
    ${share != null && html`<${Bar} share=${share < 1 ? share : null} label=${t('voices.import.file')} />`}`;
}

/** A file or a folder of this computer; what a folder does not say of itself can be said here. */
function Lying({ given, setGiven, taken, setAsked, setRefused, wasRefused }) {
  const [unfolded, setUnfolded] = useState(wasRefused);
  const [languages, setLanguages] = useState([]);
  useEffect(() => { call('voices.import.languages').then(setLanguages, problem); }, []);
  const set = (name) => (event) => setGiven({ ...given, [name]: event.target.value });
  const take = async () => {
    setRefused(null);
    try {
      const { voice, job } = await call('voices.import', { ...given, path: given.path.trim(), reference: given.reference.trim() });
      if (voice) taken(voice);
      else setAsked(job);
    } catch (error) {
      setUnfolded(!given.path.trim().endsWith('.timbre'));
      setRefused(error);
    }
  };
  return html`<form class="stack" onSubmit=${(event) => event.preventDefault()}>
    <label>${t('voices.import.path')}<input value=${given.path} onInput=${set('path')} /></label>
    <details open=${unfolded}><summary>${t('voices.import.folder')}</summary><div class="stack">
      <label>${t('voices.import.language')}<select value=${given.language} onChange=${set('language')}>
        <option value="">${t('voices.import.language.own')}</option>
        ${languages.map((each) => html`<option value=${each}>${languageName(each)}</option>`)}</select></label>
      <label>${t('voices.import.reference')}<input value=${given.reference} onInput=${set('reference')} />
        <span class="why">${t('voices.import.reference.why')}</span></label>
    </div></details>
    <div><${Act} type="submit" disabled=${!given.path.trim()} run=${take}>${t('voices.import.take')}<//></div>
  </form>`;
}

// ---- Out ----

export function Export({ voice, onClose }) {
  const { data, error, again } = useLive('voices.packings', { voice: voice.id }, 500);
  return html`<${Dialog} title=${t('voices.export')} onClose=${onClose}>
    <div class="stack">
      <p>${consentWords(voice)} ${t('voices.export.consent')}</p>
      ${data ? data.map((each) => html`<${Packing} key=${each.kind + each.form} voice=${voice} packing=${each} again=${again} />`) : html`<${Waiting} error=${error} />`}
    </div>
  <//>`;
}

/** One form: to be asked for, on its way, or there. What was asked for here is saved once it is there. */
function Packing({ voice, packing, again }) {
  const { kind, form, packed, job } = packing;
  const [asked, setAsked] = useState('');
  const [refused, setRefused] = useState(null);
  const link = useRef();
  useEffect(() => {
    if (!asked) return;
    if (packed) link.current.click();
    if (packed || (job?.id === asked && !isAtWork(job))) setAsked('');
  }, [asked, packed?.id, job?.id, job?.state]);
  const title = kind === 'timbre' ? t('voices.export.timbre') : t('voices.export.form', { form: form || voice.title });
  const named = (what) => t('voices.export.of', { what, form: title });
  const pack = async () => {
    setRefused(null);
    try {
      setAsked((await call('voices.pack', { voice: voice.id, kind, form })).job ?? 'there');
      again();
    } catch (error) {
      setRefused(error);
    }
  };
  const going = job && isAtWork(job);
  const ready = packed && t('voices.export.ready', { size: size(packed.bytes) });
  return html`<div class="stack">
    <div class="row"><div class="grow"><p>${title}</p>${kind === 'timbre' && html`<p class="why">${t('voices.export.why')}</p>`}</div>
      ${packed && html`<a ref=${link} class="button" href=${fileUrl('voices.packed', { voice: voice.id, id: packed.id })} download aria-label=${named(ready)}>${ready}</a>`}
      ${!packed && !going && html`<${Act} aria-label=${named(t('voices.export.pack'))} run=${pack}>${t('voices.export.pack')}<//>`}</div>
    ${going && html`<${Going} job=${job} />`}
    <${Refusal} error=${refused} />
    ${job && !going && !refused && job.outcome?.cause !== 'finished' && html`<${Ended} job=${job} />`}
  </div>`;
}
