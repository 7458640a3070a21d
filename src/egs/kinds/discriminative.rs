//! Examples for discriminative training.

use kaldi_cli::log::Site;
use nnet3_discriminative::NnetDiscriminativeExample;

use super::{AllFrames, ExampleKind, Program};

impl ExampleKind for NnetDiscriminativeExample {
    const COPY: Program = Program {
        name: "nnet3-discriminative-copy-egs",
        site: Site::main("nnet3-discriminative-copy-egs.cc", 125),
        about: "Copy examples for nnet3 discriminative training, possibly changing the binary mode.\n\n\
            Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs. With \
            --format=json these get lists of the examples: names, dimensions and indexes.",
        usage: "e.g.\n\
            nnet3-discriminative-copy-egs ark:train.degs ark,t:text.degs\n\
            or:\n\
            nnet3-discriminative-copy-egs --frame-shift=1 ark:train.degs ark:1.degs ark:2.degs\n\
            See also: nnet3-discriminative-subset-egs, nnet3-discriminative-merge-egs, nnet3-discriminative-shuffle-egs",
    };
    const MERGE: Program = Program {
        name: "nnet3-discriminative-merge-egs",
        site: Site::main("nnet3-discriminative-merge-egs.cc", 60),
        about: "This copies nnet3 discriminative training examples from input to output, merging many examples into one, \
            which is a minibatch.\n\n\
            Examples are merged if their inputs and outputs have the same names, dimensions and times.",
        usage: "e.g.\n\
            nnet3-discriminative-merge-egs --minibatch-size=128 ark:1.degs ark:- | nnet3-discriminative-train ... \n\
            See also nnet3-discriminative-copy-egs",
    };
    const SHUFFLE: Program = Program {
        name: "nnet3-discriminative-shuffle-egs",
        site: Site::main("nnet3-discriminative-shuffle-egs.cc", 105),
        about: "Copy nnet3 discriminative training examples from the input to output, while randomly shuffling the \
            order.\n\n\
            This program will keep all of the examples in memory at once, unless you use the --buffer-size option.",
        usage: "e.g.: nnet3-discriminative-shuffle-egs --srand=1 ark:train.degs ark:shuffled.degs",
    };
    const SUBSET: Program = Program {
        name: "nnet3-discriminative-subset-egs",
        site: Site::main("nnet3-discriminative-subset-egs.cc", 92),
        about: "Creates a random subset of the input discriminative examples, of a specified size.\n\n\
            Uses no more memory than the size of the subset.",
        usage: "e.g.: nnet3-discriminative-subset-egs --n=1000 ark:all.degs ark:subset.degs",
    };
    const MINIBATCH_SIZE: &'static str = "64";
    const SELECT: Site = Site::new("ShiftDiscriminativeExampleTimes", "nnet-discriminative-example.cc", 330);
    const SUBSET_NAME: &'static str = "neural-network discriminative";
    const SEEDED_CHOICE: bool = false;
    const COUNTS_ERRORS: bool = false;

    type CopyOptions = AllFrames;
}
