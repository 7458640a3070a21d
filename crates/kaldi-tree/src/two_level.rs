//! Trees of two levels: a small tree, and a larger one that splits its leaves further.

use crate::build::{BuildOptions, build_tree, phones_not_to_split};
use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::leaves::{merge, renamed, renumber};
use crate::phone_sets::Root;
use crate::questions::Questions;
use crate::split::split_leaves;
use crate::stats::{Part, TreeStats, by_leaf, describe, filter, objf_of_tree, sum_normalizers};
use crate::{Message, Report};
use kaldi_hmm::HmmTopology;
use kaldi_hmm::event_map::EventMap;
use kaldi_io::log::{num, ratio};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevelOptions {
    /// Position of the central phone in an event.
    pub central_position: usize,
    /// Largest number of leaves of the small tree.
    pub max_leaves_first: i32,
    /// Largest number of leaves of the larger tree.
    pub max_leaves_second: i32,
    /// True to merge leaves of the larger tree while the loss is below the gain of the last split.
    pub cluster_leaves: bool,
}

/// The larger tree, and the leaf of the small tree for each of its leaves. Leaves with one leaf of the small tree have
/// consecutive numbers.
pub fn build_two_level<C: Clusterable>(
    stats: &TreeStats<C>,
    roots: &[Root],
    questions: &Questions,
    topology: &HmmTopology,
    options: &TwoLevelOptions,
    report: Report,
) -> Result<(EventMap, Vec<i32>)> {
    report(Message::Log("****BuildTreeTwoLevel: building first level tree".to_owned()));
    let first = BuildOptions {
        central_position: options.central_position,
        thresh: 0.0,
        max_leaves: options.max_leaves_first,
        cluster_thresh: 0.0,
        round_num_leaves: true,
    };
    let small = build_tree(stats, roots, questions, topology, &first, report)?;
    report(Message::Log("****BuildTreeTwoLevel: done building first level tree".to_owned()));
    let all = stats.all();
    let splittable = filter(&all, options.central_position as i32, &phones_not_to_split(roots), false)?;
    let num_small = small.largest_answer().map_or(0, |leaf| leaf as usize + 1);
    let splits =
        split_leaves(&small, &splittable, questions, 0.0, options.max_leaves_second, num_small, report)?;
    report(Message::Log(format!(
        "Building second-level tree: increased #leaves from {num_small} to {}, smallest split was {}",
        splits.num_leaves,
        num(splits.smallest.into())
    )));
    let frames = sum_normalizers(&all);
    report(Message::Log(format!(
        "After second decision tree split, num-leaves = {}, like-impr = {} per frame over {} frames.",
        splits.num_leaves,
        ratio(splits.improvement, frames),
        num(frames.into())
    )));
    let mut tree = splits.tree;
    if options.cluster_leaves {
        report(Message::Log("Clustering leaves of larger tree.".to_owned()));
        let before = objf_of_tree(&all, &tree)?;
        let (merged, removed) = merge(&tree, &all, splits.smallest, &small, report)?;
        report(Message::Log(format!("BuildTreeTwoLevel: removed {removed} leaves.")));
        let (renumbered, num_leaves) = renumber(&merged);
        let change = (objf_of_tree(&all, &renumbered)? - before) / frames;
        let change = num(change.into());
        report(Message::Log(format!("Objf change due to clustering {change} per frame.")));
        report(Message::Log(format!("Num-leaves now {num_leaves}")));
        tree = renumbered;
    }
    let leaf_map = leaf_map(&small, &tree, &all, report)?;
    let mut order: Vec<usize> = (0..leaf_map.len()).collect();
    order.sort_by_key(|&leaf| (leaf_map[leaf], leaf));
    let mut numbers = vec![None; leaf_map.len()];
    order.iter().enumerate().for_each(|(new, &old)| numbers[old] = Some(new));
    Ok((renamed(&tree, &numbers), order.iter().map(|&old| leaf_map[old]).collect()))
}

/// Returns the leaf of the small tree for each leaf of the larger one, by their statistics. A leaf without statistics
/// gets a leaf of the small tree without statistics; after those have been used up, it gets 0.
fn leaf_map<C>(small: &EventMap, large: &EventMap, stats: &Part<C>, report: Report) -> Result<Vec<i32>> {
    let count = |tree: &EventMap| tree.largest_answer().map_or(0, |leaf| leaf as usize + 1);
    let mut map: Vec<Option<i32>> = vec![None; count(large)];
    let parts = by_leaf(stats, small)?;
    let mut unseen = Vec::new();
    for leaf in 0..count(small) {
        let part = parts.get(leaf).map_or(&[][..], |part| &part[..]);
        if part.is_empty() {
            let message =
                format!("No stats mapping to {leaf} in small tree. Continuing but this is a serious error.");
            report(Message::Warning(message));
            unseen.push(leaf as i32);
        }
        for (event, _) in part {
            let no_leaf = || Error::stats(format!("the tree has no leaf for the event {}", describe(event)));
            let large_leaf = large.map(event).ok_or_else(no_leaf)? as usize;
            if map[large_leaf].replace(leaf as i32).is_some_and(|other| other != leaf as i32) {
                return Err(Error::stats(format!(
                    "leaf {large_leaf} of the larger tree is in two leaves of the small one"
                )));
            }
        }
    }
    let mut full = Vec::new();
    for (leaf, small_leaf) in map.into_iter().enumerate() {
        full.push(small_leaf.unwrap_or_else(|| {
            let found = unseen.pop();
            let message = format!("In ComputeTreeMapping, could not get mapping from leaf {leaf}");
            report(Message::Warning(message));
            report(Message::Warning(match found {
                Some(found) => format!("Assigning it to unseen small-tree leaf {found}"),
                None => "Could not find any unseen small-tree leaf to assign it to.  Making it zero, but this is bad. "
                    .to_owned(),
            }));
            found.unwrap_or(0)
        }));
    }
    Ok(full)
}
