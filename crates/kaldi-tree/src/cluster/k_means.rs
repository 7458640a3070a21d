//! k-means: points are distributed to clusters pseudo-randomly, and then move to the best cluster.

use super::refine::{RefineOptions, refine};
use super::{add_to, sum, sum_normalizers, sum_objf};
use crate::clusterable::Clusterable;
use crate::{Message, Rand, Report};
use kaldi_io::log::{num, ratio};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KMeansOptions {
    pub refine: RefineOptions,
    pub num_iters: usize,
    /// Number of runs of the whole algorithm, at least one; the best result is returned.
    pub num_tries: usize,
    /// True to report each iteration.
    pub verbose: bool,
}

impl Default for KMeansOptions {
    fn default() -> KMeansOptions {
        KMeansOptions { refine: RefineOptions::default(), num_iters: 20, num_tries: 2, verbose: true }
    }
}

/// The improvement of the objective function over a single cluster, the clusters, and the cluster of each point.
pub(crate) type KMeans<C> = (f32, Vec<C>, Vec<usize>);

/// Divides points into `num_clusters` clusters.
///
/// # Panics
/// If there are fewer points than clusters, or no clusters.
pub(crate) fn k_means<C: Clusterable>(
    points: &[C],
    num_clusters: usize,
    options: &KMeansOptions,
    rand: Rand,
    report: Report,
) -> KMeans<C> {
    assert!((1..=points.len()).contains(&num_clusters), "each cluster has a point");
    let mut best = once(points, num_clusters, options, rand, report);
    for _ in 1..options.num_tries {
        let other = once(points, num_clusters, options, rand, report);
        if other.0 > best.0 {
            best = other;
        }
    }
    best
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn once<C: Clusterable>(
    points: &[C],
    num_clusters: usize,
    options: &KMeansOptions,
    rand: Rand,
    report: Report,
) -> KMeans<C> {
    let count = points.len();
    let mut skip = 1;
    if count > 1 {
        skip = 1 + usize::try_from(rand()).unwrap_or(0) % (count - 1);
        while greatest_common_divisor(skip, count) != 1 {
            skip = if skip == count - 1 { 1 } else { skip + 1 };
        }
    }
    let mut clusters: Vec<Option<C>> = vec![None; num_clusters];
    let mut assignments = vec![0; count];
    for n in 0..count {
        let (point, cluster) = (n * skip % count, n % num_clusters);
        clusters[cluster] = add_to(clusters[cluster].take(), &points[point]);
        assignments[point] = cluster;
    }
    let mut clusters: Vec<C> = clusters.into_iter().flatten().collect();
    let normalizer = sum_normalizers(&clusters);
    let one_cluster = sum(&clusters).map_or(0.0, |all| all.objf());
    let mut improvement = sum_objf(&clusters) - one_cluster;
    for iteration in 0..options.num_iters {
        let before = if options.verbose { sum_objf(&clusters) } else { 0.0 };
        let gain = refine(points, &mut clusters, &mut assignments, options.refine);
        improvement += gain;
        if options.verbose {
            let after = sum_objf(&clusters);
            report(Message::Log(format!(
                "ClusterKMeans: on iteration {iteration}, objf before = {}, impr = {}, objf after = {}, normalized by {} = {}",
                num(before.into()),
                num(gain.into()),
                num(after.into()),
                num(normalizer.into()),
                ratio(after, normalizer)
            )));
        }
        if gain == 0.0 {
            break;
        }
    }
    (improvement, clusters, assignments)
}
