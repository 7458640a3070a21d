//! Tests an aligned lattice: compares its paths with those of the original lattice.

use std::collections::HashSet;

use kaldi_fst::{EPSILON, ops};

use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, expand};
use crate::path;

/// Number of compared paths.
const PATHS: usize = 20;

/// Costs may differ by so much, since they are added in another order.
const TOLERANCE: f64 = 0.05;

/// The transition-ids and costs of the best paths.
fn best(lattice: &CompactLattice) -> Result<Vec<(Vec<i32>, f64)>> {
    let mut lattice = lattice.clone();
    ops::connect(&mut lattice);
    let read = |lattice| {
        let linear = path::read_linear(lattice)?;
        Ok((linear.ids, linear.weight.cost()))
    };
    path::best_paths(&expand(&lattice), PATHS)?.iter().map(read).collect()
}

/// Compares the best paths: each of the result must have the cost of a path of the lattice. Returns the first
/// difference.
pub fn test_alignment(lattice: &CompactLattice, aligned: &CompactLattice) -> Result<Option<String>> {
    let (ours, theirs) = (best(aligned)?, best(lattice)?);
    let (Some(first), Some(wanted)) = (ours.first(), theirs.first()) else { return Ok(None) };
    if (first.1 - wanted.1).abs() > TOLERANCE {
        let (found, wanted) = (first.1, wanted.1);
        return Ok(Some(format!("the best path costs {found} when aligned, {wanted} before")));
    }
    let short = ours.iter().find(|(ids, _)| ids.len() != wanted.0.len());
    Ok(short
        .map(|(ids, _)| format!("a path has {} frames when aligned, {} before", ids.len(), wanted.0.len())))
}

/// Finds two of the result's best paths that have the same transition-ids and words, although they differ in the
/// lattice.
pub fn test_duplicates(lattice: &CompactLattice, aligned: &CompactLattice) -> Result<Option<String>> {
    if lattice.start.is_none() {
        return Err(Error::Empty);
    }
    let mut plain = aligned.clone();
    ops::connect(&mut plain);
    let mut seen = HashSet::new();
    for path in path::best_paths(&expand(&plain), PATHS)? {
        let linear = path::read_linear(&path)?;
        let words: Vec<i32> = linear.words.into_iter().filter(|&word| word != EPSILON).collect();
        if !seen.insert((linear.ids, words)) {
            return Ok(Some("two paths have the same words and transition-ids".to_owned()));
        }
    }
    Ok(None)
}
