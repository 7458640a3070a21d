//! The programs that copy, merge, shuffle, select and normalize chain examples.

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3_chain::{NnetChainExample, language};
use nnet3_train::copy::FrameChoice;

use super::programs::StageProgram;
use super::{
    CopyStage, MergeStage, Merging, NormalizeStage, PipedExample, ShuffleStage, Sites, Stage, Step,
    SubsetStage,
};
use crate::chain_egs::read_normalization;
use crate::json::FormatOption;
use crate::options::egs::MergeOptions;
use crate::options::egs_tables::{CopyEgsOptions, ShuffleEgsOptions, SubsetEgsOptions};
use crate::plain_shell::Command;

impl PipedExample for NnetChainExample {
    fn step(command: &Command) -> Option<Step<NnetChainExample>> {
        let parsers = [
            Step::parse::<Copy>,
            Step::parse::<Merge>,
            Step::parse::<Shuffle>,
            Step::parse::<Subset>,
            Step::parse::<Normalize>,
        ];
        parsers.iter().find_map(|parse| parse(command))
    }
}

/// Copy examples for chain training (LF-MMI), possibly changing the binary mode.
///
/// Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs. With --format=json
/// these get lists of the examples: names, dimensions and indexes.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-chain-copy-egs ark:train.cegs ark,t:text.cegs\n\
    or:\n\
    nnet3-chain-copy-egs --frame-shift=1 ark:train.cegs ark:1.cegs ark:2.cegs\n\
    See also: nnet3-chain-subset-egs, nnet3-chain-merge-egs, nnet3-chain-shuffle-egs")]
pub struct Copy {
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    copying: CopyEgsOptions,
}

impl StageProgram for Copy {
    type Example = NnetChainExample;

    const NAME: &str = "nnet3-chain-copy-egs";
    const SITE: Site = Site::main("nnet3-chain-copy-egs.cc", 393);

    fn input(&self) -> &str {
        &self.copying.egs_in
    }

    fn outputs(&self) -> &[String] {
        &self.copying.egs_out
    }

    fn format(&self) -> FormatOption {
        self.format
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetChainExample>>> {
        let copier = self.copying.copier(FrameChoice::All)?;
        let select = Site::new("ModifyChainExampleContext", "nnet3-chain-copy-egs.cc", 230);
        Ok(Box::new(CopyStage::new(&self.copying, copier, Sites { main: Self::SITE, select })?))
    }
}

/// This copies chain training examples from input to output, merging many examples into one, which is a minibatch.
///
/// Examples are merged if their inputs and outputs have the same names, dimensions and times.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-chain-merge-egs --minibatch-size=128,64 ark:1.cegs ark:- | nnet3-chain-train ... \n\
    See also nnet3-chain-copy-egs")]
pub struct Merge {
    /// Sizes of minibatches: numbers or ranges separated by commas, as in 64,128 or 1:64. Until the input ends the largest
    /// is used. Different sizes for examples of different sizes are written as in 128=64:128,256/256=32,64, where
    /// the numbers before = are numbers of input frames; the nearest rule applies
    #[arg(long, default_value = "64")]
    minibatch_size: String,
    #[command(flatten)]
    merging: MergeOptions,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

impl StageProgram for Merge {
    type Example = NnetChainExample;

    const NAME: &str = "nnet3-chain-merge-egs";
    const SITE: Site = Site::main("nnet3-chain-merge-egs.cc", 60);

    fn input(&self) -> &str {
        &self.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetChainExample>>> {
        let merger = self.merging.merger::<NnetChainExample>(&self.minibatch_size)?;
        let multilingual = self.merging.multilingual_eg;
        let merging = Merging {
            prepare: move |key: &str, example: &mut NnetChainExample| {
                if multilingual { language::rename_output(key, example) } else { Ok(()) }
            },
            suffix: move |minibatch: &NnetChainExample| {
                if multilingual { language::key_suffix(minibatch) } else { String::new() }
            },
        };
        Ok(Box::new(MergeStage::new(merger, merging)))
    }
}

/// Copy chain examples (LF-MMI) from the input to output, but randomly shuffle the order.
///
/// This program will keep all of the examples in memory at once, unless you use the --buffer-size option.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-shuffle-egs --srand=1 ark:train.cegs ark:shuffled.cegs")]
pub struct Shuffle {
    #[command(flatten)]
    shuffling: ShuffleEgsOptions,
}

impl StageProgram for Shuffle {
    type Example = NnetChainExample;

    const NAME: &str = "nnet3-chain-shuffle-egs";
    const SITE: Site = Site::main("nnet3-chain-shuffle-egs.cc", 106);

    fn input(&self) -> &str {
        &self.shuffling.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.shuffling.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetChainExample>>> {
        Ok(Box::new(ShuffleStage::new(&self.shuffling, Self::SITE)?))
    }
}

/// Creates a random subset of the input chain examples, of a specified size.
///
/// Uses no more memory than the size of the subset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-subset-egs --n=300 ark:all.cegs ark:subset.cegs")]
pub struct Subset {
    #[command(flatten)]
    selection: SubsetEgsOptions,
}

impl StageProgram for Subset {
    type Example = NnetChainExample;

    const NAME: &str = "nnet3-chain-subset-egs";
    const SITE: Site = Site::main("nnet3-chain-subset-egs.cc", 92);

    fn input(&self) -> &str {
        &self.selection.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.selection.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetChainExample>>> {
        Ok(Box::new(SubsetStage::new(&self.selection, "nnet3+chain", Self::SITE)?))
    }
}

/// Add weights from 'normalization' FST to chain examples.
///
/// Should be done if and only if the <normalization-fst> argument of nnet3-chain-get-egs was not supplied when the
/// original egs were created. Examples without a remaining path are skipped with a warning.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-normalize-egs dir/normalization.fst ark:train_in.cegs ark:train_out.cegs\n\
    See also: nnet3-chain-copy-egs, nnet3-chain-merge-egs"
)]
pub struct Normalize {
    /// Scale the weights from the 'normalization' FST before applying them to the examples (useful for semi-supervised
    /// training)
    #[arg(long, default_value_t = 1.0)]
    normalization_fst_scale: f32,
    normalization_fst: String,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

impl StageProgram for Normalize {
    type Example = NnetChainExample;

    const NAME: &str = "nnet3-chain-normalize-egs";
    const SITE: Site = Site::main("nnet3-chain-normalize-egs.cc", 94);

    fn input(&self) -> &str {
        &self.egs_in
    }

    fn outputs(&self) -> &[String] {
        std::slice::from_ref(&self.egs_out)
    }

    fn stage(&self) -> Result<Box<dyn Stage<NnetChainExample>>> {
        let normalization = read_normalization(&self.normalization_fst, self.normalization_fst_scale)?;
        Ok(Box::new(NormalizeStage::new(normalization, Self::SITE)))
    }
}
