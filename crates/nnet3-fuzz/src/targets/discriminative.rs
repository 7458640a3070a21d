//! Examples for discriminative training.

use kaldi_fst::Arc;
use kaldi_io::DenseMatrix;
use nnet3_decode::{Lattice, LatticeWeight};
use nnet3_discriminative::{
    DiscriminativeExampleHolder, NnetDiscriminativeExample, NnetDiscriminativeSupervision, Supervision,
};
use nnet3_train::NnetIo;

use super::{holder, read_sequence_example};

/// Writes each example that was read, and merges it with itself.
pub fn read_example(input: &[u8]) {
    read_sequence_example::<Supervision>(input);
}

pub fn corpus_examples() -> Vec<Vec<u8>> {
    let mut lattice = Lattice::default();
    (0..4).for_each(|_| _ = lattice.add_state());
    lattice.start = Some(0);
    for (from, to, id, cost) in
        [(0, 1, 1, 0.5), (0, 2, 2, 0.25), (1, 3, 3, 0.0), (2, 3, 3, 1.0), (1, 2, 0, 2.0)]
    {
        let weight = LatticeWeight::new(cost, -cost);
        lattice.state_mut(from).arcs.push(Arc::new(id, weight, to));
    }
    lattice.state_mut(3).final_weight = LatticeWeight::ONE;
    let supervision = Supervision::new(vec![1, 3], lattice, 1.0).expect("supervision");
    let features = DenseMatrix { rows: 4, cols: 2, data: vec![1.5; 8] };
    let example = NnetDiscriminativeExample {
        inputs: vec![NnetIo::new("input", features.into(), -1, 1)],
        outputs: vec![NnetDiscriminativeSupervision::for_sequence("output", supervision, 3, vec![1.0, 0.5])],
    };
    holder::<DiscriminativeExampleHolder>(&example)
}
