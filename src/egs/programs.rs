//! The programs that copy, merge, shuffle and select plain examples, and the parts they share with those for other
//! kinds.

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3_train::NnetExample;

use super::{CopyStage, MergeStage, Merging, PipedExample, ShuffleStage, Sites, Stage, Step, SubsetStage};
use crate::json::{Format, FormatOption};
use crate::options::egs::MergeOptions;
use crate::options::egs_tables::{CopyEgsOptions, ShuffleEgsOptions, SubsetEgsOptions};
use crate::plain_shell::Command;

/// A program that takes examples from a table to others.
pub trait StageProgram: clap::Parser + Send + 'static {
    type Example: PipedExample;

    const NAME: &str;
    /// Source place of its messages.
    const SITE: Site;

    /// The table that it reads.
    fn input(&self) -> &str;

    /// The tables that it writes.
    fn outputs(&self) -> &[String];

    /// Returns the format of the output: examples, or lists of them.
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

impl PipedExample for NnetExample {
    fn step(command: &Command) -> Option<Step<NnetExample>> {
        let parsers =
            [Step::parse::<Copy>, Step::parse::<Merge>, Step::parse::<Shuffle>, Step::parse::<Subset>];
        parsers.iter().find_map(|parse| parse(command))
    }
}

/// Copy examples (single frames or fixed-size groups of frames) for neural network training, possibly changing the
/// binary mode.
///
/// Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs. With --format=json
/// these get lists of the examples: names, dimensions and indexes.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-copy-egs ark:train.egs ark,t:text.egs\n\
    or:\n\
    nnet3-copy-egs ark:train.egs ark:1.egs ark:2.egs\n\
    See also: nnet3-subset-egs, nnet3-get-egs, nnet3-merge-egs, nnet3-shuffle-egs")]
pub struct Copy {
    /// Selects a single frame from each multi-frame example: a number 0, 1, etc., or 'random'.
    #[arg(long, default_value = "")]
    frame: String,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    copying: CopyEgsOptions,
}

impl StageProgram for Copy {
    type Example = NnetExample;

    const NAME: &str = "nnet3-copy-egs";
    const SITE: Site = Site::main("nnet3-copy-egs.cc", 385);

    fn input(&self) -> &str {
        &self.copying.egs_in
    }

    fn outputs(&self) -> &[String] {
        &self.copying.egs_out
    }

    fn format(&self) -> FormatOption {
        self.format
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetExample>>> {
        let sites =
            Sites { main: Self::SITE, select: Site::new("SelectFromExample", "nnet3-copy-egs.cc", 240) };
        let copier = self.copying.copier(self.frame.parse()?)?;
        Ok(Box::new(CopyStage::new(&self.copying, copier, sites)?))
    }
}

/// This copies nnet training examples from input to output, but while doing so it merges many examples into one, forming
/// a minibatch consisting of a single example.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-merge-egs --minibatch-size=512 ark:1.egs ark:- | nnet3-train ... \n\
    See also nnet3-copy-egs")]
pub struct Merge {
    /// Sizes of minibatches: numbers or ranges separated by commas, as in 64,128 or 1:64. Until the input ends the largest
    /// is used. Different sizes for examples of different sizes are written as in 128=64:128,256/256=32,64, where
    /// the numbers before = are numbers of input frames; the nearest rule applies
    #[arg(long, default_value = "256")]
    minibatch_size: String,
    #[command(flatten)]
    merging: MergeOptions,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

impl StageProgram for Merge {
    type Example = NnetExample;

    const NAME: &str = "nnet3-merge-egs";
    const SITE: Site = Site::main("nnet3-merge-egs.cc", 80);

    fn input(&self) -> &str {
        &self.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetExample>>> {
        let as_they_are = Merging {
            prepare: |_: &str, _: &mut NnetExample| Ok(()),
            suffix: |_: &NnetExample| String::new(),
        };
        Ok(Box::new(MergeStage::new(self.merging.merger(&self.minibatch_size)?, as_they_are)))
    }
}

/// Copy examples (typically single frames or small groups of frames) for neural network training, from the input to
/// output, but randomly shuffle the order.
///
/// This program will keep all of the examples in memory at once, unless you use the --buffer-size option.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-shuffle-egs --srand=1 ark:train.egs ark:shuffled.egs")]
pub struct Shuffle {
    #[command(flatten)]
    shuffling: ShuffleEgsOptions,
}

impl StageProgram for Shuffle {
    type Example = NnetExample;

    const NAME: &str = "nnet3-shuffle-egs";
    const SITE: Site = Site::main("nnet3-shuffle-egs.cc", 105);

    fn input(&self) -> &str {
        &self.shuffling.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.shuffling.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetExample>>> {
        Ok(Box::new(ShuffleStage::new(&self.shuffling, Self::SITE)?))
    }
}

/// Creates a random subset of the input examples, of a specified size.
///
/// Uses no more memory than the size of the subset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-subset-egs [args] ark:degs.1.arks ark:subset.egs")]
pub struct Subset {
    #[command(flatten)]
    selection: SubsetEgsOptions,
}

impl StageProgram for Subset {
    type Example = NnetExample;

    const NAME: &str = "nnet3-subset-egs";
    const SITE: Site = Site::main("nnet3-subset-egs.cc", 94);

    fn input(&self) -> &str {
        &self.selection.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.selection.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetExample>>> {
        Ok(Box::new(SubsetStage::new(&self.selection, "neural-network", Self::SITE)?))
    }
}
