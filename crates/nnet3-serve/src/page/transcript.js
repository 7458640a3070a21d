'use strict';
const element = (id) => document.getElementById(id);

// The text of one sound: sentences, which are lists of words with `word`, `start`, `end` and `conf`. The `speaker` of a word is a
// number from 1, or null if it is not known; without a speaker model there is none.
class Transcript {
  constructor(name) {
    this.name = name;
    this.sentences = [];
    this.names = new Map();
  }

  // Adds a sentence, whose times are `later` than the server says.
  add(words, later) {
    const at = (time) => Math.round((time + later) * 1000) / 1000;
    this.sentences.push(words.map((word) => ({ ...word, start: at(word.start), end: at(word.end) })));
  }

  // Numbers of its speakers.
  speakers() {
    const found = this.sentences.flat().map((word) => word.speaker).filter((speaker) => speaker);
    return [...new Set(found)].sort((a, b) => a - b);
  }

  // The name of a speaker; undefined without a speaker model.
  label(speaker) {
    if (speaker === undefined) return undefined;
    return this.names.get(speaker) || 'Speaker ' + (speaker || '?');
  }

  // Words of a sentence that one speaker says in a row.
  turns() {
    const turns = [];
    for (const sentence of this.sentences) {
      sentence.forEach((word, i) => {
        if (i === 0 || word.speaker !== sentence[i - 1].speaker) turns.push([]);
        turns.at(-1).push(word);
      });
    }
    return turns;
  }

  // A line for each turn.
  text() {
    const line = (turn) => {
      const label = this.label(turn[0].speaker);
      return (label === undefined ? '' : label + ': ') + said(turn) + '\n';
    };
    return this.turns().map(line).join('');
  }

  // The object that the server gives for a recording. If there are speakers, it also has their names.
  json() {
    const segment = (words) => ({ start: words[0].start, end: words.at(-1).end, text: said(words), words });
    const text = this.sentences.map(said).join(' ');
    const whole = { file: this.name, text, segments: this.sentences.map(segment) };
    const speakers = this.speakers();
    if (speakers.length) whole.speakers = Array.from({ length: speakers.at(-1) }, (_, i) => this.label(i + 1));
    return JSON.stringify(whole) + '\n';
  }
}

function said(words) { return words.map((word) => word.word).join(' '); }

