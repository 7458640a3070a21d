// Subtitles, by the rules of `nnet3-transcribe --format=srt` (crate kaldi-subtitles): a cue has at most two lines
// of 42 characters and 7 seconds, and stays for a second or until the next one. Speech is split at pauses.
const LINE = 42;
const LONGEST = 7;
const SHORTEST = 1;
const PAUSE = 0.5;
const SHORT_PAUSE = 0.2;

function characters(text) { return [...text].length; }

// Characters of words with a blank between them.
function width(words) { return words.length ? characters(said(words)) : 0; }

// A word in pieces of at most a line, each with its share of the time.
function broken(word) {
  const all = [...word.word];
  if (all.length <= LINE) return [word];
  const time = (at) => word.start + (word.end - word.start) * at / all.length;
  const pieces = [];
  for (let at = 0; at < all.length; at += LINE) {
    const piece = all.slice(at, at + LINE);
    pieces.push({ word: piece.join(''), start: time(at), end: time(at + piece.length) });
  }
  return pieces;
}

// One line if the words fit into it, or two of lengths as alike as possible; null if they do not fit. The first one has `room`.
function lines(words, room) {
  if (width(words) <= room) return [said(words)];
  let best = null;
  for (let at = 1; at < words.length; at++) {
    const [before, after] = [width(words.slice(0, at)), width(words.slice(at))];
    const unlike = Math.abs(before - after);
    if (before <= room && after <= LINE && (!best || unlike < best.unlike)) best = { at, unlike };
  }
  return best && [said(words.slice(0, best.at)), said(words.slice(best.at))];
}

// The place of the longest pause; without pauses, the place nearest to the middle of the text.
function bestSplit(words) {
  const whole = width(words);
  let best = null;
  for (let at = 1; at < words.length; at++) {
    let pause = words[at].start - words[at - 1].end;
    if (pause < SHORT_PAUSE) pause = 0;
    const before = width(words.slice(0, at));
    const unlike = Math.abs(before - (whole - before));
    if (!best || pause > best.pause || (pause === best.pause && unlike <= best.unlike)) best = { at, pause, unlike };
  }
  return best.at;
}

// Adds the words as one cue if they fit into one, or else both halves of them.
function addCues(words, label, cues) {
  const room = Math.max(0, LINE - (label === undefined ? 0 : characters(label) + 2));
  const [start, end] = [words[0].start, words.at(-1).end];
  const fitting = lines(words, room);
  if (words.length === 1 || (fitting && end - start <= LONGEST)) {
    cues.push({ start, end, label, lines: fitting || [words[0].word] });
    return;
  }
  const at = bestSplit(words);
  addCues(words.slice(0, at), label, cues);
  addCues(words.slice(at), label, cues);
}

// Text that is shown for a while: `start`, `end`, `lines`, and the `label` of who speaks.
function cuesOf(transcript) {
  const cues = [];
  for (const turn of transcript.turns()) {
    let spoken = [];
    for (const word of turn.flatMap(broken)) {
      if (spoken.length && !(word.start - spoken.at(-1).end < PAUSE)) {
        addCues(spoken, transcript.label(turn[0].speaker), cues);
        spoken = [];
      }
      spoken.push(word);
    }
    addCues(spoken, transcript.label(turn[0].speaker), cues);
  }
  for (let i = 1; i < cues.length; i++) {
    cues[i].start = Math.max(cues[i].start, cues[i - 1].end);
    cues[i].end = Math.max(cues[i].end, cues[i].start);
  }
  cues.forEach((cue, i) => {
    const next = i + 1 < cues.length ? cues[i + 1].start : Infinity;
    cue.end = Math.max(cue.end, Math.min(cue.start + SHORTEST, next));
  });
  return cues;
}

// Hours, minutes, seconds and milliseconds.
function stamp(time, point) {
  const thousandths = Math.round(Math.max(0, time) * 1000);
  const two = (number) => String(Math.floor(number)).padStart(2, '0');
  const [seconds, minutes] = [thousandths / 1000, thousandths / 60000];
  return two(minutes / 60) + ':' + two(minutes % 60) + ':' + two(seconds % 60) + point + String(thousandths % 1000).padStart(3, '0');
}

function srt(transcript) {
  const cue = ({ start, end, label, lines }, i) => {
    const who = label === undefined ? '' : label + ': ';
    return (i + 1) + '\n' + stamp(start, ',') + ' --> ' + stamp(end, ',') + '\n' + who + lines.join('\n') + '\n\n';
  };
  return cuesOf(transcript).map(cue).join('');
}

function vtt(transcript) {
  const plain = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cue = ({ start, end, label, lines }) => {
    const who = label === undefined ? '' : '<v ' + plain(label) + '>';
    return stamp(start, '.') + ' --> ' + stamp(end, '.') + '\n' + who + plain(lines.join('\n')) + '\n\n';
  };
  return 'WEBVTT\n\n' + cuesOf(transcript).map(cue).join('');
}

