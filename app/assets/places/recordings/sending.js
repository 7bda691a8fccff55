// Files on their way to the studio: they go on while a person looks at other places.

import { useEffect, useState } from '../../vendor/preact.js';
import { call, upload } from '../../parts/api.js';

const AT_ONCE = 3;
const sendings = new Map(); // by project
const heard = new Set();
const tell = () => heard.forEach((each) => each());

/** What is being sent to a project, or was refused: {files, over}. */
export function useSending(project) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const again = () => redraw((count) => count + 1);
    heard.add(again);
    return () => heard.delete(again);
  }, []);
  return sendings.get(project) ?? { files: [], over: true };
}

const warn = (event) => event.preventDefault();
const isSending = () => [...sendings.values()].some((each) => !each.over);
const guard = () => (isSending() ? addEventListener : removeEventListener)('beforeunload', warn);

/** Send files that are {file, name}; when all have arrived, one job brings them in. Give whether they have. */
export async function send(project, found) {
  const files = found.map(({ file, name }, place) => ({ file, name, place, share: 0, state: 'waiting', stop: new AbortController() }));
  const before = sendings.get(project);
  const sending = { files: [...(before && !before.over ? before.files : []), ...files], over: false };
  sendings.set(project, sending);
  tell();
  guard();
  try {
    const batch = await call('recordings.begin', { project });
    await all(files, (each) => one(project, batch, each));
    const arrived = files.some((each) => each.state === 'there');
    await call(arrived ? 'recordings.bring' : 'recordings.drop', { project, batch });
    return files.every((each) => each.state === 'there');
  } catch (error) {
    for (const each of files) if (each.state !== 'there') Object.assign(each, { state: 'refused', error });
    throw error;
  } finally {
    const current = sendings.get(project);
    current.over = current.files.every((each) => !['waiting', 'sending'].includes(each.state));
    current.files = current.files.filter((each) => each.state === 'refused' || !current.over);
    guard();
    tell();
  }
}

async function all(files, work) {
  const left = [...files];
  const hand = async () => {
    for (let each = left.shift(); each; each = left.shift()) await work(each);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hand));
}

async function one(project, batch, each) {
  if (each.state !== 'waiting') return;
  each.state = 'sending';
  const progress = (share) => { each.share = share; tell(); };
  try {
    const id = await upload(each.file, { name: each.name, progress, signal: each.stop.signal });
    await call('recordings.add', { project, batch, place: each.place, upload: id, name: each.name });
    each.state = 'there';
  } catch (error) {
    Object.assign(each, error.name === 'AbortError' ? { state: 'cancelled' } : { state: 'refused', error });
  }
  tell();
}

/** Do not send this one. */
export function cancel(each) {
  if (each.state === 'waiting') each.state = 'cancelled';
  each.stop.abort();
  tell();
}

/** Put away what was said of refused files. */
export function forget(project) {
  sendings.delete(project);
  tell();
}

/** Send texts; they are kept together. `among`: they came with recordings, and may be any note. */
export async function sendTexts(project, found, among = false) {
  const sent = [];
  for (const { file, name } of found) sent.push(await upload(file, { name: name.split('/').pop() }));
  await call('recordings.text', { project, sent, among });
}
