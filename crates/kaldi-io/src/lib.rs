//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Kaldi's files, tables and options.
//!
//! This crate handles bytes on disk and in pipes. It does not know command lines, terminals, neural networks or devices.
//! Errors are values ([`IoError`]) with the file, the place, and the expected and found content.
//!
//! - [`reader`], [`writer`], [`text`]: tokens, numbers, headers (`base/io-funcs` of Kaldi).
//! - [`filename`]: files, pipes, offsets and ranges as file arguments (`util/kaldi-io`).
//! - [`matrix`], [`packed`], [`compressed`], [`sparse`], [`general`], [`posterior`], [`symbols`]: types of stored
//!   objects.
//! - [`object`], [`holder`], [`table`]: single files, and tables of objects by key (`util/kaldi-table`).
//! - [`contents`]: recognises kinds of objects, for messages about files and tables of the wrong kind.
//! - [`mapped`]: memory-mapped files.
//! - [`mod@options`]: structs of options, and their values in configuration files (`util/parse-options`).
//! - [`log`], [`host`]: warnings, and the process that prints them; [`alike`]: hints about similar words.
//! - [`interruption`], [`temporary`]: signals that end the process, and files that must not stay behind.
//! - [`threads`]: starts all threads.

pub mod alike;
pub mod compressed;
pub mod contents;
pub mod error;
pub mod escape;
pub mod filename;
pub mod finite;
pub mod general;
pub mod holder;
pub mod host;
pub mod interruption;
pub mod log;
pub mod mapped;
pub mod matrix;
pub mod memory;
mod number;
pub mod object;
mod openers;
pub mod options;
pub mod packed;
mod pipe;
pub mod posterior;
pub mod reader;
mod replacement;
pub mod shell;
mod sink;
mod source;
pub mod sparse;
pub mod standard;
pub mod symbols;
pub mod table;
pub mod temporary;
pub mod testing;
pub mod text;
pub mod threads;
pub mod writer;

pub use compressed::{CompressedMatrix, CompressionMethod};
pub use contents::Contents;
pub use error::{IoError, Result};
pub use general::GeneralMatrix;
pub use matrix::{DenseMatrix, read_vector, write_vector};
pub use number::Real;
pub use object::{KaldiObject, read_object, read_object_by, write_object};
pub use packed::{PackedMatrix, SymmetricMatrix};
pub use posterior::{GaussPost, Posterior};
pub use reader::KaldiReader;
pub use sparse::{SparseMatrix, SparseVector};
pub use table::{MappedRandomReader, RandomReader, SequentialReader, TableWriter};
pub use writer::KaldiWriter;
