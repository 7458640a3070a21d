//! Tests of the file types `ngram` and `olabel_lookahead`: round trips, histories compared with a list of them, damaged
//! files.

use kaldi_fst::look_ahead::ReachBuilder;
use kaldi_fst::ngrams::FirstSteps;
use kaldi_fst::store::{self, FlatOrNgrams};
use kaldi_fst::{FlatFst, LookAheadFst, NgramFst, text};
use kaldi_io::{KaldiReader, KaldiWriter};

fn written(write: impl FnOnce(&mut KaldiWriter) -> kaldi_io::Result<()>) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    write(&mut w).unwrap();
    w.into_bytes()
}

fn reader(bytes: &[u8]) -> KaldiReader {
    let mut r = KaldiReader::from_bytes("file", bytes.to_vec());
    r.set_binary(true);
    r
}

/// Histories, the latest word last, level by level and in the order of their words from the latest back.
const HISTORIES: &[&[i32]] = &[&[], &[1], &[2], &[4], &[2, 1], &[4, 1], &[1, 2], &[2, 2], &[1, 2, 1]];

fn ngrams() -> NgramFst {
    let position = |history: &[i32]| HISTORIES.iter().position(|h| *h == history).unwrap() as u32;
    let shorter: Vec<u32> =
        HISTORIES.iter().map(|h| if h.is_empty() { 0 } else { position(&h[1..]) }).collect();
    let mut first_children = vec![1];
    for s in 0..HISTORIES.len() as u32 {
        let children = shorter[1..].iter().filter(|&&parent| parent == s).count() as u32;
        first_children.push(first_children[s as usize] + children);
    }
    let futures: [&[i32]; 9] = [&[1, 2, 3, 4], &[2], &[1, 2], &[], &[1, 4], &[1], &[3], &[2], &[1, 2, 3]];
    let count = |s: usize| futures[..s].iter().map(|words| words.len() as u32).sum();
    let words = futures.concat();
    let costs = (0..words.len()).map(|i| i as f32 * 0.25).collect();
    let finals = (0..9).map(|s| if s % 3 == 0 { s as f32 } else { f32::INFINITY }).collect();
    NgramFst {
        start: Some(1),
        shorter,
        first_children,
        first_words: HISTORIES.iter().map(|h| h.first().copied().unwrap_or(0)).chain([0]).collect(),
        backoff: (0..10).map(|s| s as f32).collect(),
        finals,
        first_futures: (0..=9).map(count).collect(),
        words,
        costs,
        first_steps: FirstSteps::default(),
    }
}

#[test]
fn histories() {
    let fst = ngrams();
    for (s, history) in HISTORIES.iter().enumerate() {
        for word in 1..=5 {
            let remembered = [history, &[word][..]].concat();
            let longest = (0..=remembered.len()).map(|from| &remembered[from..]);
            // A history is in the tree only behind all that are shorter.
            let mut found = 0;
            for suffix in longest.collect::<Vec<_>>().into_iter().rev() {
                match HISTORIES.iter().position(|h| *h == suffix) {
                    Some(state) => found = state,
                    None => break,
                }
            }
            assert_eq!(fst.next(s as u32, word), found as u32, "{history:?} and {word}");
        }
        let shorter = history.get(1..).and_then(|shorter| HISTORIES.iter().position(|h| *h == shorter));
        assert_eq!(fst.backoff(s as u32), shorter.map(|shorter| (shorter as u32, s as f32)));
    }
}

#[test]
fn language_models_round_trip() {
    let fst = ngrams();
    let bytes = written(|w| store::write_ngrams(w, &fst, [None, None]));
    let (read, names) = store::read_with_names(&mut reader(&bytes)).unwrap();
    assert_eq!((read, names), (FlatOrNgrams::Ngrams(fst), None));
    for end in 0..bytes.len() {
        assert!(store::read_with_names(&mut reader(&bytes[..end])).is_err(), "{end} bytes");
    }
    // The first byte of the tree is changed, so it is not a root any more.
    let mut broken = bytes.clone();
    let tree = bytes.len() - written(|w| w.write_bytes(&[0; 4 * (10 + 15 + 10 + 3 + 16)])).len() - 3 * 8;
    broken[tree] ^= 1;
    let error = store::read_with_names(&mut reader(&broken)).unwrap_err().to_string();
    assert!(error.contains("the tree of histories is not one of 9 states"), "{error}");
    // The mark of the last word is moved after the mark of the last state.
    let mut broken = bytes.clone();
    let futures = broken[tree + 8..].first_chunk_mut::<8>().unwrap();
    let marks = u64::from_le_bytes(*futures);
    *futures = (marks ^ 1 << marks.ilog2() | 1 << 24).to_le_bytes();
    let error = store::read_with_names(&mut reader(&broken)).unwrap_err().to_string();
    assert!(error.contains("the file has words after those of the last state"), "{error}");
}

/// The history of the beginning of a sentence is a child of the empty one with the word 0.
#[test]
fn the_beginning_of_a_sentence() {
    let mut fst = ngrams();
    fst.first_words[1] = 0;
    let bytes = written(|w| store::write_ngrams(w, &fst, [None, None]));
    assert_eq!(store::read_with_names(&mut reader(&bytes)).unwrap().0, FlatOrNgrams::Ngrams(fst.clone()));
    fst.first_words[1] = -1;
    let bytes = written(|w| store::write_ngrams(w, &fst, [None, None]));
    let error = store::read_with_names(&mut reader(&bytes)).unwrap_err().to_string();
    assert!(
        error.contains("the histories behind state 0 are not in ascending order from word 0 on"),
        "{error}"
    );
}

fn look_ahead() -> LookAheadFst {
    let fst = text::parse("0 1 1 0 0.5\n0 2 2 3\n1 2 3 4\n2\n").unwrap();
    let mut reach = ReachBuilder::new(9);
    [[3, 5], [4, 5], [9, 10]].iter().for_each(|&interval| reach.add(&[interval]).unwrap());
    LookAheadFst { fst: FlatFst::from(&fst), reach: reach.build() }
}

#[test]
fn look_ahead_round_trips() {
    let fst = look_ahead();
    let bytes = written(|w| store::write_look_ahead(w, &fst));
    assert_eq!(store::read_look_ahead(&mut reader(&bytes)).unwrap(), fst);
    for end in 0..bytes.len() {
        assert!(store::read_look_ahead(&mut reader(&bytes[..end])).is_err(), "{end} bytes");
    }
    let can_come = |state| (0..12).filter(|&label| fst.reach.contains(state, label)).collect::<Vec<i32>>();
    assert_eq!([0, 1, 2].map(can_come), [vec![3, 4], vec![4], vec![9]]);
    assert_eq!([0, 1, 2].map(|state| fst.reach.reaches_end(state)), [false, false, true]);
    assert_eq!(fst.arcs_by_output(0), [0..1, 1..2]);
}

#[test]
fn another_type_of_fst() {
    let plain = written(|w| store::write_const(w, &text::parse("0 1 1 1\n1\n").unwrap(), false));
    let error = store::read_look_ahead(&mut reader(&plain)).unwrap_err().to_string();
    assert!(
        error.contains("expected an FST of type 'olabel_lookahead'") && error.contains("found 'const'"),
        "{error}"
    );
    let error = store::read_flat(&mut reader(&written(|w| store::write_ngrams(w, &ngrams(), [None, None]))))
        .unwrap_err();
    assert!(error.to_string().contains("found 'ngram'"), "{error}");
}
