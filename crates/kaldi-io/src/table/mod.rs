//! Tables: collections of objects with string keys, in archives and scripts (`util/kaldi-table`).
//!
//! An archive is `key`, a blank and an object, again and again. A script has a line `key file` for each object. An
//! rspecifier (`ark:…`, `scp,p:…`) or wspecifier (`ark,t:…`, `ark,scp:a,s`) names the files and the options.
//!
//! In cases where Kaldi aborts while destroying a reader, or drops data after a warning, the functions here return
//! errors; the option `p` turns those into warnings.

mod archive;
mod background;
mod foreground;
mod loader;
mod mapped;
mod random;
mod random_archive;
pub mod script;
mod sequential;
pub mod specifier;
mod table_writer;

pub use mapped::MappedRandomReader;
pub use random::RandomReader;
pub use sequential::SequentialReader;
pub use specifier::{Rspecifier, RspecifierKind, Wspecifier, WspecifierKind};
pub use table_writer::TableWriter;
