//! Kinds of examples: the names and texts of the programs for each, and what differs between them. To add a kind, implement
//! [`ExampleKind`] and write the program files.

mod chain;
mod discriminative;
mod plain;

use kaldi_cli::log::Site;
use nnet3_train::copy::{CopyExample, FrameChoice};

use super::pipeline::ParseStep;
use crate::json::Listed;
pub use chain::Normalize;

/// The name of a program, the place that its messages name, and its help.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub site: Site,
    pub about: &'static str,
    /// Examples of command lines.
    pub usage: &'static str,
}

/// A kind of example with programs that copy, merge, shuffle and select.
pub trait ExampleKind: CopyExample + Listed {
    const COPY: Program;
    const MERGE: Program;
    const SHUFFLE: Program;
    const SUBSET: Program;
    /// The default of `--minibatch-size`.
    const MINIBATCH_SIZE: &'static str;
    /// The place that messages about selected frames and trimmed context name.
    const SELECT: Site;
    /// The word for the examples in the message about a subset.
    const SUBSET_NAME: &'static str;
    /// True if `--srand` also decides which examples are in a subset. As in the reference, it decides only about their order
    /// if false.
    const SEEDED_CHOICE: bool;
    /// True if the message about copies has the number of errors, even if it is 0.
    const COUNTS_ERRORS: bool;
    /// Further programs that can be a step of a pipe.
    const MORE_STEPS: &'static [ParseStep<Self>] = &[];

    /// Options for copying that only this kind has.
    type CopyOptions: CopyOptions;

    /// Gives outputs the name of the language that the key has (`--multilingual-eg`).
    fn name_language(&mut self, _key: &str) -> nnet3_train::Result<()> {
        Ok(())
    }

    /// The end of a minibatch's key, which says the language (`--multilingual-eg`).
    fn language_suffix(&self) -> String {
        String::new()
    }
}

/// Options for copying that one kind of example has.
pub trait CopyOptions: clap::Args + Send + 'static {
    /// The frames that are kept.
    fn frame(&self) -> nnet3_train::Result<FrameChoice>;
}

/// No options.
#[derive(clap::Args)]
pub struct AllFrames {}

impl CopyOptions for AllFrames {
    fn frame(&self) -> nnet3_train::Result<FrameChoice> {
        Ok(FrameChoice::All)
    }
}
