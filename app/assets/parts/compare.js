// The sample player: the real voice, the base, each step and the end, side by side at the same place.
//
// <${Player} voice=ID /> or <${Player} run=ID />

import { html, useEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { call, fileUrl } from './api.js';
import { Blind } from './compare_blind.js';
import { Wave } from './compare_wave.js';
import { useLive } from './live.js';
import { Act, Waiting, doing } from './notes.js';
import { Play, element, play, usePlaying } from './player.js';
import { useSides } from './sound_sides.js';
import { style } from './style.js';
import { translated } from './translated.js';
import { clock, number, t } from './words.js';

const LETTERS = ['A', 'B'];
const soundUrl = (address) => fileUrl('compare.sound', { sound: address });

export function Player({ voice = '', run = '' }) {
  useEffect(() => style('compare'), []);
  const { data, error } = useLive('compare.heard', voice ? { voice } : { run }, 5000);
  const [more, setMore] = useState([]);
  const [beside, setBeside] = useState('voice/');
  const sources = useMemo(() => [...(data?.sources ?? []), ...more], [data, more]);
  const newest = useRef('');
  if (!data) return html`<${Waiting} error=${error} />`;
  if (!sources.length) return html`<p class="soft">${t('compare.none')}</p>`;
  const add = async (kind, id) => {
    setBeside(`${kind}/${id}`);
    newest.current = id;
    const found = id ? await call('compare.heard', { [kind]: id }) : { sources: [] };
    if (newest.current !== id) return; // another was chosen meanwhile
    const known = new Set(data.sources.map((each) => each.id));
    setMore(found.sources.filter((each) => !known.has(each.id)));
  };
  return html`<div class="stack compare">
    <${Beside} beside=${beside} own=${voice || run} add=${add} />
    <${Both} key=${data.sources[0].id} sources=${sources} />
  </div>`;
}

/** Another run or voice that is set beside. */
function Beside({ beside, own, add }) {
  const { data } = useLive('compare.others', {}, 10000);
  const others = (data ?? []).filter((each) => each.id !== own);
  if (!others.length) return null;
  return html`<label class="inline">${t('compare.beside')}
    <select value=${beside} onChange=${(event) => doing(() => add(...event.target.value.split('/')))}>
      <option value="voice/">${t('compare.nothing')}</option>
      ${others.map((each) => html`<option value=${`${each.kind}/${each.id}`}>${t(`compare.is.${each.kind}`, { name: each.name })}</option>`)}
    </select></label>`;
}

/** What a person calls a source. */
export function named(source) {
  const step = source.step == null ? '' : number(source.step);
  return t(`compare.of.${source.kind}`, { name: source.name, step });
}

const heardIn = (source, sentence) =>
  source?.heard.find((each) => each.text === sentence) ?? (source?.kind === 'real' ? source.heard[0] : null);

function Both({ sources }) {
  const sentences = useMemo(() => shared(sources), [sources]);
  const [wanted, setSentence] = useState('');
  const sentence = sentences.includes(wanted) ? wanted : sentences.at(-1) ?? '';
  const [ids, setIds] = useState(() => firstTwo(sources));
  const [pictures, setPictures] = useState(false);
  const [blind, setBlind] = useState(false);
  const chosen = ids.map((id) => sources.find((each) => each.id === id) ?? sources[0]);
  const heard = chosen.map((each) => heardIn(each, sentence));
  const sides = useSides(heard.map((each) => each && soundUrl(each.address)));
  const put = (at, id) => setIds(ids.map((each, side) => (side === at ? id : each)));
  const real = sources.find((each) => each.kind === 'real');
  return html`<div class="stack" onKeyDown=${(event) => keys(event, sides)}>
    ${sentences.length > 0 && html`<label>${t('compare.sentence')}
      <select value=${sentence} onChange=${(event) => setSentence(event.target.value)}>
        ${sentences.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`}
    ${chosen.map((source, at) => html`<${Track} key=${at} at=${at} source=${source} sources=${sources} heard=${heard[at]} sides=${sides}
      choose=${(id) => put(at, id)} pictures=${pictures} />`)}
    <div class="row">
      <button class="primary" disabled=${!sides.ready} onClick=${() => (sides.playing ? sides.pause() : sides.play())}>${t(sides.playing ? 'compare.pause' : 'compare.play')}</button>
      <label class="grow">${t('compare.position')}
        <input type="range" min="0" max=${sides.seconds || 1} step="0.01" value=${sides.at} onInput=${(event) => sides.seek(Number(event.target.value))} /></label>
      <span class="soft">${clock(sides.at, 1)} / ${clock(sides.seconds, 1)}</span>
      <meter min="0" max="0.3" value=${sides.level} aria-label=${t('compare.level')}></meter>
    </div>
    <div class="row">
      <label class="inline"><input type="checkbox" checked=${sides.looping} onChange=${(event) => sides.loop(event.target.checked)} />${t('compare.loop')}</label>
      <label class="inline"><input type="checkbox" checked=${pictures} onChange=${(event) => setPictures(event.target.checked)} />${t('compare.pictures')}</label>
      <span class="why grow">${t('compare.keys')}</span>
      <button onClick=${() => { sides.pause(); setBlind(true); }}>${t('compare.blind')}</button>
    </div>
    <${Figures} chosen=${chosen} heard=${heard} real=${real} />
    <${Row} sources=${sources} sentence=${sentence} ids=${ids} put=${put} />
    ${blind && html`<${Blind} one=${chosen[0]} other=${chosen[1]} names=${chosen.map(named)} onClose=${() => setBlind(false)} />`}
  </div>`;
}

/** Sentences that two or more have said come first to mind; where there are none, all of them. */
function shared(sources) {
  const counts = new Map();
  for (const each of sources.flatMap((source) => source.heard)) if (each.text) counts.set(each.text, (counts.get(each.text) ?? 0) + 1);
  const often = [...counts].filter(([, count]) => count > 1);
  return (often.length ? often : [...counts]).map(([text]) => text);
}

/** What most want to hear first: the end beside the beginning. */
function firstTwo(sources) {
  const end = sources.findLast((each) => each.kind === 'voice') ?? sources.find((each) => each.best) ?? sources.at(-1);
  const begin = sources.find((each) => each.kind === 'base') ?? sources[0];
  return [end.id, begin.id];
}

function keys(event, sides) {
  if (['INPUT', 'SELECT', 'TEXTAREA', 'BUTTON'].includes(event.target.tagName) && event.key === ' ') return;
  const side = { a: 0, b: 1 }[event.key.toLowerCase()];
  if (event.target.tagName === 'SELECT' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (side != null) sides.choose(side);
  else if (event.key.toLowerCase() === 'x') sides.choose(1 - sides.side);
}

function Track({ at, source, sources, heard, sides, choose, pictures }) {
  const on = sides.side === at;
  return html`<div class=${on ? 'track on' : 'track'}>
    <button aria-pressed=${on} onClick=${() => sides.choose(at)} aria-label=${t('compare.hear', { letter: LETTERS[at] })}>${LETTERS[at]}</button>
    <label><span class="hidden">${LETTERS[at]}</span>
      <select value=${source.id} onChange=${(event) => choose(event.target.value)}>
        ${sources.map((each) => html`<option value=${each.id}>${named(each)}${each.best ? ` · ${t('compare.best')}` : ''}</option>`)}</select></label>
    ${heard
      ? html`<${Wave} address=${heard.address} total=${sides.seconds} at=${on ? sides.at : null} seek=${(to) => sides.seek(to)} picture=${pictures} />`
      : html`<p class="soft">${t('compare.unsaid')}</p>`}
  </div>`;
}

/** Figures of both, each with its meaning. */
function Figures({ chosen, heard, real }) {
  const found = chosen.map((source, at) => useFigures(source, heard[at], real));
  const names = [...new Set(found.flat().map((each) => each.name))];
  if (!names.length) return null;
  const cell = (at, name) => {
    const each = found[at].find((figure) => figure.name === name);
    if (!each) return html`<td>–</td>`;
    return html`<td><b>${number(each.value, each.unit && each.unit !== 'Hz' ? 1 : each.unit ? 0 : 2)}</b> ${translated(each.unit)}<br /><span class="why">${translated(each.meaning)}</span></td>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${t('compare.figures')}><table class="beside"><thead><tr><td></td>${LETTERS.map((letter) => html`<th scope="col">${letter}</th>`)}</tr></thead>
    <tbody>${names.map((name) => html`<tr><th scope="row">${translated(name)}</th>${cell(0, name)}${cell(1, name)}</tr>`)}</tbody></table></div>`;
}

function useFigures(source, heard, real) {
  const [found, setFound] = useState([]);
  const beside = real && heard && real.heard[0].address !== heard.address ? real.heard[0] : null;
  useEffect(() => {
    let wanted = true;
    if (!heard) setFound([]);
    else {
      const { address, text, similarity, character_errors } = heard;
      const args = { sound: address, text, language: source.language, similarity, character_errors };
      if (beside) Object.assign(args, { real: beside.address, real_text: beside.text });
      doing(async () => {
        const figures = await call('compare.figures', args);
        if (wanted) setFound(figures);
      });
    }
    return () => { wanted = false; };
  }, [heard?.address, beside?.address]);
  return found;
}

/** The same sentence across all that said it: one after the other, or each by itself. */
function Row({ sources, sentence, ids, put }) {
  const said = sources.map((source) => ({ source, heard: heardIn(source, sentence) })).filter((each) => each.heard);
  const [order, setOrder] = useState(null);
  const playing = usePlaying();
  useEffect(() => {
    if (!said[order]) return undefined;
    const next = () => setOrder((at) => (at == null || at + 1 >= said.length ? null : at + 1));
    element.addEventListener('ended', next);
    play(soundUrl(said[order].heard.address));
    return () => element.removeEventListener('ended', next);
  }, [order]);
  useEffect(() => {
    const other = said[order] && playing.url && playing.url !== soundUrl(said[order].heard.address);
    if (other) setOrder(null);
  }, [playing.url]);
  useEffect(() => setOrder(null), [sentence]); // another sentence may have been said by fewer
  const stop = () => { element.pause(); setOrder(null); };
  return html`<details><summary>${t('compare.row', { n: said.length })}</summary>
    <div class="row"><${Act} run=${async () => (order == null ? setOrder(0) : stop())}>${t(order == null ? 'compare.inorder' : 'compare.stop')}<//></div>
    <ol class="list">${said.map(({ source, heard }, at) => html`<li class=${at === order ? 'on' : ''}>
      <${Play} url=${soundUrl(heard.address)} label=${named(source)} />
      <span class="grow">${named(source)} ${source.best && html`<span class="mark good">${t('compare.best')}</span>`}</span>
      ${heard.similarity != null && html`<span class="soft small-text">${t('compare.alike', { n: number(heard.similarity, 2) })}</span>`}
      ${LETTERS.map((letter, side) => html`<button class="small" aria-pressed=${ids[side] === source.id} aria-label=${t('compare.as', { name: named(source), letter })} onClick=${() => put(side, source.id)}>${letter}</button>`)}
    </li>`)}</ol></details>`;
}
