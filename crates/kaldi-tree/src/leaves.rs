//! Merges leaves of trees with similar statistics, and renumbers them.

use crate::cluster::{self, bottom_up, compartments};
use crate::clusterable::Clusterable;
use crate::error::Result;
use crate::stats::{Part, by_leaf, sum};
use crate::{Message, Report};
use kaldi_hmm::event_map::EventMap;
use kaldi_io::log::{num, ratio};

/// Returns the tree with leaves mapped to other numbers. Leaves beyond the list, or mapped to `None`, stay unchanged.
pub fn renamed(tree: &EventMap, names: &[Option<usize>]) -> EventMap {
    tree.map_leaves(&mut |leaf| {
        let name = usize::try_from(leaf).ok().and_then(|leaf| *names.get(leaf)?);
        EventMap::Constant(name.map_or(leaf, |name| name as i32))
    })
}

/// The tree with its leaves numbered from 0 without gaps, in the order that they have; and how many there are.
pub fn renumber(tree: &EventMap) -> (EventMap, usize) {
    let leaves = tree.all_answers(&[]);
    let number = |leaf| leaves.binary_search(&leaf).unwrap_or_default() as i32;
    (tree.map_leaves(&mut |leaf| EventMap::Constant(number(leaf))), leaves.len())
}

/// Returns the leaves with statistics, and the sums of their statistics.
fn sums_by_leaf<C: Clusterable>(stats: &Part<C>, tree: &EventMap) -> Result<(Vec<usize>, Vec<C>)> {
    let parts = by_leaf(stats, tree)?;
    Ok(parts.iter().enumerate().filter_map(|(leaf, part)| Some((leaf, sum(part)?))).unzip())
}

/// Notes that leaf `from` becomes `to`.
fn note(names: &mut Vec<Option<usize>>, from: usize, to: usize) {
    if names.len() <= from {
        names.resize(from + 1, None);
    }
    names[from] = Some(to);
}

/// Merges leaves as long as the objective function falls by less than `thresh` each time, but none that are in different
/// leaves of `restriction`. The tree and how many leaves there are less.
pub fn merge<C: Clusterable>(
    tree: &EventMap,
    stats: &Part<C>,
    thresh: f32,
    restriction: &EventMap,
    report: Report,
) -> Result<(EventMap, usize)> {
    let mut names = Vec::new();
    let mut removed = 0;
    for part in by_leaf(stats, restriction)?.iter().filter(|part| !part.is_empty()) {
        let (leaves, sums) = sums_by_leaf(part, tree)?;
        let normalizer = cluster::sum_normalizers(&sums);
        let merged = bottom_up(&sums, thresh, 0);
        let combined = sums.len() - merged.clusters.len();
        report(Message::Verbose(
            2,
            format!(
                "ClusterBottomUp combined {combined} leaves and gave a likelihood change of {}, normalized = {}, normalizer = {}",
                num(merged.change.into()),
                ratio(merged.change, normalizer),
                num(normalizer.into())
            ),
        ));
        for (&leaf, &cluster) in leaves.iter().zip(&merged.assignments) {
            note(&mut names, leaf, leaves[cluster]);
        }
        removed += combined;
    }
    Ok((renamed(tree, &names), removed))
}

/// Merges the leaves that differ least until there are `required`, but none that are in different leaves of
/// `restriction`. The tree and how many leaves there are less: none if that is not possible.
pub(crate) fn merge_to<C: Clusterable>(
    tree: &EventMap,
    stats: &Part<C>,
    required: usize,
    restriction: &EventMap,
    report: Report,
) -> Result<(EventMap, usize)> {
    let parts = by_leaf(stats, restriction)?;
    if required < parts.len() {
        let message = "num-clusters-required is less than size of map. Not doing anything.";
        report(Message::Warning(message.to_owned()));
        return Ok((tree.clone(), 0));
    }
    // Leaves of the restriction without statistics keep a leaf each.
    let without = parts.iter().filter(|part| part.is_empty()).count();
    let required_with_stats = required - without;
    let (leaves, sums): (Vec<_>, Vec<_>) =
        parts.iter().map(|part| sums_by_leaf(part, tree)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let with_stats: usize = sums.iter().map(Vec::len).sum();
    let normalizer = sums.iter().fold(0.0, |total, sums| total + cluster::sum_normalizers(sums));
    report(Message::Verbose(1, format!("Number of non-empty clusters in map = {}", parts.len() - without)));
    report(Message::Verbose(1, format!("Number of non-empty clusters = {with_stats}")));
    if required_with_stats > with_stats {
        report(Message::Warning(format!(
            "Cannot get required num-clusters {required} as number of non-empty clusters required is larger than  \
             number of non-empty clusters: {required_with_stats} > {with_stats}"
        )));
        return Ok((tree.clone(), 0));
    }
    let (change, assignments) = compartments::bottom_up(&sums, required_with_stats);
    let mut names = Vec::new();
    let mut combined = 0;
    for (leaves, clusters) in leaves.iter().zip(&assignments) {
        combined += leaves.len() - clusters.iter().max().map_or(0, |largest| largest + 1);
        for (&leaf, &cluster) in leaves.iter().zip(clusters) {
            note(&mut names, leaf, leaves[cluster]);
        }
    }
    report(Message::Verbose(
        2,
        format!(
            "ClusterBottomUpCompartmentalized combined {combined} leaves and gave a likelihood change of {}, normalized = {}, normalizer = {}",
            num(change.into()),
            ratio(change, normalizer),
            num(normalizer.into())
        ),
    ));
    Ok((renamed(tree, &names), combined))
}
