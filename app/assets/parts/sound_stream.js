// What the studio says piece by piece (app/screen/streamed.py): a line of JSON, perhaps bytes behind it.

import { Refused } from './api.js';

/** Bytes that come in chunks of any size, taken by lines and by counts. */
class Taker {
  constructor(reader) {
    Object.assign(this, { reader, held: new Uint8Array(), over: false });
  }

  async #more() {
    const { value, done } = await this.reader.read();
    if (done) this.over = true;
    else this.held = joined(this.held, value);
    return !done;
  }

  async line() {
    let from = 0;
    for (;;) {
      const at = this.held.indexOf(10, from);
      if (at >= 0) return new TextDecoder().decode(this.#take(at + 1));
      from = this.held.length;
      if (!(await this.#more())) return '';
    }
  }

  async bytes(count) {
    while (this.held.length < count && (await this.#more()));
    return this.#take(count);
  }

  #take(count) {
    const taken = this.held.slice(0, count);
    this.held = this.held.subarray(count);
    return taken;
  }
}

function joined(one, other) {
  if (!one.length) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Each piece as it comes: {kind, ..., samples}; `signal` ends it. A fault is thrown as Refused. */
export async function* pieces(name, args, signal) {
  const response = await fetch(`/timbre/stream/${name}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(args),
    signal,
  });
  if (!response.ok) throw new Refused(await response.json(), response.status);
  const taker = new Taker(response.body.getReader());
  for (let line = await taker.line(); line; line = await taker.line()) {
    const said = JSON.parse(line);
    if (said.bytes) said.samples = new Int16Array((await taker.bytes(said.bytes)).buffer);
    if (said.kind === 'fault') throw new Refused(said);
    yield said;
  }
}
