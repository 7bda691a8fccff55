// The voice that was chosen: what it is, how good, where it came from, whose it is, what can be done.

import { html, useState } from '../../vendor/preact.js';
import { call, fileUrl, upload } from '../../parts/api.js';
import { labelOf, settingSaid } from '../../parts/form.js';
import { Rename, takeBack, trashed } from '../../parts/named.js';
import { Act, doing, note } from '../../parts/notes.js';
import { Play } from '../../parts/player.js';
import { translated } from '../../parts/translated.js';
import { number, t, when } from '../../parts/words.js';
import { Export } from './travel.js';
import { Picture } from './library.js';

export function Voice({ voice, changed }) {
  const [open, setOpen] = useState('');
  const close = () => setOpen('');
  const restore = () => call('voices.restore', { voice: voice.id }).then(changed);
  const trash = async () => {
    await call('voices.trash', { voice: voice.id });
    changed();
    trashed(voice, restore);
  };
  return html`<section class="card stack" aria-label=${voice.name}>
    <div class="row top">
      <${Picture} voice=${voice} large=${true} />
      <div class="grow"><h2>${voice.name}</h2>
        <p class="soft">${[voice.title, voice.language, when(voice.made)].filter(Boolean).join(' · ')}</p>
        <p>${consentWords(voice)}</p></div>
      ${voice.trashed
        ? html`<${Act} class="primary" run=${() => takeBack(voice, restore)}>${t('named.restore')}<//>`
        : html`<div class="row"><button onClick=${() => setOpen('export')}>${t('voices.export')}</button>
            <button onClick=${() => setOpen('rename')}>${t('named.rename')}</button>
            <${Act} run=${trash}>${t('named.trash')}<//></div>`}
    </div>
    <${Scores} voice=${voice} />
    <${Sounds} voice=${voice} />
    <${Tags} voice=${voice} changed=${changed} />
    <details><summary>${t('voices.more')}</summary><div class="stack">
      <${Consent} voice=${voice} changed=${changed} />
      <${Face} voice=${voice} changed=${changed} />
      <${Origin} voice=${voice} />
    </div></details>
    ${open === 'export' && html`<${Export} voice=${voice} onClose=${close} />`}
    ${open === 'rename' && html`<${Rename} item=${voice} onClose=${close} save=${(name) => call('voices.rename', { voice: voice.id, name }).then(changed)} />`}
  </section>`;
}

/** Whose voice it is, in a sentence. */
export function consentWords(voice) {
  if (!voice.whose) return t('voices.consent.unknown');
  const said = voice.agreed == null ? 'notasked' : voice.agreed ? 'agreed' : 'refused';
  return t(`voices.consent.${said}`, { name: voice.whose });
}

function Scores({ voice }) {
  if (!voice.figures.length && voice.scores.check_loss == null) return null;
  return html`<dl class="figures">
    ${voice.figures.map((each) => html`<div><dt>${translated(each.name)}</dt><dd><b>${number(each.value, each.unit ? 1 : 2)}</b> ${translated(each.unit)}</dd><dd class="why">${translated(each.meaning)}</dd></div>`)}
    ${voice.scores.check_loss != null && html`<div><dt>${t('voices.loss')}</dt><dd><b>${number(voice.scores.check_loss, 2)}</b></dd><dd class="why">${t('voices.loss.why')}</dd></div>`}
  </dl>`;
}

function Sounds({ voice }) {
  const row = (name, there, text) => there && html`<li>
    <${Play} url=${fileUrl('compare.sound', { sound: `voice/${voice.id}/${name}` })} label=${t(`voices.sound.${name}`)} />
    <span class="grow"><b>${t(`voices.sound.${name}`)}</b>${text && html` <span class="soft">“${text}”</span>`}</span></li>`;
  return html`<ul class="list">${row('sample', voice.sample, voice.sample_text)}${row('reference', voice.reference, voice.reference_text)}</ul>`;
}

function Tags({ voice, changed }) {
  const [added, setAdded] = useState('');
  const tag = (add, remove) => call('voices.tag', { voice: voice.id, add, remove }).then(changed);
  const give = async () => {
    await tag([added], []);
    setAdded('');
  };
  return html`<form class="row" onSubmit=${(event) => event.preventDefault()}>
    ${voice.tags.length > 0 && html`<span class="chips">${voice.tags.map((each) => html`<span class="chip on">${each}
      <button type="button" class="bare tiny" aria-label=${t('voices.untag', { tag: each })} onClick=${() => doing(() => tag([], [each]))}>✕</button></span>`)}</span>`}
    <label class="inline">${t('voices.newtag')} <input class="short" value=${added} onInput=${(event) => setAdded(event.target.value)} /></label>
    <${Act} type="submit" class="small" disabled=${!added.trim()} run=${give}>${t('voices.tag')}<//>
  </form>`;
}

function Consent({ voice, changed }) {
  const [whose, setWhose] = useState(voice.whose);
  const [agreed, setAgreed] = useState(voice.agreed);
  const save = async () => {
    await call('voices.consent', { voice: voice.id, whose, agreed });
    changed();
    note(t('voices.consent.saved'));
  };
  const choice = (value, word) => html`<label class="inline"><input type="radio" name="agreed" checked=${agreed === value} onChange=${() => setAgreed(value)} />${word}</label>`;
  return html`<form class="stack" onSubmit=${(event) => event.preventDefault()}>
    <h3>${t('voices.consent')}</h3>
    <label>${t('voices.consent.whose')}<input value=${whose} onInput=${(event) => setWhose(event.target.value)} /></label>
    <fieldset><legend>${t('voices.consent.ask')}</legend>
      <div class="row">${choice(true, t('voices.consent.yes'))}${choice(false, t('voices.consent.no'))}${choice(null, t('voices.consent.none'))}</div></fieldset>
    <div class="row"><${Act} type="submit" run=${save}>${t('voices.consent.save')}<//><span class="why">${t('voices.consent.why')}</span></div>
  </form>`;
}

function Face({ voice, changed }) {
  const give = (event) => doing(async () => {
    const [file] = event.target.files;
    event.target.value = '';
    await call('voices.picture', { voice: voice.id, upload: await upload(file) });
    changed();
  });
  return html`<div class="row bottom">
    <label class="grow">${t('voices.picture')}<input type="file" accept="image/png,image/jpeg,image/webp" onChange=${give} />
      <span class="why">${t('voices.picture.why')}</span></label>
    ${voice.picture && html`<${Act} run=${() => call('voices.picture', { voice: voice.id, upload: '' }).then(changed)}>${t('voices.picture.remove')}<//>`}
  </div>`;
}

function Origin({ voice }) {
  const came = voice.from;
  const rows = [
    ['project', came.project_name || came.project],
    ['version', came.version],
    ['base', came.base_fingerprint],
    ['continues', came.continues],
    ['run', came.run],
    ['step', came.step == null ? '' : number(came.step)],
    ['why', translated(voice.why)],
    ['licence.base', (voice.licence.base ?? []).map(translated).join(', ')],
    ['licence.code', translated(voice.licence.code)],
  ].filter(([, value]) => value);
  const settings = Object.entries({ ...voice.settings.train, ...voice.settings.engine });
  return html`<div class="stack"><h3>${t('voices.origin')}</h3>
    <table><tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${t(`voices.origin.${name}`)}</th><td>${value}</td></tr>`)}</tbody></table>
    ${settings.length > 0 && html`<details><summary>${t('voices.origin.settings')}</summary>
      <table><tbody>${settings.map(([name, value]) => html`<tr><th scope="row">${labelOf({ name })}</th><td>${settingSaid(value)}</td></tr>`)}</tbody></table></details>`}
  </div>`;
}
