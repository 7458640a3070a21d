//! Agglomerative clustering of several separate sets of points at once.

use super::bottom_up::Merging;
use super::order::Heap;
use crate::clusterable::Clusterable;

/// Merges the nearest clusters of all compartments until there are `min_clusters` altogether. The change of the
/// objective function, negative or 0, and for each compartment the cluster of each point.
pub fn bottom_up<C: Clusterable>(compartments: &[Vec<C>], min_clusters: usize) -> (f32, Vec<Vec<usize>>) {
    // Elements with one distance are equal here, and the heap decides which comes first.
    let mut queue = Heap::new(|a: &Candidate, b: &Candidate| a.distance > b.distance);
    let mut all: Vec<Merging<C>> = compartments.iter().map(|points| Merging::new(points)).collect();
    let mut count: usize = compartments.iter().map(Vec::len).sum();
    let mut change = 0.0;
    let push_all = |all: &mut [Merging<C>], queue: &mut Heap<Candidate, _>| {
        for (compartment, merging) in all.iter_mut().enumerate() {
            merging.for_all_pairs(|i, j, distance| {
                if distance < f32::INFINITY {
                    queue.push(Candidate { distance, compartment, i, j });
                }
            });
        }
    };
    push_all(&mut all, &mut queue);
    while count > min_clusters {
        let Some(Candidate { distance, compartment, i, j }) = queue.pop() else { break };
        let merging = &mut all[compartment];
        if !merging.can_merge(i, j, distance) {
            continue;
        }
        change += -merging.merge(i, j);
        count -= 1;
        for k in 0..merging.len() {
            if k == i || !merging.is_alive(k) {
                continue;
            }
            let (high, low) = (i.max(k), i.min(k));
            let distance = merging.update_distance(high, low);
            if distance < f32::INFINITY {
                queue.push(Candidate { distance, compartment, i: high, j: low });
            }
        }
        if queue.len() >= count * count {
            queue.clear();
            push_all(&mut all, &mut queue);
        }
    }
    (change, all.into_iter().map(|merging| merging.finish().1).collect())
}

/// Two clusters, j < i, that could be merged.
struct Candidate {
    distance: f32,
    compartment: usize,
    i: usize,
    j: usize,
}
