//! The numbers of threads that options ask for.

use std::num::NonZero;

use anyhow::{Result, bail};
use kaldi_io::threads::MOST;

/// The value of the option `--name`: from 1 to [`MOST`].
pub fn number(name: &str, value: i64) -> Result<NonZero<usize>> {
    match usize::try_from(value).ok().filter(|&value| value <= MOST).and_then(NonZero::new) {
        Some(threads) => Ok(threads),
        None => bail!("--{name}={value}: expected a number of threads from 1 to {MOST}"),
    }
}

/// Returns `wanted` if it is above 0; otherwise the number of processors for this program, at most `most`.
pub fn count(wanted: i32, most: usize) -> Result<usize> {
    match wanted {
        1.. => Ok(number("num-threads", wanted.into())?.get()),
        _ => Ok(processors().min(most)),
    }
}

/// Number of processors for this program.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_reason() {
        assert_eq!(number("num-threads", 1024).unwrap().get(), 1024);
        for wrong in [0, -1, 1025, i64::from(i32::MAX)] {
            let error = number("num-threads", wrong).unwrap_err().to_string();
            assert_eq!(error, format!("--num-threads={wrong}: expected a number of threads from 1 to 1024"));
        }
        assert_eq!((count(7, 4).unwrap(), count(-1, 1).unwrap()), (7, 1));
        assert!(count(5000, 4).is_err());
    }
}
