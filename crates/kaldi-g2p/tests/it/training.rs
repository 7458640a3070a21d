//! From a lexicon to a model.

use std::num::NonZero;

use kaldi_g2p::train::{alignments, stamp};
use kaldi_g2p::{Lexicon, TrainOptions, train};
use kaldi_io::KaldiReader;

fn lexicon(text: &str) -> Lexicon {
    Lexicon::read(&mut KaldiReader::from_bytes("lexicon", text.as_bytes().to_vec()), false).unwrap()
}

/// Words of a made-up language: each letter is its phone, but c before e is CH, x is two phones, and h is silent.
fn regular(words: usize) -> String {
    let mut random = fastrand::Rng::with_seed(3);
    let mut text = String::new();
    for _ in 0..words {
        let word: String =
            (0..random.usize(2..9)).map(|_| char::from(b"abcdefhklx"[random.usize(0..10)])).collect();
        text += &format!("{word} {}\n", spoken(&word));
    }
    text
}

fn spoken(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let phones = letters.iter().enumerate().filter_map(|(place, letter)| match letter {
        'c' if letters.get(place + 1) == Some(&'e') => Some("CH".to_owned()),
        'c' => Some("K".to_owned()),
        'x' => Some("K S".to_owned()),
        'h' => None,
        letter => Some(letter.to_uppercase().to_string()),
    });
    phones.collect::<Vec<_>>().join(" ")
}

/// A word of silent letters has no pronunciation.
fn with_phones(text: &str) -> String {
    text.lines().filter(|line| line.split(' ').nth(1) != Some("")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn rules_of_a_regular_spelling_are_learned() {
    let (model, report) = train(&lexicon(&with_phones(&regular(600))), &TrainOptions::default()).unwrap();
    assert!(report.order >= 2 && report.held_out > 30 && report.perplexities.len() == 8, "{report:?}");
    assert!(report.unaligned.is_empty() && report.graphones < 20, "{report:?}");
    for word in ["cecab", "hexed", "bach", "dhelace", "xaxc"] {
        let found = model.pronounce(word, 2).unwrap();
        assert_eq!(found[0].phones.join(" "), spoken(word), "{word}");
        assert!(found[0].probability > 0.8 && found[0].probability <= 1.0, "{word}: {found:?}");
    }
}

#[test]
fn the_model_does_not_depend_on_the_number_of_threads() {
    let lexicon = lexicon(&with_phones(&regular(300)));
    let with = |threads| {
        let threads = NonZero::new(threads).unwrap();
        let mut options = TrainOptions { threads, ..TrainOptions::default() };
        options.align.threads = threads;
        train(&lexicon, &options).unwrap()
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn words_that_cannot_be_aligned_are_reported() {
    let mut options = TrainOptions { order: Some(2), ..TrainOptions::default() };
    let lexicon = lexicon("w D AH B AH L\nab A B\nba B A\nwa W A\n");
    options.align.max_phones = Some(2);
    let (model, report) = train(&lexicon, &options).unwrap();
    assert_eq!(report.unaligned, ["w"]);
    assert_eq!(model.pronounce("aw", 1).unwrap()[0].phones, ["A", "W"]);
    let cut = alignments(&lexicon, &options.align).unwrap();
    assert_eq!(cut[0], None);
    assert_eq!(cut[1].as_ref().unwrap().iter().map(|g| g.symbol()).collect::<Vec<_>>(), ["a=A", "b=B"]);
    options.align.insertions = true;
    assert!(train(&lexicon, &options).unwrap().1.unaligned.is_empty());
}

#[test]
fn letters_that_only_occur_with_others_can_stand_alone() {
    let mut options = TrainOptions { order: Some(2), ..TrainOptions::default() };
    options.align.max_letters = 2;
    options.align.prune = 0.0;
    let lexicon = lexicon("qua K A\nque K E\nqui K I\naqua A K A\na A\ne E\ni I\n");
    let (model, _) = train(&lexicon, &options).unwrap();
    assert!(model.pronounce("iraq", 1).is_err());
    assert!(!model.pronounce("iaq", 1).unwrap()[0].phones.is_empty());
}

#[test]
fn stamps_tell_lexicons_and_options_apart() {
    let (one, other) = (lexicon("a A\nb B\n"), lexicon("a A\nb A\n"));
    let options = TrainOptions::default();
    assert_eq!(stamp(&one, &options), stamp(&one, &options));
    assert_ne!(stamp(&one, &options), stamp(&other, &options));
    assert_ne!(stamp(&one, &options), stamp(&one, &TrainOptions { order: Some(3), ..options.clone() }));
    let threads = NonZero::new(2).unwrap();
    assert_eq!(stamp(&one, &options), stamp(&one, &TrainOptions { threads, ..options.clone() }));
}
