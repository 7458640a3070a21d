//! Tables of examples: reading them, and the processing steps between a table and its user. Each step is a program too.
//!
//! A [`Stage`] takes examples from a reader and returns others. Its program is [`run`], from table to table. A shell
//! would run a chain of stages as separate processes. Here one thread runs them (`pipeline.rs`).
//!
//! [`get_egs`] and [`chain_egs`] make examples of features, with counts of [`losses`]; [`from_egs`] writes outputs of
//! networks for examples.

pub mod chain_egs;
mod copy;
pub mod from_egs;
pub mod get_egs;
pub mod kinds;
pub mod losses;
mod merge;
mod normalize;
mod pipeline;
pub mod programs;
mod shuffle;
mod subset;

use kaldi_cli::log::{self, Site};
use kaldi_io::holder::ObjectHolder;
use nnet3_train::{EgsReader, Example};

use crate::json::FormatOption;
use crate::progress;
use crate::tables::Output;
pub use copy::{CopyStage, Sites};
pub use kinds::ExampleKind;
pub use merge::{MergeStage, Merging};
pub use normalize::NormalizeStage;
pub use pipeline::Step;
pub use shuffle::ShuffleStage;
pub use subset::SubsetStage;

/// A step that examples go through.
pub trait Stage<E: Example>: Send {
    /// Returns the next resulting key and example, or `None` at the end.
    fn next(&mut self, egs: &mut EgsReader<E>) -> nnet3_train::Result<Option<(String, E)>>;

    /// Index of the output that the latest example belongs to, among the stage's outputs.
    fn output(&self) -> usize {
        0
    }

    /// Reports, after the end of the outputs, the treatment of the `read` examples, and returns the exit status.
    fn summarize(&self, read: u64) -> u8;
}

/// The whole of a program that reads a table of examples and writes one or several.
pub fn run<E: ExampleKind>(
    mut egs: EgsReader<E>,
    to: &[String],
    format: FormatOption,
    stage: &mut dyn Stage<E>,
    site: &Site,
) -> anyhow::Result<u8> {
    if egs.at_end()? {
        return nothing(site, egs);
    }
    let mut writers = Vec::with_capacity(to.len());
    for wspecifier in to {
        writers.push(Output::<ObjectHolder<E>>::open_as(format, wspecifier, E::listing)?);
    }
    let progress = progress::counter("examples", egs.name());
    while let Some((key, example)) = stage.next(&mut egs)? {
        writers[stage.output()].write(&key, &example)?;
        progress.inc();
    }
    drop(progress);
    let read = egs.count();
    egs.close()?;
    for writer in writers {
        writer.finish_any()?;
    }
    Ok(stage.summarize(read))
}

/// A table of examples that is about to be opened.
pub enum Opening<'r, E: Example> {
    /// The first examples are being made.
    Begun(EgsReader<E>),
    NotBegun(&'r str),
}

impl<E: Example> Opening<'_, E> {
    /// Opens the table.
    pub fn finish(self) -> anyhow::Result<EgsReader<E>> {
        match self {
            Opening::Begun(egs) => Ok(egs),
            Opening::NotBegun(rspecifier) => Ok(EgsReader::open(rspecifier)?),
        }
    }
}

/// Begins to make examples if that can go on while the program does something else, such as reading the network.
pub fn begin<E: ExampleKind>(rspecifier: &str) -> Opening<'_, E> {
    pipeline::open(rspecifier).map_or(Opening::NotBegun(rspecifier), Opening::Begun)
}

/// Opens a table of examples.
pub fn open<E: ExampleKind>(rspecifier: &str) -> anyhow::Result<EgsReader<E>> {
    begin(rspecifier).finish()
}

/// Reports that a table of examples is empty, and returns the exit status for this case. Outputs have not been touched.
/// If the table came from a failed command, the result is an error.
pub fn nothing<E: Example>(site: &Site, examples: EgsReader<E>) -> anyhow::Result<u8> {
    let message = empty(examples.name());
    examples.close()?;
    log::error(site, &message);
    Ok(kaldi_cli::NOTHING_DONE)
}

fn empty(table: &str) -> String {
    format!("{table}: expected at least one example, found none")
}

/// Prepares an example, given its key, before its use.
pub type Prepare<E> = fn(&str, &mut E) -> nnet3_train::Result<()>;

/// Leaves examples unchanged.
pub fn as_they_are<E>(_: &str, _: &mut E) -> nnet3_train::Result<()> {
    Ok(())
}

/// All examples of a table; it is an error if there are none.
pub fn read_all<E: ExampleKind>(rspecifier: &str, prepare: Prepare<E>) -> anyhow::Result<Vec<E>> {
    let mut egs = open(rspecifier)?;
    let mut all = Vec::new();
    let progress = progress::counter("examples", rspecifier);
    while let Some((key, mut example)) = egs.next()? {
        prepare(&key, &mut example).map_err(|e| egs.blame(e))?;
        all.push(example);
        progress.inc();
    }
    drop(progress);
    egs.close()?;
    if all.is_empty() {
        anyhow::bail!(empty(rspecifier));
    }
    Ok(all)
}
