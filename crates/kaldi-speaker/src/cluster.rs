//! Agglomerative clustering with average costs between clusters, bottom up, in one pass or two.
//!
//! The cost of two clusters is the mean of the costs of their pairs. The pair with the smallest cost is joined first,
//! and of equal costs the pair with the smallest numbers. Clusters are numbered in the order of their creation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};

/// Stopping rule of the clustering.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterOptions {
    /// Pairs with a larger cost are not joined.
    pub threshold: f32,
    /// Joining ends with this number of clusters.
    pub min_clusters: usize,
    /// Points of the largest cluster.
    pub max_size: usize,
    /// If there are more points, parts of at most that many are clustered first.
    pub first_pass_max: usize,
}

/// Returns the cluster of each point, from 1 on. Only costs above the diagonal are read by a single pass; two passes
/// also read costs below it.
///
/// # Errors
/// If the matrix is not square or has elements that are NaN, or an option is 0.
pub fn cluster(costs: &DenseMatrix<f32>, options: &ClusterOptions) -> Result<Vec<usize>> {
    let n = costs.rows;
    if n != costs.cols {
        return Err(Error::data(format!("expected a square matrix of scores, found {n}×{}", costs.cols)));
    }
    if let Some(i) = costs.data.iter().position(|x| x.is_nan()) {
        return Err(Error::data(format!("the score of points {} and {} is NaN", i / n, i % n)));
    }
    if options.min_clusters == 0 || options.max_size == 0 || options.first_pass_max < 2 {
        return Err(Error::options(format!(
            "clusters: at least {}, of at most {} points, {} points in the first pass; expected at least 1, 1, 2",
            options.min_clusters, options.max_size, options.first_pass_max
        )));
    }
    let single = |points: std::ops::Range<usize>| points.map(|i| vec![i]).collect::<Vec<_>>();
    let clusters = if n <= options.first_pass_max {
        Pass::new(single(0..n), |i, j| costs.row(i)[j]).run(options).0
    } else {
        two_passes(costs, options, single)
    };
    let mut labels = vec![0; n];
    for (label, points) in clusters.iter().enumerate() {
        points.iter().for_each(|&point| labels[point] = label + 1);
    }
    Ok(labels)
}

/// Clusters parts of the points, and then the clusters of all parts.
fn two_passes(
    costs: &DenseMatrix<f32>,
    options: &ClusterOptions,
    single: impl Fn(std::ops::Range<usize>) -> Vec<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let n = costs.rows;
    let size = n.div_ceil(n.div_ceil(options.first_pass_max));
    let first = ClusterOptions { min_clusters: options.min_clusters.saturating_mul(10), ..options.clone() };
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    // Sums of costs of clusters of the same part, and the first cluster of each cluster's part.
    let (mut part_of, mut sums): (Vec<usize>, Vec<(usize, DenseMatrix<f32>)>) = (Vec::new(), Vec::new());
    for begin in (0..n).step_by(size) {
        let points = begin..(begin + size).min(n);
        let pass = Pass::new(single(points), |i, j| costs.row(begin + i)[begin + j]);
        let (found, of_part) = pass.run(&first);
        part_of.extend(found.iter().map(|_| sums.len()));
        sums.push((clusters.len(), of_part));
        clusters.extend(found);
    }
    let cost = |i: usize, j: usize| {
        if part_of[i] == part_of[j] {
            let (first, of_part) = &sums[part_of[i]];
            return of_part.row(i - first)[j - first];
        }
        let mut sum = 0f32;
        for &later in &clusters[j] {
            clusters[i].iter().for_each(|&earlier| sum += costs.row(later)[earlier]);
        }
        sum
    };
    Pass::new(clusters.clone(), cost).run(options).0
}

/// A float that can be sorted; -0 equals 0.
#[derive(PartialEq)]
struct Cost(f32);

impl Eq for Cost {}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One pass over points that may themselves be clusters. A cluster lives in the slot of its first member.
struct Pass {
    /// Number and points of the cluster in each slot; `None` if it was joined to another.
    slots: Vec<Option<(usize, Vec<usize>)>>,
    /// Sums of costs of pairs of slots, symmetric.
    sums: DenseMatrix<f32>,
}

impl Pass {
    /// Prepares clusters with the sum of costs of each pair i < j.
    fn new(clusters: Vec<Vec<usize>>, cost: impl Fn(usize, usize) -> f32) -> Pass {
        let n = clusters.len();
        let mut sums = DenseMatrix::new(n, n);
        for i in 0..n {
            for j in i + 1..n {
                let sum = cost(i, j);
                sums.row_mut(i)[j] = sum;
                sums.row_mut(j)[i] = sum;
            }
        }
        Pass { slots: clusters.into_iter().enumerate().map(Some).collect(), sums }
    }

    fn size(&self, slot: usize) -> usize {
        self.slots[slot].as_ref().map_or(0, |(_, points)| points.len())
    }

    /// Returns the clusters by their numbers, and the sums of costs between them.
    fn run(mut self, options: &ClusterOptions) -> (Vec<Vec<usize>>, DenseMatrix<f32>) {
        let n = self.slots.len();
        let mut queue = BinaryHeap::new();
        // The slot of each number that was ever given.
        let mut slot_of: Vec<usize> = (0..n).collect();
        let offer = |queue: &mut BinaryHeap<_>, sum: f32, sizes: usize, first: usize, second: usize| {
            let cost = sum / sizes as f32;
            if cost <= options.threshold {
                queue.push(Reverse((Cost(cost), first as u32, second as u32)));
            }
        };
        for i in 0..n {
            for j in i + 1..n {
                offer(&mut queue, self.sums.row(i)[j], self.size(i) * self.size(j), i, j);
            }
        }
        let mut left = n;
        while left > options.min_clusters {
            let Some(Reverse((_, first, second))) = queue.pop() else {
                break;
            };
            let slots = [first, second].map(|number| slot_of[number as usize]);
            let lives = |slot: usize, number: u32| {
                self.slots[slot].as_ref().is_some_and(|(current, _)| *current == number as usize)
            };
            let alive = lives(slots[0], first) && lives(slots[1], second);
            if !alive || self.size(slots[0]) + self.size(slots[1]) > options.max_size {
                continue;
            }
            let [into, from] = slots;
            let number = slot_of.len();
            slot_of.push(into);
            if let Some((_, joined)) = self.slots[from].take()
                && let Some((current, points)) = &mut self.slots[into]
            {
                *current = number;
                points.extend(joined);
            }
            left -= 1;
            for other in 0..n {
                let Some((other_number, _)) = self.slots[other].as_ref().filter(|_| other != into) else {
                    continue;
                };
                let sum = self.sums.row(into)[other] + self.sums.row(from)[other];
                offer(&mut queue, sum, self.size(into) * self.size(other), *other_number, number);
                self.sums.row_mut(into)[other] = sum;
                self.sums.row_mut(other)[into] = sum;
            }
        }
        let mut order: Vec<usize> = (0..n).filter(|&slot| self.slots[slot].is_some()).collect();
        order.sort_by_key(|&slot| self.slots[slot].as_ref().map(|(number, _)| *number));
        let mut sums = DenseMatrix::new(order.len(), order.len());
        for (i, &slot) in order.iter().enumerate() {
            for (j, &other) in order.iter().enumerate() {
                sums.row_mut(i)[j] = self.sums.row(slot)[other];
            }
        }
        (
            order.into_iter().filter_map(|slot| self.slots[slot].take().map(|(_, points)| points)).collect(),
            sums,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(threshold: f32) -> ClusterOptions {
        ClusterOptions { threshold, min_clusters: 1, max_size: usize::MAX, first_pass_max: 1000 }
    }

    /// Costs without ties.
    fn sample(n: usize) -> DenseMatrix<f32> {
        let mut costs = DenseMatrix::new(n, n);
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (i.min(j), i.max(j));
                costs.row_mut(i)[j] =
                    ((a * 7919 + b * 104_729) % 1009) as f32 / 1009.0 + (a + b) as f32 * 1e-4;
            }
        }
        costs
    }

    /// Joins the pair of clusters with the smallest mean cost, which is computed anew from all points in each step.
    fn slow(costs: &DenseMatrix<f32>, options: &ClusterOptions) -> Vec<Vec<usize>> {
        let mut clusters: Vec<Vec<usize>> = (0..costs.rows).map(|i| vec![i]).collect();
        loop {
            let mut best: Option<(f64, usize, usize)> = None;
            for i in 0..clusters.len() {
                for j in i + 1..clusters.len() {
                    let pairs = clusters[i].iter().flat_map(|&a| clusters[j].iter().map(move |&b| (a, b)));
                    let sum: f64 = pairs.map(|(a, b)| f64::from(costs.row(a.min(b))[a.max(b)])).sum();
                    let size = clusters[i].len() + clusters[j].len();
                    let cost = sum / (clusters[i].len() * clusters[j].len()) as f64;
                    let allowed = cost <= f64::from(options.threshold) && size <= options.max_size;
                    if allowed && best.is_none_or(|(least, ..)| cost < least) {
                        best = Some((cost, i, j));
                    }
                }
            }
            match best {
                Some((_, i, j)) if clusters.len() > options.min_clusters => {
                    let second = clusters.remove(j);
                    let mut first = clusters.remove(i);
                    first.extend(second);
                    clusters.push(first);
                }
                _ => return clusters,
            }
        }
    }

    #[test]
    fn clusters_are_those_of_the_definition() {
        let costs = sample(30);
        let few = ClusterOptions { min_clusters: 4, ..options(f32::MAX) };
        let small = ClusterOptions { max_size: 5, ..few.clone() };
        for options in [options(0.2), options(0.45), few, small] {
            let labels = cluster(&costs, &options).unwrap();
            let mut expected = vec![0; 30];
            for (label, points) in slow(&costs, &options).iter().enumerate() {
                points.iter().for_each(|&point| expected[point] = label + 1);
            }
            assert_eq!(labels, expected, "{options:?}");
        }
    }

    #[test]
    fn two_passes_find_separate_groups() {
        // Three groups of points on a line, in turn, so that every part has points of each.
        let place = |i: usize| (i % 3) as f32 * 10.0 + (i as f32).sin() * 0.1;
        let mut costs = DenseMatrix::new(40, 40);
        for i in 0..40 {
            (0..40).for_each(|j| costs.row_mut(i)[j] = (place(i) - place(j)).abs());
        }
        let labels = cluster(&costs, &ClusterOptions { first_pass_max: 15, ..options(2.0) }).unwrap();
        for (i, label) in labels.iter().enumerate() {
            assert_eq!(*label == labels[0], i % 3 == 0, "{labels:?}");
        }
        assert_eq!(labels.iter().max(), Some(&3));
    }

    #[test]
    fn wrong_matrices_and_options() {
        let message = |m: &DenseMatrix<f32>| cluster(m, &options(0.0)).unwrap_err().to_string();
        assert!(message(&DenseMatrix::new(2, 3)).contains("2×3"));
        assert!(message(&DenseMatrix::from_rows(&[[0.0, f32::NAN], [0.0, 0.0]])).contains("0 and 1 is NaN"));
        assert!(cluster(&sample(3), &ClusterOptions { min_clusters: 0, ..options(0.0) }).is_err());
        assert_eq!(cluster(&DenseMatrix::new(1, 1), &options(0.0)).unwrap(), [1]);
    }
}
