//! Work without the interpreter's lock, with enough stack, and with an exception if memory is missing.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pyo3::exceptions::PyMemoryError;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// Stack that the work may need, and that it gets if the calling thread has less left, in bytes.
const STACK: usize = 1 << 20;

/// Does some work while other Python threads run. A thread of Python may have a stack of 32 kB. Raises MemoryError if there is no
/// memory for a matrix.
pub fn detach<T: Ungil + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Ungil + Send,
) -> PyResult<T> {
    let done = py.detach(|| {
        stacker::maybe_grow(STACK, 2 * STACK, || catch_unwind(AssertUnwindSafe(work)).map_err(Panic))
    });
    match done {
        Ok(result) => result,
        Err(Panic(panic)) => match no_memory(panic.as_ref()) {
            Some(message) => Err(PyMemoryError::new_err(message)),
            None => resume_unwind(panic),
        },
    }
}

/// The payload of a panic.
struct Panic(Box<dyn Any + Send>);

/// The message of a panic of `nnet3-matrix` without memory for a matrix.
fn no_memory(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<String>()?;
    text.starts_with("no memory left for a matrix").then(|| text.clone())
}
