//! Many recordings that jobs recognise: names that stay, batches of recordings without a text, and the results together.
//!
//! A folder has a file for each text, and tables. `names` has the recordings of the last list in their order: a name and
//! a path. `recordings` has all recordings with a text: name, path, size and time of change. A name belongs to one path as long
//! as the list has that path. `results.tsv` says what became of each recording. `warnings` keeps the warnings about recordings with
//! a text for later calls.

mod batches;
mod folder;
mod list;
mod names;
mod results;

pub use folder::Folder;
pub use list::{List, Listed, read_list};
pub use names::{give_names, plain};
pub use results::{Outcome, Results, table};
