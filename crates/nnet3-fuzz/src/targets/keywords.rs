//! Indices of keyword search.

use kaldi_fst::{Arc, EPSILON, Fst, FstHolder, State, text};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, KaldiWriter};
use kaldi_kws::index::optimize;
use kaldi_kws::{HitWeight, Index, Searcher, union_of_indices};

fn read(bytes: Vec<u8>) -> kaldi_io::Result<Index> {
    FstHolder::<HitWeight>::read(&mut KaldiReader::from_bytes("input", bytes))
}

/// Indices, in both forms: what was read can be written, searched and made small.
pub fn read_index(input: &[u8]) {
    let Ok(index) = read(input.to_vec()) else { return };
    for binary in [true, false] {
        let mut w = KaldiWriter::in_memory(binary);
        FstHolder::write(&mut w, &index).expect("in memory");
        let again = read(w.into_bytes()).expect("what was just written");
        assert_eq!(again.num_arcs(), index.num_arcs());
    }
    if index.num_arcs() > 200 {
        return;
    }
    let searcher = Searcher::new(index.clone());
    let keyword = text::parse("0 1 1 1 0.5\n0 0 2 2\n1 0\n").expect("an FST");
    if let Ok(found) = searcher.search(&keyword) {
        assert!(found.hits(Some(3)).len() <= 3);
    }
    let _ = optimize(&union_of_indices([index.clone(), index]), Some(100));
}

pub fn corpus_index() -> Vec<Vec<u8>> {
    let arc =
        |ilabel, olabel, cost, next| Arc { ilabel, olabel, weight: HitWeight::new(cost, 2.0, 7.0), next };
    let state = |arcs| State { arcs, ..State::default() };
    let end = State { final_weight: HitWeight::new(0.0, 0.0, 0.0), arcs: Vec::new() };
    let index = Fst {
        start: Some(0),
        states: vec![
            state(vec![arc(EPSILON, EPSILON, 0.0, 1)]),
            state(vec![arc(1, EPSILON, 0.5, 2)]),
            state(vec![arc(2, 3, 0.25, 3)]),
            end,
        ],
    };
    [true, false]
        .map(|binary| {
            let mut w = KaldiWriter::in_memory(binary);
            FstHolder::write(&mut w, &index).expect("in memory");
            w.into_bytes()
        })
        .to_vec()
}
