//! Pronunciations beside an enumeration of all sequences of graphones.

use std::collections::BTreeMap;

use kaldi_g2p::graphone::Inventory;
use kaldi_g2p::graphone::Spelled;
use kaldi_g2p::ngrams::FIRST;
use kaldi_g2p::ngrams::counts::Counts;
use kaldi_g2p::ngrams::kneser_ney::estimate;
use kaldi_g2p::{Error, Model, Respelled, SearchOptions};

fn spelled(symbol: &str) -> Spelled {
    Spelled::parse(symbol).unwrap()
}

/// A model of random sequences of graphones.
fn model(symbols: &[&str], seed: u64, order: usize) -> Model {
    let inventory = Inventory::new(symbols.iter().map(|symbol| spelled(symbol)).collect());
    let mut random = fastrand::Rng::with_seed(seed);
    let size = inventory.len() as u32;
    let sequences: Vec<Vec<u32>> =
        (0..60).map(|_| (0..random.usize(1..5)).map(|_| FIRST + random.u32(0..size)).collect()).collect();
    let counts = Counts::new(sequences.iter().map(Vec::as_slice), FIRST + size, order);
    Model { ngrams: estimate(&counts, order, 1), inventory, stamp: String::new() }
}

/// All sequences of graphones with these letters, with at most two insertions one behind the other.
fn sequences(model: &Model, letters: &[String], insertions: usize) -> Vec<Vec<u32>> {
    let mut all = if letters.is_empty() { vec![Vec::new()] } else { Vec::new() };
    for number in 0..model.inventory.len() as u32 {
        let graphone = model.inventory.spelled(number);
        let length = graphone.letters.len();
        if !letters.starts_with(&graphone.letters) || (length == 0 && insertions == 2) {
            continue;
        }
        let behind = if length == 0 { insertions + 1 } else { 0 };
        for rest in sequences(model, &letters[length..], behind) {
            all.push([vec![number], rest].concat());
        }
    }
    all
}

/// Probabilities of all pronunciations, from the sums over all sequences; the best come first.
fn slow(model: &Model, word: &str) -> Vec<(String, f64)> {
    let letters: Vec<String> = word.chars().map(String::from).collect();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for sequence in sequences(model, &letters, 0) {
        let tokens: Vec<u32> = sequence.iter().map(|number| number + FIRST).collect();
        let phones: Vec<String> =
            sequence.iter().flat_map(|&number| model.inventory.spelled(number).phones).collect();
        if !phones.is_empty() {
            *sums.entry(phones.join(" ")).or_default() += model.ngrams.score_sequence(&tokens).exp();
        }
    }
    let total: f64 = sums.values().sum();
    let mut all: Vec<(String, f64)> = sums.into_iter().map(|(phones, sum)| (phones, sum / total)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

fn found(model: &Model, word: &str, options: &SearchOptions) -> Vec<(String, f64)> {
    let found = model.pronounce_with(word, options).unwrap();
    found.into_iter().map(|p| (p.phones.join(" "), p.probability)).collect()
}

const EXACT: SearchOptions = SearchOptions {
    count: usize::MAX,
    min_probability: 0.0,
    mass: 2.0,
    beam: f64::INFINITY,
    most_states: usize::MAX,
};

#[test]
fn probabilities_are_sums_over_all_sequences_of_graphones() {
    let inventories: [&[&str]; 3] = [
        &["a=A", "a=B", "a=", "b=B", "b=A+B"],
        &["a=A", "a=B", "a=", "a+b=A", "a+b=A+B", "b=B", "b=", "b+a=B"],
        &["a=A", "a=", "a=A+B", "b=B", "=A", "=B"],
    ];
    for symbols in inventories {
        for (seed, order) in [(1, 1), (2, 2), (3, 3), (4, 4)] {
            let model = model(symbols, seed, order);
            for word in ["a", "ab", "abb", "bab"] {
                let (found, expected) = (found(&model, word, &EXACT), slow(&model, word));
                assert_eq!(found.len(), expected.len(), "{symbols:?} {word}");
                let expected_of: BTreeMap<&str, f64> =
                    expected.iter().map(|(p, x)| (p.as_str(), *x)).collect();
                for ((phones, probability), (_, in_order)) in found.iter().zip(&expected) {
                    let expected = expected_of[phones.as_str()];
                    assert!(
                        (probability - expected).abs() < 1e-5,
                        "{word} {phones}: {probability}, {expected}"
                    );
                    assert!((probability - in_order).abs() < 1e-5, "{word} {phones}: the order is wrong");
                }
            }
        }
    }
}

#[test]
fn thresholds_cut_the_list_at_the_right_place() {
    let model = model(&["a=A", "a=B", "a=", "b=B", "b=A+B", "b=C"], 7, 2);
    let all = slow(&model, "abba");
    let with = |options: SearchOptions| found(&model, "abba", &options).len();
    assert_eq!(with(SearchOptions { count: 3, ..EXACT }), 3);
    let above = all.iter().filter(|(_, probability)| *probability >= 0.05).count();
    assert!(above > 0 && above < all.len());
    assert_eq!(with(SearchOptions { min_probability: 0.05, ..EXACT }), above);
    let mut sum = 0.0;
    let enough = 1 + all
        .iter()
        .take_while(|(_, probability)| {
            sum += probability;
            sum < 0.6
        })
        .count();
    assert_eq!(with(SearchOptions { mass: 0.6, ..EXACT }), enough);
    // The first one is there in any case.
    assert_eq!(with(SearchOptions { min_probability: 1.0, ..EXACT }), 1);
}

#[test]
fn a_narrow_beam_still_finds_a_pronunciation() {
    let model = model(&["a=A", "a=B", "a=", "b=B", "b=A+B", "b=C"], 7, 3);
    for (beam, most_states) in [(0.0, 1), (2.0, 2), (10.0, 1000)] {
        let options = SearchOptions { beam, most_states, count: 1, ..SearchOptions::default() };
        assert_eq!(found(&model, "abbaab", &options).len(), 1);
    }
    let long = "ab".repeat(600);
    let found = model.pronounce(&long, 2).unwrap();
    assert!(!found.is_empty() && found.iter().all(|p| p.phones.len() > 300 && p.probability >= 0.0));
}

#[test]
fn words_that_have_no_pronunciation_are_named() {
    let model = model(&["a=A", "a+b=B", "\u{e9}=E", "c="], 1, 2);
    let error = |word: &str| model.pronounce(word, 1).unwrap_err();
    let expected = "the word 'aXa' has the letter 'X', which the model has never seen";
    assert_eq!(error("aXa").to_string(), expected);
    let expected = "the word 'aA' has the letter 'A', which the model has never seen ('a' is there, with other capitals)";
    assert_eq!(error("aA").to_string(), expected);
    assert!(error("aA").is_of_word() && error("b").is_of_word());
    for word in ["b", "cc", ""] {
        assert!(matches!(error(word), Error::NoPronunciation { word: w } if w == word));
    }
    // Capitals that the model lacks, signs, and words that stay as they are.
    let respelled = |word: &str| {
        model.respelled(word).map(|Respelled { spelling, left_out }| (spelling, left_out.concat()))
    };
    let some = |spelling: &str, left_out: &str| Some((spelling.to_owned(), left_out.to_owned()));
    assert_eq!(respelled("aA"), some("aa", ""));
    assert_eq!(respelled("A-'A-"), some("aa", "-'"));
    assert_eq!(respelled("\u{c9}A"), some("\u{e9}a", ""));
    assert_eq!(respelled("E\u{301}-A"), some("\u{e9}a", "-"));
    for word in ["aa", "e\u{301}", "aX", "a2", "-", "", "<A>", "(A)"] {
        assert_eq!(respelled(word), None, "{word}");
    }
    // Both Unicode forms are one letter.
    assert_eq!(model.pronounce("e\u{301}", 1).unwrap()[0].phones, ["E"]);
}
