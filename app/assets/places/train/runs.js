// The runs there are: looked at, compared, renamed, put away and taken back.

import { html, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Chart, kindOf } from '../../parts/chart.js';
import { labelOf, settingSaid } from '../../parts/form.js';
import { isAtWork } from '../../parts/jobs.js';
import { useLive } from '../../parts/live.js';
import { Bin, Rename, trashed } from '../../parts/named.js';
import { Act, Waiting } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { number, t, when } from '../../parts/words.js';

const MOST = 6;

export function Runs({ data, run, choose, again }) {
  const [beside, setBeside] = useState([]);
  const [renamed, setRenamed] = useState(null);
  const compared = beside.filter((id) => data.runs.some((each) => each.id === id));
  const mark = (id, isOn) => setBeside((before) => (isOn ? [...before, id].slice(-MOST) : before.filter((each) => each !== id)));
  const restore = (each) => call('train.restore', { run: each.id }).then(again);
  const trash = async (each) => {
    await call('train.trash', { run: each.id });
    again();
    trashed(each, () => restore(each));
  };
  return html`<section class="card stack" aria-label=${t('train.runs')}>
    <h2>${t('train.runs')}</h2>
    <ul class="list runs">${data.runs.map((each) => html`<li key=${each.id} class=${each.id === run?.id ? 'on' : ''}>
      <input type="checkbox" aria-label=${t('train.compare.with', { name: each.name })} checked=${compared.includes(each.id)} onChange=${(event) => mark(each.id, event.target.checked)} />
      <button class="bare grow name" aria-pressed=${each.id === run?.id} onClick=${() => choose(each.id)}>${each.name}</button>
      <span class="small-text soft">${line(each)}</span>
      <span class="row"><button class="small" onClick=${() => setRenamed(each)}>${t('named.rename')}</button>
        ${!isAtWork(each) && html`<${Act} class="small" run=${() => trash(each)}>${t('named.trash')}<//>`}</span>
    </li>`)}</ul>
    ${data.runs.length > 1 && compared.length < 2 && html`<p class="why">${t('train.compare.why')}</p>`}
    ${compared.length > 1 && html`<${Compared} ids=${compared} />`}
    <${Bin} items=${data.trashed} restore=${restore} />
    ${renamed && html`<${Rename} item=${renamed} onClose=${() => setRenamed(null)} save=${(name) => call('train.rename', { run: renamed.id, name }).then(again)} />`}
  </section>`;
}

function line(run) {
  const far = run.total ? t('train.step', { step: number(run.step), total: number(run.total) }) : '';
  const place = run.place ? t('train.place.short', { n: number(run.place) }) : '';
  return [translated(run.words), far, place, run.engine, t('train.version.short', { n: run.version }), when(run.started_at)].filter(Boolean).join(' · ');
}

/** Curves over each other, and where the settings differ. */
function Compared({ ids }) {
  const { data, error } = useLive('train.compare', { run: ids }, 2000);
  if (!data) return html`<${Waiting} error=${error} />`;
  const step = { format: (value) => t('train.at', { step: number(Math.round(value)) }), min: 0 };
  const checks = data.runs.map((each, at) => ({ name: named(data.runs, each, at), points: each.checks, kind: `${kindOf(at)} dots` }));
  const losses = data.runs.map((each, at) => ({ name: named(data.runs, each, at), points: each.curve.map(([x, y]) => [x, y]), kind: kindOf(at) }));
  const rows = Object.entries(data.differ);
  const isHeard = (figure) => data.runs.some((each) => each.best?.[figure] != null);
  return html`<div class="stack">
    <h3>${t('train.loss.check')}</h3><${Chart} series=${checks} x=${step} lasts=${false} label=${t('train.compare.check')} />
    <h3>${t('train.loss.training')}</h3><${Chart} series=${losses} x=${step} lasts=${false} label=${t('train.compare.loss')} />
    <div class="scroll" tabindex="0" role="group" aria-label=${t('train.compare.table')}><table>
      <thead><tr><th scope="col">${t('train.compare.what')}</th>${data.runs.map((each, at) => html`<th scope="col">${named(data.runs, each, at)}</th>`)}</tr></thead>
      <tbody>
        <tr><th scope="row">${t('train.compare.best')}</th>${data.runs.map((each) => html`<td>${each.best_step == null ? '–' : t('train.at', { step: number(each.best_step) })}</td>`)}</tr>
        <tr><th scope="row">${t('train.loss.check')}</th>${data.runs.map((each) => html`<td>${number(each.best?.check_loss, 3)}</td>`)}</tr>
        ${isHeard('similarity') && html`<tr><th scope="row">${t('train.compare.alike')}</th>${data.runs.map((each) => html`<td>${number(each.best?.similarity, 2)}</td>`)}</tr>`}
        ${isHeard('character_errors') && html`<tr><th scope="row">${t('train.compare.errors')}</th>${data.runs.map((each) => html`<td>${each.best?.character_errors == null ? '–' : `${number(100 * each.best.character_errors)} %`}</td>`)}</tr>`}
        ${rows.map(([name, values]) => html`<tr key=${name}><th scope="row">${labelOf({ name })}</th>${values.map((each) => html`<td>${each == null ? '–' : settingSaid(each)}</td>`)}</tr>`)}
      </tbody></table></div>
    ${rows.length === 0 && html`<p class="soft">${t('train.compare.same')}</p>`}
  </div>`;
}

/** A name, with a number where another run has the same. */
const named = (runs, run, at) => (runs.filter((each) => each.name === run.name).length > 1 ? `${run.name} (${at + 1})` : run.name);
