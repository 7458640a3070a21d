//! Plain examples.

use kaldi_cli::log::Site;
use nnet3_train::NnetExample;
use nnet3_train::copy::FrameChoice;

use super::{CopyOptions, ExampleKind, Program};

/// The choice of frames.
#[derive(clap::Args)]
pub struct FrameOptions {
    /// Selects a single frame from each multi-frame example: a number 0, 1, etc., or 'random'.
    #[arg(long, default_value = "")]
    frame: String,
}

impl CopyOptions for FrameOptions {
    fn frame(&self) -> nnet3_train::Result<FrameChoice> {
        self.frame.parse()
    }
}

impl ExampleKind for NnetExample {
    const COPY: Program = Program {
        name: "nnet3-copy-egs",
        site: Site::main("nnet3-copy-egs.cc", 385),
        about: "Copy examples (single frames or fixed-size groups of frames) for neural network training, possibly \
            changing the binary mode.\n\n\
            Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs. With \
            --format=json these get lists of the examples: names, dimensions and indexes.",
        usage: "e.g.\n\
            nnet3-copy-egs ark:train.egs ark,t:text.egs\n\
            or:\n\
            nnet3-copy-egs ark:train.egs ark:1.egs ark:2.egs\n\
            See also: nnet3-subset-egs, nnet3-get-egs, nnet3-merge-egs, nnet3-shuffle-egs",
    };
    const MERGE: Program = Program {
        name: "nnet3-merge-egs",
        site: Site::main("nnet3-merge-egs.cc", 80),
        about: "This copies nnet training examples from input to output, but while doing so it merges many examples into \
            one, forming a minibatch consisting of a single example.",
        usage: "e.g.\n\
            nnet3-merge-egs --minibatch-size=512 ark:1.egs ark:- | nnet3-train ... \n\
            See also nnet3-copy-egs",
    };
    const SHUFFLE: Program = Program {
        name: "nnet3-shuffle-egs",
        site: Site::main("nnet3-shuffle-egs.cc", 105),
        about: "Copy examples (typically single frames or small groups of frames) for neural network training, from the \
            input to output, but randomly shuffle the order.\n\n\
            This program will keep all of the examples in memory at once, unless you use the --buffer-size option.",
        usage: "e.g.: nnet3-shuffle-egs --srand=1 ark:train.egs ark:shuffled.egs",
    };
    const SUBSET: Program = Program {
        name: "nnet3-subset-egs",
        site: Site::main("nnet3-subset-egs.cc", 94),
        about: "Creates a random subset of the input examples, of a specified size.\n\n\
            Uses no more memory than the size of the subset.",
        usage: "e.g.: nnet3-subset-egs [args] ark:degs.1.arks ark:subset.egs",
    };
    const MINIBATCH_SIZE: &'static str = "256";
    const SELECT: Site = Site::new("SelectFromExample", "nnet3-copy-egs.cc", 240);
    const SUBSET_NAME: &'static str = "neural-network";
    const SEEDED_CHOICE: bool = true;
    const COUNTS_ERRORS: bool = true;

    type CopyOptions = FrameOptions;
}
