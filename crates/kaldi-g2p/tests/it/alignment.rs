//! Alignment beside an enumeration of all ways to cut.

use std::collections::BTreeMap;
use std::num::NonZero;

use kaldi_g2p::align::{AlignOptions, Pair, align, phones_needed};
use kaldi_g2p::graphone::Graphone;

type Piece = (Vec<u32>, Vec<u32>);

/// All ways to cut a pronunciation, by recursion.
fn ways(letters: &[u32], phones: &[u32], options: &AlignOptions) -> Vec<Vec<Piece>> {
    if letters.is_empty() && phones.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for a in 0..=options.max_letters.min(letters.len()) {
        for b in 0..=options.max_phones.unwrap().min(phones.len()) {
            let allowed = match (a, b) {
                (0, 1) => options.insertions,
                (0, _) => false,
                (1, _) => true,
                (_, 0) => false,
                (_, b) => b == 1 || options.many_to_many,
            };
            if allowed {
                for rest in ways(&letters[a..], &phones[b..], options) {
                    all.push([vec![(letters[..a].to_vec(), phones[..b].to_vec())], rest].concat());
                }
            }
        }
    }
    all
}

/// Probabilities after some iterations, the logarithm of the probability in each, and the best way of each pronunciation.
fn slow(pairs: &[Pair], options: &AlignOptions) -> (BTreeMap<Piece, f64>, Vec<f64>, Vec<Option<f64>>) {
    let all: Vec<Vec<Vec<Piece>>> =
        pairs.iter().map(|pair| ways(&pair.letters, &pair.phones, options)).collect();
    let mut probabilities: BTreeMap<Piece, f64> = BTreeMap::new();
    for piece in all.iter().flatten().flatten() {
        probabilities.insert(piece.clone(), 0.1f64.powi((piece.0.len() + piece.1.len()) as i32));
    }
    let mut log_likelihoods = Vec::new();
    for _ in 0..options.iterations {
        let mut counts: BTreeMap<Piece, f64> = BTreeMap::new();
        let mut log_likelihood = 0.0;
        for ways in all.iter().filter(|ways| !ways.is_empty()) {
            let products: Vec<f64> =
                ways.iter().map(|way| way.iter().map(|piece| probabilities[piece]).product()).collect();
            let sum: f64 = products.iter().sum();
            log_likelihood += sum.ln();
            for (way, product) in ways.iter().zip(products) {
                way.iter().for_each(|piece| *counts.entry(piece.clone()).or_default() += product / sum);
            }
        }
        log_likelihoods.push(log_likelihood);
        let total: f64 = counts.values().sum();
        probabilities = counts.into_iter().map(|(piece, count)| (piece, count / total)).collect();
    }
    let best = |ways: &Vec<Vec<Piece>>| {
        ways.iter().map(|way| way.iter().map(|piece| probabilities[piece]).product()).max_by(f64::total_cmp)
    };
    let best = all.iter().map(best).collect();
    (probabilities, log_likelihoods, best)
}

fn random_pairs() -> Vec<Pair> {
    let mut random = fastrand::Rng::with_seed(2);
    let mut numbers =
        |most: usize, kinds: u32| (0..random.usize(1..most)).map(|_| random.u32(0..kinds)).collect();
    (0..25).map(|_| Pair { letters: numbers(6, 4), phones: numbers(6, 3) }).collect()
}

#[test]
fn expectation_maximisation_is_that_over_all_ways_to_cut() {
    let pairs = random_pairs();
    for (max_letters, max_phones, many_to_many, insertions) in [
        (1, 2, false, false),
        (2, 2, false, false),
        (2, 2, true, true),
        (3, 1, false, false),
        (1, 3, false, true),
    ] {
        let options = AlignOptions {
            max_letters,
            max_phones: Some(max_phones),
            many_to_many,
            insertions,
            iterations: 3,
            prune: 0.0,
            threads: NonZero::new(3).unwrap(),
        };
        let found = align(&pairs, &options).unwrap();
        let (probabilities, log_likelihoods, best) = slow(&pairs, &options);
        assert_eq!(found.log_likelihoods.len(), 3);
        for (found, expected) in found.log_likelihoods.iter().zip(&log_likelihoods) {
            assert!((found - expected).abs() < 1e-8 * expected.abs(), "{found} instead of {expected}");
        }
        assert_eq!(found.graphones.len(), probabilities.len());
        let probability =
            |graphone: &Graphone| probabilities[&(graphone.letters.clone(), graphone.phones.clone())];
        for (graphone, found) in found.graphones.iter().zip(&found.probabilities) {
            let expected = probability(graphone);
            assert!((found - expected).abs() < 1e-9, "{graphone:?}: {found} instead of {expected}");
        }
        for ((path, best), pair) in found.paths.iter().zip(&best).zip(&pairs) {
            assert_eq!(path.is_some(), best.is_some(), "{pair:?}");
            let (Some(path), Some(best)) = (path, best) else { continue };
            let graphones: Vec<&Graphone> =
                path.iter().map(|&number| &found.graphones[number as usize]).collect();
            let product: f64 = graphones.iter().map(|graphone| probability(graphone)).product();
            assert!((product - best).abs() <= 1e-9 * best, "{pair:?}: {product} instead of {best}");
            assert_eq!(graphones.iter().flat_map(|g| g.letters.clone()).collect::<Vec<_>>(), pair.letters);
            assert_eq!(graphones.iter().flat_map(|g| g.phones.clone()).collect::<Vec<_>>(), pair.phones);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let pairs = random_pairs();
    let with = |threads| {
        let options = AlignOptions { threads: NonZero::new(threads).unwrap(), ..AlignOptions::default() };
        align(&pairs, &options).unwrap()
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn pruned_graphones_stay_for_pronunciations_without_another_way() {
    let pair = |letters: &[u32], phones: &[u32]| Pair { letters: letters.to_vec(), phones: phones.to_vec() };
    let mut pairs = vec![pair(&[0, 1], &[0, 1]); 20];
    pairs.extend([vec![pair(&[0], &[0]); 5], vec![pair(&[1], &[1]); 5]].concat());
    pairs.push(pair(&[2], &[5]));
    let options = AlignOptions { max_phones: Some(2), prune: 3.0, ..AlignOptions::default() };
    let found = align(&pairs, &options).unwrap();
    assert!(found.paths.iter().all(Option::is_some));
    let last = found.paths[30].as_ref().unwrap()[0] as usize;
    assert!(found.probabilities[last] < 1e-20);
    // Graphones such as "0 with 0 and 1", which no best way has, are pruned, too.
    assert!(found.probabilities.iter().filter(|&&probability| probability > 1e-20).count() <= 2);
}

#[test]
fn very_long_words_do_not_underflow() {
    let long: Vec<u32> = (0..900).map(|place| place % 7).collect();
    let pairs = vec![Pair { letters: long.clone(), phones: long }; 2];
    let found = align(&pairs, &AlignOptions::default()).unwrap();
    assert!(found.paths.iter().all(|path| path.as_ref().is_some_and(|path| path.len() == 900)));
    assert!(found.log_likelihoods.iter().all(|value| value.is_finite() && *value < 0.0));
}

#[test]
fn characters_with_many_phones_get_graphones_that_are_long_enough() {
    let pair = |letters, phones| Pair { letters: vec![0; letters], phones: vec![0; phones] };
    let pairs: Vec<Pair> = (0..100).map(|place| if place == 0 { pair(1, 40) } else { pair(2, 7) }).collect();
    assert_eq!(phones_needed(&pairs), 4);
    assert_eq!(phones_needed(&vec![pair(4, 3); 10]), 2);
    assert_eq!(phones_needed(&vec![pair(1, 30); 10]), 8);
    let found = align(&pairs, &AlignOptions::default()).unwrap();
    assert_eq!((found.max_phones, found.paths.iter().filter(|path| path.is_none()).count()), (4, 1));
}
