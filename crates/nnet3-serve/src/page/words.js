// The words on the page, and the player.
const [words, player] = ['words', 'player'].map(element);
let transcript = new Transcript('microphone');
// Elements of words, in the order of time, and the data of each.
let shown = [];
// The number of the word that is played, or -1.
let now = -1;

function clock(seconds) {
  const whole = Math.floor(seconds);
  return Math.floor(whole / 60) + ':' + String(whole % 60).padStart(2, '0');
}

function span(name, text) {
  const made = document.createElement('span');
  made.className = name;
  made.textContent = text;
  return made;
}

function follow() { words.scrollTop = words.scrollHeight; }

// Adds a paragraph for words of one speaker before the words so far.
function paragraph(turn) {
  const line = document.createElement('p');
  line.append(span('time', clock(turn[0].start)));
  const label = transcript.label(turn[0].speaker);
  if (label !== undefined) {
    const who = span('speaker', label + ':');
    who.dataset.speaker = turn[0].speaker;
    line.append(who);
  }
  turn.forEach((word, i) => {
    const one = span('word', word.word);
    one.tabIndex = -1;
    one.dataset.number = shown.push({ one, start: word.start, end: word.end }) - 1;
    line.append(...(i ? [' ', one] : [one]));
  });
  words.insertBefore(line, words.querySelector('.so-far'));
}

// Adds a sentence.
function sentence(said, later) {
  if (!said || !said.length) return;
  transcript.add(said, later);
  const last = new Transcript('');
  last.sentences = [transcript.sentences.at(-1)];
  last.turns().forEach(paragraph);
  follow();
}

// Shows all words again. Screen readers, which have read them, do not repeat them.
function showAll() {
  words.setAttribute('aria-live', 'off');
  words.replaceChildren();
  shown = [];
  now = -1;
  transcript.turns().forEach(paragraph);
  setTimeout(() => words.setAttribute('aria-live', 'polite'), 1000);
  showNames();
}

// Shows a field for the name of each speaker.
function showNames() {
  const speakers = transcript.speakers();
  element('speakers').hidden = !speakers.length;
  const fields = speakers.map((speaker) => {
    const [field, label, input] = ['div', 'label', 'input'].map((name) => document.createElement(name));
    input.id = 'name-' + speaker;
    input.type = 'text';
    input.maxLength = 30;
    input.autocomplete = 'off';
    input.placeholder = 'Speaker ' + speaker;
    input.value = transcript.names.get(speaker) || '';
    input.addEventListener('input', () => rename(speaker, input.value));
    label.className = 'text';
    label.htmlFor = input.id;
    label.textContent = 'Speaker ' + speaker;
    field.append(label, input);
    return field;
  });
  element('names').replaceChildren(...fields);
}

function rename(speaker, name) {
  transcript.names.set(speaker, name.trim().replace(/\s+/g, ' '));
  const labels = words.querySelectorAll('.speaker[data-speaker="' + speaker + '"]');
  labels.forEach((label) => { label.textContent = transcript.label(speaker) + ':'; });
}

// Shows the words so far, which may still change. Screen readers hear whole sentences only.
function soFar(text) {
  let line = words.querySelector('.so-far');
  if (!text) { if (line) line.remove(); return; }
  if (!line) {
    line = document.createElement('p');
    line.className = 'so-far';
    line.setAttribute('aria-hidden', 'true');
    words.append(line);
  }
  line.textContent = text;
  follow();
}

// Begins an empty transcript, without sound.
function begin(name) {
  transcript = new Transcript(name);
  silence();
  showAll();
}

function silence() {
  player.pause();
  if (player.src) URL.revokeObjectURL(player.src);
  player.removeAttribute('src');
  playable(false);
}

function playable(is) {
  player.hidden = !is;
  element('hint').hidden = !is || !shown.length;
  words.classList.toggle('playable', is);
  mark(-1);
}

// Makes the player play a sound, which stays in the browser.
function hear(sound) {
  silence();
  player.src = URL.createObjectURL(sound);
  playable(true);
}

function play(number) {
  if (player.hidden || !shown[number]) return;
  player.currentTime = shown[number].start;
  mark(number);
  // (A player that is stopped before it begins is no fault.)
  player.play().catch(() => {});
}

// Marks the word that is played.
function mark(number) {
  if (number === now) return;
  if (shown[now]) shown[now].one.classList.remove('now');
  now = number;
  if (!shown[now]) return;
  const { one } = shown[now];
  one.classList.add('now');
  const [inner, outer] = [one.getBoundingClientRect(), words.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) words.scrollTop += inner.top - outer.top - outer.height / 3;
}

// The number of the word at a time: the last one that begins before it, unless it has ended long before.
function wordAt(time) {
  let [low, high] = [0, shown.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    // (A player may be a little before the place that it was sent to.)
    if (shown[middle].start <= time + 0.01) low = middle + 1; else high = middle;
  }
  return low && time < shown[low - 1].end + 0.3 ? low - 1 : -1;
}

function followPlayer() {
  mark(wordAt(player.currentTime));
  if (!player.paused) requestAnimationFrame(followPlayer);
}

function numberOf(event) {
  const one = event.target.closest('.word');
  return one ? Number(one.dataset.number) : -1;
}

// Moves the focus between words, or plays one.
function keyed(event) {
  if (player.hidden || !shown.length || event.altKey || event.ctrlKey || event.metaKey) return;
  const at = numberOf(event);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) {
    const next = at < 0 ? Math.max(now, 0) : Math.max(0, Math.min(shown.length - 1, at + step));
    shown[next].one.focus();
  } else if (at >= 0 && (event.key === 'Enter' || event.key === ' ')) play(at);
  else return;
  event.preventDefault();
}

words.addEventListener('click', (event) => play(numberOf(event)));
words.addEventListener('keydown', keyed);
player.addEventListener('play', followPlayer);
player.addEventListener('seeked', () => mark(wordAt(player.currentTime)));
player.addEventListener('ended', () => mark(-1));
player.addEventListener('error', () => {
  if (!player.src) return;
  silence();
  tell('The browser cannot play this recording.');
});

