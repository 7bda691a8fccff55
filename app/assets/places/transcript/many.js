// What is done to many clips at once: first what would change, then, as one undo, doing it.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Act, Dialog } from '../../parts/notes.js';
import { number, t } from '../../parts/words.js';
import * as deeds from './deeds.js';

const SHOWN = 200;

export function LeaveOut({ editor, ids, onClose }) {
  const [reason, setReason] = useState('');
  const act = async () => {
    if (await deeds.leaveOut(editor, ids, reason.trim() || undefined)) onClose();
  };
  return html`<${Dialog} title=${t('transcript.leaveout')} onClose=${onClose}>
    <div class="stack"><label>${t('transcript.leaveout.why')}<input value=${reason} onInput=${(event) => setReason(event.target.value)} /></label>
    <div class="row end"><${Act} class="primary" run=${act}>${t('transcript.leaveout.do', { n: number(ids.length) })}<//></div></div>
  <//>`;
}

export const TakeHeard = (props) => html`<${Previewed} ...${props} name="take_heard" title=${t('transcript.takeheard')} wish=${{}} />`;

export const Normalise = (props) => html`<${Previewed} ...${props} name="normalise" title=${t('transcript.normalise')} wish=${{}} />`;

export function Replace(props) {
  const [typed, setTyped] = useState({ find: '', by: '', match_case: false, whole_words: false });
  const set = (change) => setTyped({ ...typed, ...change });
  const tick = (name) => html`<label class="inline"><input type="checkbox" checked=${typed[name]} onChange=${(event) => set({ [name]: event.target.checked })} /> ${t(`transcript.replace.${name}`)}</label>`;
  return html`<${Previewed} ...${props} name="replace" title=${t('transcript.replace')} wish=${typed.find ? typed : null}>
    <div class="even"><label>${t('transcript.replace.find')}<input value=${typed.find} onInput=${(event) => set({ find: event.target.value })} /></label>
      <label>${t('transcript.replace.by')}<input value=${typed.by} onInput=${(event) => set({ by: event.target.value })} /></label></div>
    <div class="row">${tick('match_case')}${tick('whole_words')}</div>
  <//>`;
}

/** What a call would change, and the button that does exactly that. */
function Previewed({ editor, ids, name, title, wish, onClose, children }) {
  const changes = useChanges(editor, ids, name, wish);
  const act = async () => {
    // Named with the revisions that were shown: what was changed since is refused.
    const clips = changes.map(([id, saw]) => [id, saw]);
    await editor.act(name, () => ({ ...wish, clips, do: true }));
    deeds.undoable(editor, t('transcript.changed', { n: number(changes.length) }));
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="stack">${children}
      ${changes && html`<p class="soft" role="status">${t(changes.length ? 'transcript.wouldchange' : 'transcript.nochange', { n: number(changes.length) })}</p>`}
      ${changes?.length > 0 && html`<ul class="changes" tabindex="0" aria-label=${t('transcript.preview')}>${changes.slice(0, SHOWN).map(([id, , before, after]) => html`<li key=${id}><del>${before}</del><ins>${after}</ins></li>`)}</ul>`}
      <div class="row end"><${Act} class="primary" disabled=${!changes?.length} run=${act}>${t('transcript.changeall', { n: number(changes?.length ?? 0) })}<//></div>
    </div>
  <//>`;
}

function useChanges(editor, ids, name, wish) {
  const [changes, setChanges] = useState(null);
  const key = JSON.stringify(wish);
  useEffect(() => {
    setChanges(null);
    if (!wish) return undefined;
    let wanted = true;
    const ask = async () => {
      await editor.inTurn(() => {});
      const { project, revision } = editor;
      const found = await call(`transcript.${name}`, { project, since: revision, clips: editor.seen(ids), ...wish, do: false });
      if (wanted) setChanges(found.changes);
    };
    const timer = setTimeout(() => ask().catch(() => wanted && setChanges([])), 250);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [key]);
  return changes;
}
