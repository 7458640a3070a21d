//! Discriminative examples and their objective.

mod examples;
mod objective;
mod split;

use kaldi_fst::Arc;
use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiObject, KaldiReader};
use nnet3_decode::{Lattice, LatticeWeight};

/// Reads an object of a file in `tests/data`.
fn read<T: KaldiObject>(name: &str) -> T {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut r = KaldiReader::from_bytes(name, std::fs::read(&path).expect(name));
    r.set_binary(false);
    T::read(&mut r).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A model of 89 phones with 76 transition-ids or more.
fn model() -> TransitionModel {
    read("objective/mono.trans_mdl")
}

/// A lattice of arcs (from, to, transition-id, graph cost, acoustic cost). State 0 is the start; `end` is final.
fn lattice(arcs: &[(i32, i32, i32, f32, f32)], end: i32) -> Lattice {
    let mut out = Lattice::default();
    for _ in 0..=end {
        out.add_state();
    }
    out.start = Some(0);
    for &(from, to, id, graph, acoustic) in arcs {
        let weight = LatticeWeight::new(graph, acoustic);
        out.state_mut(from as _).arcs.push(Arc::new(id, weight, to as _));
    }
    out.state_mut(end as _).final_weight = LatticeWeight::new(0.25, 0.5);
    out
}
