// Comparing without knowing which is which: liked better (A/B), or told apart at all (ABX).

import { html, useState } from '../vendor/preact.js';
import { call, fileUrl } from './api.js';
import { useLive } from './live.js';
import { Act, Dialog, Waiting } from './notes.js';
import { useSides } from './sound_sides.js';
import { translated } from './translated.js';
import { clock, number, t, when } from './words.js';

const TRIALS = { ab: [4, 8, 12, 16, 24], abx: [8, 10, 12, 16] };
const USUAL = { ab: 8, abx: 10 };

export function Blind({ one, other, names, onClose }) {
  const [id, setId] = useState('');
  return html`<${Dialog} title=${t('compare.blind')} onClose=${onClose}>
    <div class="stack blind">${id
      ? html`<${Session} key=${id} id=${id} back=${() => setId('')} />`
      : html`<${Begin} one=${one} other=${other} names=${names} begun=${setId} /><${Before} open=${setId} />`}</div>
  <//>`;
}

/** The sentences that both have said. */
function pairsOf(one, other) {
  return one.heard.flatMap((mine) => {
    const theirs = other.heard.find((each) => each.text === mine.text);
    return theirs ? [{ text: mine.text, one: mine.address, other: theirs.address }] : [];
  });
}

function Begin({ one, other, names, begun }) {
  const [kind, setKind] = useState('ab');
  const [trials, setTrials] = useState(USUAL.ab);
  const pairs = pairsOf(one, other);
  const choose = (wanted) => {
    setKind(wanted);
    setTrials(USUAL[wanted]);
  };
  const start = async () => {
    const made = await call('compare.begin', { kind, one: names[0], other: names[1], pairs, trials });
    begun(made.id);
  };
  return html`<p>${t('compare.blind.of', { one: names[0], other: names[1] })}</p>
    <fieldset><legend>${t('compare.blind.ask')}</legend><div class="stack">
      ${['ab', 'abx'].map((each) => html`<label class="inline"><input type="radio" name="kind" checked=${kind === each} onChange=${() => choose(each)} />${t(`compare.kind.${each}`)}</label>`)}
    </div></fieldset>
    <label>${t('compare.trials')}<select value=${trials} onChange=${(event) => setTrials(Number(event.target.value))}>
      ${TRIALS[kind].map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <div class="row"><${Act} class="primary" run=${start}>${t('compare.begin')}<//>
      <span class="why">${t('compare.pairs', { n: pairs.length })}</span></div>`;
}

function Before({ open }) {
  const { data } = useLive('compare.all', {}, 5000);
  if (!data?.length) return null;
  return html`<details><summary>${t('compare.earlier', { n: data.length })}</summary><ul class="list">
    ${data.map((each) => html`<li key=${each.id}><div class="grow"><p>${each.one} · ${each.other} <span class="soft small-text">${when(each.made)}</span></p>
      <p class="why">${translated(each.result.words)}</p></div>
      ${each.trial && html`<button class="small" onClick=${() => open(each.id)}>${t('compare.goon')}</button>`}</li>`)}
  </ul></details>`;
}

function Session({ id, back }) {
  const { data, error, again } = useLive('compare.one', { id }, 3000);
  if (!data) return html`<${Waiting} error=${error} />`;
  const undo = () => call('compare.undo', { id }).then(again);
  return html`${data.trial
    ? html`<${Trial} session=${data} again=${again} />`
    : html`<p><b>${translated(data.result.words)}</b></p>
        <p class="why">${t(`compare.result.${data.kind}`, { ...data.result, one: data.one, other: data.other, n: data.result.one, m: data.result.other, of: data.trials })}</p>`}
    <div class="row">${data.answered > 0 && data.trial && html`<${Act} class="small" run=${undo}>${t('compare.undo')}<//>`}
      <button class="small" onClick=${back}>${t('compare.others')}</button></div>`;
}

function Trial({ session, again }) {
  const { id, kind, trial, answered } = session;
  const names = kind === 'abx' ? ['left', 'right', 'x'] : ['left', 'right'];
  const urls = names.map((side) => fileUrl('compare.trial', { id, number: trial.number, side }));
  const sides = useSides(urls, { again: `${trial.number} ${answered}`, matched: true });
  const answer = async (choice) => {
    sides.pause();
    await call('compare.answer', { id, number: trial.number, choice });
    sides.choose(0);
    again();
  };
  const choices = kind === 'abx' ? ['left', 'right'] : ['left', 'right', 'neither'];
  return html`<p class="soft">${t('compare.trial', { n: trial.number + 1, of: session.trials })}</p>
    <p>“${trial.text}”</p>
    <div class="row">
      <button onClick=${() => (sides.playing ? sides.pause() : sides.play())} disabled=${!sides.ready}>${t(sides.playing ? 'compare.pause' : 'compare.play')}</button>
      ${names.map((side, at) => html`<button aria-pressed=${sides.side === at} onClick=${() => { sides.choose(at); if (!sides.playing) sides.play(); }}>${t(`compare.${kind}.${side}`)}</button>`)}
      <span class="soft">${clock(sides.at, 1)} / ${clock(sides.seconds, 1)}</span>
    </div>
    <div class="row">${choices.map((each) => html`<${Act} class="primary" run=${() => answer(each)}>${t(`compare.${kind}.say.${each}`)}<//>`)}</div>
    <p class="why">${t(`compare.${kind}.why`)} ${number(session.answered)} / ${number(session.trials)}</p>`;
}
