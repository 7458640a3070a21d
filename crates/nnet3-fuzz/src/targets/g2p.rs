//! Models of letters and phones, and the lexicons that they come from.

use kaldi_g2p::{Lexicon, Model, TrainOptions, train};
use kaldi_io::{KaldiReader, KaldiWriter};

use super::{both, reader};

const LEXICON: &str = "at AE T\nthat DH AE T\nthis DH IH S\nhat HH AE T\nsix S IH K S\n\u{e9}t=+ E A% =\n";

/// Models in both forms: one that was read can be written, read again, and used.
pub fn read_model(input: &[u8]) {
    let Ok(model) = Model::read(&mut reader(input)) else { return };
    for binary in [true, false] {
        let mut w = KaldiWriter::in_memory(binary);
        model.write(&mut w).expect("in memory");
        let mut r = KaldiReader::from_bytes("again", w.into_bytes());
        r.set_binary(binary);
        let again = Model::read(&mut r).expect("what was just written");
        assert_eq!(again.inventory, model.inventory);
        assert!(!binary || again == model);
    }
    let letters: Vec<&str> = model.inventory.letters.iter().take(6).collect();
    for length in 0..=letters.len() {
        if let Ok(found) = model.pronounce(&letters[..length].concat(), 3) {
            assert!(
                !found.is_empty() && found.iter().all(|p| !p.phones.is_empty() && !p.probability.is_nan())
            );
        }
    }
}

pub fn corpus_models() -> Vec<Vec<u8>> {
    let lexicon = lexicon(LEXICON.as_bytes()).expect("a lexicon");
    let mut options = TrainOptions { order: Some(3), ..TrainOptions::default() };
    let small = train(&lexicon, &options).expect("a model").0;
    options.align.insertions = true;
    options.align.max_letters = 2;
    let other = train(&lexicon, &options).expect("a model").0;
    [small, other].iter().flat_map(|model| both(|w| model.write(w).expect("in memory"))).collect()
}

fn lexicon(bytes: &[u8]) -> kaldi_g2p::Result<Lexicon> {
    Lexicon::read(&mut KaldiReader::from_bytes("lexicon", bytes.to_vec()), false)
}

/// Lexicons in all forms: words have phones and valid probabilities.
pub fn read_lexicon(input: &[u8]) {
    if let Ok(lexicon) = lexicon(input) {
        let is_valid = |p: f64| p > 0.0 && p <= 1.0;
        assert!(lexicon.entries.iter().all(|entry| !entry.phones.is_empty() && is_valid(entry.probability)));
    }
}

pub fn corpus_lexicons() -> Vec<Vec<u8>> {
    let texts = [
        LEXICON,
        "a 0.5 A_S\nab 1.0 A_B B_E\n",
        "a 0.5 0.1 1.2 1 A\nab 1 0.2 1 1 A B\n",
        "a a A_S\n<eps> <eps> SIL\nab(2) ab(2) A_B B_E\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
