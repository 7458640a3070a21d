//! Folders with recordings.

use std::path::PathBuf;

use kaldi_corpus::{Corpus, Input, Options, read};

pub struct Folder(tempfile::TempDir);

/// A wave of noise with 16 bits, and a header that promises `promised` samples.
pub fn wave(rate: u32, channels: u16, samples: usize, promised: usize) -> Vec<u8> {
    let block = 2 * channels;
    let bytes = promised as u32 * u32::from(block);
    let mut out = b"RIFF".to_vec();
    out.extend((36 + bytes).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    out.extend(channels.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend((rate * u32::from(block)).to_le_bytes());
    out.extend(block.to_le_bytes());
    out.extend(b"\x10\0data");
    out.extend(bytes.to_le_bytes());
    let mut state = samples as u32;
    for _ in 0..samples * usize::from(channels) {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        out.extend(((state >> 18) as i16 - 8192).to_le_bytes());
    }
    out
}

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // (The folder may lie behind a link.)
        self.0.path().canonicalize().unwrap().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Waves with 8,000 samples a second; each is a sample longer than the one before.
    pub fn waves(&self, names: &[&str]) {
        for (number, name) in names.iter().enumerate() {
            self.put(name, wave(8000, 1, 8000 + number, 8000 + number));
        }
    }

    #[track_caller]
    pub fn read(&self, name: &str, options: &Options) -> Corpus {
        read(&Input::Path(self.path(name)), options).unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub fn fails(&self, name: &str, options: &Options) -> String {
        read(&Input::Path(self.path(name)), options).unwrap_err().to_string()
    }
}

/// `id speaker begin-end text` of all utterances.
pub fn utterances(corpus: &Corpus) -> Vec<String> {
    let line = |utterance: &kaldi_corpus::Utterance| {
        let span = utterance.span.map_or("all".to_owned(), |(begin, end)| format!("{begin}-{end}"));
        format!("{} {} {span} {}", utterance.id, utterance.speaker, utterance.text)
    };
    corpus.utterances.iter().map(line).collect()
}

/// `kind lost` of all faults, sorted.
pub fn faults(corpus: &Corpus) -> Vec<String> {
    let line = |fault: &kaldi_corpus::Fault| format!("{:?} {}", fault.kind, fault.lost.utterances);
    let mut lines: Vec<String> = corpus.faults.iter().map(line).collect();
    lines.sort();
    lines
}
