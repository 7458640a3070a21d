//! Work without the interpreter's lock, and with enough stack.

use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// Stack that the work may need, and that it gets if the calling thread has less left, in bytes.
const STACK: usize = 1 << 20;

/// Does some work while other Python threads run. A thread of Python may have a stack of 32 kB.
pub fn detach<T: Ungil + Send>(py: Python<'_>, work: impl FnOnce() -> T + Ungil + Send) -> T {
    py.detach(|| stacker::maybe_grow(STACK, 2 * STACK, work))
}
