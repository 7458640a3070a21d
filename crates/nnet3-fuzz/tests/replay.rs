//! A short run of every target, valid inputs first.

use nnet3_fuzz::{TARGETS, mutate::mutated};

const MUTATIONS: usize = 20_000;

/// Inputs that failed once.
const REGRESSIONS: &[(&str, &[u8])] = &[];

#[test]
fn every_target() {
    for target in TARGETS {
        let corpus = (target.corpus)();
        assert!(!corpus.is_empty(), "{}", target.name);
        corpus.iter().for_each(|input| target.run(input));
        for (_, input) in REGRESSIONS.iter().filter(|(name, _)| *name == target.name) {
            target.run(input);
        }
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..MUTATIONS {
            let input = mutated(&corpus, &mut rng);
            let result = std::panic::catch_unwind(|| target.run(&input));
            assert!(result.is_ok(), "{}: {}", target.name, input.escape_ascii());
        }
    }
}
