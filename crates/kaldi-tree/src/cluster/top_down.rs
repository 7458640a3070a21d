//! Divisive clustering: k-means divides the cluster with the largest gain.

use super::k_means::{KMeansOptions, k_means};
use crate::clusterable::Clusterable;
use crate::{Message, Rand, Report};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeClusterOptions {
    pub k_means: KMeansOptions,
    /// Into how many clusters one is divided.
    pub branch_factor: usize,
    /// Divisions that improve the objective function by less are not made.
    pub thresh: f32,
}

impl Default for TreeClusterOptions {
    fn default() -> TreeClusterOptions {
        let k_means = KMeansOptions { verbose: false, ..KMeansOptions::default() };
        TreeClusterOptions { k_means, branch_factor: 2, thresh: 0.0 }
    }
}

/// A tree of clusters. They are numbered: leaves first, the root last, children before their parents.
#[derive(Debug, Clone, PartialEq)]
pub struct Hierarchy<C> {
    /// The improvement of the objective function over one single cluster.
    pub improvement: f32,
    pub clusters: Vec<C>,
    /// The leaf of each point.
    pub assignments: Vec<usize>,
    /// The parent of each cluster; the root is its own.
    pub parents: Vec<usize>,
    pub num_leaves: usize,
}

/// Divides points into at most `max_clusters` clusters. Returns `None` if there are no points.
///
/// # Panics
/// If `branch_factor` is below 2.
pub fn tree_cluster<C: Clusterable>(
    points: &[C],
    max_clusters: usize,
    options: &TreeClusterOptions,
    rand: Rand,
    report: Report,
) -> Option<Hierarchy<C>> {
    assert!(options.branch_factor > 1, "a division into at least two clusters");
    let total = super::sum(points)?;
    let mut growing = Growing { points, options, nodes: Vec::new(), leaves: Vec::new(), inner: Vec::new() };
    growing.add_leaf(total, None, (0..points.len()).collect());
    growing.find_division(0, rand, report);
    let mut improvement = 0.0;
    while growing.leaves.len() < max_clusters {
        let Some((gain, node)) = growing.best_division() else { break };
        improvement += gain;
        for child in growing.divide(node) {
            growing.find_division(child, rand, report);
        }
    }
    Some(growing.finish(improvement))
}

struct Node<C> {
    total: C,
    parent: Option<usize>,
    /// Indexes of points.
    points: Vec<usize>,
    /// The improvement, the clusters and the cluster of each point, if the division is worthwhile.
    division: Option<(f32, Vec<C>, Vec<usize>)>,
}

struct Growing<'a, C> {
    points: &'a [C],
    options: &'a TreeClusterOptions,
    nodes: Vec<Node<C>>,
    /// Indexes of nodes.
    leaves: Vec<usize>,
    /// Indexes of nodes, as they were divided.
    inner: Vec<usize>,
}

impl<C: Clusterable> Growing<'_, C> {
    fn add_leaf(&mut self, total: C, parent: Option<usize>, points: Vec<usize>) -> usize {
        self.nodes.push(Node { total, parent, points, division: None });
        self.leaves.push(self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn find_division(&mut self, node: usize, rand: Rand, report: Report) {
        let indexes = &self.nodes[node].points;
        let branches = self.options.branch_factor;
        if indexes.is_empty() {
            report(Message::Warning("Warning: tree clustering: leaf with no data".to_owned()));
        }
        // If there are fewer points than branches, the reference fails.
        if indexes.len() < branches {
            return;
        }
        let points: Vec<C> = indexes.iter().map(|&point| self.points[point].clone()).collect();
        let division = k_means(&points, branches, &self.options.k_means, rand, report);
        if division.0 > self.options.thresh {
            self.nodes[node].division = Some(division);
        }
    }

    /// Returns the largest improvement, and its position. Among equal improvements, the newest node counts.
    fn best_division(&self) -> Option<(f32, usize)> {
        let divisions = self.leaves.iter().filter_map(|&n| Some((self.nodes[n].division.as_ref()?.0, n)));
        divisions.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    }

    /// Makes leaves of a leaf's division; the first takes its place among the leaves. Their indexes.
    fn divide(&mut self, node: usize) -> Vec<usize> {
        let Some((_, clusters, assignments)) = self.nodes[node].division.take() else { return Vec::new() };
        let points = std::mem::take(&mut self.nodes[node].points);
        let mut parts = vec![Vec::new(); clusters.len()];
        points.iter().zip(assignments).for_each(|(&point, cluster)| parts[cluster].push(point));
        let children: Vec<usize> = clusters
            .into_iter()
            .zip(parts)
            .map(|(total, points)| self.add_leaf(total, Some(node), points))
            .collect();
        if let Some(place) = self.leaves.iter().position(|&leaf| leaf == node) {
            let first = self.leaves.len() - children.len();
            self.leaves[place] = children[0];
            self.leaves.remove(first);
        }
        self.inner.push(node);
        children
    }

    fn finish(self, improvement: f32) -> Hierarchy<C> {
        let order: Vec<usize> = self.leaves.iter().chain(self.inner.iter().rev()).copied().collect();
        let mut numbers = vec![0; self.nodes.len()];
        order.iter().enumerate().for_each(|(number, &node)| numbers[node] = number);
        let mut assignments = vec![0; self.points.len()];
        for (leaf, &node) in self.leaves.iter().enumerate() {
            self.nodes[node].points.iter().for_each(|&point| assignments[point] = leaf);
        }
        let parents = order.iter().map(|&node| numbers[self.nodes[node].parent.unwrap_or(node)]).collect();
        let mut totals: Vec<Option<C>> = self.nodes.into_iter().map(|node| Some(node.total)).collect();
        let clusters = order.iter().filter_map(|&node| totals[node].take()).collect();
        Hierarchy { improvement, clusters, assignments, parents, num_leaves: self.leaves.len() }
    }
}
