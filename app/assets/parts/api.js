// How the page asks the studio: calls, addresses of files, uploads.

import { translated } from './translated.js';

/** A refusal in words: what happened, and what to do. */
export class Refused extends Error {
  constructor({ what, fix = '', conflict = null, fault = false }, status = 0) {
    super(translated(what));
    Object.assign(this, { what: translated(what), fix: translated(fix), conflict, fault, status });
  }
}

const GONE = {
  en: { what: 'Timbre does not answer.', fix: 'If it was closed, start it again. Nothing is lost.' },
  zh: { what: 'Timbre 没有响应。', fix: '如果已关闭，请重新启动。不会丢失任何内容。' },
};
const gone = () => new Refused(GONE[document.documentElement.lang.slice(0, 2)] ?? GONE.en);

async function told(response) {
  const said = await response.json().catch(() => ({ what: `${response.status} ${response.statusText}` }));
  if (!response.ok) throw new Refused(said, response.status);
  return said;
}

async function ask(name, args) {
  let response;
  try {
    response = await fetch(`/timbre/call/${name}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(args),
    });
  } catch {
    throw gone();
  }
  return told(response);
}

/** Ask for something, or do something; throw Refused when it cannot be. */
export const call = async (name, args = {}) => (await ask(name, args)).data;

/** Ask again for what was seen under a mark: {same: true}, or {mark, data}. */
export const look = (name, args, saw) => ask(name, saw ? { ...args, saw } : args);

/** The address of a sound, a picture or something to download. */
export const fileUrl = (name, args = {}) => `/timbre/file/${name}?${new URLSearchParams(args)}`;

/** What an answer says; null where it is no JSON. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Send a file; `progress` is told the share that has gone. `signal` stops it. */
export function upload(file, { name = file.name, progress = () => {}, signal } = {}) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open('PUT', `/timbre/upload?${new URLSearchParams({ name })}`);
    request.upload.onprogress = (event) => progress(event.loaded / Math.max(1, event.total));
    request.onerror = () => fail(gone());
    request.onabort = () => fail(new DOMException('stopped', 'AbortError'));
    request.onload = () => {
      const said = read(request.responseText);
      if (request.status === 200 && said) done(said.data.id);
      else fail(new Refused(said ?? { what: `${request.status} ${request.statusText}` }, request.status));
    };
    signal?.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}
