// The best sequence of words for outputs of the network: words in any order, with silence between them or not; each phone lasts at
// least as many frames as it has states.

const STATES = 3;
const STAY_OR_GO = 0.1 * Math.log(2); // both are equally probable; graphs are made with this scale for such choices

export class Decoder {
  /** words: [{word, phones: [columns of the output]}], of which one has the word null: silence. */
  constructor(words) {
    this.states = []; // of all words, one after another: {column, word, first, last}
    for (const entry of words)
      entry.phones.forEach((column, p) => {
        for (let s = 0; s < STATES; s++)
          this.states.push({
            column, entry, first: p === 0 && s === 0, last: p === entry.phones.length - 1 && s === STATES - 1,
          });
      });
    this.spoken = new Set(words.filter((entry) => entry.word).map((entry) => entry.word)).size;
    this.tokens = this.states.map(() => null);
    this.start = { cost: 0, before: null, word: null, frame: 0, silence: false };
    this.frame = 0;
  }

  /** One frame: `scores` are scaled log-likelihoods. */
  accept(scores) {
    const next = this.states.map(() => null);
    const end = this.frame === 0 ? this.start : this.ended();
    this.states.forEach((state, i) => {
      let best = this.tokens[i];
      const from = state.first ? this.entered(end, state.entry) : this.tokens[i - 1];
      if (from && (!best || from.cost < best.cost)) best = from;
      if (best) next[i] = { ...best, cost: best.cost + STAY_OR_GO - scores[state.column] };
    });
    this.tokens = next;
    this.frame++;
  }

  /** The best token at the end of a word, one after a word and one after silence: silence does not follow silence. */
  ended() {
    const best = { word: null, silence: null };
    this.states.forEach((state, i) => {
      const token = this.tokens[i], kind = state.entry.word ? "word" : "silence";
      if (state.last && token && (!best[kind] || token.cost < best[kind].cost)) best[kind] = token;
    });
    return best;
  }

  /** The token that begins a word or silence now. */
  entered(end, entry) {
    const silence = !entry.word;
    const candidates = "cost" in end ? [end] : silence ? [end.word] : [end.word, end.silence];
    const before = candidates.filter(Boolean).sort((a, b) => a.cost - b.cost)[0];
    if (!before) return null;
    // With silence or without it: one half each. All words, and the end, are equally probable.
    const cost = before.cost + (silence ? Math.log(2) : Math.log(this.spoken + 1) + (before.silence ? 0 : Math.log(2)));
    return { cost, before, word: entry.word, frame: this.frame, silence };
  }

  /** Words so far: [{word, frame}], with the frame at which each begins. */
  words() {
    let best = null;
    for (const token of this.tokens) if (token && (!best || token.cost < best.cost)) best = token;
    const words = [];
    for (let token = best; token; token = token.before) if (token.word) words.unshift({ word: token.word, frame: token.frame });
    return words;
  }
}
