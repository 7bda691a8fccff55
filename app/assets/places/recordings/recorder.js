// Record sentence after sentence: read, stop, listen, keep, next. What is read is the transcript.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { call, upload } from '../../parts/api.js';
import { Bar } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, asked, doing } from '../../parts/notes.js';
import { pause, toggle, usePlaying } from '../../parts/player.js';
import { translated } from '../../parts/translated.js';
import { clock, t } from '../../parts/words.js';
import { forget, FREE, Going, keep, takesOf } from './kept.js';
import { LanguageSelect } from './languages.js';
import { Meter } from './meter.js';
import { Microphone, judged, microphones, wav } from './microphone.js';
import { send } from './sending.js';

const OURS = 'english';

export function Recorder({ project, codes, goodSeconds, seconds, onClose, again }) {
  const [set, setSet] = useState(OURS);
  const [language, setLanguage] = useState('');
  const [sentences, setSentences] = useState(null);
  const [at, setAt] = useState(0);
  const [unsent, setUnsent] = useState([]);
  const [busy, setBusy] = useState(false);
  const { data: read, again: readAgain } = useLive('recordings.read', set === FREE ? null : { project: project.id, prompts: set });

  useEffect(() => {
    if (set === FREE) return undefined;
    let wanted = true;
    doing(async () => {
      const found = await call('recordings.prompts', { project: project.id, name: set });
      if (wanted) setSentences({ ...found, of: set });
    });
    return () => { wanted = false; };
  }, [set]);
  useEffect(() => {
    takesOf(project.id).then(async (found) => {
      setUnsent(found);
      const waiting = found.find((each) => !each.kept);
      if (waiting) setSet(waiting.prompts);
      await doing(() => deliverAll(found.filter((each) => each.kept)));
    }).catch(() => {}); // a browser that stores nothing has nothing to send
  }, []);

  const states = Object.fromEntries((read?.read ?? []).map((each) => [each.number, each]));
  for (const each of unsent) if (each.kept && each.prompts === set) states[each.number] = { number: each.number, state: 'sending', seconds: each.seconds };
  const all = sentences?.of === set ? sentences.prompts : []; // those of another set wait no more
  // Where a person was: at the first sentence that nobody has read.
  const begun = useRef('');
  useEffect(() => {
    if (!read || !all.length || begun.current === set) return;
    begun.current = set;
    const wanted = unsent.find((each) => !each.kept && each.prompts === set)?.number;
    const place = all.findIndex((each) => (wanted ? each.number === wanted : !states[each.number]));
    setAt(Math.max(0, place));
  }, [read, sentences, set, unsent]);

  const next = () => {
    const later = all.findIndex((each, index) => index > at && !states[each.number]);
    setAt(later < 0 ? Math.min(at + 1, all.length - 1) : later);
  };
  const without = (take) => (before) => before.filter((each) => each.number !== take.number || each.prompts !== take.prompts);
  const drop = async (take) => {
    await forget(take).catch(() => {});
    setUnsent(without(take));
  };
  const taken = async (take) => {
    const isStored = await keep(take).then(() => true, () => false);
    setUnsent((before) => [...without(take)(before), { ...take, isStored }]);
  };
  const deliver = async (take) => {
    const id = await upload(new File([take.blob], 'take.wav'));
    await call('recordings.take', { project: project.id, prompts: take.prompts, number: take.number, upload: id, language: take.language });
    await drop(take);
    readAgain();
  };
  const deliverAll = async (found) => {
    for (const each of found) await deliver(each);
  };
  const keepTake = async (take) => {
    if (set === FREE) {
      const name = `${t('recordings.free.name')} ${stamp(take.number)}.wav`;
      if (await send(project.id, [{ file: new File([take.blob], name), name }])) await drop(take);
      again();
      return;
    }
    const kept = { ...take, kept: true, language: set === OURS ? 'en' : language };
    await taken(kept);
    next();
    await deliver(kept);
  };
  const current = all[at];
  const there = set === FREE ? seconds : (read?.seconds ?? 0) + unsent.reduce((sum, each) => sum + (each.kept ? each.seconds : 0), 0);
  const left = unsent.find((each) => !each.kept && each.prompts === set && (set === FREE || each.number === current?.number));
  return html`<section class="card stack recorder" aria-label=${t('recordings.recorder')}>
    <div class="row"><h2 class="grow">${t('recordings.recorder')}</h2>
      <span class="soft">${t('recordings.progress', { done: clock(there), good: clock(goodSeconds) })}</span>
      <button class="small" onClick=${onClose}>${t('recordings.close')}</button></div>
    <${Bar} share=${Math.min(1, there / goodSeconds)} label=${t('recordings.progress', { done: clock(there), good: clock(goodSeconds) })} />
    <${Sets} project=${project} sets=${sentences?.sets ?? [{ name: OURS, language: 'en' }]} set=${set} setSet=${setSet} codes=${codes} language=${language} setLanguage=${setLanguage} busy=${busy} />
    ${set !== FREE && current && html`<${Sentence} sentence=${current} at=${at} count=${all.length} state=${states[current.number]} setAt=${setAt} busy=${busy} />`}
    ${set === FREE && html`<p class="sentence soft">${t('recordings.free.how')}</p>`}
    ${(set === FREE || current) && html`<${Booth} key=${`${set} ${current?.number ?? ''}`} project=${project} set=${set} number=${current?.number ?? 0} take=${left} onTake=${taken} onKeep=${keepTake} onDrop=${drop} setBusy=${setBusy} />`}
    <${Standing} states=${states} all=${all} setAt=${setAt} unsent=${unsent.filter((each) => each.kept)} deliverAll=${deliverAll} busy=${busy} />
  </section>`;
}

const stamp = (at) => new Date(at).toLocaleString('sv').replaceAll(':', '.');

function Sets({ project, sets, set, setSet, codes, language, setLanguage, busy }) {
  const input = useRef();
  const bring = (event) => {
    const [file] = event.target.files;
    event.target.value = '';
    doing(async () => setSet(await call('recordings.ownprompts', { project: project.id, upload: await upload(file), name: file.name })));
  };
  return html`<div class="row bottom">
    <label class="grow">${t('recordings.sets')}
      <select value=${set} disabled=${busy} onChange=${(event) => setSet(event.target.value)}>
        ${sets.map((each) => html`<option value=${each.name}>${each.language ? t('recordings.sets.ours') : each.name}</option>`)}
        <option value="">${t('recordings.free')}</option>
      </select></label>
    ${set !== FREE && set !== OURS && html`<label>${t('recordings.language')}
      <${LanguageSelect} codes=${codes} value=${language} onChange=${setLanguage} /></label>`}
    <button disabled=${busy} onClick=${() => input.current.click()}>${t('recordings.sets.own')}</button>
    <input ref=${input} hidden type="file" accept=".txt,text/plain" onChange=${bring} />
  </div>`;
}

function Sentence({ sentence, at, count, state, setAt, busy }) {
  return html`<div class="stack tight">
    <p class="sentence" aria-live="polite">${sentence.text}</p>
    <div class="row">
      <span class="soft">${t('recordings.sentence', { n: at + 1, of: count })}</span>
      ${state && html`<span class=${`mark ${{ good: 'good', again: 'look' }[state.state] ?? ''}`}>${t(`recordings.take.${state.state}`)}</span>`}
      <span class="grow"></span>
      <button class="small" disabled=${busy || at === 0} onClick=${() => setAt(at - 1)}>${t('recordings.before')}</button>
      <button class="small" disabled=${busy || at >= count - 1} onClick=${() => setAt(at + 1)}>${t('recordings.skip')}</button>
    </div>
    ${state?.said && html`<p class="warned">${translated(state.said)}</p>`}
  </div>`;
}

// The microphone stays open from one sentence to the next.
let microphone = null;
let chosen = '';
let levelled = () => {};

let turn = 0;

async function listen(device) {
  endListening();
  const mine = turn;
  const opened = await Microphone.open(device, (level) => levelled(level));
  if (mine !== turn) {
    opened.close(); // the place was left, or another was asked for, while the browser asked
    return;
  }
  microphone = opened;
  chosen = opened.device;
}

/** One sentence in front of the microphone. Its big button does what comes next. */
function Booth({ project, set, number, take: made, onTake, onKeep, onDrop, setBusy }) {
  const [doesRecord, setRecords] = useState(false);
  const [given, setGiven] = useState(null); // the take that is on its way to where it is kept
  const take = doesRecord || made === given ? null : made;
  const url = useUrl(take?.blob);
  const [devices, setDevices] = useState([]);
  const [refused, setRefused] = useState(null);
  const meter = useRef();
  const [, redraw] = useState(0);
  const { url: playing } = usePlaying();
  const recording = useRef(false);
  recording.current = doesRecord;
  const going = useRef(null);

  useEffect(() => {
    levelled = (level) => {
      meter.current?.(level, recording.current ? microphone.seconds : null);
      going.current?.more();
    };
    microphones().then(setDevices);
    return () => {
      levelled = () => {};
      if (!recording.current) return;
      going.current?.leave();
      microphone?.end();
    };
  }, []);
  useUnloadWarning(doesRecord || take?.isStored === false);
  useEffect(() => {
    setBusy(doesRecord);
    return () => setBusy(false);
  }, [doesRecord]);

  const turnOn = async (device) => {
    setRefused(null);
    try {
      await listen(device);
      setDevices(await microphones());
      redraw((count) => count + 1);
    } catch (error) {
      setRefused(error);
    }
  };
  const start = () => {
    pause();
    microphone.begin();
    going.current = set === FREE ? new Going(project.id, microphone) : null;
    setRecords(true);
  };
  const stop = async () => {
    const whole = going.current;
    going.current = null;
    setRecords(false);
    const found = await microphone.end();
    const heard = { blob: wav(found), seconds: found.samples.length / found.rate, hints: judged(found) };
    await onTake({ project: project.id, prompts: set, number: whole?.take ?? number, ...heard, kept: false });
    await whole?.end();
  };
  const done = async () => {
    pause();
    setGiven(take);
    try {
      await onKeep(take);
    } finally {
      setGiven(null);
    }
  };
  const throwAway = async () => {
    pause();
    if (await asked(t('recordings.throw.ask'), t('recordings.throw'))) await onDrop(take);
  };
  const now = !microphone ? 'on' : doesRecord ? 'stop' : take ? 'keep' : 'record';
  const act = { on: () => turnOn(chosen), stop, keep: done, record: start }[now];
  return html`<div class="stack">
    ${microphone && html`<${Meter} told=${meter} doesRecord=${doesRecord} isDone=${Boolean(take)} />`}
    ${refused && html`<div class="refused" role="alert"><b>${refused.what}</b> ${refused.fix}</div>`}
    <div class="row booth">
      <${BoothButton} now=${take && !microphone ? 'keep' : now} act=${take && !microphone ? done : act} />
      ${take && html`<button aria-pressed=${playing === url} onClick=${() => toggle(url)}>${t(playing === url ? 'player.stop' : 'recordings.listen')}</button>
        ${set === FREE
          ? html`<${Act} run=${throwAway}>${t('recordings.throw')}<//>`
          : html`<button onClick=${microphone ? start : () => turnOn(chosen)}>${t('recordings.retake')}</button>`}
        <span class="soft">${clock(take.seconds, 1)}</span>`}
    </div>
    ${take?.hints.length > 0 && html`<div class="warned" role="status">${take.hints.map((hint) => html`<p key=${hint}>${t(`recordings.hint.${hint}`)}</p>`)}</div>`}
    ${devices.length > 1 && microphone && html`<label>${t('recordings.microphone')}
      <select value=${chosen} disabled=${doesRecord} onChange=${(event) => turnOn(event.target.value)}>
        ${devices.map((each, index) => html`<option value=${each.id}>${each.label || t('recordings.microphone.n', { n: index + 1 })}</option>`)}
      </select></label>`}
  </div>`;
}

/** An address that a blob is played from. */
function useUrl(blob) {
  const [url, setUrl] = useState('');
  useEffect(() => {
    if (!blob) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}

/** The one button for all of it: whoever works by keyboard presses it again and again. */
function BoothButton({ now, act }) {
  const box = useRef();
  useEffect(() => { if (microphone && document.activeElement === document.body) box.current.focus(); }, []);
  return html`<button ref=${box} class=${`big ${now === 'stop' ? 'recording' : 'primary'}`} onClick=${() => doing(async () => act())}>
    ${now === 'stop' && html`<i aria-hidden="true"></i>`}${t(`recordings.booth.${now}`)}</button>`;
}

function useUnloadWarning(active) {
  useEffect(() => {
    if (!active) return undefined;
    const warn = (event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [active]);
}

/** How the sentences stand, and those to be read again. */
function Standing({ states, all, setAt, unsent, deliverAll, busy }) {
  const count = (wanted) => Object.values(states).filter((each) => each.state === wanted).length;
  const again = all.map((each, index) => ({ ...each, index })).filter((each) => states[each.number]?.state === 'again');
  if (!Object.keys(states).length) return null;
  return html`<div class="stack tight" role="status">
    <p class="soft">${t('recordings.standing', { good: count('good'), waiting: count('waiting') + count('sending') })}</p>
    ${again.length > 0 && html`<div class="row"><span>${t('recordings.readagain')}</span><div class="chips">
      ${again.map((each) => html`<button key=${each.number} class="chip" disabled=${busy} title=${translated(states[each.number].said)} aria-label=${t('recordings.readagain.one', { n: each.index + 1 })} onClick=${() => setAt(each.index)}>${each.index + 1}</button>`)}</div></div>`}
    ${unsent.length > 0 && html`<div class="row"><span class="grow">${t('recordings.unsent', { n: unsent.length })}</span><${Act} class="small" run=${() => deliverAll(unsent)}>${t('recordings.unsent.send')}<//></div>`}
  </div>`;
}

/** Let go of the microphone. */
export function endListening() {
  turn += 1;
  microphone?.close();
  microphone = null;
}
