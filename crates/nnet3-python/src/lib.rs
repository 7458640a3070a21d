//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The part of the Python module `nnet3` that is Rust: recognition, forced alignment, networks, archives and
//! features in one process.
//! Arguments and results are numpy arrays and dictionaries; the interpreter's lock is released while something computes.

mod align;
mod archives;
mod arguments;
mod arrays;
mod commands;
mod error;
mod features;
mod names;
mod network;
mod recognizer;
mod recording;
mod scale;
mod signals;
mod stack;
mod tables;
mod told;
mod wording;

use pyo3::prelude::*;

/// Fills the module `nnet3._native`, of which `nnet3` exports everything.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    stack::print_no_missing_memory();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("NotFoundError", error::not_found(module.py())?)?;
    module.add_class::<recognizer::Model>()?;
    module.add_class::<recognizer::Recognizer>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<archives::MatrixReader>()?;
    module.add_class::<archives::VectorReader>()?;
    module.add_class::<archives::MatrixWriter>()?;
    module.add_class::<archives::VectorWriter>()?;
    module.add_function(wrap_pyfunction!(align::align, module)?)?;
    module.add_function(wrap_pyfunction!(features::features, module)?)?;
    module.add_function(wrap_pyfunction!(recording::transcribe, module)?)?;
    Ok(())
}
