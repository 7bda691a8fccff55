// Where a person is: the address holds the project and the place (#project/place).

import { html } from '../vendor/preact.js';
import { t } from './words.js';

export const PLACES = ['home', 'recordings', 'transcript', 'train', 'voices', 'system'];
const PROJECT = 'timbre.project';
const THEME = 'timbre.theme';

export function here() {
  const [project = '', place = ''] = location.hash.slice(1).split('/');
  return { project: project || localStorage.getItem(PROJECT) || '', place: PLACES.includes(place) ? place : 'home' };
}

/** Go to a place, perhaps of another project. */
export function go(place, project = here().project) {
  if (project) localStorage.setItem(PROJECT, project);
  location.hash = `${project}/${place}`;
}

/** Light, dark, or as the system has it (empty): set it where one is given, and tell which it is. */
export function theme(chosen = localStorage.getItem(THEME) ?? '') {
  localStorage.setItem(THEME, chosen);
  document.documentElement.dataset.theme = chosen;
  return chosen;
}

/** What a place shows that needs a project while none is chosen. */
export function NoProject() {
  return html`<div class="card empty"><p>${t('frame.noproject')}</p>
    <button class="primary" onClick=${() => go('home', '')}>${t('frame.tohome')}</button></div>`;
}
