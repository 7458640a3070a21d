//! The order of arcs.

use crate::fst::{Arc, Fst};
use crate::ops::labels::Side;
use crate::weight::Weight;

/// Parts of at most this many arcs are left to a stable sort.
const SMALL: usize = 16;

/// Sorts the arcs of each state by one label. Arcs with this label equal are sorted by the other.
///
/// Arcs with both labels equal get the same order as in OpenFst built with GNU's C++ library, so files are the same
/// byte for byte. That library uses quick sort with the median of three, and insertion sort for small parts. It uses
/// heap sort in rare cases; there such arcs keep their order here.
pub fn sort_arcs<W: Weight>(fst: &mut Fst<W>, on: Side) {
    for state in &mut fst.states {
        match on {
            Side::Input => sort(&mut state.arcs, |arc| (arc.ilabel, arc.olabel)),
            Side::Output => sort(&mut state.arcs, |arc| (arc.olabel, arc.ilabel)),
        }
    }
}

fn sort<W>(arcs: &mut [Arc<W>], key: impl Fn(&Arc<W>) -> (i32, i32)) {
    if arcs.len() > SMALL {
        partition_all(arcs, 2 * arcs.len().ilog2(), &key);
    }
    arcs.sort_by_key(key);
}

/// Partitions until the parts are small, or `depth` times.
fn partition_all<W>(mut arcs: &mut [Arc<W>], mut depth: u32, key: &impl Fn(&Arc<W>) -> (i32, i32)) {
    while arcs.len() > SMALL && depth > 0 {
        depth -= 1;
        let middle = partition(arcs, key);
        let (less, more) = arcs.split_at_mut(middle);
        partition_all(more, depth, key);
        arcs = less;
    }
}

/// Partitions arcs by the median of three: smaller ones first. Returns the beginning of the second part.
fn partition<W>(arcs: &mut [Arc<W>], key: &impl Fn(&Arc<W>) -> (i32, i32)) -> usize {
    let (a, b, c) = (1, arcs.len() / 2, arcs.len() - 1);
    let less = |arcs: &[Arc<W>], i: usize, j: usize| key(&arcs[i]) < key(&arcs[j]);
    let median = match (less(arcs, a, b), less(arcs, b, c), less(arcs, a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    arcs.swap(0, median);
    let (mut first, mut last) = (1, arcs.len());
    loop {
        while less(arcs, first, 0) {
            first += 1;
        }
        last -= 1;
        while less(arcs, 0, last) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        arcs.swap(first, last);
        first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_and_complete() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let mut fst = Fst::default();
            fst.add_state();
            let count = rng.usize(0..200);
            for weight in 0..count {
                let (ilabel, olabel) = (rng.i32(0..6), rng.i32(0..6));
                fst.states[0].arcs.push(Arc { ilabel, olabel, weight: weight as f32, next: 0 });
            }
            sort_arcs(&mut fst, Side::Output);
            let arcs = &fst.states[0].arcs;
            assert!(arcs.is_sorted_by_key(|arc| (arc.olabel, arc.ilabel)));
            let mut weights: Vec<f32> = arcs.iter().map(|arc| arc.weight).collect();
            weights.sort_by(f32::total_cmp);
            assert!(weights.into_iter().eq((0..count).map(|weight| weight as f32)));
        }
    }
}
