//! The lexicon of a graph that was made by hand.

use std::collections::BTreeSet;

use kaldi_fst::{EPSILON, FlatFst, Fst};
use nnet3_decode::align::WordBoundaries;
use nnet3_online::lexicon::pronunciations;
use rustc_hash::FxHashSet;

use super::*;

/// A disambiguation symbol.
const MARK: i32 = 9;

#[test]
fn labels_come_early_and_late() {
    let model = transitions();
    let types = b"1 nonword\n2 begin\n3 internal\n4 end\n".to_vec();
    let boundaries = WordBoundaries::read(&mut KaldiReader::from_bytes("types", types)).unwrap();
    let id = |phone: i32, is_loop: bool| {
        let mut ids = model.ids().filter(|&id| model.phone(id) == phone && model.is_self_loop(id) == is_loop);
        ids.next().unwrap().get() as i32
    };
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    (0..10).for_each(|_| _ = fst.add_state());
    fst.state_mut(0).final_weight = 0.0;
    let mut arc = |from: u32, ilabel, olabel, next| {
        fst.state_mut(from).arcs.push(kaldi_fst::Arc { ilabel, olabel, weight: 0.0, next });
    };
    // Silence before words, with a loop and a way back.
    arc(0, id(1, false), EPSILON, 1);
    arc(1, id(1, true), EPSILON, 1);
    arc(1, EPSILON, EPSILON, 0);
    arc(1, MARK, 99, 0);
    // Words 5 and 6 sound alike, 2 4: their labels stand on the arcs with marks. Word 7 is 2 3 4, with its label within.
    arc(0, id(2, false), EPSILON, 2);
    arc(2, id(2, true), EPSILON, 2);
    arc(2, id(4, false), EPSILON, 3);
    arc(3, MARK, 5, 0);
    arc(3, EPSILON, 6, 0);
    arc(2, id(3, false), 7, 4);
    arc(4, id(3, true), EPSILON, 4);
    arc(4, id(4, false), EPSILON, 0);
    // Word 8 is 2 3 3 4; its label stands before its phones.
    arc(0, EPSILON, 8, 5);
    arc(5, id(2, false), EPSILON, 6);
    arc(6, id(3, false), EPSILON, 7);
    arc(7, id(3, false), EPSILON, 4);
    let flat = FlatFst::from(&fst);
    let marks = FxHashSet::from_iter([MARK]);
    let found = pronunciations(&flat, &marks, |label| label == 99, &model, &boundaries).unwrap();
    let expected = [(5, vec![2, 4]), (6, vec![2, 4]), (7, vec![2, 3, 4]), (8, vec![2, 3, 3, 4])];
    assert_eq!(found, BTreeSet::from(expected));
    let error = pronunciations(&flat, &FxHashSet::default(), |_| false, &model, &boundaries).unwrap_err();
    assert_eq!(error, "the label 9 is no transition-id of the model");
}
