//! Work without the interpreter's lock, with enough stack, and with an exception if memory is missing.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};

use pyo3::exceptions::PyMemoryError;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// Stack that the work may need, and that it gets if the calling thread has less left, in bytes.
const STACK: usize = 1 << 20;

/// Does some work while other Python threads run. A thread of Python may have a stack of 32 kB, and the first one's stack cannot
/// grow where the address space is used up. Raises MemoryError if there is no memory for a matrix or for a stack.
pub fn detach<T: Ungil + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Ungil + Send,
) -> PyResult<T> {
    let caught = || catch_unwind(AssertUnwindSafe(work)).map_err(Panic);
    let on_stack = || match is_limited() {
        true => stacker::grow(2 * STACK, caught),
        false => stacker::maybe_grow(STACK, 2 * STACK, caught),
    };
    let done =
        py.detach(|| catch_unwind(AssertUnwindSafe(on_stack)).unwrap_or_else(|panic| Err(Panic(panic))));
    match done {
        Ok(result) => result,
        Err(Panic(panic)) => match panic.downcast::<Raised>() {
            Ok(raised) => Err(raised.0),
            Err(panic) => match no_memory(panic.as_ref()) {
                Some(message) => Err(PyMemoryError::new_err(message)),
                None => resume_unwind(panic),
            },
        },
    }
}

/// An exception that ends work in the midst.
struct Raised(PyErr);

/// Ends the work of [`detach`] on this thread, which then raises the exception. For work that cannot return it.
pub fn unwind(error: PyErr) -> ! {
    resume_unwind(Box::new(Raised(error)))
}

/// True if the address space is limited, as by `ulimit -v`.
fn is_limited() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::As).current.is_some()
}

/// The payload of a panic.
struct Panic(Box<dyn Any + Send>);

/// Parts of the messages of panics where memory is missing: of `nnet3-matrix` for a matrix, of `stacker` for a stack.
const NO_MATRIX: &str = "no memory left for a matrix";
const NO_STACK: [&str; 2] = ["mmap failed to allocate stack", "mprotect/mmap failed"];

/// The sentence about such a panic.
fn no_memory(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<String>()?;
    if text.starts_with(NO_MATRIX) {
        return Some(text.clone());
    }
    let is_stack = NO_STACK.iter().any(|part| text.contains(part));
    is_stack.then(|| format!("there is not enough memory for a stack of {} bytes", 2 * STACK))
}

/// Leaves such panics unprinted: they become exceptions, and the memory that a backtrace needs is not there (the standard library
/// then waits for itself).
pub fn print_no_missing_memory() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        if no_memory(panic.payload()).is_none() {
            print(panic);
        }
    }));
}
