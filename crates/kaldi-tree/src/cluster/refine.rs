//! Moving points to other clusters as long as that helps.

use super::order::nth_element;
use crate::clusterable::Clusterable;

/// Number of visits to all points, and number of clusters that each point considers: its own and the nearest ones at
/// the beginning. With 0 iterations the clusters stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefineOptions {
    pub num_iters: i32,
    pub top_n: i32,
}

impl Default for RefineOptions {
    fn default() -> RefineOptions {
        RefineOptions { num_iters: 100, top_n: 5 }
    }
}

/// Moves points between clusters, which must be the sums of their assigned points. Returns the improvement of the
/// objective function.
pub fn refine<C: Clusterable>(
    points: &[C],
    clusters: &mut [C],
    assignments: &mut [usize],
    options: RefineOptions,
) -> f32 {
    let top_n = usize::try_from(options.top_n).unwrap_or(0).min(clusters.len());
    if options.num_iters <= 0 || top_n <= 1 {
        return 0.0;
    }
    let mut refining = Refining::new(points, clusters, assignments, top_n);
    for _ in 0..options.num_iters {
        let before = refining.time;
        for point in 0..points.len() {
            refining.visit(point);
        }
        if refining.time == before {
            break;
        }
    }
    refining.improvement
}

/// A cluster that a point considers.
#[derive(Clone, Copy)]
struct Choice {
    cluster: usize,
    /// Time at which `objf` was computed, in moves of points.
    time: u32,
    /// The objective function of the cluster with the point, or without it if it is the point's own.
    objf: f32,
}

struct Refining<'a, C> {
    points: &'a [C],
    clusters: &'a mut [C],
    assignments: &'a mut [usize],
    /// [`Self::top_n`] for each point.
    choices: Vec<Choice>,
    top_n: usize,
    /// The choice of each point that is its own cluster.
    own: Vec<usize>,
    /// The time of each cluster's last change.
    changed: Vec<u32>,
    objf: Vec<f32>,
    time: u32,
    improvement: f32,
}

impl<'a, C: Clusterable> Refining<'a, C> {
    fn new(points: &'a [C], clusters: &'a mut [C], assignments: &'a mut [usize], top_n: usize) -> Self {
        let objf: Vec<f32> = clusters.iter().map(C::objf).collect();
        let mut choices = Vec::with_capacity(points.len() * top_n);
        let mut distances: Vec<(f32, usize)> = Vec::new();
        for (point, &own) in points.iter().zip(assignments.iter()) {
            distances.clear();
            for (cluster, stats) in clusters.iter().enumerate() {
                if cluster != own {
                    distances.push((objf[cluster] - stats.objf_plus(point), cluster));
                }
            }
            nth_element(&mut distances, top_n - 2);
            for &(distance, cluster) in &distances[..top_n - 1] {
                choices.push(Choice { cluster, time: 0, objf: -(distance - objf[cluster]) });
            }
            choices.push(Choice { cluster: own, time: 0, objf: clusters[own].objf_minus(point) });
        }
        Refining {
            own: vec![top_n - 1; points.len()],
            changed: vec![0; clusters.len()],
            points,
            clusters,
            assignments,
            choices,
            top_n,
            objf,
            time: 0,
            improvement: 0.0,
        }
    }

    /// Moves a point to the first of its choices that is better than its cluster.
    fn visit(&mut self, point: usize) {
        let own_index = self.own[point];
        let own = self.update(point, own_index);
        for index in (0..self.top_n).filter(|&index| index != own_index) {
            let other = self.update(point, index);
            let gain = other.objf + own.objf - self.objf[other.cluster] - self.objf[own.cluster];
            if gain > 0.0 {
                self.improvement += gain;
                self.time += 1;
                self.own[point] = index;
                self.assignments[point] = other.cluster;
                self.clusters[own.cluster].sub(&self.points[point]);
                self.clusters[other.cluster].add(&self.points[point]);
                for cluster in [own.cluster, other.cluster] {
                    self.objf[cluster] = self.clusters[cluster].objf();
                    self.changed[cluster] = self.time;
                }
                return;
            }
        }
    }

    /// A choice of a point, up to date.
    fn update(&mut self, point: usize, index: usize) -> Choice {
        let choice = &mut self.choices[point * self.top_n + index];
        if choice.time < self.changed[choice.cluster] {
            let (cluster, point_stats) = (&self.clusters[choice.cluster], &self.points[point]);
            let is_own = index == self.own[point];
            choice.time = self.time;
            choice.objf =
                if is_own { cluster.objf_minus(point_stats) } else { cluster.objf_plus(point_stats) };
        }
        *choice
    }
}
