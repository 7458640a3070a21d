// Sends samples of the microphone in pieces of about a fifth of a second. A message to it ends the sound: it sends the rest, and null.
// Zeros before the first sound, at most half a second of them, are left out: the device gives them before it begins, and a
// recogniser may hear a word where they end.
const RECORDER = `registerProcessor('recorder', class extends AudioWorkletProcessor {
  constructor() {
    super();
    this.size = Math.round(sampleRate / 5);
    this.piece = new Float32Array(this.size);
    this.filled = 0;
    this.going = true;
    this.zeros = sampleRate / 2;
    this.port.onmessage = () => {
      this.going = false;
      this.port.postMessage(this.piece.slice(0, this.filled));
      this.port.postMessage(null);
    };
  }
  process(inputs) {
    const channel = inputs[0][0];
    for (let i = 0; this.going && channel && i < channel.length; i++) {
      if (channel[i] === 0 && this.zeros > 0) { this.zeros--; continue; }
      this.zeros = 0;
      this.piece[this.filled++] = channel[i];
      if (this.filled === this.size) { this.port.postMessage(this.piece.slice()); this.filled = 0; }
    }
    return this.going;
  }
});`;

// Sound as a device gives it. Browsers change it for calls by default, and a recogniser hears other words then.
const CHANGES = {
  echoCancellation: 'echo cancellation',
  noiseSuppression: 'noise suppression',
  autoGainControl: 'gain control',
  voiceIsolation: 'voice isolation',
};
const UNTOUCHED = { channelCount: 1, ...Object.fromEntries(Object.keys(CHANGES).map((key) => [key, false])) };

// The changes that the browser makes nevertheless, for people.
function changesOf(track) {
  const settings = track.getSettings();
  const kept = Object.keys(CHANGES).filter((key) => settings[key] === true).map((key) => CHANGES[key]);
  return kept.length ? 'The browser keeps ' + kept.join(' and ') + ' on: words may be wrong.' : '';
}

// Samples as the server reads them: 16 bits, the low byte first.
function samples(piece) {
  const bytes = new DataView(new ArrayBuffer(2 * piece.length));
  let loudest = 0;
  for (let i = 0; i < piece.length; i++) {
    loudest = Math.max(loudest, Math.abs(piece[i]));
    bytes.setInt16(2 * i, Math.max(-32768, Math.min(32767, Math.round(piece[i] * 32768))), true);
  }
  element('level').value = Math.min(1, loudest);
  return bytes.buffer;
}

// The mean of all channels.
function mixed(buffer) {
  const count = buffer.numberOfChannels;
  if (count === 1) return buffer.getChannelData(0);
  const mean = new Float32Array(buffer.length);
  for (let channel = 0; channel < count; channel++) {
    buffer.getChannelData(channel).forEach((sample, i) => { mean[i] += sample / count; });
  }
  return mean;
}

// The rate that the header of a wave or FLAC file gives, in Hz, or 0. (A browser gives sound at the rate that it is asked for.)
function rateOf(bytes) {
  const [data, size] = [new DataView(bytes), bytes.byteLength];
  const name = (at) => String.fromCharCode(...new Uint8Array(bytes, at, 4));
  if (size < 22) return 0;
  if (name(0) === 'fLaC') return data.getUint32(18) >>> 12;
  if (name(0) !== 'RIFF' || name(8) !== 'WAVE') return 0;
  for (let at = 12; at + 16 <= size;) {
    if (name(at) === 'fmt ') return data.getUint32(at + 12, true);
    const length = data.getUint32(at + 4, true);
    at += 8 + length + length % 2;
  }
  return 0;
}

// What words of a recording may lack, as sentences.
function remarksOn(rate, channels) {
  const remarks = [];
  if (channels > 1) remarks.push('The ' + channels + ' channels of the recording are mixed.');
  if (rate && rate < modelRate) {
    remarks.push('The recording has ' + rate + ' Hz, and the model needs ' + modelRate + ' Hz: more words are wrong.');
  }
  return remarks;
}

// The sound of the microphone as it was sent, for the player.
class Recorded {
  constructor(rate) {
    this.rate = rate;
    this.bytes = 0;
    this.minutes = [];
    this.pieces = [];
  }

  add(piece) {
    this.bytes += piece.byteLength;
    this.pieces.push(piece);
    // (A browser may keep long blobs on disk.)
    if (this.pieces.length === 300) this.minutes.push(new Blob(this.pieces.splice(0)));
  }

  seconds() { return this.bytes / 2 / this.rate; }

  // A wave file.
  wave() {
    const header = new DataView(new ArrayBuffer(44));
    const name = (at, text) => [...text].forEach((c, i) => header.setUint8(at + i, c.charCodeAt(0)));
    const number = (at, value) => header.setUint32(at, value, true);
    name(0, 'RIFF');
    number(4, 36 + this.bytes);
    name(8, 'WAVEfmt ');
    number(16, 16);
    number(20, 1 | 1 << 16); // samples as numbers, one channel
    number(24, this.rate);
    number(28, 2 * this.rate);
    number(32, 2 | 16 << 16); // bytes of a frame, bits of a sample
    name(36, 'data');
    number(40, this.bytes);
    return new Blob([header, ...this.minutes, ...this.pieces], { type: 'audio/wav' });
  }
}

