//! Agglomerative clustering: the two clusters that are nearest to each other are merged, as long as there are such.

use super::order::Heap;
use crate::clusterable::Clusterable;

/// Assignment of the points to clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters<C> {
    /// The change of the objective function: negative or 0.
    pub change: f32,
    pub clusters: Vec<C>,
    /// The cluster of each point.
    pub assignments: Vec<usize>,
}

/// Merges the nearest clusters until `min_clusters` are left, or until all distances exceed `max_distance`.
pub fn bottom_up<C: Clusterable>(points: &[C], max_distance: f32, min_clusters: usize) -> Clusters<C> {
    let mut queue = Heap::new(|a: &Pair, b: &Pair| b < a);
    let mut merging = Merging::new(points);
    let mut change = 0.0;
    merging.for_all_pairs(|i, j, distance| {
        if distance <= max_distance {
            queue.push((distance, (i as u32, j as u32)));
        }
    });
    let crowd = points.len() * points.len();
    let mut count = points.len();
    while count > min_clusters {
        let Some((distance, (i, j))) = queue.pop() else { break };
        let (i, j) = (i as usize, j as usize);
        if !merging.can_merge(i, j, distance) {
            continue;
        }
        change -= merging.merge(i, j);
        count -= 1;
        for k in 0..points.len() {
            if k == i || !merging.is_alive(k) {
                continue;
            }
            let (high, low) = (i.max(k), i.min(k));
            let distance = merging.update_distance(high, low);
            if distance < max_distance {
                queue.push((distance, (high as u32, low as u32)));
            }
            if queue.len() >= crowd {
                // Most of it is out of date.
                queue.clear();
                merging.for_known_pairs(|i, j, distance| {
                    if distance <= max_distance {
                        queue.push((distance, (i as u32, j as u32)));
                    }
                });
            }
        }
    }
    let (clusters, assignments) = merging.finish();
    Clusters { change, clusters, assignments }
}

type Pair = (f32, (u32, u32));

/// Clusters that are merged two at a time. An entry of the queue is valid if its distance is still the distance of its
/// two clusters. The reference tests this with a tolerance, so an entry whose distance has hardly changed is valid too.
pub(super) struct Merging<C> {
    /// A cluster that has been merged into another one is `None`.
    clusters: Vec<Option<C>>,
    objf: Vec<f32>,
    merged_into: Vec<usize>,
    /// The distance of i and j < i is at i (i - 1) / 2 + j.
    distances: Vec<f32>,
}

impl<C: Clusterable> Merging<C> {
    pub fn new(points: &[C]) -> Merging<C> {
        Merging {
            clusters: points.iter().cloned().map(Some).collect(),
            objf: points.iter().map(C::objf).collect(),
            merged_into: (0..points.len()).collect(),
            distances: vec![0.0; points.len() * points.len().saturating_sub(1) / 2],
        }
    }

    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    pub(crate) fn is_alive(&self, i: usize) -> bool {
        self.clusters[i].is_some()
    }

    /// Works out the distances of all pairs of clusters, and tells them: i, j < i, distance.
    pub(crate) fn for_all_pairs(&mut self, mut f: impl FnMut(usize, usize, f32)) {
        for i in 0..self.len() {
            for j in 0..i {
                if self.is_alive(i) && self.is_alive(j) {
                    let distance = self.update_distance(i, j);
                    f(i, j, distance);
                }
            }
        }
    }

    /// Does the same as `for_all_pairs` with distances that are already known.
    pub(crate) fn for_known_pairs(&self, mut f: impl FnMut(usize, usize, f32)) {
        for i in 0..self.len() {
            for j in 0..i {
                if self.is_alive(i) && self.is_alive(j) {
                    f(i, j, self.distances[index(i, j)]);
                }
            }
        }
    }

    /// Works out the distance of two clusters i and j, j < i.
    pub(crate) fn update_distance(&mut self, i: usize, j: usize) -> f32 {
        let (Some(a), Some(b)) = (&self.clusters[i], &self.clusters[j]) else { return f32::INFINITY };
        let distance = a.distance(self.objf[i], b, self.objf[j]);
        self.distances[index(i, j)] = distance;
        distance
    }

    /// True if both clusters still exist at this distance.
    pub(crate) fn can_merge(&self, i: usize, j: usize, distance: f32) -> bool {
        let known = self.distances[index(i, j)];
        self.is_alive(i)
            && self.is_alive(j)
            && f64::from((known - distance).abs()) <= 1e-5 * f64::from(distance.abs())
    }

    /// Merges j into i; their distance.
    pub fn merge(&mut self, i: usize, j: usize) -> f32 {
        if let (Some(other), Some(cluster)) = (self.clusters[j].take(), &mut self.clusters[i]) {
            cluster.add(&other);
            self.objf[i] = cluster.objf();
        }
        self.merged_into[j] = i;
        self.distances[index(i, j)]
    }

    /// Returns the remaining clusters, and the cluster of each point.
    pub fn finish(self) -> (Vec<C>, Vec<usize>) {
        let mut numbers = Vec::with_capacity(self.len());
        let mut count = 0;
        for cluster in &self.clusters {
            numbers.push(count);
            count += usize::from(cluster.is_some());
        }
        let assignments = (0..self.len()).map(|mut i| {
            while self.merged_into[i] != i {
                i = self.merged_into[i];
            }
            numbers[i]
        });
        let assignments = assignments.collect();
        (self.clusters.into_iter().flatten().collect(), assignments)
    }
}

fn index(i: usize, j: usize) -> usize {
    i * (i - 1) / 2 + j
}
