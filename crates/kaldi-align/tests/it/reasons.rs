//! Utterances that cannot be used.

use std::num::NonZero;

use kaldi_align::recipe::Stage;
use kaldi_align::{Error, Event, Reason, Recipe, train};
use kaldi_io::DenseMatrix;

use crate::speech::{DIM, corpus, lang};

fn recipe() -> Recipe {
    let stages = vec![Stage { iterations: 4, realign: vec![1, 2, 3], ..Stage::monophones(50) }];
    Recipe { stages, ..Recipe::default() }
}

#[test]
fn each_utterance_that_is_left_out_has_its_reason() {
    let lang = lang();
    let (mut utterances, _) = corpus(&lang, 40, 2);
    utterances[3].features = DenseMatrix::default();
    utterances[5].features.data[7] = f32::NAN;
    utterances[7].words.push(lang.words.number("#0").unwrap() as u32);
    let (words, rows) = (vec![lang.word("cab") as u32; 4], 35);
    utterances[9].words = words;
    utterances[9].features = DenseMatrix { rows, cols: DIM, data: vec![0.5; rows * DIM] };
    utterances[11].features = DenseMatrix { rows: 9, cols: 2, data: vec![0.0; 18] };
    let one = NonZero::new(1).unwrap();
    let trained = train(&lang, &utterances, &recipe(), one, &mut |_: Event| ()).unwrap();
    let aligned = trained.system.align(&lang, &utterances, one, &mut |_: Event| ()).unwrap();
    for (place, (reason, result)) in trained.reasons.iter().zip(&aligned.results).enumerate() {
        let expected = match place {
            3 => Some(Reason::NoFrames),
            5 => None,
            7 => {
                let position = utterances[7].words.len() - 1;
                Some(Reason::NoPronunciation { word: utterances[7].words[position], position })
            }
            9 => Some(Reason::TooShort { frames: 35, needed: 36 }),
            11 => Some(Reason::Dimension { found: 2, expected: DIM }),
            _ => None,
        };
        assert_eq!(result.is_err(), reason.is_some(), "utterance {place}");
        match place {
            // (A NaN is not equal to itself.)
            5 => assert_eq!(reason.as_ref().unwrap().to_string(), "frame 1 of the features has element NaN"),
            _ => assert_eq!(reason, &expected, "utterance {place}"),
        }
    }
}

#[test]
fn a_corpus_without_a_usable_utterance_is_an_error_with_an_example() {
    let lang = lang();
    let (mut utterances, _) = corpus(&lang, 3, 1);
    for utterance in &mut utterances {
        utterance.words = vec![lang.words.number("#0").unwrap() as u32];
    }
    let result = train(&lang, &utterances, &recipe(), NonZero::new(1).unwrap(), &mut |_: Event| ());
    let Error::Data(message) = result.unwrap_err() else { panic!("another error") };
    assert!(message.starts_with("no utterance can be aligned, for example utt000: word 0"), "{message}");
}
