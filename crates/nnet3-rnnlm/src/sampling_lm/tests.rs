use super::estimate::{EstimateOptions, Estimator};
use super::*;
use crate::text::Sentence;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};

const BEGIN: i32 = 1;
const END: i32 = 2;

fn sentences() -> Vec<Sentence> {
    let text: [(f32, &[i32]); 7] = [
        (1.0, &[4, 5, 6]),
        (1.0, &[4, 5, 6, 7]),
        (0.5, &[4, 5, 5, 6]),
        (2.0, &[7, 4, 5]),
        (1.0, &[6]),
        (1.0, &[4, 5, 6, 7, 4, 5, 6]),
        (1.0, &[8, 8, 8, 8]),
    ];
    (1..).zip(text).map(|(line, (weight, words))| Sentence { line, weight, words: words.to_vec() }).collect()
}

fn estimate(options: &EstimateOptions, arpa: bool) -> estimate::Estimated {
    let mut estimator = Estimator::new(options.clone()).unwrap();
    sentences().iter().for_each(|sentence| estimator.add(sentence).unwrap());
    estimator.estimate(arpa, &mut |_| ()).unwrap()
}

fn options(order: i32) -> EstimateOptions {
    EstimateOptions {
        vocab_size: 9,
        ngram_order: order,
        unigram_factor: 1.01,
        backoff_factor: 1.0,
        bos_factor: 1.0,
        bos_symbol: BEGIN,
        eos_symbol: END,
        ..EstimateOptions::default()
    }
}

/// Every word but 0 and `<s>` gets a share, whatever the history, and the shares sum to one.
#[test]
fn states_sum_to_one() {
    for order in 1..=4 {
        let lm = SamplingLm::from(&estimate(&options(order), false));
        assert_eq!((lm.order(), lm.vocab_size()), (order as usize, 9));
        let histories = lm.states.iter().flat_map(|states| states.keys().cloned()).chain([vec![]]);
        for history in histories {
            let sum: f32 = (0..9).map(|word| lm.probability(&history, word)).sum();
            // (The power changes unigrams only, which sum to one before and after.)
            assert!((sum - 1.0).abs() < 1e-4, "{history:?}: {sum}");
            assert_eq!((lm.probability(&history, 0), lm.probability(&history, BEGIN)), (0.0, 0.0));
        }
    }
}

/// Unigrams by hand: counts of the words as second words of bigrams, of order 2, without a discount that matters. Histories of
/// order 2 are single words, all of full length, so that no counts are lost.
#[test]
fn unigrams_by_hand() {
    let options = EstimateOptions { discounting_constant: 1e-6, unigram_power: 1.0, ..options(2) };
    let lm = SamplingLm::from(&estimate(&options, false));
    let mut counts = [0f32; 9];
    for sentence in sentences() {
        sentence.words.iter().chain([&END]).for_each(|&word| counts[word as usize] += sentence.weight);
    }
    let total: f32 = counts.iter().sum();
    for (word, count) in counts.iter().enumerate() {
        assert!((lm.unigrams()[word] - count / total).abs() < 1e-5, "word {word}");
    }
    // p(5 | 4): 4 is always before 5.
    assert!((lm.probability(&[4], 5) - 1.0).abs() < 1e-4);
}

/// The distribution of several histories is the weighted sum of what the model says after each.
#[test]
fn distributions_are_sums() {
    let lm = SamplingLm::from(&estimate(&options(3), false));
    let histories: BTreeMap<History, f32> =
        [(vec![4, 5], 0.5), (vec![BEGIN], 2.0), (vec![8, 3], 1.0), (vec![5, 6], 0.25)].into();
    let distribution = lm.distribution(&histories).unwrap();
    assert!(!distribution.off);
    for word in 0..9 {
        let own = distribution.words.iter().find(|pair| pair.0 == word).map_or(0.0, |pair| pair.1);
        let found = own + distribution.unigram_weight * lm.unigrams()[word as usize];
        let expected: f32 = histories.iter().map(|(h, weight)| weight * lm.probability(h, word)).sum();
        assert!((found - expected).abs() < 1e-5, "word {word}: {found} for {expected}");
    }
}

#[test]
fn round_trips() {
    for binary in [false, true] {
        let lm = SamplingLm::from(&estimate(&options(3), false));
        let mut w = KaldiWriter::in_memory(binary);
        lm.write(&mut w).unwrap();
        let mut r = KaldiReader::from_bytes("lm", w.into_bytes());
        r.set_binary(binary);
        let read = SamplingLm::read(&mut r).unwrap();
        assert_eq!(read.states.len(), 2);
        let keys = |lm: &SamplingLm| lm.states.iter().flat_map(|s| s.keys().cloned()).collect::<Vec<_>>();
        assert_eq!(keys(&read), keys(&lm));
        assert!((read.probability(&[4, 5], 6) - lm.probability(&[4, 5], 6)).abs() < 1e-5);
    }
}

/// An ARPA file has whole probabilities, rounded to three decimals; reading it takes the parts of shorter histories away.
#[test]
fn through_an_arpa_file() {
    let mut symbols = kaldi_fst::store::Symbols::new("words");
    for (number, name) in ["<eps>", "<s>", "</s>", "<brk>", "a", "b", "c", "d", "e"].iter().enumerate() {
        symbols.add(name, number as i64).unwrap();
    }
    let estimated = estimate(&options(3), true);
    let mut w = KaldiWriter::in_memory(false);
    estimated.write_arpa(&mut w, &symbols).unwrap();
    let text = w.into_bytes();
    let mut warnings = Vec::new();
    let mut r = KaldiReader::from_bytes("lm.arpa", text);
    let lm = SamplingLm::from_arpa(&mut r, symbols, (BEGIN, END), &mut |event| warnings.push(event)).unwrap();
    let direct = SamplingLm::from(&estimated);
    for history in [&[][..], &[4], &[4, 5], &[BEGIN], &[5, 6], &[BEGIN, 4]] {
        for word in 2..9 {
            let (a, b) = (lm.probability(history, word), direct.probability(history, word));
            assert!((a - b).abs() < 5e-3 * b.max(0.2), "{history:?} {word}: {a} for {b}");
        }
    }
    let warned = warnings.iter().filter(|event| !matches!(event, arpa::ArpaEvent::Reading(_))).count();
    assert_eq!(warned, 0, "{warnings:?}");
}

#[test]
fn wrong_options_and_words() {
    for (wrong, expected) in [
        (EstimateOptions { vocab_size: -1, ..options(3) }, "`vocab-size`=-1"),
        (EstimateOptions { bos_symbol: 9, ..options(3) }, "`bos-symbol`=9"),
        (EstimateOptions { eos_symbol: 1, ..options(3) }, "`eos-symbol`=1"),
        (EstimateOptions { ngram_order: 0, ..options(3) }, "`ngram-order`=0"),
        (EstimateOptions { discounting_constant: 1.5, ..options(3) }, "`discounting-constant`=1.5"),
        (EstimateOptions { backoff_factor: 2.0, ..options(3) }, "`backoff-factor`=2"),
        (EstimateOptions { bos_factor: 2.0, ..options(3) }, "`bos-factor`=2"),
        (EstimateOptions { unigram_power: 0.1, ..options(3) }, "`unigram-power`=0.1"),
    ] {
        let error = Estimator::new(wrong).err().expect("an error").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut estimator = Estimator::new(options(3)).unwrap();
    for words in [vec![9], vec![4, 0], vec![-3]] {
        let error = estimator.add(&Sentence { line: 7, weight: 1.0, words }).unwrap_err().to_string();
        assert!(error.contains("line 7") && error.contains("from 1 to 8"), "{error}");
    }
    let error = Estimator::new(options(3)).unwrap().estimate(false, &mut |_| ()).err().expect("an error");
    assert_eq!(error.to_string(), "There are no counts (no data processed?)");
}
