//! Ctrl-C while something computes. Python notes a signal; long work looks for it between its pieces.

use std::time::{Duration, Instant};

use nnet3_core::execute::{Moment, Observer};
use pyo3::prelude::*;

use crate::stack;

/// Time between two looks.
const PATIENCE: Duration = Duration::from_millis(50);

/// Looks for signals. Only the main thread of Python has any.
pub struct Signals(Instant);

impl Default for Signals {
    fn default() -> Signals {
        Signals(Instant::now() + PATIENCE)
    }
}

impl Signals {
    /// Raises what the handler of a signal raises, such as KeyboardInterrupt.
    pub fn check(&mut self) -> PyResult<()> {
        let now = Instant::now();
        if now < self.0 {
            return Ok(());
        }
        self.0 = now + PATIENCE;
        Python::attach(|py| py.check_signals())
    }
}

/// Looks for signals before each operation of a network, on the thread of [`stack::detach`].
impl Observer for Signals {
    fn before(&mut self, _: &Moment<'_>) {
        if let Err(error) = self.check() {
            stack::unwind(error);
        }
    }

    fn after(&mut self, _: &Moment<'_>, _: Duration) {}
}
