//! Times that the parts of a training take.

use std::time::{Duration, Instant};

/// Calls `f`, and adds its time to `sum`.
pub fn timed<T>(sum: &mut Duration, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = f();
    *sum += start.elapsed();
    value
}

/// The times that the parts of the training took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub total: Duration,
    pub compiling: Duration,
    /// The time spent waiting for examples.
    pub waiting: Duration,
    /// The time spent training, compilation included.
    pub training: Duration,
}

impl std::fmt::Display for Times {
    /// The line that `nnet3-report` reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = |d: Duration| kaldi_io::text::format_g(d.as_secs_f64(), 3);
        write!(
            f,
            "{} seconds in all: compiling {}, waiting for examples {}, computing {}.",
            seconds(self.total),
            seconds(self.compiling),
            seconds(self.waiting),
            seconds(self.training.saturating_sub(self.compiling))
        )
    }
}
