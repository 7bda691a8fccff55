// The microphone: its samples as they are, how loud they are, and a take as a WAV file.

import { t } from '../../parts/words.js';

/** The microphones there are; their names are known once the browser was allowed to listen. */
export async function microphones() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return devices.filter((each) => each.kind === 'audioinput').map(({ deviceId, label }) => ({ id: deviceId, label }));
}

const REFUSALS = { NotAllowedError: 'denied', SecurityError: 'denied', NotFoundError: 'none', OverconstrainedError: 'none', NotReadableError: 'busy' };

/** What to say of a microphone that cannot be used. */
const refusal = (error) => {
  const why = REFUSALS[error.name] ?? 'other';
  return { what: t(`recordings.mic.${why}`), fix: t(`recordings.mic.${why}.fix`) };
};

export class Microphone {
  /** Begin to listen; throw {what, fix} when that cannot be. `onLevel` gets {peak, db} 20 times a second. */
  static async open(device, onLevel) {
    if (!navigator.mediaDevices?.getUserMedia) throw { what: t('recordings.mic.insecure'), fix: t('recordings.mic.insecure.fix') };
    // Nothing of what browsers do to voices for telephoning: it would be learned.
    const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: { ...plain, ...(device && { deviceId: { exact: device } }) } });
    } catch (error) {
      throw refusal(error);
    }
    const context = new AudioContext();
    try {
      await context.audioWorklet.addModule('/timbre/assets/places/recordings/tap.js');
      await context.resume();
      return new Microphone(stream, context, onLevel);
    } catch (error) {
      for (const track of stream.getTracks()) track.stop(); // it does not stay open for nobody
      context.close();
      throw refusal(error);
    }
  }

  constructor(stream, context, onLevel) {
    Object.assign(this, { stream, context, onLevel, chunks: null, flushed: () => {} });
    this.tap = new AudioWorkletNode(context, 'tap', { numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit' });
    this.tap.port.onmessage = ({ data }) => (data === 'all' ? this.flushed() : this.heard(data));
    context.createMediaStreamSource(stream).connect(this.tap);
  }

  get device() {
    return this.stream.getAudioTracks()[0]?.getSettings().deviceId ?? '';
  }

  get rate() {
    return this.context.sampleRate;
  }

  get seconds() {
    return lengthOf(this.chunks ?? []) / this.rate;
  }

  heard(samples) {
    this.chunks?.push(samples);
    let [peak, power] = [0, 0];
    for (const each of samples) {
      peak = Math.max(peak, Math.abs(each));
      power += each * each;
    }
    this.onLevel({ peak, db: decibels(power / samples.length) });
  }

  begin() {
    this.chunks = [];
  }

  /** End the take: {samples, rate}. */
  async end() {
    await new Promise((done) => {
      this.flushed = done;
      this.tap.port.postMessage('give');
    });
    const chunks = this.chunks ?? [];
    this.chunks = null;
    return { samples: joined(chunks), rate: this.rate };
  }

  close() {
    for (const track of this.stream.getTracks()) track.stop();
    this.context.close();
  }
}

const lengthOf = (chunks) => chunks.reduce((sum, each) => sum + each.length, 0);

/** Pieces of sound as one. */
export function joined(chunks) {
  const samples = new Float32Array(lengthOf(chunks));
  let at = 0;
  for (const each of chunks) {
    samples.set(each, at);
    at += each.length;
  }
  return samples;
}

const decibels = (power) => 10 * Math.log10(Math.max(power, 1e-12));

// As in finetune/texts/takes.py, which has the last word.
const TOP = 0.985;
const QUIET_DB = -36;
const SILENT_DB = -60;
const NOISY_DB = 20;

/** What can be told of a take at once: 'silent', 'loud', 'quiet' and 'noisy'. */
export function judged({ samples, rate }) {
  const step = Math.round(rate / 100);
  const levels = [];
  let peak = 0;
  for (let at = 0; at + step <= samples.length; at += step) {
    let power = 0;
    for (let index = at; index < at + step; index += 1) {
      power += samples[index] ** 2;
      peak = Math.max(peak, Math.abs(samples[index]));
    }
    levels.push(decibels(power / step));
  }
  levels.sort((a, b) => a - b);
  const at = (share) => levels[Math.floor(share * (levels.length - 1))] ?? SILENT_DB;
  const [noise, speech] = [at(0.05), at(0.95)];
  if (speech < SILENT_DB) return ['silent'];
  return [peak >= TOP && 'loud', speech < QUIET_DB && 'quiet', speech - noise < NOISY_DB && 'noisy'].filter(Boolean);
}

/** A take as a WAV file of 32-bit floats: nothing is rounded, nothing cut off. */
export function wav({ samples, rate }) {
  const head = new DataView(new ArrayBuffer(58));
  const write = (at, text) => [...text].forEach((sign, index) => head.setUint8(at + index, sign.charCodeAt(0)));
  write(0, 'RIFF');
  head.setUint32(4, 50 + samples.byteLength, true);
  write(8, 'WAVEfmt ');
  head.setUint32(16, 18, true);
  head.setUint16(20, 3, true); // floats
  head.setUint16(22, 1, true);
  head.setUint32(24, rate, true);
  head.setUint32(28, rate * 4, true);
  head.setUint16(32, 4, true);
  head.setUint16(34, 32, true);
  write(38, 'fact');
  head.setUint32(42, 4, true);
  head.setUint32(46, samples.length, true);
  write(50, 'data');
  head.setUint32(54, samples.byteLength, true);
  return new Blob([head, samples], { type: 'audio/wav' });
}
