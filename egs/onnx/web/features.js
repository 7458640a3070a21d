// Log-mel energies as Kaldi makes them (compute-fbank-feats --dither=0 --snip-edges=false), of sound that comes in pieces, and the
// running mean that is subtracted from them.

export const RATE = 16000;
const SHIFT = RATE / 100;
const LENGTH = (RATE * 25) / 1000;
const PADDED = 512;
const SMALLEST = 1.1920929e-7; // the smallest energy whose logarithm is taken: FLT_EPSILON

const mel = (hertz) => 1127 * Math.log(1 + hertz / 700);

/** For each mel bin its first spectral bin and weights. */
function melBanks(bins) {
  const low = mel(20), width = (mel(RATE / 2) - low) / (bins + 1);
  return Array.from({ length: bins }, (_, b) => {
    const left = low + b * width, weights = [];
    let first = -1;
    for (let k = 0; k < PADDED / 2; k++) {
      const m = mel((k * RATE) / PADDED);
      if (m <= left || m >= left + 2 * width) continue;
      if (first < 0) first = k;
      weights.push(m <= left + width ? (m - left) / width : (left + 2 * width - m) / width);
    }
    return { first, weights };
  });
}

/** Power spectrum of PADDED real numbers, in place of a library: a transform of length 2^n. */
function powerSpectrum(real) {
  const n = PADDED, re = Float64Array.from(real), im = new Float64Array(n);
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j]] = [re[j], re[i]];
  }
  for (let size = 2; size <= n; size <<= 1) {
    const angle = (-2 * Math.PI) / size, half = size / 2;
    for (let k = 0; k < half; k++) {
      const c = Math.cos(angle * k), s = Math.sin(angle * k);
      for (let i = k; i < n; i += size) {
        const j = i + half, x = re[j] * c - im[j] * s, y = re[j] * s + im[j] * c;
        [re[j], im[j], re[i], im[i]] = [re[i] - x, im[i] - y, re[i] + x, im[i] + y];
      }
    }
  }
  return Float64Array.from({ length: n / 2 + 1 }, (_, k) => re[k] * re[k] + im[k] * im[k]);
}

export class Features {
  constructor(bins = 40) {
    this.banks = melBanks(bins);
    this.window = Float64Array.from({ length: LENGTH }, (_, i) =>
      Math.pow(0.5 - 0.5 * Math.cos((2 * Math.PI * i) / (LENGTH - 1)), 0.85));
    this.samples = [];
    this.frames = 0;
  }

  /** The frames that become ready with more samples (in the range of 16-bit integers). Frame t is centred at (t + ½) · 10 ms;
   *  beyond both ends of the sound it is mirrored. */
  accept(samples, last) {
    for (const sample of samples) this.samples.push(sample);
    const count = this.samples.length, out = [];
    for (;;) {
      const start = this.frames * SHIFT + SHIFT / 2 - LENGTH / 2;
      if (last ? this.frames >= Math.floor((count + SHIFT / 2) / SHIFT) : start + LENGTH > count) return out;
      out.push(this.frame(start));
      this.frames++;
    }
  }

  frame(start) {
    const count = this.samples.length, x = new Float64Array(PADDED);
    let mean = 0;
    for (let i = 0; i < LENGTH; i++) {
      let at = start + i;
      while (at < 0 || at >= count) at = at < 0 ? -at - 1 : 2 * count - 1 - at;
      x[i] = this.samples[at];
      mean += x[i] / LENGTH;
    }
    for (let i = 0; i < LENGTH; i++) x[i] -= mean;
    for (let i = LENGTH - 1; i >= 0; i--) x[i] = (x[i] - 0.97 * x[Math.max(0, i - 1)]) * this.window[i];
    const power = powerSpectrum(x);
    return Float32Array.from(this.banks, ({ first, weights }) => {
      let energy = 0;
      weights.forEach((weight, k) => (energy += weight * power[first + k]));
      return Math.log(Math.max(energy, SMALLEST));
    });
  }
}

/** Subtracts the mean of the last 600 frames; while there are fewer, up to 200 frames of the training data help out (as
 *  apply-cmvn-online does). `stats` has sums over training frames, and their number. */
export class RunningMean {
  constructor(stats) {
    this.stats = stats;
    this.recent = [];
    this.sum = new Float64Array(stats.sum.length);
  }

  apply(frame) {
    this.recent.push(frame);
    frame.forEach((value, i) => (this.sum[i] += value));
    if (this.recent.length > 600) this.recent.shift().forEach((value, i) => (this.sum[i] -= value));
    const helped = Math.min(200, 600 - this.recent.length), scale = helped / this.stats.count;
    return frame.map(
      (value, i) => value - (this.sum[i] + scale * this.stats.sum[i]) / (this.recent.length + helped));
  }
}
