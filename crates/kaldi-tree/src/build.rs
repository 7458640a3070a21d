//! A tree from statistics and questions (`tree/build-tree.cc`).

use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::leaves::{merge, merge_to, renumber};
use crate::phone_sets::Root;
use crate::questions::Questions;
use crate::split::split_leaves;
use crate::stats::{TreeStats, filter, objf_of_tree, sum_normalizers, values_of};
use crate::stub;
use crate::{Message, Report};
use kaldi_hmm::HmmTopology;
use kaldi_hmm::event_map::EventMap;
use kaldi_io::log::{num, ratio};

/// The number of leaves is made a multiple of this.
const ROUND_TO: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildOptions {
    /// Position of the central phone in an event.
    pub central_position: usize,
    /// Splits must improve the log-likelihood by more than this.
    pub thresh: f32,
    /// If it is positive, splitting stops at this number of leaves.
    pub max_leaves: i32,
    /// Leaves are merged while that costs less than this; negative: than the last split brought; 0: none are merged.
    pub cluster_thresh: f32,
    /// True to make the number of leaves a multiple of 8.
    pub round_num_leaves: bool,
}

/// The phones of roots that may not be split, sorted.
pub(crate) fn phones_not_to_split(roots: &[Root]) -> Vec<i32> {
    let mut phones: Vec<i32> =
        roots.iter().filter(|root| !root.split).flat_map(|root| &root.phones).copied().collect();
    phones.sort_unstable();
    phones
}

/// Splits the roots by the questions that help most, and merges the leaves that differ least.
pub fn build_tree<C: Clusterable>(
    stats: &TreeStats<C>,
    roots: &[Root],
    questions: &Questions,
    topology: &HmmTopology,
    options: &BuildOptions,
    report: Report,
) -> Result<EventMap> {
    if options.thresh.is_nan() || options.cluster_thresh.is_nan() {
        return Err(Error::value("`thresh` and `cluster-thresh` must be numbers"));
    }
    if options.thresh <= 0.0 && options.max_leaves <= 0 {
        return Err(Error::value("either `thresh` or `max-leaves` must be positive"));
    }
    if stats.entries.is_empty() {
        return Err(Error::stats("there are no statistics"));
    }
    let all = stats.all();
    let (stub, num_roots) = stub::roots(options.central_position, roots, topology, report)?;
    report(Message::Log(format!("BuildTree: before building trees, map has {num_roots} leaves.")));
    let fixed = phones_not_to_split(roots);
    let splittable = filter(&all, options.central_position as i32, &fixed, false)?;
    let (thresh, max_leaves) = (options.thresh, options.max_leaves);
    let splits = split_leaves(&stub, &splittable, questions, thresh, max_leaves, num_roots, report)?;
    let mut cluster_thresh = options.cluster_thresh;
    if cluster_thresh < 0.0 {
        cluster_thresh = splits.smallest;
        let message =
            format!("Setting clustering threshold to smallest split {}", num(cluster_thresh.into()));
        report(Message::Log(message));
    }
    let (frames, splittable_frames) = (sum_normalizers(&all), sum_normalizers(&splittable));
    let per_frame = |value: f32, frames: f32| (ratio(value, frames), num(frames.into()));
    let (gain, over) = per_frame(splits.improvement, frames);
    report(Message::Verbose(
        1,
        format!(
            "After decision tree split, num-leaves = {}, like-impr = {gain} per frame over {over} frames.",
            splits.num_leaves
        ),
    ));
    let (gain, over) = per_frame(splits.improvement, splittable_frames);
    report(Message::Verbose(
        1,
        format!("Including just phones that were split, improvement is {gain} per frame over {over} frames."),
    ));
    if cluster_thresh == 0.0 && !options.round_num_leaves {
        return Ok(splits.tree);
    }
    let before = objf_of_tree(&all, &splits.tree)?;
    let (mut tree, mut removed) = (splits.tree, 0);
    if cluster_thresh != 0.0 {
        (tree, removed) = merge(&tree, &all, cluster_thresh, &stub, report)?;
        report(Message::Log(format!("BuildTree: removed {removed} leaves.")));
    }
    let required = (splits.num_leaves - removed) / ROUND_TO * ROUND_TO;
    if options.round_num_leaves {
        let (rounded, more) = merge_to(&tree, &all, required, &stub, report)?;
        if more > 0 {
            report(Message::Log(format!(
                "BuildTree: Rounded num leaves to multiple of 8 by removing {more} leaves."
            )));
        }
        if cluster_thresh != 0.0 && splits.num_leaves - removed - more != required {
            report(Message::Warning(format!(
                "Did not get expected number of leaves: {} - {removed} - {more} != {required}",
                splits.num_leaves
            )));
        }
        tree = rounded;
    }
    let (tree, num_leaves) = renumber(&tree);
    if options.round_num_leaves && cluster_thresh != 0.0 && num_leaves != required {
        report(Message::Warning(format!(
            "num-leaves-out != num-leaves-required: {num_leaves} != {required}"
        )));
    }
    let change = objf_of_tree(&all, &tree)? - before;
    let of_all = per_frame(change, frames).0;
    report(Message::Verbose(1, format!("Objf change due to clustering {of_all} per frame.")));
    let of_split = per_frame(change, splittable_frames).0;
    report(Message::Verbose(
        1,
        format!("Normalizing over only split phones, this is: {of_split} per frame."),
    ));
    report(Message::Verbose(1, format!("Num-leaves is now {num_leaves}")));
    Ok(tree)
}

/// Checks the phones of roots, topology and statistics against each other: an error if there are statistics of a phone
/// without a root, warnings for the rest.
pub fn check_phones<C>(
    stats: &TreeStats<C>,
    roots: &[Root],
    topology: &HmmTopology,
    central_position: usize,
    report: Report,
) -> Result<()> {
    let mut phones: Vec<i32> = roots.iter().flat_map(|root| &root.phones).copied().collect();
    phones.sort_unstable();
    phones.dedup();
    let list = |phones: &[i32]| phones.iter().map(i32::to_string).collect::<Vec<_>>().join(" ");
    if phones != topology.phones() {
        report(Message::Warning(format!(
            "Mismatch between phone sets provided in roots file, and those in topology: [ {} ] vs. [ {} ]",
            list(&phones),
            list(topology.phones())
        )));
    }
    let seen = values_of(&stats.entries.iter().collect::<Vec<_>>(), central_position as i32);
    if let Some(phone) = seen.iter().find(|phone| phones.binary_search(phone).is_err()) {
        let message = format!("Phone {phone} appears in stats but is not listed in roots file.");
        return Err(Error::stats(message));
    }
    let unseen: Vec<i32> =
        phones.iter().filter(|phone| seen.binary_search(phone).is_err()).copied().collect();
    if !unseen.is_empty() {
        report(Message::Warning(format!("Saw no stats for following phones: {} ", list(&unseen))));
    }
    Ok(())
}
