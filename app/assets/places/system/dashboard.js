// What the GPUs and the computer are doing now and did in the last hour.

import { html } from '../../vendor/preact.js';
import { Chart } from '../../parts/chart.js';
import { Gauge, Key } from '../../parts/gauge.js';
import { useLive } from '../../parts/live.js';
import { Waiting } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { duration, number, size, t } from '../../parts/words.js';

const HISTORY_MS = 5000;
const HOUR = 3600;

/** A value with its unit, or that it is not known: never 0 for what nobody told. */
const told = (value, unit, digits = 0) => (value == null ? t('system.unknown') : `${number(value, digits)} ${unit}`);
/** Memory as cards are named, with 1,024 in each unit; disks count by 1,000, as they are sold. */
const inGb = (mib) => told(mib == null ? null : mib / 1024, 'GB', 1);
const onDisk = (mib) => (mib == null ? t('system.unknown') : size(mib * 2 ** 20));
const ago = (seconds) => (seconds === 0 ? t('system.now') : t('system.ago', { time: duration(-seconds) }));

export function Dashboard() {
  const { data, error } = useLive('system');
  const { data: hour } = useLive('system.history', {}, HISTORY_MS);
  if (!data) return html`<section class="card stack"><h2>${t('system.gpus')}</h2><${Waiting} error=${error} /></section>`;
  const cards = data.cards ?? [];
  return html`<section class="stack" aria-label=${t('system.gpus')}>
    ${data.spills.map((each) => html`<div class="spill" role="alert" key=${each.job}><b>${translated(each.title)}</b> ${translated(each.text)}</div>`)}
    <div class="cards">
      ${cards.map((card, at) => html`<${Card} key=${`${at} ${card.name}`} card=${card} lines=${hour?.cards[card.index]} />`)}
      ${(data.gone ?? []).map((card) => html`<${Gone} key=${`gone ${card.index}`} card=${card} />`)}
      ${data.computer && html`<${Computer} computer=${data.computer} lines=${hour?.computer} />`}
    </div>
    ${(data.problem || cards.length === 0) && html`<p class="soft">${translated(data.problem)} ${cards.length === 0 && t('system.nogpu')}</p>`}
    ${data.driver && html`<p class="why">${t('system.driver', { driver: data.driver, cuda: data.cuda ?? t('system.unknown') })}</p>`}
  </section>`;
}

const nameOf = (card) => t('system.gpu', { n: card.index, name: card.name ?? t('system.unknown') });

function Card({ card, lines }) {
  if (card.problem) return html`<${Gone} card=${card} />`;
  const parts = partsOf(card);
  const used = `${inGb(card.used_mib)} / ${inGb(card.total_mib)}`;
  return html`<div class="card stack">
    <h2>${nameOf(card)}</h2>
    <${Gauge} parts=${parts} total=${card.total_mib} middle=${inGb(card.used_mib)} below=${t('system.of', { total: inGb(card.total_mib) })}
      label=${`${t('system.memory')} ${used}. ${parts.map((each) => `${each.name} ${inGb(each.value)}`).join(', ')}`} />
    <${Key} parts=${[...parts, { kind: 'free', name: t('system.free'), value: card.free_mib }]} write=${inGb} />
    ${card.used_mib != null && card.shares?.others == null && card.notes.length === 0 && html`<p class="why">${t('system.whose.unknown')}</p>`}
    <${Facts} facts=${factsOf(card)} />
    ${card.notes.map((each) => html`<p class="why" key=${each}>${translated(each)}</p>`)}
    ${lines && html`<${Hour} label=${t('system.hour.gpu', { n: card.index })}
      series=${[line('used', t('system.memory'), lines.used, card.total_mib), line('busy', t('system.busy'), lines.busy, 100)]} />`}
  </div>`;
}

/** Whose the used memory is; what is not known of it is one part. */
function partsOf(card) {
  if (card.used_mib == null) return [];
  const whose = card.shares ?? { ours: null, helpers: null, others: null, unknown: card.used_mib };
  const kinds = ['ours', 'helpers', 'others', 'unknown'].map((kind) => ({ kind, name: t(`system.whose.${kind}.name`), value: whose[kind] }));
  const isTold = kinds.some((each) => each.kind !== 'unknown' && each.value != null);
  const told = kinds.filter((each) => (each.kind === 'unknown' ? each.value !== 0 : isTold));
  return [...told, { kind: 'reserved', name: t('system.reserved'), value: card.reserved_mib }];
}

function factsOf(card) {
  const lanes = card.pcie_generation && card.pcie_lanes ? `${card.pcie_generation}.0 × ${card.pcie_lanes}` : t('system.unknown');
  const both = card.received_mb_s == null && card.sent_mb_s == null;
  return [
    ['busy', told(card.busy_percent, '%')],
    ['heat', told(card.temperature_c, '°C')],
    ['power', card.watts_limit == null ? told(card.watts, 'W') : `${told(card.watts, 'W')} / ${told(card.watts_limit, 'W')}`],
    ['clock', told(card.clock_mhz, 'MHz')],
    ['memoryclock', told(card.memory_clock_mhz, 'MHz')],
    ['pcie', lanes],
    ['traffic', both ? t('system.unknown') : `↓ ${told(card.received_mb_s, 'MB/s')} ↑ ${told(card.sent_mb_s, 'MB/s')}`],
  ];
}

const Facts = ({ facts }) => html`<dl class="facts">
  ${facts.map(([name, value]) => html`<div key=${name} class=${['traffic', 'disk'].includes(name) ? 'wide' : ''}><dt>${t(`system.${name}`)}</dt><dd>${value}</dd></div>`)}
</dl>`;

const Gone = ({ card }) => html`<div class="card stack"><h2>${nameOf(card)}</h2><p class="mark out">${translated(card.problem)}</p></div>`;

function Computer({ computer, lines }) {
  const ram = computer.ram_mib == null || computer.ram_free_mib == null ? null : computer.ram_mib - computer.ram_free_mib;
  const facts = [
    ['processor', told(computer.cpu_percent, '%')],
    ['swap', `${inGb(computer.swap_used_mib)} / ${inGb(computer.swap_mib)}`],
    ['disk', t('system.disk.free', { free: onDisk(computer.disk_free_mib), total: onDisk(computer.disk_mib) })],
  ];
  return html`<div class="card stack">
    <h2>${t('system.computer')}</h2>
    <${Gauge} parts=${[{ kind: 'ours', name: t('system.ram'), value: ram }]} total=${computer.ram_mib} middle=${inGb(ram)}
      below=${t('system.of', { total: inGb(computer.ram_mib) })} label=${`${t('system.ram')} ${inGb(ram)} / ${inGb(computer.ram_mib)}`} />
    <p class="key gauge-key"><span><i class="ours"></i>${t('system.ram')} <b>${inGb(ram)}</b></span></p>
    <${Facts} facts=${facts} />
    ${lines && html`<${Hour} label=${t('system.hour.computer')}
      series=${[line('used', t('system.ram'), lines.ram, computer.ram_mib), line('busy', t('system.processor'), lines.cpu, 100)]} />`}
  </div>`;
}

/** A line of an hour, as a share of what there is at most. */
const line = (what, name, points, most) => ({
  name,
  kind: what === 'busy' ? 'second' : '',
  points: most ? points.map(([at, value]) => [at, value == null ? null : (100 * value) / most]) : [],
});

function Hour({ series, label }) {
  const from = Math.min(-60, ...series.flatMap((each) => each.points.slice(0, 1).map(([at]) => at)));
  if (series.every((each) => each.points.length < 2)) return null;
  return html`<${Chart} series=${series} label=${label} height=${130}
    x=${{ min: Math.max(-HOUR, from), max: 0, format: ago, ends: [Math.max(-HOUR, from), 0] }}
    y=${{ min: 0, max: 100, ticks: [0, 50, 100], format: (value) => told(value, '%') }} />`;
}
