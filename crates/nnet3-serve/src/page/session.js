// Conversations with the server.
const [speak, file] = ['speak', 'file'].map(element);
const withSpeakers = document.body.dataset.speakers === 'true';
// The least rate of sound that has all that the model needs, in Hz.
const modelRate = Number(document.body.dataset.rate);
// The session that runs, or null.
let session = null;
// The sound of the microphone so far, or null.
let recorded = null;

function tell(state) { element('state').textContent = state; }
function complain(fault) { element('fault').textContent = fault; }
// Says what words may lack, with a sentence for each remark.
function note(remarks) { element('note').textContent = remarks.join(' '); }

function address(path, scheme) {
  const url = new URL(path, location.href);
  url.search = '';
  if (scheme) url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const token = element('token').value;
  if (token) url.searchParams.set('token', token);
  return url;
}

// Gives the words of a session their speakers, a list for each sentence. Earlier sessions have others.
function nameSpeakers(lists, first) {
  const before = Math.max(0, ...transcript.sentences.slice(0, first).flat().map((word) => word.speaker || 0));
  transcript.sentences.slice(first).forEach((sentence, i) => sentence.forEach((word, j) => {
    const speaker = lists[i] ? lists[i][j] : null;
    word.speaker = speaker ? before + speaker : null;
  }));
  showAll();
}

// Opens a session for sound of a rate, which begins `later` than the transcript. `answered` is called after each answer.
function open(rate, later, answered) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address('.', true));
    const first = transcript.sentences.length;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      const config = { sample_rate: rate, words: true };
      if (withSpeakers) config.speakers = true;
      socket.send(JSON.stringify({ config }));
      resolve(socket);
    };
    socket.onmessage = (event) => {
      const answer = JSON.parse(event.data);
      if (answer.error) complain('The server says: ' + answer.error);
      else if (answer.partial !== undefined) soFar(answer.partial);
      else { soFar(''); sentence(answer.result, later); }
      if (answer.speakers) nameSpeakers(answer.speakers, first);
      if (answered) answered(answer);
    };
    socket.onclose = (event) => {
      if (!wasOpen) reject(new Error('The server does not take the connection. Is the token right?'));
      soFar('');
      if (session && session.socket === socket) end(event.code === 1000 ? 'Done.' : 'The server has ended the session.');
    };
  });
}

function busy(is) {
  file.disabled = is;
  element('file-label').classList.toggle('off', is);
  element('clear').disabled = is;
}

function end(state) {
  if (session && session.release) session.release();
  if (session && session.sound) hear(session.sound());
  session = null;
  element('level').value = 0;
  busy(false);
  speak.disabled = false;
  speak.textContent = 'Start microphone';
  speak.classList.remove('live');
  speak.setAttribute('aria-pressed', 'false');
  tell(state);
}

// Goes on with the sound of the microphone, or begins it if the words are those of another sound.
function resume(rate) {
  if (!recorded || recorded.rate !== rate) {
    begin('microphone');
    recorded = new Recorded(rate);
  }
  player.pause();
  return recorded;
}

async function listen() {
  complain('');
  note([]);
  element('kept').textContent = '';
  if (!navigator.mediaDevices) {
    complain('The browser gives the microphone to pages of this machine and of https addresses only.');
    return;
  }
  busy(true);
  speak.disabled = true;
  const context = new AudioContext();
  let stream = null;
  const release = () => {
    if (stream) stream.getTracks().forEach((track) => track.stop());
    context.close();
  };
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: UNTOUCHED });
    element('kept').textContent = changesOf(stream.getAudioTracks()[0]);
    const module = URL.createObjectURL(new Blob([RECORDER], { type: 'text/javascript' }));
    await context.audioWorklet.addModule(module);
    URL.revokeObjectURL(module);
    const sound = resume(context.sampleRate);
    const socket = await open(context.sampleRate, sound.seconds());
    const recorder = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
    recorder.port.onmessage = (event) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (event.data === null) { finish(socket); return; }
      const piece = samples(event.data);
      // (A server that is behind gets no more for a while than a connection holds.)
      if (socket.bufferedAmount < 1 << 20) { socket.send(piece); sound.add(piece); }
    };
    context.createMediaStreamSource(stream).connect(recorder);
    session = { socket, release, recorder, sound: () => sound.wave() };
    speak.disabled = false;
    speak.textContent = 'Stop microphone';
    speak.classList.add('live');
    speak.setAttribute('aria-pressed', 'true');
    tell('Listening.');
  } catch (error) {
    release();
    end('Ready.');
    complain(error.name === 'NotAllowedError' ? 'The browser does not allow the microphone.' : error.message);
  }
}

function stop() {
  speak.disabled = true;
  tell('Waiting for the last words.');
  session.recorder.port.postMessage('end');
}

// Ends the sound of the microphone once all of it is sent.
function finish(socket) {
  if (session.release) session.release();
  session.release = null;
  socket.send('{"eof" : 1}');
}

// Sends a recording faster than it sounds, and shows its words as they come.
async function send(buffer, chosen) {
  const sound = mixed(buffer);
  const size = Math.round(buffer.sampleRate / 5);
  let sent = 0;
  const next = () => {
    const socket = session && session.socket;
    if (!socket || socket.readyState !== WebSocket.OPEN) return;
    if (sent >= sound.length) {
      if (sent !== Infinity) socket.send('{"eof" : 1}');
      sent = Infinity;
      return;
    }
    socket.send(samples(sound.subarray(sent, sent + size)));
    sent += size;
    tell('Recognising: ' + clock(sent / buffer.sampleRate) + ' of ' + clock(buffer.duration) + '.');
  };
  const socket = await open(buffer.sampleRate, 0, next);
  session = { socket, sound: () => chosen };
  next();
}

// Has the server decode a recording whose format the browser does not know.
async function upload(chosen) {
  tell('Recognising.');
  const url = address('transcribe');
  url.searchParams.set('name', chosen.name);
  url.searchParams.set('channels', 'mix');
  if (withSpeakers) url.searchParams.set('speakers', 'true');
  const response = await fetch(url, { method: 'POST', body: chosen });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  note((answer.warnings || []).map((warning) => 'The server says: ' + warning + '.'));
  answer.segments.forEach((segment) => sentence(segment.words, 0));
  showNames();
  hear(chosen);
  end('Done.');
}

async function recording() {
  const chosen = file.files[0];
  file.value = '';
  if (!chosen) return;
  complain('');
  note([]);
  busy(true);
  speak.disabled = true;
  tell('Reading ' + chosen.name + '.');
  recorded = null;
  begin(chosen.name.replace(/\.[^.]*$/, '') || 'recording');
  try {
    const context = new OfflineAudioContext(1, 1, 16000);
    const bytes = await chosen.arrayBuffer();
    const rate = rateOf(bytes);
    const buffer = await context.decodeAudioData(bytes).catch(() => null);
    if (buffer) note(remarksOn(rate, buffer.numberOfChannels));
    await (buffer ? send(buffer, chosen) : upload(chosen));
  } catch (error) {
    end('Ready.');
    complain(error.message);
  }
}

