//! Corpora that are too small to train on.

use kaldi_corpus::Corpus;

/// Minutes of speech below which a trained model gives poor times.
const LITTLE_SPEECH: f64 = 20.0;

/// A sentence about a corpus that trains a poor model; `None` if it has enough speech.
pub fn warning_of_little_speech(corpus: &Corpus) -> Option<String> {
    let minutes = corpus.kept().seconds / 60.0;
    (minutes < LITTLE_SPEECH).then(|| {
        format!(
            "{minutes:.1} minutes of speech train a poor model: from {LITTLE_SPEECH} minutes on times are good, and `model` takes one of other \
             recordings"
        )
    })
}
