// Takes that have not reached the studio yet, in the browser's own store: a reload loses none. What
// is said freely is kept as it is said, so that a page that goes loses its last seconds only.

import { joined, judged, wav } from './microphone.js';

const NAME = 'timbre.takes';
const PARTS = 'parts';
const PART_CHUNKS = 90; // about four seconds

function store(mode, work, name = NAME) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open(NAME, 2);
    opening.onupgradeneeded = () => {
      for (const each of [NAME, PARTS]) if (!opening.result.objectStoreNames.contains(each)) opening.result.createObjectStore(each);
    };
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const change = opening.result.transaction(name, mode);
      const asked = work(change.objectStore(name));
      change.oncomplete = () => {
        opening.result.close();
        done(asked.result);
      };
      change.onerror = change.onabort = () => fail(change.error);
    };
  });
}

const key = ({ project, prompts, number }) => [project, prompts, number];

/** Keep a take {project, prompts, number, blob, kept}: one for each sentence. */
export const keep = (take) => store('readwrite', (all) => all.put(take, key(take)));
export const forget = (take) => store('readwrite', (all) => all.delete(key(take)));

/** Those of a project, also what broke off while it was said. */
export async function takesOf(project) {
  await mend(project);
  return (await store('readonly', (all) => all.getAll())).filter((each) => each.project === project);
}

// ---- What is said freely ----

/** In place of the name of what is read. */
export const FREE = '';
const lockOf = (take) => `timbre.take.${take}`;

/** A take of it that is going on, kept part by part. */
export class Going {
  constructor(project, microphone) {
    Object.assign(this, { project, microphone, take: Date.now(), count: 0, heard: 0, writing: null });
    // Held for as long as this page lives: another one does not think that it broke off.
    const ended = new Promise((done) => { this.letGo = done; });
    navigator.locks?.request(lockOf(this.take), () => ended);
  }

  /** Sound has come. No clock asks for this: that of a page in the background is slow. */
  more(least = PART_CHUNKS) {
    const chunks = this.microphone.chunks?.slice(this.heard) ?? [];
    if (chunks.length < least) return;
    this.heard += chunks.length;
    this.count += 1;
    const part = { project: this.project, take: this.take, samples: joined(chunks), rate: this.microphone.rate };
    const write = store('readwrite', (all) => all.put(part, [this.project, this.take, this.count]), PARTS);
    this.writing = write.catch(() => {}); // a browser that stores nothing keeps it until it is closed
  }

  /** It is whole, and kept as such. */
  async end() {
    await this.writing;
    await forgetParts(this.project, this.take).catch(() => {});
    this.letGo();
  }

  /** The place was left in the middle of it: it broke off, once its last part is written. */
  async leave() {
    this.more(1);
    await this.writing;
    this.letGo();
  }
}

const forgetParts = (project, take) => store('readwrite', (all) => all.delete(IDBKeyRange.bound([project, take], [project, take, []])), PARTS);

/** Make takes of those that broke off. */
async function mend(project) {
  const going = new Set((await navigator.locks?.query())?.held.map((each) => each.name));
  const found = await store('readonly', (all) => all.getAll(), PARTS);
  const mine = found.filter((each) => each.project === project && !going.has(lockOf(each.take)));
  for (const take of new Set(mine.map((each) => each.take))) {
    const parts = mine.filter((each) => each.take === take);
    const sound = { samples: joined(parts.map((each) => each.samples)), rate: parts[0].rate };
    await keep({ project, prompts: FREE, number: take, blob: wav(sound), seconds: sound.samples.length / sound.rate, hints: judged(sound), kept: false });
    await forgetParts(project, take);
  }
}
