// What is typed in this page and not on the disk yet, by clip: saved, or kept and sent again.
//
// Each names the text and the revision it began from. Where another was faster, what was typed is a
// conflict that a person ends, never lost.

import { call } from '../../parts/api.js';
import { problem } from '../../parts/notes.js';

const SAVE_AFTER_MS = 600;
const AGAIN_MS = 2000;

export const isUnreachable = (error) => error.status === 0;

export class Drafts extends Map {
  constructor(editor) {
    super();
    this.editor = editor;
  }

  textOf(id) {
    return this.get(id)?.text ?? this.editor.clips.get(id)?.text ?? '';
  }

  type(id, text) {
    const clip = this.editor.clips.get(id);
    const draft = this.get(id) ?? { id, base: clip.text, saw: clip.revision, state: 'typing' };
    if (draft.state === 'conflict') return;
    draft.text = text;
    if (draft.state !== 'saving') draft.state = 'typing';
    this.set(id, draft);
    clearTimeout(draft.timer);
    draft.timer = setTimeout(() => this.save(id), SAVE_AFTER_MS);
    this.editor.tell();
  }

  /** Save what was typed for a clip, after whatever is being saved. */
  save(id) {
    const draft = this.get(id);
    if (!draft || draft.state === 'conflict') return this.editor.chain;
    clearTimeout(draft.timer);
    return this.editor.inTurn(() => this.send(id));
  }

  saveAll() {
    for (const id of this.keys()) this.save(id);
  }

  saveWaiting() {
    for (const draft of this.values()) if (draft.state === 'waiting') this.save(draft.id);
  }

  async send(id) {
    const draft = this.get(id);
    if (!draft || draft.state === 'conflict') return;
    if (draft.text === draft.base) {
      this.drop(draft);
      return;
    }
    const sent = draft.text;
    draft.state = 'saving';
    this.editor.tell();
    try {
      const { project, since } = this.editor;
      this.editor.apply(await call('transcript.text', { project, clip: id, revision: draft.saw, text: sent, since }), since);
      this.saved(draft, sent);
    } catch (error) {
      this.notSaved(draft, sent, error);
    }
    this.editor.tell();
  }

  saved(draft, sent) {
    const now = this.editor.clips.get(draft.id);
    draft.base = sent;
    // Another may have changed it again before we heard that ours was saved: that was not seen.
    if (now?.text === sent) draft.saw = now.revision;
    draft.state = 'typing'; // more was typed meanwhile: its own timer saves it
    if (draft.text === sent) this.drop(draft);
  }

  notSaved(draft, sent, error) {
    const theirs = error.conflict?.theirs;
    if (theirs) this.meet(draft, sent, { revision: theirs.revision, text: theirs.values.text, gone: theirs.values.gone });
    else {
      draft.state = isUnreachable(error) ? 'waiting' : 'refused';
      draft.error = error;
      if (draft.state === 'refused') problem(error);
      else draft.timer = setTimeout(() => this.save(draft.id), AGAIN_MS);
    }
  }

  /** Another one was faster: what says the same, or left the text as it was, is no conflict. */
  meet(draft, sent, theirs) {
    if (theirs.gone || (theirs.text !== sent && theirs.text !== draft.base)) this.clash(draft, theirs);
    else {
      draft.state = 'typing';
      draft.base = theirs.text;
      draft.saw = theirs.revision;
      this.save(draft.id);
    }
    this.editor.poke();
  }

  clash(draft, theirs) {
    clearTimeout(draft.timer);
    Object.assign(draft, { state: 'conflict', theirs });
  }

  drop(draft) {
    clearTimeout(draft.timer);
    this.delete(draft.id);
    this.editor.tell();
  }

  /** End a conflict with a text: mine, theirs or a third. */
  async settle(id, text) {
    const draft = this.get(id);
    const { theirs } = draft;
    if (text === theirs.text) this.drop(draft);
    else {
      Object.assign(draft, { text, base: theirs.text, saw: theirs.revision, state: 'typing', theirs: null });
      await this.save(id);
    }
    this.editor.poke();
  }

  /** What was typed in clips that say something else by now. */
  get conflicts() {
    return [...this.values()].filter((draft) => draft.state === 'conflict' && !draft.theirs.gone);
  }

  /** What was typed in clips that are gone by now: merged into others, or undone. */
  get homeless() {
    return [...this.values()].filter((draft) => draft.state === 'conflict' && draft.theirs.gone);
  }
}
