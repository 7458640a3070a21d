//! Lattices, and files that belong to them.

use kaldi_graph::arpa::{ArpaOptions, Words};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use nnet3_decode::align::{AlignmentLexicon, WordBoundaries};
use nnet3_decode::determinize::{Options, determinize_connected};
use nnet3_decode::lattice::{compact, expand};
use nnet3_decode::lm::ConstArpa;
use nnet3_decode::posterior::transition_posteriors;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder, mbr, path, prune, push};

/// Round trip: a lattice that was read is written and read again, and goes through the operations.
pub fn read_lattice(input: &[u8]) {
    let read = |bytes: Vec<u8>| LatticeHolder::read(&mut KaldiReader::from_bytes("input", bytes));
    let Ok(lattice) = read(input.to_vec()) else { return };
    let mut w = KaldiWriter::in_memory(true);
    LatticeHolder::write(&mut w, &lattice).expect("in memory");
    assert_eq!(read(w.into_bytes()).expect("what was just written"), lattice);
    LatticeHolder::write(&mut KaldiWriter::in_memory(false), &lattice).expect("in memory");
    let mut small = CompactLatticeHolder::read(&mut KaldiReader::from_bytes("input", input.to_vec()))
        .expect("it is a lattice");
    let _ = expand(&compact(&lattice));
    let _ = transition_posteriors(&mut lattice.clone());
    let _ = path::best_paths(&lattice, 3);
    let _ = mbr::decode(&small, None, mbr::Options::default());
    let _ = prune::prune(&mut small, 5.0);
    let limits = Options { max_mem: 100_000, max_states: 100, ..Options::default() };
    if let Ok((mut out, _)) = determinize_connected(&mut lattice.clone(), 5.0, &limits) {
        let _ = push::minimize_pushed(&mut out);
    }
}

const LATTICES: [&str; 5] = [
    "\n0 1 5 1.5,-2.25,1_2_3\n1 2 0 0,0,4\n2 0.5,0,\n\n",
    "\n0 3 1 5 1.5,-2.25\n1 2 4 0\n2 0.5,0\n3 4 2 0\n4 1 3 0\n\n",
    "\n0 1 1 1,1,2_2\n0 1 2 1,1,3_2\n0 2 0 0.5,0.5,1\n1 2 3\n2 1,0,4_4\n1 0,1,7\n\n",
    "\n0 1 1 1 1,1\n0 1 1 2 1,1\n0 1 2 1 1,0.5\n1 2 3 0 1,1\n1 2 3 3 1,1\n2\n\n",
    "\n0 1 1 1\n1 0 1 1 -1,0\n1\n\n",
];

pub fn corpus_lattices() -> Vec<Vec<u8>> {
    let mut corpus: Vec<Vec<u8>> = LATTICES.iter().map(|text| text.as_bytes().to_vec()).collect();
    for text in LATTICES {
        let reader = || KaldiReader::from_bytes("corpus", text.as_bytes().to_vec());
        let mut w = KaldiWriter::in_memory(true);
        LatticeHolder::write(&mut w, &LatticeHolder::read(&mut reader()).expect("a lattice"))
            .expect("in memory");
        corpus.push(w.into_bytes());
        let mut w = KaldiWriter::in_memory(true);
        let lattice = CompactLatticeHolder::read(&mut reader()).expect("a lattice");
        CompactLatticeHolder::write(&mut w, &lattice).expect("in memory");
        corpus.push(w.into_bytes());
    }
    corpus
}

fn look_up(lm: &ConstArpa) {
    let mut history = vec![lm.begin()];
    for word in [1, 2, 3, lm.end(), 0, -1, i32::MAX] {
        let _ = lm.log_prob(&history, word);
        history = lm.next_history(&history, word);
    }
}

/// Queries every accepted language model.
pub fn read_const_arpa(input: &[u8]) {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    r.set_binary(true);
    let Ok(lm) = ConstArpa::read(&mut r) else { return };
    look_up(&lm);
    let mut w = KaldiWriter::in_memory(true);
    lm.write(&mut w).expect("in memory");
    let mut r = KaldiReader::from_bytes("again", w.into_bytes());
    r.set_binary(true);
    assert_eq!(ConstArpa::read(&mut r).expect("what was just written"), lm);
}

fn from_arpa(text: &[u8]) -> kaldi_io::Result<ConstArpa> {
    let mut options = ArpaOptions { words: Words::Numbers, begin: 1, end: 2, most_warnings: Some(3) };
    let mut r = KaldiReader::from_bytes("input", text.to_vec());
    ConstArpa::from_arpa(&mut r, &mut options, Some(3), &mut |_| {})
}

pub fn read_arpa(input: &[u8]) {
    if let Ok(lm) = from_arpa(input) {
        look_up(&lm);
    }
}

const ARPA: &str = "\\data\\\nngram 1=4\nngram 2=3\nngram 3=1\n\n\\1-grams:\n-1 1 -0.5\n-0.6 2\n-0.7 3 -0.1\n-0.5 4 -0.2\n\n\
    \\2-grams:\n-0.3 1 3 -0.2\n-0.4 3 4\n-0.4 4 2\n\n\\3-grams:\n-0.1 1 3 4\n\n\\end\\\n";

pub fn corpus_arpa() -> Vec<Vec<u8>> {
    vec![
        ARPA.as_bytes().to_vec(),
        ARPA.replace("ngram 3=1\n", "")
            .replace("\\3-grams:\n-0.1 1 3 4\n", "")
            .replace("-0.3 1 3 -0.2", "-0.3 1 3")
            .into(),
    ]
}

pub fn corpus_const_arpa() -> Vec<Vec<u8>> {
    let written = |text: Vec<u8>| {
        let mut w = KaldiWriter::in_memory(true);
        from_arpa(&text).expect("a language model").write(&mut w).expect("in memory");
        w.into_bytes()
    };
    corpus_arpa().into_iter().map(written).collect()
}

/// Word boundaries and lexicons for alignment.
pub fn read_alignment_lists(input: &[u8]) {
    let reader = || KaldiReader::from_bytes("input", input.to_vec());
    let _ = WordBoundaries::read(&mut reader());
    let _ = AlignmentLexicon::read(&mut reader());
}

pub fn corpus_alignment_lists() -> Vec<Vec<u8>> {
    let texts = ["1 nonword\n2 begin\n3 end\n4 internal\n5 singleton\n", "0 0 1\n4 4 2 3\n5 6 2 3 2\n7 7\n"];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
