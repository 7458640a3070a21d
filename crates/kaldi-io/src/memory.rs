//! Fallible memory requests, for sizes that come from a file or an option.
//!
//! Programs end with an `ERROR` line if memory runs out ([`is_attempt`] is for their allocator). A failed reservation
//! here is an error of its caller instead, which can name the purpose of the memory.

use std::cell::Cell;
use std::collections::TryReserveError;

use crate::error::{IoError, Result};

thread_local! {
    static ATTEMPT: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread can do without the memory that it is requesting.
pub fn is_attempt() -> bool {
    // A thread that ends has lost the flag already.
    ATTEMPT.try_with(Cell::get).unwrap_or(false)
}

/// Makes room for `additional` more elements. The error names them by `what`.
pub fn reserve<T>(to: &mut Vec<T>, additional: usize, what: &str) -> Result<()> {
    attempt(to, additional, what, Vec::try_reserve_exact)
}

/// Does the same as [`reserve`] for a vector that grows step by step.
pub(crate) fn reserve_more<T>(to: &mut Vec<T>, additional: usize, what: &str) -> Result<()> {
    attempt(to, additional, what, Vec::try_reserve)
}

fn attempt<T>(
    to: &mut Vec<T>,
    additional: usize,
    what: &str,
    reserve: impl FnOnce(&mut Vec<T>, usize) -> std::result::Result<(), TryReserveError>,
) -> Result<()> {
    ATTEMPT.set(true);
    let reserved = reserve(to, additional);
    ATTEMPT.set(false);
    reserved.map_err(|_| {
        let bytes = (to.len() as u128 + additional as u128) * size_of::<T>() as u128;
        IoError::Memory(format!("there is not enough memory for {what}: {bytes} bytes were asked for"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_an_error() {
        let mut values = vec![1.0f64];
        let error = reserve(&mut values, 1 << 58, "2^58 numbers").unwrap_err();
        let expected =
            "there is not enough memory for 2^58 numbers: 2305843009213693960 bytes were asked for";
        assert_eq!(error.to_string(), expected);
        assert!(!is_attempt());
        reserve(&mut values, 10, "ten numbers").unwrap();
        assert!(values.capacity() >= 11);
    }
}
