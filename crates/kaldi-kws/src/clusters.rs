//! Clusters: occurrences of a word at about the same time count as one (`ClusterLattice` in `kws/kws-functions.cc`).

use kaldi_fst::EPSILON;
use nnet3_decode::CompactLattice;
use rustc_hash::FxHashMap;

/// The first frame of something, and the one behind its last.
type Interval = (usize, usize);

/// Returns the number of the cluster of each arc of each state, from 1; arcs without a word have 0. `times` are those of the
/// states.
///
/// The heads of a word's clusters are its arcs that begin when the head before has ended. An arc belongs to the head with
/// which it has most frames in common, the first of equals.
pub fn clusters(lattice: &CompactLattice, times: &[usize]) -> Vec<Vec<i32>> {
    let mut heads: FxHashMap<i32, Vec<Interval>> = FxHashMap::default();
    for (s, state) in lattice.numbered() {
        for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
            heads.entry(arc.ilabel).or_default().push((times[s as usize], times[arc.next as usize]));
        }
    }
    for intervals in heads.values_mut() {
        intervals.sort_unstable();
        let mut end = 0;
        intervals.retain(|&(begin, own_end)| {
            let is_head = end <= begin;
            if is_head {
                end = own_end;
            }
            is_head
        });
    }
    let cluster = |word: i32, own: Interval| -> i32 {
        let (mut best, mut most) = (1, 0);
        for (number, head) in (1..).zip(&heads[&word]) {
            let overlap = own.1.min(head.1).saturating_sub(own.0.max(head.0));
            if overlap > most {
                (best, most) = (number, overlap);
            }
        }
        best
    };
    let of_state = |(s, state): (u32, &kaldi_fst::State<_>)| {
        let arcs: &Vec<nnet3_decode::CompactArc> = &state.arcs;
        arcs.iter()
            .map(|arc| match arc.ilabel {
                EPSILON => 0,
                word => cluster(word, (times[s as usize], times[arc.next as usize])),
            })
            .collect()
    };
    lattice.numbered().map(of_state).collect()
}
