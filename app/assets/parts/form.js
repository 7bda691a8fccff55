// Settings as labelled inputs: what each is for, what it may be, and which were changed.
//
//   <${Settings} fields=${fields} values=${values} onChange=${(values) => ...} />
//
// `fields` are those of app/screen/forms.py, `values` the chosen ones by name; what is missing there
// is as at first. `onChange` gets all values with the change; a number outside its limits is shown as
// unfit and not given, which `onUnfit(name, isUnfit)` is told.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { style } from './style.js';
import { translated } from './translated.js';
import { number, t } from './words.js';

style('form');

/** What is said in the page's language; where there are no words for it, as the studio says it. */
const known = (words, otherwise) => (words.startsWith('form.') ? otherwise : words);
/** What a setting is called. */
export const labelOf = (field) => known(t(`form.label.${field.name}`), translated(field.name.replaceAll('_', ' ')));
const helpOf = (field) => known(t(`form.help.${field.name}`), translated(field.help));
const choiceOf = (choice) => known(t(`form.choice.${choice}`), choice);
/** What a setting is set to, to be read. */
export const settingSaid = (value) => choiceOf(value === true ? 'yes' : value === false ? 'no' : String(value)) || t('form.empty');

/** Whether a setting is another than at first. */
const isChanged = (field, values) => field.name in values && values[field.name] !== field.default;

/** How many settings are other than at first. */
export const countChanged = (fields, values) => fields.filter((field) => isChanged(field, values)).length;

export function Settings({ fields, values, onChange, onUnfit, disabled = false }) {
  const put = (field, value) => onChange({ ...values, [field.name]: value });
  return html`<div class="even settings">
    ${fields.map((field) => html`<${One} key=${field.name} field=${field} value=${values[field.name] ?? field.default}
      isChanged=${isChanged(field, values)} put=${(value) => put(field, value)} onUnfit=${onUnfit} disabled=${disabled} />`)}
  </div>`;
}

function One({ field, value, isChanged: other, put, onUnfit, disabled }) {
  const id = `setting-${field.name}`;
  const shared = { id, disabled, 'aria-describedby': `${id}-help` };
  const isFigure = field.kind === 'whole' || field.kind === 'number';
  return html`<div class="setting">
    <div class="row">
      ${field.kind === 'yes' && html`<input type="checkbox" ...${shared} checked=${value} onChange=${(event) => put(event.target.checked)} />`}
      <label class="grow" for=${id}>${labelOf(field)}</label>
      ${other && html`<button type="button" class="bare small" disabled=${disabled} aria-label=${t('form.back', { what: labelOf(field) })} title=${t('form.back', { what: labelOf(field) })}
        onClick=${() => put(field.default)}>${t('form.changed')} ↺</button>`}
      ${isFigure && html`<${Figure} class="figure" field=${field} value=${value} isOwn=${other} put=${put} onUnfit=${onUnfit} ...${shared} />`}
    </div>
    ${(field.kind === 'choice' || field.kind === 'text') && html`<${Input} field=${field} value=${value} put=${put} shared=${shared} />`}
    <p class="why" id=${`${id}-help`}>${t('form.said', { help: helpOf(field), limits: limits(field) })}</p>
  </div>`;
}

function Input({ field, value, put, shared }) {
  if (field.kind === 'choice') {
    return html`<select ...${shared} value=${value} onChange=${(event) => put(event.target.value)}>
      ${field.choices.map((each) => html`<option value=${each}>${choiceOf(each)}</option>`)}
    </select>`;
  }
  return html`<input type="text" ...${shared} value=${value} onInput=${(event) => put(event.target.value)} />`;
}

/**
 * A number: what is typed stays as it is typed, and is put when it is one within the limits; nothing
 * typed is as at first. `late` puts it once it is left or Enter is pressed; `isOwn` is whether it is
 * another than at first.
 */
export function Figure({ field, value, isOwn, put, onUnfit, late = false, ...rest }) {
  const [typed, setTyped] = useState(null);
  const box = useRef();
  const wrong = typed !== null && unfit(field, typed);
  const given = (text) => unfit(field, text) || put(text.trim() === '' ? field.default : figureOf(field, text));
  const type = (event) => {
    setTyped(event.target.value);
    if (!late) given(event.target.value);
  };
  useEffect(() => {
    onUnfit?.(field.name, wrong);
    return () => onUnfit?.(field.name, false);
  }, [wrong]);
  useEffect(() => {
    if (box.current !== document.activeElement) setTyped(null); // it was set elsewhere
  }, [value, isOwn]);
  return html`<input ref=${box} type="text" inputmode=${field.kind === 'whole' ? 'numeric' : 'decimal'} ...${rest} value=${typed ?? String(value ?? '')} onInput=${type}
      onChange=${(event) => late && given(event.target.value)} onBlur=${() => wrong || setTyped(null)} aria-invalid=${wrong ? 'true' : null} />
    ${wrong && html`<p class="small-text wrong" role="alert">${t(`form.unfit.${field.kind}`)}</p>`}`;
}

/** What was typed, as a number; many write a comma before the decimals. */
const figureOf = ({ kind }, typed) => Number(kind === 'number' ? typed.trim().replace(/^([^.,]*),(?=[^.,]*$)/, '$1.') : typed);

function unfit(field, typed) {
  if (typed.trim() === '') return false;
  const found = figureOf(field, typed);
  if (!Number.isFinite(found)) return true;
  if (field.kind === 'whole' && !Number.isInteger(found)) return true;
  return (field.low != null && found < field.low) || (field.high != null && found > field.high);
}

/** "1.5 at first; from 0.3 to 10". */
function limits(field) {
  const first = firstly(field);
  const { low, high } = field;
  if (low != null && high != null) return t('form.between', { first, low: figure(low), high: figure(high) });
  if (low != null) return t('form.least', { first, low: figure(low) });
  return t('form.first', { first });
}

const figure = (value) => number(value, Number.isInteger(value) ? 0 : Math.min(5, String(value).split('.')[1]?.length ?? 0));

function firstly(field) {
  if (field.kind === 'yes') return t(field.default ? 'form.on' : 'form.off');
  if (field.kind === 'choice') return choiceOf(field.default);
  return field.kind === 'text' ? field.default || t('form.empty') : figure(field.default);
}
