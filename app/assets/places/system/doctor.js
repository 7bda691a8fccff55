// Whether this computer can do the work: what was found, and what to do about it.

import { html } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { useLive } from '../../parts/live.js';
import { Act, Report } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { t, when } from '../../parts/words.js';

const SIGNS = { ok: '✓', note: '·', problem: '✗' };

export function Doctor() {
  const { data, again } = useLive('system.checked', {}, 1500);
  const found = data?.found ?? [];
  const problems = found.filter((each) => each.verdict === 'problem').length;
  const verdict = problems ? t('system.doctor.bad', { n: problems }) : t('system.doctor.good');
  return html`<section class="card stack" aria-label=${t('system.doctor')}>
    <div class="row"><h2 class="grow">${t('system.doctor')}</h2>
      <${Act} class="small" disabled=${data?.busy} run=${() => call('system.check').then(again)}>${t('system.doctor.check')}<//></div>
    <p class="why" role="status">${data?.busy ? t('system.doctor.checking') : data?.at ? `${verdict} ${t('system.doctor.at', { when: when(data.at) })}` : t('system.doctor.why')}</p>
    ${data?.problem && html`<p class="mark out">${translated(data.problem)}</p>`}
    <ul class="checks">${found.map((each, at) => html`<li key=${`${at} ${each.name}`}>
      <span class=${each.verdict}><span aria-hidden="true">${SIGNS[each.verdict]}</span><span class="hidden">${t(`system.doctor.sign.${each.verdict}`)}</span></span>
      <b>${translated(each.name)}</b>
      <div>${translated(each.found)}${each.verdict !== 'ok' && each.fix && html`<p class="why">${translated(each.fix)}</p>`}</div></li>`)}</ul>
    <div><${Report} /></div>
    <p class="why">${t('system.doctor.pack.why')}</p>
  </section>`;
}
