// Runs beside the page's own thread: hands the microphone's samples over, none left out.

const CHUNK = 2048;

class Tap extends AudioWorkletProcessor {
  constructor() {
    super();
    this.held = new Float32Array(CHUNK);
    this.count = 0;
    this.port.onmessage = () => {
      this.give();
      this.port.postMessage('all');
    };
  }

  process([[samples]]) {
    if (!samples) return true;
    this.held.set(samples, this.count);
    this.count += samples.length;
    if (this.count + samples.length > CHUNK) this.give();
    return true;
  }

  give() {
    if (this.count) this.port.postMessage(this.held.slice(0, this.count));
    this.count = 0;
  }
}

registerProcessor('tap', Tap);
