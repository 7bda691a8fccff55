// A training before it begins: whose voice, which engine, the plan, and the button that starts it.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Settings, countChanged } from '../../parts/form.js';
import { useLive } from '../../parts/live.js';
import { Act, Waiting } from '../../parts/notes.js';
import { Typed } from '../../parts/typed.js';
import { duration, number, t } from '../../parts/words.js';
import { Engines, preferred } from './engines.js';
import { Plan } from './plan.js';

const KEPT = 'timbre.train.';
const FIRST = { engine: '', base: '', name: '', continues: '', transcriber: '', mix: [], sentences: [], train: {}, own: {}, gib: null, capability: '8.6' };

/** What was chosen before; what only another Timbre knows is left out. */
const keptOf = (project) => Object.fromEntries(Object.entries(JSON.parse(localStorage.getItem(KEPT + project.id) ?? '{}')).filter(([name]) => name in FIRST || name === 'version'));

/** What was chosen here and not begun yet stays through a reload. */
function useWish(project, first) {
  const [wish, setWish] = useState(() => ({ ...FIRST, ...keptOf(project), ...first }));
  useEffect(() => localStorage.setItem(KEPT + project.id, JSON.stringify({ ...wish, continues: '' })), [wish]);
  return [wish, (change) => setWish((before) => ({ ...before, ...change }))];
}

export function Begin({ data, project, first, like, begun, go, again }) {
  const { data: known, error, again: look } = useLive('train.engines', { project: project.id }, 3000);
  const [wish, change] = useWish(project, first);
  const [owner, setOwner] = useState(data.owner);
  const [unfit, setUnfit] = useState({});
  const tell = (name, isUnfit) => setUnfit((before) => (Boolean(before[name]) === isUnfit ? before : { ...before, [name]: isUnfit }));
  const from = data.runs.find((each) => each.id === wish.continues);
  const engine = known?.engines.find((each) => (from ? each.title === from.engine : each.name === (wish.engine || preferred(known))));
  if (!engine) return html`<${Waiting} error=${error} />`;
  const whole = { ...wish, ...owner, engine: engine.name, base: from ? '' : wish.base };
  const keep = (said) => {
    setOwner(said);
    call('train.owner', { project: project.id, ...said }).catch(() => {});
  };
  const start = async () => {
    const made = await call('train.start', { project: project.id, wish: whole });
    change({ name: '', continues: '' });
    begun(made.run);
  };
  return html`<section class="stack" aria-label=${t('train.begin')}>
    ${like && html`<p class="soft">${t('train.anew.like', { name: like })}</p>`}
    <${Owner} owner=${owner} keep=${keep} />
    ${from
      ? html`<div class="card"><h2>${t('train.continue')}</h2><p>${t('train.continue.from', { name: from.name, step: number(from.best_step) })}</p>
          <p class="why">${t('train.continue.why')}</p><button class="small" onClick=${() => change({ continues: '' })}>${t('train.continue.not')}</button></div>`
      : html`<${Engines} known=${known} chosen=${engine} wish=${wish} change=${change} look=${look} />`}
    <${Plan} project=${project} engine=${engine} wish=${whole} change=${change} data=${data} look=${look} go=${go} onUnfit=${tell}>
      <${Folded} engine=${engine} wish=${wish} change=${change} data=${data} onUnfit=${tell} />
      <div class="row bottom">
        <label class="grow">${t('train.name')}<input value=${wish.name} placeholder=${data.name} onInput=${(event) => change({ name: event.target.value })} /></label>
        <${Act} class="primary" disabled=${Boolean(engine.problem) || Object.values(unfit).includes(true)} run=${start}>${t('train.start')}<//>
      </div>
    <//>
  </section>`;
}

function Owner({ owner, keep }) {
  const answer = (agreed) => html`<label class="inline"><input type="radio" name="agreed" checked=${owner.agreed === agreed} onChange=${() => keep({ ...owner, agreed })} />
    ${t(`train.agreed.${agreed || 'unasked'}`)}</label>`;
  return html`<div class="card stack"><h2>${t('train.owner')}</h2>
    <div class="row">
      <label class="grow">${t('train.whose')}<${Typed} value=${owner.whose} put=${(whose) => keep({ ...owner, whose })} /></label>
      <fieldset><legend>${t('train.agreed')}</legend><div class="row">${answer('yes')}${answer('no')}${answer('')}</div></fieldset>
    </div><p class="why">${t('train.owner.why')}</p></div>`;
}

function Folded({ engine, wish, change, data, onUnfit }) {
  const rest = engine.train_fields.filter((each) => !engine.front.includes(each.name));
  const own = engine.fields.filter((each) => each.name !== 'lora_rank');
  const count = countChanged(rest, wish.train) + countChanged(own, wish.own) + (wish.sentences.length ? 1 : 0) + wish.mix.length + (wish.transcriber ? 1 : 0);
  const keep = (name, fields) => (values) => change({ [name]: different(values, fields) });
  return html`<details class="folded"><summary>${t('train.more')}${count > 0 ? ` (${t('train.changed', { n: count })})` : ''}</summary>
    <div class="stack">
      <div class="even">
        ${data.versions.length > 1 && html`<label>${t('train.version')}<select value=${wish.version ?? ''} onChange=${(event) => change({ version: event.target.value ? Number(event.target.value) : null })}>
          <option value="">${t('train.version.newest')}</option>
          ${data.versions.map((each) => html`<option value=${each.number}>${t('train.version.is', { n: each.number, length: duration(each.seconds), note: each.note })}</option>`)}</select></label>`}
        <label>${t('train.listener')}<select value=${wish.transcriber} onChange=${(event) => change({ transcriber: event.target.value })}>
          <option value="">${t('train.listener.none')}</option>${data.listeners.map((each) => html`<option>${each}</option>`)}</select>
          <span class="why">${t('train.listener.why')}</span></label>
        ${data.others.length > 0 && html`<label>${t('train.mix')}<select value=${wish.mix[0] ?? ''} onChange=${(event) => change({ mix: event.target.value ? [event.target.value] : [] })}>
          <option value="">${t('train.mix.none')}</option>${data.others.map((each) => html`<option>${each}</option>`)}</select>
          <span class="why">${t('train.mix.why')}</span></label>`}
        <label>${t('train.sentences')}<${Typed} as="textarea" rows="3" value=${wish.sentences.join('\n')} placeholder=${data.sentences.join('\n')}
          put=${(typed) => change({ sentences: typed.split('\n').map((each) => each.trim()).filter(Boolean) })} />
          <span class="why">${t('train.sentences.why')}</span></label>
      </div>
      <h3>${t('train.learning')}</h3><${Settings} fields=${rest} values=${wish.train} onChange=${keep('train', engine.train_fields)} onUnfit=${onUnfit} />
      <h3>${t('train.own', { name: engine.title })}</h3><${Settings} fields=${own} values=${wish.own} onChange=${keep('own', engine.fields)} onUnfit=${onUnfit} />
    </div></details>`;
}

/** Only what is other than at first: so the same wish is the same forecast. */
function different(values, fields) {
  const first = Object.fromEntries(fields.map((each) => [each.name, each.default]));
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => name in first && value !== first[name]));
}
