// Plays a wave file, and shows phones and words while it does.

import * as ort from "./ort/ort.wasm.min.mjs";
import { Features, RATE, RunningMean } from "./features.js";
import { Decoder } from "./decoder.js";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;

const byId = (id) => document.getElementById(id);

/** The samples of a wave file of 16-bit integers, mono. */
async function readWave(url) {
  const data = new DataView(await (await fetch(url)).arrayBuffer());
  const name = (at) => String.fromCharCode(...[0, 1, 2, 3].map((i) => data.getUint8(at + i)));
  for (let at = 12; at + 8 <= data.byteLength; at += 8 + data.getUint32(at + 4, true)) {
    if (name(at) === "fmt " && (data.getUint16(at + 10, true) !== 1 || data.getUint32(at + 12, true) !== RATE))
      throw new Error(`${url}: expected ${RATE} Hz and one channel`);
    if (name(at) === "data") return new Int16Array(data.buffer, at + 8, data.getUint32(at + 4, true) / 2);
  }
  throw new Error(`${url}: no samples`);
}

/** One utterance on its way through features, network and search. */
class Recognizer {
  constructor(session, facts) {
    Object.assign(this, { session, facts });
    this.features = new Features();
    this.mean = new RunningMean(facts.stats);
    this.decoder = new Decoder(facts.words);
    this.pending = []; // frames that make no chunk yet
    this.rows = []; // scores, a row for each frame
    this.wanted = 0;
    this.dropped = 0; // outputs of chunks that saw the zeros with which the states begin
    this.state = new ort.Tensor("float32", new Float32Array(facts.states), [1, facts.states]);
  }

  async accept(samples, last) {
    for (const frame of this.features.accept(samples, last)) {
      const given = this.mean.apply(frame);
      // The first frame stands for those before it.
      for (let i = this.wanted === 0 ? this.facts.warmUpFrames : 0; i >= 0; i--) this.pending.push(given);
      this.wanted++;
      this.lastFrame = given;
    }
    const { chunk, dim } = this.facts;
    while (this.rows.length < this.wanted) {
      if (last) while (this.pending.length < chunk) this.pending.push(this.lastFrame);
      if (this.pending.length < chunk) return;
      const input = new Float32Array(chunk * dim);
      this.pending.splice(0, chunk).forEach((frame, t) => input.set(frame, t * dim));
      const results = await this.session.run({
        input: new ort.Tensor("float32", input, [1, chunk, dim]), state_in: this.state,
      });
      this.state = results.state_out;
      if (this.dropped++ < this.facts.warmUpChunks) continue;
      const cols = results.output.dims[2];
      for (let at = 0; at < results.output.data.length && this.rows.length < this.wanted; at += cols) {
        this.rows.push(results.output.data.slice(at, at + cols));
        this.decoder.accept(this.rows[this.rows.length - 1]);
      }
    }
  }
}

/** Phones over time, and the words above them where they begin. */
function draw(recognizer, facts, seconds) {
  const canvas = byId("picture"), g = canvas.getContext("2d");
  const left = 50, top = 40, width = canvas.width - left, height = canvas.height - top;
  const x = (frame) => left + (frame / 100 / seconds) * width, row = height / facts.phones.length;
  g.clearRect(0, 0, canvas.width, canvas.height);
  g.font = "14px sans-serif";
  facts.phones.forEach((phone, p) => g.fillText(phone, 8, top + (p + 0.8) * row));
  recognizer.rows.forEach((scores, t) => {
    // The scores are scaled logarithms of posteriors over priors.
    const values = Array.from(scores, (score, p) => score / facts.scale + facts.logPriors[p]);
    values.forEach((value, p) => {
      const shade = Math.round(255 * (1 - Math.exp(Math.min(0, value))));
      if (shade > 250) return;
      g.fillStyle = `rgb(${shade}, ${shade}, 255)`;
      g.fillRect(x(t), top + p * row, Math.ceil(x(1) - x(0)), row - 1);
    });
  });
  g.font = "bold 20px sans-serif";
  for (const { word, frame } of recognizer.decoder.words()) {
    g.fillStyle = "#b00";
    g.fillText(word, x(frame) + 3, 24);
    g.fillRect(x(frame), 8, 1, canvas.height);
  }
  g.fillStyle = "#000";
}

const text = (recognizer) => recognizer.decoder.words().map(({ word }) => word).join(" ");

/** Plays a file, or its first seconds; words are those of what has been heard. */
async function play(session, facts, file, most = Infinity) {
  byId("play").disabled = true;
  const samples = await readWave(`waves/${file.name}.wav`), seconds = samples.length / RATE;
  const recognizer = new Recognizer(session, facts);
  byId("spoken").textContent = "";
  const context = new AudioContext({ sampleRate: RATE }), source = context.createBufferSource();
  source.buffer = context.createBuffer(1, samples.length, RATE);
  source.buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 32768), 0);
  source.connect(context.destination);
  source.start();
  const start = performance.now();
  for (let heard = 0; heard < Math.min(samples.length, most * RATE); ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const until = Math.min(samples.length, Math.floor(Math.min(most, (performance.now() - start) / 1000) * RATE));
    await recognizer.accept(samples.subarray(heard, until), until === samples.length);
    heard = until;
    byId("state").textContent = `${(heard / RATE).toFixed(1)} s of ${seconds.toFixed(1)} s`;
    byId("words").textContent = text(recognizer);
    draw(recognizer, facts, seconds);
  }
  byId("spoken").textContent = `in Python: ${file.text}`;
  document.body.dataset.result = text(recognizer);
  context.close();
  byId("play").disabled = false;
}

async function main() {
  const facts = await (await fetch("facts.json")).json();
  const session = await ort.InferenceSession.create("digits.onnx", { executionProviders: ["wasm"] });
  for (const file of facts.files) byId("file").add(new Option(file.name));
  byId("play").disabled = false;
  byId("state").textContent = "ready";
  byId("play").onclick = () => play(session, facts, facts.files[byId("file").selectedIndex]).catch(fail);
  // ?play=2&seconds=1.5 plays the first seconds of the third file.
  const wanted = new URLSearchParams(location.search);
  if (!wanted.has("play")) return;
  const file = (byId("file").selectedIndex = Number(wanted.get("play")));
  await play(session, facts, facts.files[file], Number(wanted.get("seconds") ?? Infinity));
}

function fail(error) {
  byId("state").textContent = `${error}`;
  document.body.dataset.error = `${error}`;
}

main().catch(fail);
