//! Clustering of [statistics](crate::clusterable) (`tree/cluster-utils.cc`).

pub mod bottom_up;
pub mod compartments;
mod k_means;
mod order;
mod refine;
#[cfg(test)]
mod tests;
mod top_down;

pub use bottom_up::bottom_up;
pub use k_means::KMeansOptions;
pub(crate) use k_means::k_means;
pub use refine::{RefineOptions, refine};
pub use top_down::{Hierarchy, TreeClusterOptions, tree_cluster};

use crate::clusterable::Clusterable;

/// The sum of objective functions, in this order and in single precision as in the reference.
pub(crate) fn sum_objf<'a, C: Clusterable + 'a>(stats: impl IntoIterator<Item = &'a C>) -> f32 {
    stats.into_iter().fold(0.0, |sum, stats| sum + stats.objf())
}

/// The sum of normalizers, in this order and in single precision as in the reference.
pub(crate) fn sum_normalizers<'a, C: Clusterable + 'a>(stats: impl IntoIterator<Item = &'a C>) -> f32 {
    stats.into_iter().fold(0.0, |sum, stats| sum + stats.normalizer())
}

/// Returns the sum of statistics, or `None` for an empty list.
pub fn sum<'a, C: Clusterable + 'a>(stats: impl IntoIterator<Item = &'a C>) -> Option<C> {
    stats.into_iter().fold(None, |sum: Option<C>, stats| add_to(sum, stats))
}

/// The sum of `sum` and `stats`.
pub(crate) fn add_to<C: Clusterable>(sum: Option<C>, stats: &C) -> Option<C> {
    match sum {
        None => Some(stats.clone()),
        Some(mut sum) => {
            sum.add(stats);
            Some(sum)
        }
    }
}
