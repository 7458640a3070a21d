//! A small model for the tests of this crate.

use kaldi_io::DenseMatrix;
use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;

use crate::example::RnnlmExample;

pub(crate) const WORDS: usize = 6;
pub(crate) const DIM: usize = 4;

/// A network with a recurrence; gradients are plain.
pub(crate) fn network() -> Nnet {
    const CONFIG: &str =
        "component name=a type=AffineComponent input-dim=9 output-dim=5 learning-rate=0.01 param-stddev=0.4
        component name=t type=TanhComponent dim=5 self-repair-scale=0
        component name=b type=AffineComponent input-dim=5 output-dim=4 learning-rate=0.01 param-stddev=0.4
        input-node name=input dim=4
        component-node name=a component=a input=Append(input, IfDefined(Offset(t, -1)))
        component-node name=t component=t input=a
        component-node name=b component=b input=t
        output-node name=output input=b objective=linear";
    let mut nnet = Nnet::default();
    let lines = parse_config("test", CONFIG.lines()).expect("a config");
    nnet.read_config(lines, &Random::new(17)).expect("a network");
    nnet
}

pub(crate) fn embedding() -> DenseMatrix<f32> {
    DenseMatrix { rows: WORDS, cols: DIM, data: Random::new(5).normal_vec(WORDS * DIM, 0.0, 0.7) }
}

/// Two sequences of three words; with sampling each time has a sample of four words.
pub(crate) fn example(sampled: bool) -> RnnlmExample {
    RnnlmExample {
        vocab_size: WORDS as i32,
        num_chunks: 2,
        chunk_length: 3,
        sample_group_size: 1,
        num_samples: 4,
        input_words: vec![1, 1, 3, 5, 4, 4],
        output_words: if sampled { vec![1, 3, 2, 2, 0, 1] } else { vec![3, 5, 4, 4, 2, 3] },
        output_weights: vec![1.0, 0.5, 1.0, 0.5, 1.0, 0.0],
        sampled_words: if sampled { vec![2, 3, 4, 5, 1, 2, 4, 5, 2, 3, 4, 5] } else { Vec::new() },
        sample_inv_probs: if sampled {
            vec![1.5, 1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.5, 1.25]
        } else {
            Vec::new()
        },
    }
}
