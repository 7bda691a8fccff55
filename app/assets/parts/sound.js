// Sound that is heard as it comes, and sounds side by side: what an audio element cannot do.

import { element, pause } from './player.js';

const AHEAD_S = 8; // scheduled before it is heard: a hidden page is woken once a second only
const LEAD_S = 0.05;
const FADE_S = 0.005;
const PUMP_MS = 150;
const RATE = 48000;

// One thing is heard at a time: what begins ends what was heard before, the page's player too.
let heard = null;
function takes(turn) {
  if (heard !== turn) heard?.pause();
  heard = turn;
  pause();
}
element.addEventListener('play', () => { heard?.pause(); heard = null; });

/** How loud an analyser hears it now, 0 to 1. */
function levelOf(analyser) {
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  return rms(samples);
}

const rms = (samples) => Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length);

/** Speech that is still being spoken: blocks of 16-bit samples, heard one right after the other. */
export class Speech {
  constructor(changed) {
    Object.assign(this, { changed, blocks: [], marks: [], sources: new Set(), next: 0, complete: false, over: false, context: null });
    takes(this);
  }

  /** Add a block; `line` is the number of its sentence. */
  add(samples, rate, line) {
    if (this.over) return;
    this.context ??= this.#begin(rate);
    this.blocks.push({ samples, line });
    this.#pump();
  }

  /** Nothing more comes: it is over when all of it was heard. */
  end() {
    this.complete = true;
    this.#pump();
  }

  stop() {
    if (this.over) return;
    this.over = true;
    clearInterval(this.timer);
    this.sources.forEach((each) => each.stop());
    this.context?.close();
    this.changed();
  }

  pause() { this.stop(); }

  /** The number of the sentence that is heard now; -1 before the first. */
  get line() {
    const now = this.context?.currentTime ?? 0;
    return this.marks.findLast((each) => each.at <= now)?.line ?? -1;
  }

  /** How long it has been heard, in seconds. */
  get at() { return this.marks.length ? Math.max(0, (this.context?.currentTime ?? 0) - this.marks[0].at) : 0; }

  get level() { return this.analyser && !this.over ? levelOf(this.analyser) : 0; }

  #begin(rate) {
    // At its own rate nothing is resampled, so that blocks join exactly.
    const context = new AudioContext({ sampleRate: rate });
    this.analyser = context.createAnalyser();
    this.analyser.connect(context.destination);
    this.timer = setInterval(() => this.#pump(), PUMP_MS);
    return context;
  }

  #pump() {
    const { context } = this;
    while (!this.over && this.blocks.length && this.next < context.currentTime + AHEAD_S) this.#schedule(this.blocks.shift());
    const heardAll = this.complete && !this.blocks.length && (!context || context.currentTime >= this.next);
    if (heardAll) this.stop();
    else if (!this.over) this.changed();
  }

  #schedule({ samples, line }) {
    const { context } = this;
    const buffer = context.createBuffer(1, samples.length, context.sampleRate);
    buffer.copyToChannel(Float32Array.from(samples, (each) => each / 32768), 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.analyser);
    source.onended = () => this.sources.delete(source);
    this.sources.add(source);
    const at = Math.max(this.next, context.currentTime + LEAD_S);
    source.start(at);
    this.marks.push({ at, line });
    this.next = at + buffer.duration;
  }
}

/**
 * Sounds of the same length of time, of which one is heard: the others play along in silence, so
 * that going over to one of them is at the same place and without a gap. Where they are matched, all
 * are as loud as the quietest: people like what is louder.
 */
export class Sides {
  constructor(changed, matched = false) {
    Object.assign(this, { changed, matched, buffers: [], gains: [], factors: [], sources: [], side: 0, looping: false, started: null, kept: 0, ended: () => {} });
  }

  /** Load them; null where there is none. Only the newest wish counts. */
  async load(urls) {
    this.pause();
    this.kept = 0;
    this.buffers = [];
    const wanted = (this.wanted = urls.join());
    const found = await Promise.all(urls.map((url) => url && this.#decoded(url)));
    if (this.wanted !== wanted) return;
    this.lengths = found.map((each) => each?.duration ?? 0);
    this.buffers = this.#alike(found);
    this.factors = this.#factors(found);
    this.changed();
  }

  get seconds() { return this.buffers.find(Boolean)?.duration ?? 0; }
  get playing() { return this.started != null; }
  get ready() { return this.buffers.some(Boolean); }
  get level() { return this.playing && this.analyser ? levelOf(this.analyser) : 0; }

  get at() {
    if (this.started == null) return this.kept;
    const gone = this.context.currentTime - this.started;
    return this.looping ? gone % this.seconds : Math.min(gone, this.seconds);
  }

  play(at = this.at >= this.seconds ? 0 : this.at) {
    if (!this.ready) return;
    takes(this);
    this.#silence();
    const context = (this.context ??= this.#context());
    context.resume();
    const begins = context.currentTime + 0.02;
    this.gains = this.buffers.map((buffer, side) => this.#started(buffer, side, begins, at));
    this.started = begins - at;
    this.changed();
  }

  pause() {
    this.kept = this.at;
    this.#silence();
    this.changed();
  }

  seek(at) {
    const to = Math.max(0, Math.min(at, this.seconds));
    if (this.playing) this.play(to);
    else { this.kept = to; this.changed(); }
  }

  /** Hear another one, from the same place on. */
  choose(side) {
    this.side = side;
    const now = this.context?.currentTime ?? 0;
    this.gains.forEach((gain, each) => {
      gain?.gain.cancelScheduledValues(now);
      gain?.gain.setValueAtTime(gain.gain.value, now);
      gain?.gain.linearRampToValueAtTime(each === side ? this.factors[each] : 0, now + FADE_S);
    });
    this.changed();
  }

  loop(on) {
    this.looping = on;
    if (this.playing) this.play(this.at);
    this.changed();
  }

  close() {
    this.wanted = null;
    this.changed = () => {};
    this.#silence();
    this.context?.close();
  }

  #context() {
    const context = new AudioContext({ sampleRate: RATE });
    this.analyser = context.createAnalyser();
    this.analyser.connect(context.destination);
    return context;
  }

  async #decoded(url) {
    const response = await fetch(url);
    if (!response.ok) throw Object.assign(new Error(), await response.json());
    // Not the context that plays: a page may have one only once somebody pressed a button.
    return new OfflineAudioContext(1, 1, RATE).decodeAudioData(await response.arrayBuffer());
  }

  /** All as long as the longest, so that they loop together. */
  #alike(found) {
    const longest = Math.max(0, ...found.map((each) => each?.length ?? 0));
    return found.map((each) => {
      if (!each) return null;
      const buffer = new AudioBuffer({ length: longest, sampleRate: RATE });
      buffer.copyToChannel(each.getChannelData(0), 0);
      return buffer;
    });
  }

  #factors(found) {
    if (!this.matched) return found.map(() => 1);
    const levels = found.map((each) => (each ? rms(each.getChannelData(0)) : 0));
    const quietest = Math.min(...levels.filter(Boolean));
    return levels.map((each) => (each ? quietest / each : 1));
  }

  #started(buffer, side, begins, at) {
    if (!buffer) return null;
    const gain = this.context.createGain();
    gain.gain.value = side === this.side ? this.factors[side] : 0;
    gain.connect(this.analyser);
    const source = this.context.createBufferSource();
    Object.assign(source, { buffer, loop: this.looping });
    source.connect(gain);
    source.onended = () => this.#over(source);
    source.start(begins, at);
    this.sources.push(source);
    return gain;
  }

  #over(source) {
    if (!this.sources.includes(source)) return;
    this.#silence();
    this.kept = 0;
    this.changed();
    this.ended();
  }

  #silence() {
    const before = this.sources;
    this.sources = [];
    this.started = null;
    before.forEach((each) => each.stop());
  }
}
