// The transcript of one project in this page: its clips, what is typed and not saved yet, what is chosen.
//
// It outlives the place: what is typed is saved, or kept and sent again, whatever is shown. Every
// change names the revision it saw; what was changed elsewhere meanwhile is a conflict, never lost.

import { useEffect, useRef, useState } from '../../vendor/preact.js';
import { call } from '../../parts/api.js';
import { Drafts, isUnreachable } from './drafts.js';
import { belongs, clipOf, counted, inOrder } from './rows.js';

const FOLLOW_MS = 800;
const FOLLOW_HIDDEN_MS = 4000;

const editors = new Map();

/** The editor of a project; there is one for a page. */
export function editorOf(project) {
  if (!editors.has(project)) editors.set(project, new Editor(project));
  return editors.get(project);
}

addEventListener('beforeunload', (event) => {
  const unsaved = [...editors.values()].some((editor) => editor.drafts.size > 0);
  for (const editor of editors.values()) editor.drafts.saveAll();
  if (unsaved) event.preventDefault();
});

class Editor {
  constructor(project) {
    this.project = project;
    this.clips = new Map();
    this.order = [];
    this.recordings = new Map();
    this.revision = -1;
    this.stale = true;
    this.loaded = false;
    this.error = null;
    this.turns = { undo: '', redo: '' };
    this.counts = counted([]);
    this.drafts = new Drafts(this);
    this.filter = { group: 'all', check: '', search: '', recording: '' };
    this.shown = [];
    this.kept = new Set();
    this.selected = null;
    this.typing = false;
    this.cursor = null;
    this.caret = null;
    this.before = '';
    this.wish = 0;
    this.calledOff = 0;
    this.lastIndex = 0;
    this.picked = new Set();
    this.busy = 0;
    this.heard = new Set();
    this.chain = Promise.resolve();
    this.places = 0;
    this.timer = 0;
    document.addEventListener('visibilitychange', () => document.hidden || this.poke());
  }

  // ---- Who is told ----

  subscribe(listener) {
    this.heard.add(listener);
    return () => this.heard.delete(listener);
  }

  tell() {
    for (const each of [...this.heard]) each();
  }

  // ---- Following the studio ----

  /** Follow while a place shows it; call what comes back to stop. */
  follow() {
    this.places += 1;
    this.poke();
    return () => {
      this.places -= 1;
      this.drafts.saveAll();
    };
  }

  poke() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), 0);
  }

  async look() {
    clearTimeout(this.timer);
    if (!this.places && !this.drafts.size) return;
    try {
      const since = this.since;
      this.apply(await call('transcript.clips', { project: this.project, since }), since);
      if (this.error) {
        this.error = null;
        this.tell();
      }
      this.drafts.saveWaiting();
    } catch (error) {
      this.error = error;
      this.tell();
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), document.hidden ? FOLLOW_HIDDEN_MS : FOLLOW_MS);
  }

  /** Read everything again: the checks were done anew. */
  reload() {
    this.stale = true;
    this.poke();
  }

  /** The revision after which changes are asked for; -1 asks for everything. */
  get since() {
    return this.stale ? -1 : this.revision;
  }

  /** Take in what the studio says has changed since a revision. */
  apply({ revision, rows, recordings, turns }, since) {
    const whole = since < 0;
    if (whole) this.stale = false;
    if (rows.length || recordings || !this.loaded) {
      if (recordings) this.recordings = new Map(recordings.map(([id, name, seconds, language], place) => [id, { id, name, seconds, language, place }]));
      // What was changed while everything was on its way is newer than it, and asked for again.
      if (whole) this.clips = new Map([...this.clips].filter(([, clip]) => clip.revision > revision));
      rows.forEach((row) => this.put(clipOf(row)));
      this.loaded = true;
      this.sort();
    }
    if (turns && revision >= this.revision) this.turns = turns;
    this.revision = whole ? revision : Math.max(this.revision, revision);
    if (rows.length || whole) this.tell();
  }

  put(clip) {
    const before = this.clips.get(clip.id);
    if (before && before.revision > clip.revision) return;
    if (clip.gone) {
      this.clips.delete(clip.id);
      this.picked.delete(clip.id);
    } else this.clips.set(clip.id, clip);
    const draft = this.drafts.get(clip.id);
    const isOpen = draft?.state === 'conflict';
    if (draft && (clip.gone || isOpen)) this.drafts.clash(draft, { text: clip.text, revision: clip.revision, gone: clip.gone });
  }

  sort() {
    const places = new Map([...this.recordings.values()].map((each) => [each.id, each.place]));
    const all = inOrder([...this.clips.values()], places);
    this.order = all.map((clip) => clip.id);
    this.counts = counted(all);
    this.sift();
  }

  // ---- What is shown and chosen ----

  sift() {
    // What was shown stays in the list while it is worked on, also when it belongs there no more.
    const stays = (clip) => this.kept.has(clip.id) || belongs(clip, this.filter);
    this.shown = this.order.filter((id) => stays(this.clips.get(id)));
    this.shown.forEach((id) => this.kept.add(id));
    // What is gone (merged, undone) is left for what stands in its place now.
    if (this.selected != null && !this.clips.has(this.selected)) this.selected = this.shown[Math.min(this.lastIndex, this.shown.length - 1)] ?? null;
  }

  choose(filter) {
    this.filter = { ...this.filter, ...filter };
    this.kept = new Set();
    this.sift();
    if (!this.shown.includes(this.selected)) this.selected = this.shown[0] ?? null;
    this.tell();
  }

  get clip() {
    return this.clips.get(this.selected) ?? null;
  }

  get index() {
    return this.shown.indexOf(this.selected);
  }

  /** Choose a clip, perhaps to type in it; the keyboard goes there unless `focus` says no. */
  select(id, typing = false, focus = true) {
    if (id !== this.selected) {
      this.drafts.save(this.selected);
      this.cursor = null;
      this.caret = null;
    }
    if (typing && !(this.typing && id === this.selected)) this.before = this.clips.get(id)?.text ?? '';
    if (!this.shown.includes(id) && this.clips.has(id)) {
      this.kept.add(id);
      this.sift();
    }
    this.selected = id;
    this.typing = typing;
    this.lastIndex = this.index;
    if (focus) this.wish += 1;
    this.tell();
  }

  /** The keyboard goes elsewhere now, not to the row that was to have it. */
  callOff() {
    this.calledOff = this.wish;
  }

  /** Take back what was typed since typing began. */
  takeBack() {
    const { selected, before } = this;
    if (this.drafts.textOf(selected) !== before || this.drafts.has(selected)) {
      this.drafts.type(selected, before);
      this.drafts.save(selected);
    }
    this.select(selected, false);
  }

  /** Put the cursor into the sound, at a second, perhaps on a word. */
  point(at) {
    this.cursor = at;
    this.tell();
  }

  /** Note where the cursor is in the text. */
  caretAt(place) {
    this.caret = place;
    this.cursor = null;
    this.tell();
  }

  move(by, typing = this.typing) {
    const to = Math.min(Math.max(0, this.index + by), this.shown.length - 1);
    if (to >= 0) this.select(this.shown[to], typing);
  }

  pick(id, on) {
    if (on) this.picked.add(id);
    else this.picked.delete(id);
    this.picked = new Set(this.picked);
    this.tell();
  }

  /** The clips that an action for many is about: those that are picked, else all that are shown. */
  get many() {
    return this.picked.size ? this.order.filter((id) => this.picked.has(id)) : this.shown;
  }

  seen(ids) {
    return ids.filter((id) => this.clips.has(id)).map((id) => [id, this.clips.get(id).revision]);
  }

  neighbour(id, by = 1) {
    const clip = this.clips.get(id);
    const other = this.clips.get(this.order[this.order.indexOf(id) + by]);
    return other && clip && other.recording === clip.recording ? other : null;
  }

  /** The clips that lie, at least in part, in a span of a recording. */
  around(recording, start, end) {
    return [...this.clips.values()].filter((each) => each.recording === recording && each.end > start && each.start < end);
  }

  /** Whether everything is on the disk: saved, saving, conflict, refused or waiting. */
  get state() {
    const states = [...this.drafts.values()].map((draft) => draft.state);
    if (states.includes('conflict')) return 'conflict';
    if (states.includes('waiting') || (this.error && isUnreachable(this.error))) return 'waiting';
    if (states.includes('refused')) return 'refused';
    return states.length || this.busy ? 'saving' : 'saved';
  }

  // ---- Doing ----

  inTurn(work) {
    const result = this.chain.then(work);
    this.chain = result.catch(() => {});
    return result;
  }

  /** Do something that needs all that was typed on the disk. */
  after(work) {
    this.drafts.saveAll();
    return this.inTurn(work);
  }

  /** Do something to clips, after what was typed is saved: `given` says, late, what to send. */
  async act(name, given) {
    this.drafts.saveAll();
    this.busy += 1;
    this.tell();
    try {
      return await this.inTurn(async () => {
        const { project, since } = this;
        const answer = await call(`transcript.${name}`, { project, since, ...given(this) });
        if (answer.rows) this.apply(answer, since);
        return answer;
      });
    } catch (error) {
      this.poke();
      throw error;
    } finally {
      this.busy -= 1;
      this.tell();
    }
  }

  /** Do something to one clip, as it is when its turn comes. */
  one(name, id, given = {}) {
    return this.act(name, (editor) => ({ clip: id, revision: editor.clips.get(id)?.revision ?? 0, ...given }));
  }
}

/** What `read` takes from an editor; a component that uses it is drawn when that changes. */
export function useEditor(editor, read) {
  const [, redraw] = useState(0);
  const latest = useRef();
  latest.current = { read, value: read(editor) };
  useEffect(() => {
    const look = () => {
      if (latest.current.read(editor) !== latest.current.value) redraw((count) => count + 1);
    };
    look();
    return editor.subscribe(look);
  }, [editor]);
  return latest.current.value;
}
