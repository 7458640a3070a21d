//! Log lines of the reference around products of an extractor's matrices.

use nnet3::messages;

/// Logs the beginning and the end of `compute`.
pub fn logged<T>(compute: impl FnOnce() -> T) -> T {
    messages::log("Computing derived variables for iVector extractor");
    let out = compute();
    messages::log("Done.");
    out
}
