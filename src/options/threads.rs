//! How many threads a program is to use.

/// As many as `wanted` says, if it is above 0; otherwise as many as there are processors for this program, at most `most`.
pub fn count(wanted: i32, most: usize) -> usize {
    match usize::try_from(wanted) {
        Ok(threads) if threads > 0 => threads,
        _ => std::thread::available_parallelism().map_or(1, usize::from).min(most),
    }
}
