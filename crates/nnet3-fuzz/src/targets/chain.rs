//! FSTs and chain examples.

use kaldi_fst::{Fst, FstHolder, ops, properties, store, text};
use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, KaldiReader, KaldiWriter};
use nnet3_chain::{
    ChainExampleHolder, DenominatorGraph, Graph, NnetChainExample, NnetChainSupervision, Supervision,
};
use nnet3_core::Index;
use nnet3_train::NnetIo;

use super::{holder, read_sequence_example};

/// Round trip: an FST that was read is written and read again, and goes through the operations; it may be a denominator
/// graph.
pub fn read_fst(input: &[u8]) {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    let Ok(fst) = FstHolder::read(&mut r) else { return };
    let again = |write: fn(&mut KaldiWriter, &Fst) -> kaldi_io::Result<()>| {
        let mut w = KaldiWriter::in_memory(true);
        write(&mut w, &fst).expect("in memory");
        let mut r = KaldiReader::from_bytes("again", w.into_bytes());
        r.set_binary(true);
        store::read(&mut r).expect("what was just written")
    };
    assert_eq!(again(store::write_vector), fst);
    assert_eq!(again(|w, fst| store::write_const(w, fst, true)), fst);
    if fst.check_acceptor().is_ok() {
        assert_eq!(again(store::write_compact_acceptor), fst);
    }
    text::write(&mut KaldiWriter::in_memory(false), &fst).expect("in memory");
    let mut smaller = fst.clone();
    ops::connect(&mut smaller);
    let _ = ops::state_times(&smaller);
    if ops::remove_epsilons(&mut smaller).is_ok() && smaller.start.is_some() {
        ops::breadth_first(&mut smaller).expect("connected");
    }
    let _ = properties::compute(&smaller);
    let _ = ops::concatenate([&fst, &smaller]);
    let _ = DenominatorGraph::new(&fst, 3);
}

fn fst(lines: &str) -> Fst {
    text::parse(lines).expect("an FST")
}

const FSTS: [&str; 4] = [
    "0 1 1 1 0.25\n1 2 2 2\n1 2 1 1 -1\n2\n",
    "0 1 0 0\n0 2 2 2 0.5\n1 2 1 1\n2 3 0 0 0.25\n3 1.5\n2\n",
    "0 0 1 1 0.5\n0 1 2 2\n1 0 3 3\n1\n",
    "1 0 1 7\n1 2 0 2\n2 1 3 0\n0\n",
];

pub fn corpus_fsts() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    for lines in FSTS {
        let fst = fst(lines);
        for binary in [true, false] {
            let mut w = KaldiWriter::in_memory(binary);
            FstHolder::write(&mut w, &fst).expect("in memory");
            corpus.push(w.into_bytes());
        }
        if fst.check_acceptor().is_ok() {
            let mut w = KaldiWriter::in_memory(true);
            store::write_compact_acceptor(&mut w, &fst).expect("in memory");
            corpus.push(w.into_bytes());
        }
    }
    corpus
}

/// An example that was read is written, and merged with itself.
pub fn read_chain_example(input: &[u8]) {
    read_sequence_example::<Supervision>(input);
}

fn chain_example(graph: Graph, alignment_pdfs: Vec<i32>) -> NnetChainExample {
    let supervision = Supervision {
        weight: 1.0,
        num_sequences: 1,
        frames_per_sequence: 2,
        label_dim: 3,
        graph,
        alignment_pdfs,
    };
    let features = DenseMatrix { rows: 4, cols: 2, data: vec![1.5; 8] };
    NnetChainExample {
        inputs: vec![NnetIo::new("input", features.into(), -1, 1)],
        outputs: vec![NnetChainSupervision {
            name: "output".to_owned(),
            indexes: vec![Index::new(0, 0, 0), Index::new(0, 3, 0)],
            supervision,
            deriv_weights: vec![1.0, 0.5],
        }],
    }
}

pub fn corpus_chain_examples() -> Vec<Vec<u8>> {
    let constrained = chain_example(Graph::Constrained(fst(FSTS[0])), Vec::new());
    let end_to_end = chain_example(Graph::EndToEnd(vec![fst(FSTS[2])]), vec![0, 1]);
    [constrained, end_to_end].iter().flat_map(holder::<ChainExampleHolder>).collect()
}
