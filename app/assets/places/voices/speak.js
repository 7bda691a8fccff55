// Speaking: a text of any length, heard from its first sentence on; how the voice speaks; scripts.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { call, upload } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, doing, note } from '../../parts/notes.js';
import { Typed } from '../../parts/typed.js';
import { translated } from '../../parts/translated.js';
import { number, t } from '../../parts/words.js';
import { Going, Lines, useSpeaking } from './speaking.js';

const READ_AFTER_MS = 400;

export function Speak({ voice, setOpened, again }) {
  const draft = `timbre.say.${voice.id}`;
  const [text, setText] = useState(localStorage.getItem(draft) ?? '');
  const { data: ways, again: asAgain } = useLive('voices.settings', { voice: voice.id }, 3000);
  const { now, begin, stop } = useSpeaking();
  const type = (said) => {
    setText(said);
    localStorage.setItem(draft, said);
  };
  const speak = async () => {
    setOpened('');
    const kept = await begin('voices.say', { voice: voice.id, said: text });
    again();
    if (kept) setOpened(kept);
  };
  // To open a voice takes seconds, in which a text is typed. What hinders it is said when it speaks.
  const prepare = () => now || call('voices.prepare', { voice: voice.id }).catch(() => {});
  return html`<section class="card stack" aria-label=${t('voices.speak')}>
    <h2>${t('voices.speak.with', { name: voice.name })}</h2>
    <label>${t('voices.text')}
      <textarea rows="4" value=${text} onFocus=${prepare} onInput=${(event) => type(event.target.value)}></textarea></label>
    <div class="row">
      ${now
        ? html`<button class="primary" onClick=${stop}>${t('voices.stop')}</button><${Going} now=${now} />`
        : html`<button class="primary" disabled=${!text.trim()} onClick=${() => doing(speak)}>${t('voices.speak')}</button>
            <span class="why">${t('voices.speak.why')}</span>`}
    </div>
    ${now?.lines.length > 0 && html`<${Lines} lines=${now.lines} on=${now.speech.line} />`}
    ${!now && text.trim() && html`<${Reading} voice=${voice} text=${text} ways=${ways} />`}
    ${ways && html`<${Ways} voice=${voice} ways=${ways} again=${asAgain} />`}
    ${ways && html`<${Scripts} voice=${voice} text=${text} ways=${ways} again=${again} />`}
  </section>`;
}

/** How a text will be read out, before it is: only where somebody wants to know. */
function Reading({ voice, text, ways }) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState(null);
  useEffect(() => {
    if (!open) return undefined;
    let wanted = true;
    const timer = setTimeout(() => doing(async () => {
      const read = await call('voices.read', { voice: voice.id, said: text });
      if (wanted) setFound(read);
    }), READ_AFTER_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [open, text, ways?.chosen.language]);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${t('voices.reading')}</summary>
    ${found && html`<p class="soft small-text">${t('voices.reading.count', { n: number(found.count) })}</p>
      <${Lines} lines=${found.sentences.map((each) => ({ ...each, faults: [] }))} />`}
  </details>`;
}

/** More stable or more lively, quicker or slower, another chance, another language. */
function Ways({ voice, ways, again }) {
  const { chosen } = ways;
  const settle = (change) => doing(async () => {
    await call('voices.settle', { voice: voice.id, chosen: { ...chosen, ...change } });
    await again();
  });
  return html`<details><summary>${t('voices.ways')}</summary><div class="stack">
    ${ways.dial && html`<label>${t('voices.dial')}
      <${Typed} type="range" min="-2" max="2" step="1" value=${chosen.dial} put=${(moved) => settle({ dial: Number(moved) })} />
      <span class="row ends why"><span class="grow">${t('voices.dial.stable')}</span><span>${t('voices.dial.lively')}</span></span>
      <span class="why">${t(`voices.dial.at.${chosen.dial}`)}</span></label>`}
    <label>${t('voices.pace', { n: number(chosen.pace, 2) })}
      <${Typed} type="range" min="0.5" max="2" step="0.05" value=${chosen.pace} put=${(moved) => settle({ pace: Number(moved) })} /></label>
    <div class="row bottom">
      <label>${t('voices.seed')}<${Typed} class="short" type="number" min="0" max="2147483647" step="1" value=${chosen.seed} put=${(typed) => settle({ seed: Math.round(Number(typed)) })} /></label>
      <button onClick=${() => settle({ seed: Math.floor(Math.random() * 1e6) })}>${t('voices.seed.other')}</button>
      ${ways.languages.length > 1 && html`<label>${t('voices.language')}
        <select value=${chosen.language} onChange=${(event) => settle({ language: event.target.value })}>
          <option value="">${t('voices.language.own', { code: voice.language })}</option>
          ${ways.languages.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`}
    </div>
    <p class="why">${t('voices.seed.why')}</p>
    ${ways.manners.length > 0 && html`<details><summary>${t('voices.manners')}</summary><div class="even">
      ${ways.manners.map((each) => html`<${Manner} key=${each.name} manner=${each} turned=${ways.turned[each.name]} set=${(value) => settle({ own: { ...chosen.own, [each.name]: value } })} unset=${() => {
        const { [each.name]: gone, ...own } = chosen.own;
        settle({ own });
      }} />`)}</div></details>`}
    <div><button class="small" onClick=${() => settle({ dial: 0, pace: 1, seed: 0, language: '', own: {} })}>${t('voices.ways.usual')}</button></div>
  </div></details>`;
}

function Manner({ manner, turned, set, unset }) {
  const { name, low, usual, high, own } = manner;
  const step = high - low > 20 ? 1 : 0.05;
  const value = own ?? turned ?? usual;
  return html`<div><label>${translated(name.replaceAll('_', ' '))}: ${number(value, step < 1 ? 2 : 0)}
    <${Typed} type="range" min=${low} max=${high} step=${step} value=${value} put=${(moved) => set(Number(moved))} />
    <span class="why">${t('voices.manner.usual', { n: number(usual, step < 1 ? 2 : 0) })}</span></label>
    ${own != null && html`<button class="small" onClick=${unset}>${t('voices.manner.reset')}</button>`}</div>`;
}

/** A file of text, subtitles or a table, or the text above: spoken as a work of its own. */
function Scripts({ voice, text, ways, again }) {
  const [kind, setKind] = useState('mp3');
  const [lufs, setLufs] = useState(ways.loudness[0]);
  const [share, setShare] = useState(null);
  const begin = async (what) => {
    await call('voices.script', { voice: voice.id, kind, lufs, ...what });
    again();
    note(t('voices.script.begun'));
  };
  const send = (event) => doing(async () => {
    const [file] = event.target.files;
    event.target.value = '';
    try {
      await begin({ upload: await upload(file, { progress: setShare }) });
    } finally {
      setShare(null);
    }
  });
  return html`<details><summary>${t('voices.script')}</summary><div class="stack">
    <p class="why">${t('voices.script.why')}</p>
    <div class="row bottom"><${Format} kinds=${ways.kinds} kind=${kind} setKind=${setKind} loudness=${ways.loudness} lufs=${lufs} setLufs=${setLufs} /></div>
    <div class="row bottom">
      <label class="grow">${t('voices.script.file')}<input type="file" accept=".txt,.srt,.csv" onChange=${send} /></label>
      <${Act} disabled=${!text.trim()} run=${() => begin({ said: text })}>${t('voices.script.text')}<//>
    </div>
    ${share != null && html`<${Bar} share=${share} label=${t('voices.script.file')} />`}
  </div></details>`;
}

/** Which kind of file, and how loud. */
export function Format({ kinds, kind, setKind, loudness, lufs, setLufs }) {
  return html`<label>${t('voices.kind')}<select value=${kind} onChange=${(event) => setKind(event.target.value)}>
      ${kinds.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <label>${t('voices.loudness')}<select value=${lufs ?? ''} onChange=${(event) => setLufs(event.target.value === '' ? null : Number(event.target.value))}>
      ${loudness.map((each) => html`<option value=${each}>${t(`voices.loudness.${-each}`)}</option>`)}
      <option value="">${t('voices.loudness.as')}</option></select></label>`;
}
