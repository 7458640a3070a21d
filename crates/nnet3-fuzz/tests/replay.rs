//! A short run of every target, valid inputs first.

use nnet3_fuzz::{TARGETS, mutate::mutated};

const MUTATIONS: usize = 20_000;

/// Inputs that failed once.
const REGRESSIONS: &[(&str, &[u8])] = &[
    // Both frames of the output have the same time.
    (
        "chain-examples",
        b"<Nnet3ChainEg> <NumInputs> 1 <NnetIo> input <I1V> 1 <I1> 0 0 0  [ 1.5 ]\n</NnetIo> <NumOutputs> 1 \
        <NnetChainSup> output <I1V> 2 <I1> 0 3 0 <I1> 0 3 0 <Supervision> <Weight> 1 <NumSequences> 1 \
        <FramesPerSeq> 2 <LabelDim> 3 <End2End> T <Fsts> \n0\t0\t1\t1\n0\n\n</Fsts> </Supervision> \
        <DW2>  [ 1 0.5 ]\n</NnetChainSup> </Nnet3ChainEg> ",
    ),
];

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
