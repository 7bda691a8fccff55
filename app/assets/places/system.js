// System: GPUs and the computer, what takes the room, downloads, jobs, checks, settings.

import { html } from '../vendor/preact.js';
import { style } from '../parts/style.js';
import { t } from '../parts/words.js';
import { Dashboard } from './system/dashboard.js';
import { Doctor } from './system/doctor.js';
import { Jobs } from './system/jobs.js';
import { Models } from './system/models.js';
import { Room } from './system/room.js';
import { Settings } from './system/settings.js';

style('system');

export default function System({ now, again, onLanguage }) {
  return html`<div>
    <h1>${t('system.title')}</h1>
    <${Dashboard} />
    <${Jobs} again=${again} />
    <div class="two">
      <${Room} />
      <${Models} now=${now} again=${again} />
    </div>
    <div class="two">
      <${Doctor} />
      <${Settings} onLanguage=${onLanguage} />
    </div>
  </div>`;
}
