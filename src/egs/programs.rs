//! The programs that copy, merge, shuffle and select examples, for any [kind](ExampleKind).

use std::marker::PhantomData;

use anyhow::Result;
use kaldi_cli::log::Site;

use super::kinds::{CopyOptions, ExampleKind};
use super::{CopyStage, MergeStage, Merging, ShuffleStage, Sites, Stage, SubsetStage};
use crate::json::{Format, FormatOption};
use crate::options::egs::MergeOptions;
use crate::options::egs_tables::{CopyEgsOptions, ShuffleEgsOptions, SubsetEgsOptions};

/// A program that takes examples from a table to others.
pub trait StageProgram: clap::Parser + Send + 'static {
    type Example: ExampleKind;

    const NAME: &'static str;
    /// The place that its messages name.
    const SITE: Site;

    /// The table that it reads.
    fn input(&self) -> &str;

    /// The tables that it writes.
    fn outputs(&self) -> &[String];

    /// The form of the outputs: examples, or lists of them.
    fn format(&self) -> FormatOption {
        FormatOption { format: Format::Text }
    }

    fn stage(&self) -> Result<Box<dyn Stage<Self::Example>>>;
}

/// The whole of such a program.
pub fn run<P: StageProgram>(program: P) -> Result<u8> {
    let mut stage = program.stage()?;
    super::run(super::open(program.input())?, program.outputs(), program.format(), &mut *stage, &P::SITE)
}

/// Copies examples of a kind.
#[derive(clap::Parser)]
#[command(about = E::COPY.about, long_about = None, after_help = E::COPY.usage)]
pub struct Copy<E: ExampleKind> {
    #[command(flatten)]
    of_kind: E::CopyOptions,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    copying: CopyEgsOptions,
    #[arg(skip)]
    kind: PhantomData<E>,
}

impl<E: ExampleKind> StageProgram for Copy<E> {
    type Example = E;

    const NAME: &'static str = E::COPY.name;
    const SITE: Site = E::COPY.site;

    fn input(&self) -> &str {
        &self.copying.egs_in
    }

    fn outputs(&self) -> &[String] {
        &self.copying.egs_out
    }

    fn format(&self) -> FormatOption {
        self.format
    }

    fn stage(&self) -> Result<Box<dyn Stage<E>>> {
        let sites = Sites { main: Self::SITE, select: E::SELECT };
        let copier = self.copying.copier(self.of_kind.frame()?)?;
        Ok(Box::new(CopyStage::new(&self.copying, copier, sites)?))
    }
}

/// Merges examples of a kind.
#[derive(clap::Parser)]
#[command(about = E::MERGE.about, long_about = None, after_help = E::MERGE.usage)]
pub struct Merge<E: ExampleKind> {
    /// Sizes of minibatches: numbers or ranges separated by commas, as in 64,128 or 1:64. Until the input ends the largest
    /// is used. Different sizes for examples of different sizes are written as in 128=64:128,256/256=32,64, where
    /// the numbers before = are numbers of input frames; the nearest rule applies
    #[arg(long, default_value = E::MINIBATCH_SIZE)]
    minibatch_size: String,
    #[command(flatten)]
    merging: MergeOptions,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
    #[arg(skip)]
    kind: PhantomData<E>,
}

impl<E: ExampleKind> StageProgram for Merge<E> {
    type Example = E;

    const NAME: &'static str = E::MERGE.name;
    const SITE: Site = E::MERGE.site;

    fn input(&self) -> &str {
        &self.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<E>>> {
        let merger = self.merging.merger::<E>(&self.minibatch_size)?;
        let multilingual = self.merging.multilingual_eg;
        let merging = Merging {
            prepare: move |key: &str, example: &mut E| {
                if multilingual { example.name_language(key) } else { Ok(()) }
            },
            suffix: move |minibatch: &E| {
                if multilingual { minibatch.language_suffix() } else { String::new() }
            },
        };
        Ok(Box::new(MergeStage::new(merger, merging)))
    }
}

/// Shuffles examples of a kind.
#[derive(clap::Parser)]
#[command(about = E::SHUFFLE.about, long_about = None, after_help = E::SHUFFLE.usage)]
pub struct Shuffle<E: ExampleKind> {
    #[command(flatten)]
    shuffling: ShuffleEgsOptions,
    #[arg(skip)]
    kind: PhantomData<E>,
}

impl<E: ExampleKind> StageProgram for Shuffle<E> {
    type Example = E;

    const NAME: &'static str = E::SHUFFLE.name;
    const SITE: Site = E::SHUFFLE.site;

    fn input(&self) -> &str {
        &self.shuffling.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.shuffling.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<E>>> {
        Ok(Box::new(ShuffleStage::new(&self.shuffling, Self::SITE)?))
    }
}

/// Selects examples of a kind.
#[derive(clap::Parser)]
#[command(about = E::SUBSET.about, long_about = None, after_help = E::SUBSET.usage)]
pub struct Subset<E: ExampleKind> {
    #[command(flatten)]
    selection: SubsetEgsOptions,
    #[arg(skip)]
    kind: PhantomData<E>,
}

impl<E: ExampleKind> StageProgram for Subset<E> {
    type Example = E;

    const NAME: &'static str = E::SUBSET.name;
    const SITE: Site = E::SUBSET.site;

    fn input(&self) -> &str {
        &self.selection.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.selection.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<E>>> {
        Ok(Box::new(SubsetStage::new(&self.selection, E::SUBSET_NAME, E::SEEDED_CHOICE, Self::SITE)?))
    }
}
