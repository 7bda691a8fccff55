// What was spoken: kept with its settings until somebody deletes it; played, mended, saved.

import { html, useState } from '../../vendor/preact.js';
import { call, fileUrl } from '../../parts/api.js';
import { Work } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Act, Waiting, asked } from '../../parts/notes.js';
import { Play } from '../../parts/player.js';
import { translated } from '../../parts/translated.js';
import { clock, number, t, when } from '../../parts/words.js';
import { Format } from './speak.js';
import { Going, Lines, useSpeaking } from './speaking.js';

const KINDS = ['mp3', 'wav', 'flac', 'ogg'];
const LOUDNESS = [-16, -19, -23];

export function Kept({ kept, opened, setOpened, again }) {
  if (!kept || (!kept.texts.length && !kept.scripts.length)) return null;
  const mended = new Set(kept.texts.map((each) => each.before));
  const newest = kept.texts.filter((each) => !mended.has(each.id) || each.id === opened);
  return html`<section class="card stack" aria-label=${t('voices.kept')}>
    <h2>${t('voices.kept')}</h2>
    <ul class="list">
      ${kept.scripts.map((each) => html`<${Script} key=${each.id} script=${each} again=${again} />`)}
      ${newest.map((each) => html`<${Text} key=${each.id} text=${each} all=${kept.texts} opened=${each.id === opened} setOpened=${setOpened} again=${again} />`)}
    </ul>
    ${kept.count > kept.texts.length && html`<p class="why">${t('voices.kept.more', { n: number(kept.count - kept.texts.length) })}</p>`}
  </section>`;
}

async function remove(id, again) {
  if (!(await asked(t('voices.delete.ask'), t('voices.delete')))) return;
  await call('voices.delete', { id });
  again();
}

function Text({ text, all, opened, setOpened, again }) {
  const words = [when(text.made), clock(text.seconds), t('voices.sentences', { n: number(text.sentences) }), t('voices.seed.is', { n: text.seed })];
  if (text.pace !== 1) words.push(t('voices.pace.is', { n: number(text.pace, 2) }));
  return html`<li>
    <${Play} url=${fileUrl('voices.kept.sound', { id: text.id })} label=${text.text} />
    <div class="grow"><p class="one-line">${text.text}</p>
      <p class="soft small-text">${words.join(' · ')}
        ${!text.whole && html` <span class="mark">${t('voices.stopped')}</span>`}
        ${text.wrong > 0 && html` <span class="mark look">${t('voices.look', { n: text.wrong })}</span>`}</p></div>
    <button class="small" aria-expanded=${opened} onClick=${() => setOpened(opened ? '' : text.id)}>${t('voices.open')}</button>
    <${Act} class="small" run=${() => remove(text.id, again)}>${t('voices.delete')}<//>
    ${opened && html`<${Opened} id=${text.id} all=${all} setOpened=${setOpened} again=${again} />`}
  </li>`;
}

function Opened({ id, all, setOpened, again }) {
  const { data, error } = useLive('voices.kept.one', { id }, 10000);
  const { now, begin, stop } = useSpeaking();
  const [kind, setKind] = useState('mp3');
  const [lufs, setLufs] = useState(LOUDNESS[0]);
  if (!data) return html`<${Waiting} error=${error} />`;
  const sayAgain = async (line) => {
    const made = await begin('voices.again', { id, line });
    again();
    if (made) setOpened(made);
  };
  const earlier = all.find((each) => each.id === data.before);
  const settings = Object.entries(data.manners).map(([name, value]) => `${translated(name.replaceAll('_', ' '))} ${number(value, 2)}`);
  const save = fileUrl('voices.kept.save', { id, kind, ...(lufs == null ? { as_spoken: 1 } : { lufs }) });
  return html`<div class="opened stack">
    ${settings.length > 0 && html`<p class="why">${settings.join(' · ')}</p>`}
    ${now && html`<div class="row"><button onClick=${stop}>${t('voices.stop')}</button><${Going} now=${now} /></div>`}
    <${Lines} lines=${data.lines} busy=${Boolean(now)} sayAgain=${sayAgain} sound=${(line) => fileUrl('voices.kept.line', { id, line })} />
    <div class="row bottom">
      <${Format} kinds=${KINDS} kind=${kind} setKind=${setKind} loudness=${LOUDNESS} lufs=${lufs} setLufs=${setLufs} />
      <a class="button" href=${save} download>${t('voices.save')}</a>
    </div>
    ${earlier && html`<div class="row"><${Play} url=${fileUrl('voices.kept.sound', { id: earlier.id })} label=${t('voices.before')} />
      <span class="grow soft">${t('voices.before')}</span>
      <button class="small" onClick=${() => setOpened(earlier.id)}>${t('voices.before.back')}</button></div>`}
  </div>`;
}

function Script({ script, again }) {
  const atWork = script.job && script.job.state !== 'ended';
  return html`<li>
    <div class="grow stack"><p><b>${script.name}</b> <span class="soft small-text">${when(script.made)} · ${script.kind}${script.seconds ? ` · ${clock(script.seconds)}` : ''}</span></p>
      ${atWork && html`<${Work} job=${script.job} />`}
      ${!atWork && !script.files.length && html`<p class="soft">${translated(script.job?.line || script.job?.words) || t('voices.script.nothing')}</p>`}
      ${script.files.map((name) => html`<div key=${name} class="row"><${Play} url=${fileUrl('voices.script.file', { id: script.id, name })} label=${name} />
        <span class="grow">${name}</span>
        <a class="button" href=${fileUrl('voices.script.file', { id: script.id, name, save: 1 })} download>${t('voices.save')}</a></div>`)}
      ${script.faults.length > 0 && html`<details><summary><span class="mark look">${t('voices.look', { n: script.faults.length })}</span></summary>
        <ul>${script.faults.map((each) => html`<li>${translated(each)}</li>`)}</ul></details>`}
    </div>
    ${!atWork && html`<${Act} class="small" run=${() => remove(script.id, again)}>${t('voices.delete')}<//>`}
  </li>`;
}
