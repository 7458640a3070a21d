//! Compares phone language models with the reference. Some models are in `tests/data/chain`. If `NNET3_CHAIN_DIR` names
//! the folder of all models, all are compared.

use std::path::Path;

use kaldi_fst::Fst;
use kaldi_io::SequentialReader;
use kaldi_io::holder::I32VectorHolder;
use nnet3_chain::phone_lm::{PhoneLmEstimator, PhoneLmOptions, PhoneLmStats};

fn estimate(phones: &Path, options: PhoneLmOptions) -> (Fst, PhoneLmStats) {
    let mut reader = SequentialReader::<I32VectorHolder>::open(&format!("ark:{}", phones.display())).unwrap();
    let mut estimator = PhoneLmEstimator::new(options).unwrap();
    while let Some((_, phones)) = reader.next().unwrap() {
        estimator.add(&phones).unwrap();
    }
    estimator.estimate().unwrap()
}

/// Makes the models again as `lang/phone_lm.*.cmd` say. Returns the number of models.
fn check_all(folder: &Path) -> usize {
    let lang = folder.join("lang");
    let mut count = 0;
    for entry in std::fs::read_dir(&lang).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("phone_lm.") || !name.ends_with(".cmd") {
            continue;
        }
        let command = std::fs::read_to_string(&path).unwrap();
        let mut options = PhoneLmOptions::default();
        let mut phones = None;
        for word in command.split_whitespace() {
            let number = |text: &str| text.parse().unwrap();
            match word.split_once('=') {
                Some(("--ngram-order", value)) => options.ngram_order = number(value),
                Some(("--num-extra-lm-states", value)) => options.num_extra_lm_states = number(value),
                Some(("--no-prune-ngram-order", value)) => options.no_prune_ngram_order = number(value),
                Some((option, _)) => panic!("{option}"),
                None => phones = word.strip_prefix("ark:").or(phones),
            }
        }
        let (found, stats) = estimate(&lang.join(phones.unwrap()), options);
        let expected = kaldi_fst::read_fst(path.with_extension("fst").to_str().unwrap()).unwrap();
        same(name, &found, &expected);
        assert_eq!(stats.after, found.states.len(), "{name}");
        count += 1;
    }
    count
}

/// Asserts that states and arcs are the same; costs may differ a little.
fn same(name: &str, found: &Fst, expected: &Fst) {
    assert_eq!((found.start, found.states.len()), (expected.start, expected.states.len()), "{name}");
    let close = |a: f32, b: f32| a == b || (a - b).abs() <= 1e-6;
    for (s, (a, b)) in found.states.iter().zip(&expected.states).enumerate() {
        assert!(close(a.final_weight, b.final_weight), "{name}, state {s}: {a:?} {b:?}");
        assert_eq!(a.arcs.len(), b.arcs.len(), "{name}, state {s}");
        for (a, b) in a.arcs.iter().zip(&b.arcs) {
            let same = (a.ilabel, a.olabel, a.next) == (b.ilabel, b.olabel, b.next);
            assert!(same && close(a.weight, b.weight), "{name}, state {s}: {a:?} {b:?}");
        }
    }
}

#[test]
fn models_of_the_reference() {
    assert_eq!(check_all(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chain"))), 2);
}

#[test]
fn all_models_of_the_reference() {
    if let Some(folder) = kaldi_io::testing::data_folder("NNET3_CHAIN_DIR") {
        assert!(check_all(Path::new(&folder)) >= 8);
    }
}

#[test]
fn what_is_refused() {
    let options = PhoneLmOptions::default();
    for bad in [
        PhoneLmOptions { ngram_order: 1, no_prune_ngram_order: 1, ..options },
        PhoneLmOptions { ngram_order: 2, ..options },
        PhoneLmOptions { no_prune_ngram_order: 0, ..options },
    ] {
        assert!(PhoneLmEstimator::new(bad).is_err());
    }
    let mut estimator = PhoneLmEstimator::new(options).unwrap();
    let found = estimator.add(&[3, 0]).unwrap_err().to_string();
    assert!(found.contains("found phone 0"), "{found}");
    let found = estimator.estimate().unwrap_err().to_string();
    assert!(found.contains("no phone sequences"), "{found}");
}
