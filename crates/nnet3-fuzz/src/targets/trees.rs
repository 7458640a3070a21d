//! Statistics and questions from which trees are made.

use super::{both, reader};
use kaldi_io::{KaldiObject, KaldiWriter};
use kaldi_tree::gauss::Gauss;
use kaldi_tree::phone_sets::{PhoneMap, read_counts, read_lists, read_roots, read_sets};
use kaldi_tree::questions::{Questions, QuestionsForKey};
use kaldi_tree::scalar::Scalar;
use kaldi_tree::{Clusterable, TreeStats, cluster};

fn in_memory<T: KaldiObject>(object: &T) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    object.write(&mut w).expect("in memory");
    w.into_bytes()
}

/// Round trip: read, write, read, write; both outputs must be equal.
pub(super) fn read_and_write<T: KaldiObject>(input: &[u8]) -> Option<T> {
    let object = T::read(&mut reader(input)).ok()?;
    let written = in_memory(&object);
    let mut r = kaldi_io::KaldiReader::from_bytes("again", written.clone());
    r.set_binary(true);
    assert_eq!(in_memory(&T::read(&mut r).expect("what was just written")), written);
    Some(object)
}

/// Clusters statistics, if there are few.
fn cluster_all<C: Clusterable>(stats: TreeStats<C>) {
    let points: Vec<C> = stats.entries.into_iter().map(|entry| entry.1).collect();
    if (1..20).contains(&points.len()) {
        let mut state = 0;
        let mut rand = || {
            state = (state + 12345) % 65521;
            state
        };
        let options = cluster::TreeClusterOptions::default();
        cluster::tree_cluster(&points, points.len(), &options, &mut rand, &mut |_| {});
        cluster::bottom_up(&points, 10.0, 1);
    }
}

pub fn read_stats(input: &[u8]) {
    if let Some(stats) = read_and_write::<TreeStats<Gauss>>(input) {
        cluster_all(stats);
    }
    if let Some(stats) = read_and_write::<TreeStats<Scalar>>(input) {
        cluster_all(stats);
    }
}

pub fn corpus_stats() -> Vec<Vec<u8>> {
    let gauss = |x: f32| {
        let mut stats = Gauss::new(2, 0.01);
        stats.add_frame(&[x, 1.0]);
        stats.add_frame(&[-1.0, x]);
        stats
    };
    let event = |phone| vec![(-1, 0), (0, 1), (1, phone)];
    let stats = TreeStats { entries: (1..4).map(|phone| (event(phone), gauss(phone as f32))).collect() };
    let mut corpus = both(|w| stats.write(w).expect("in memory"));
    let entries = (1..4).map(|phone| (event(phone), Scalar::new(phone as f32))).collect();
    let stats = TreeStats { entries };
    corpus.extend(both(|w| stats.write(w).expect("in memory")));
    corpus
}

pub fn read_questions(input: &[u8]) {
    read_and_write::<Questions>(input);
}

pub fn corpus_questions() -> Vec<Vec<u8>> {
    let mut questions = Questions::default();
    let refine = cluster::RefineOptions { num_iters: 5, top_n: 2 };
    questions.set(-1, QuestionsForKey { sets: vec![vec![0], vec![0, 1]], refine });
    questions.set(0, QuestionsForKey { sets: vec![vec![1, 2, 3], vec![]], refine });
    both(|w| questions.write(w).expect("in memory"))
}

/// The text files of sets of phones, roots, maps and counts.
pub fn read_phones(input: &[u8]) {
    let text = || kaldi_io::KaldiReader::from_bytes("input", input.to_vec());
    let _ = (read_lists(&mut text()), read_sets(&mut text()), PhoneMap::read(&mut text()));
    let _ = read_counts(&mut text(), 5, 1, 1);
    let _ = read_roots(&mut text());
}

pub fn corpus_phones() -> Vec<Vec<u8>> {
    ["1\n2 3\n", "shared split 1 2\nnot-shared not-split 3\n", "1 2\n2 2\n3 1\n", "1 10\n0 1 5\n4 5 100\n"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}
