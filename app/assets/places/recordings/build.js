// One click from recordings to a dataset: a few choices in front, the rest folded away.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Settings, countChanged } from '../../parts/form.js';
import { isAtWork } from '../../parts/jobs.js';
import { Act, doing } from '../../parts/notes.js';
import { translated } from '../../parts/translated.js';
import { size, t } from '../../parts/words.js';
import { LanguageSelect } from './languages.js';
import { sendTexts } from './sending.js';
import { AtWork, Came } from './steps.js';

export function Build({ project, data, choices, go, again }) {
  const work = data.build;
  if (work && isAtWork(work.job)) {
    return html`<section class="card" aria-label=${t('recordings.build')}>
      <${AtWork} work=${work} title=${t('recordings.building')} again=${again} /></section>`;
  }
  const uncut = data.recordings.filter((each) => !each.cut).length;
  const wasEnded = work && work.cause !== 'finished';
  const form = choices && html`<${Choices} project=${project} data=${data} choices=${choices} again=${again} />`;
  return html`<section class="card stack" aria-label=${t('recordings.build')}>
    <h2>${t(wasEnded || !work ? 'recordings.build' : work.clips ? 'recordings.built' : 'recordings.unbuilt')}</h2>
    ${wasEnded && html`<${Ended} project=${project} work=${work} again=${again} />`}
    ${work && !wasEnded && html`<${Came} work=${work} go=${go} />`}
    ${work ? html`<details open=${uncut > 0 && !wasEnded}><summary>${uncut ? t(`recordings.uncut.${uncut === 1 ? 'one' : 'many'}`, { n: uncut }) : t('recordings.again')}</summary>${form}</details>` : html`<p class="soft">${t('recordings.build.why')}</p>${form}`}
  </section>`;
}

/** It was stopped, or could not go on: what happened, and how it goes on. */
function Ended({ project, work, again }) {
  const stopped = work.cause === 'stopped';
  return html`<div class="stack">
    <p class=${stopped ? '' : 'failed'} role=${stopped ? null : 'alert'}><b>${t(stopped ? 'recordings.stopped' : 'recordings.failed')}</b> ${translated(work.job.line)}</p>
    <div><${Act} class="primary" run=${() => call('recordings.go', { project: project.id, job: work.job.id }).then(again)}>${t('recordings.goon')}<//></div>
  </div>`;
}

/** Where the words come from, unless a person says otherwise. */
const likeliest = (data) => {
  if (data.recordings.length && data.recordings.every((each) => each.take)) return 'takes';
  return data.text?.sure ? 'text' : 'whisper';
};

function Choices({ project, data, choices, again }) {
  const [words, setWords] = useState(null);
  const [language, setLanguage] = useState(choices.hear_values.language);
  const [facts, setFacts] = useState(choices);
  const [whisper, setWhisper] = useState('');
  const [folder, setFolder] = useState('');
  const [consent, setConsent] = useState(false);
  const [hear, setHear] = useState({});
  const [cut, setCut] = useState({});
  useEffect(() => {
    if (language !== choices.hear_values.language || facts !== choices) doing(async () => setFacts(await call('recordings.choices', { project: project.id, language })));
  }, [language]);

  const from = words ?? likeliest(data);
  const named = facts.whispers.find((each) => each.name === whisper) ?? facts.whispers.find((each) => each.name === facts.advised.name);
  // With a text of English nobody has to listen: the aligner that ships finds its words.
  const listens = from === 'whisper' || (from === 'text' && language !== '' && language !== 'en');
  const missing = listens && !folder && !named.here && !consent;
  const build = () => call('recordings.build', {
    project: project.id, words: from, download: consent && listens,
    whisper: listens ? folder || named.name : '', hear: { ...hear, language }, cut,
  }).then(again);
  const changed = countChanged(facts.hear, { ...facts.hear_values, ...hear }) + countChanged(facts.cut, { ...facts.cut_values, ...cut });
  return html`<div class="stack">
    <fieldset class="stack"><legend class="hidden">${t('recordings.words')}</legend>
      <${Way} name="whisper" from=${from} choose=${setWords} />
      <${Way} name="text" from=${from} choose=${setWords} />
      ${data.recordings.some((each) => each.take) && html`<${Way} name="takes" from=${from} choose=${setWords} />`}
    </fieldset>
    ${from === 'text' && html`<${OwnText} project=${project} text=${data.text} again=${again} />`}
    ${from !== 'takes' && html`<label>${t('recordings.language')}
      <${LanguageSelect} codes=${facts.languages} value=${language} onChange=${setLanguage} /></label>`}
    ${listens && html`<${Whisper} facts=${facts} named=${named} folder=${folder} setWhisper=${setWhisper} consent=${consent} setConsent=${setConsent} />`}
    ${from === 'text' && !listens && html`<p class="why">${t('recordings.aligner')}</p>`}
    <details><summary>${changed ? t('recordings.more.changed', { n: changed }) : t('recordings.more')}</summary>
      <div class="stack">
        <h3>${t('recordings.cut')}</h3>
        <${Settings} fields=${facts.cut} values=${{ ...facts.cut_values, ...cut }} onChange=${setCut} />
        ${listens && html`<h3>${t('recordings.hear')}</h3>
          <${Settings} fields=${facts.hear} values=${{ ...facts.hear_values, ...hear }} onChange=${setHear} />
          <label>${t('recordings.whisper.folder')}<input value=${folder} onInput=${(event) => setFolder(event.target.value.trim())} />
            <span class="why">${t('recordings.whisper.folder.why')}</span></label>`}
      </div>
    </details>
    <div class="row"><${Act} class="primary" disabled=${missing || (from === 'text' && !data.text)} run=${build}>${t('recordings.build')}<//>
      ${missing && html`<span class="soft small-text">${t('recordings.consent.first')}</span>`}</div>
  </div>`;
}

function Way({ name, from, choose }) {
  return html`<label class="way"><input type="radio" name="words" value=${name} checked=${from === name} onChange=${() => choose(name)} />
    <span><b>${t(`recordings.way.${name}`)}</b><span class="why">${t(`recordings.way.${name}.why`)}</span></span></label>`;
}

function Whisper({ facts, named, folder, setWhisper, consent, setConsent }) {
  if (folder) return html`<p class="why">${t('recordings.whisper.own', { folder })}</p>`;
  const suffix = (each) => [
    each.name === facts.advised.name && t('recordings.whisper.advised'),
    t(each.here ? 'recordings.whisper.here' : 'recordings.whisper.mb', { size: size(each.mb * 1e6) }),
  ].filter(Boolean).join(', ');
  return html`<div class="stack tight">
    <label>${t('recordings.quality')}
      <select value=${named.name} onChange=${(event) => setWhisper(event.target.value)}>
        ${facts.whispers.map((each) => html`<option value=${each.name}>${each.name} (${suffix(each)})</option>`)}
      </select></label>
    <p class="why">${translated(named.name === facts.advised.name ? facts.advised.reason : named.good_for)}</p>
    ${!named.here && html`<label class="inline"><input type="checkbox" checked=${consent} onChange=${(event) => setConsent(event.target.checked)} />
      <span>${t('recordings.consent', { size: size(named.mb * 1e6), from: `huggingface.co/${named.from}`, licence: translated(named.licence) })}</span></label>`}
  </div>`;
}

function OwnText({ project, text, again }) {
  const input = useRef();
  const pick = (event) => {
    const found = [...event.target.files].map((file) => ({ file, name: file.name }));
    event.target.value = '';
    doing(async () => {
      await sendTexts(project.id, found);
      again();
    });
  };
  return html`<div class="row">
    <span class="grow">${text ? html`<b>${text.names.slice(0, 3).join(', ')}${text.names.length > 3 ? ' …' : ''}</b>` : html`<span class="soft">${t('recordings.text.none')}</span>`}</span>
    <button class="small" onClick=${() => input.current.click()}>${t(text ? 'recordings.text.other' : 'recordings.text.choose')}</button>
    <input ref=${input} hidden type="file" multiple onChange=${pick} />
    <p class="why whole">${t('recordings.text.why')}</p>
  </div>`;
}
