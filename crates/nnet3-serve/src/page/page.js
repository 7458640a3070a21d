// The controls.
const FORMS = {
  txt: { kind: 'text/plain', write: () => transcript.text() },
  srt: { kind: 'application/x-subrip', write: () => srt(transcript) },
  vtt: { kind: 'text/vtt', write: () => vtt(transcript) },
  json: { kind: 'application/json', write: () => transcript.json() },
};

// True if there are words; otherwise the page says so.
function hasWords() {
  if (!transcript.sentences.length) tell('There are no words yet.');
  return transcript.sentences.length > 0;
}

function download(form) {
  if (!hasWords()) return;
  const { kind, write } = FORMS[form];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([write()], { type: kind }));
  link.download = transcript.name + '.' + form;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function copy() {
  if (!hasWords()) return;
  try {
    await navigator.clipboard.writeText(transcript.text());
    tell('Copied.');
  } catch (error) {
    complain('The browser does not allow copying.');
  }
}

function clear() {
  recorded = null;
  begin('microphone');
  complain('');
  note([]);
}

speak.addEventListener('click', () => { if (session) stop(); else listen(); });
file.addEventListener('change', recording);
element('clear').addEventListener('click', clear);
element('copy').addEventListener('click', copy);
document.querySelectorAll('[data-form]').forEach((button) => button.addEventListener('click', () => download(button.dataset.form)));
