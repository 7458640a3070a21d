//! Checks if precomputed indexes fit a component. Those of the compiler do; those of a stored computation may have been
//! made for another network.

use crate::PrecomputedIndexes;
use crate::row_ranges::Ranges;
use std::any::Any;

/// Result of a check of fit; the error is a sentence.
pub(crate) type Fit<T = ()> = std::result::Result<T, String>;

/// Returns the component's own precomputed indexes. Fails if they are missing or of another type.
pub fn own<T: PrecomputedIndexes>(indexes: Option<&dyn PrecomputedIndexes>) -> Fit<&T> {
    let indexes = indexes.ok_or("the component needs precomputed indexes")?;
    let own = (indexes as &dyn Any).downcast_ref();
    own.ok_or_else(|| "the precomputed indexes are those of another type of component".to_string())
}

/// Checks a count of `what`, such as "input rows".
pub fn count(what: &str, for_many: usize, given: usize) -> Fit {
    require(for_many == given, || {
        format!("the precomputed indexes are for {for_many} {what}, but there are {given}")
    })
}

/// Checks components whose output rows are their input rows.
pub(crate) fn same_rows(input_rows: usize, output_rows: usize) -> Fit {
    require(input_rows == output_rows, || {
        format!("{input_rows} input rows and {output_rows} output rows of a component that treats row by row")
    })
}

/// Checks that `what` has a range for each of `count` rows, all of them within `rows` rows.
pub fn ranges(what: &str, ranges: &Ranges, count: usize, rows: usize) -> Fit {
    self::count(what, ranges.count(), count)?;
    require(ranges.are_within(rows), || {
        format!("the precomputed indexes name rows beyond the {rows} that there are")
    })
}

pub fn require(condition: bool, message: impl FnOnce() -> String) -> Fit {
    if condition { Ok(()) } else { Err(message()) }
}
