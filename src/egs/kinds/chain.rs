//! Chain examples.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3_chain::{NnetChainExample, language};

use super::{AllFrames, ExampleKind, Program};
use crate::chain_egs::read_normalization;
use crate::egs::pipeline::{ParseStep, Step};
use crate::egs::programs::StageProgram;
use crate::egs::{NormalizeStage, Stage};

impl ExampleKind for NnetChainExample {
    const COPY: Program = Program {
        name: "nnet3-chain-copy-egs",
        site: Site::main("nnet3-chain-copy-egs.cc", 393),
        about: "Copy examples for chain training (LF-MMI), possibly changing the binary mode.\n\n\
            Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs. With \
            --format=json these get lists of the examples: names, dimensions and indexes.",
        usage: "e.g.\n\
            nnet3-chain-copy-egs ark:train.cegs ark,t:text.cegs\n\
            or:\n\
            nnet3-chain-copy-egs --frame-shift=1 ark:train.cegs ark:1.cegs ark:2.cegs\n\
            See also: nnet3-chain-subset-egs, nnet3-chain-merge-egs, nnet3-chain-shuffle-egs",
    };
    const MERGE: Program = Program {
        name: "nnet3-chain-merge-egs",
        site: Site::main("nnet3-chain-merge-egs.cc", 60),
        about: "This copies chain training examples from input to output, merging many examples into one, which is a \
            minibatch.\n\n\
            Examples are merged if their inputs and outputs have the same names, dimensions and times.",
        usage: "e.g.\n\
            nnet3-chain-merge-egs --minibatch-size=128,64 ark:1.cegs ark:- | nnet3-chain-train ... \n\
            See also nnet3-chain-copy-egs",
    };
    const SHUFFLE: Program = Program {
        name: "nnet3-chain-shuffle-egs",
        site: Site::main("nnet3-chain-shuffle-egs.cc", 106),
        about: "Copy chain examples (LF-MMI) from the input to output, but randomly shuffle the order.\n\n\
            This program will keep all of the examples in memory at once, unless you use the --buffer-size option.",
        usage: "e.g.: nnet3-chain-shuffle-egs --srand=1 ark:train.cegs ark:shuffled.cegs",
    };
    const SUBSET: Program = Program {
        name: "nnet3-chain-subset-egs",
        site: Site::main("nnet3-chain-subset-egs.cc", 92),
        about: "Creates a random subset of the input chain examples, of a specified size.\n\n\
            Uses no more memory than the size of the subset.",
        usage: "e.g.: nnet3-chain-subset-egs --n=300 ark:all.cegs ark:subset.cegs",
    };
    const MINIBATCH_SIZE: &'static str = "64";
    const SELECT: Site = Site::new("ModifyChainExampleContext", "nnet3-chain-copy-egs.cc", 230);
    const SUBSET_NAME: &'static str = "nnet3+chain";
    const SEEDED_CHOICE: bool = true;
    const COUNTS_ERRORS: bool = true;
    const MORE_STEPS: &'static [ParseStep<NnetChainExample>] = &[Step::parse::<Normalize>];

    type CopyOptions = AllFrames;

    fn name_language(&mut self, key: &str) -> nnet3_train::Result<()> {
        language::rename_output(key, self)
    }

    fn language_suffix(&self) -> String {
        language::key_suffix(self)
    }
}

/// Add weights from 'normalization' FST to chain examples.
///
/// Should be done if and only if the <normalization-fst> argument of nnet3-chain-get-egs was not supplied when the
/// original egs were created. Examples of which nothing is left are skipped with a warning.
#[allow(rustdoc::invalid_html_tags)] // (The help names the argument as usages do.)
#[derive(clap::Parser)]
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

    const NAME: &'static str = "nnet3-chain-normalize-egs";
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
