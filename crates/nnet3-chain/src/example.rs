//! Chain examples: inputs, and outputs with supervision.

use kaldi_io::holder::ObjectHolder;
use nnet3_train::{SequenceExample, SequenceOutput};

use crate::supervision::Supervision;

/// One output of a chain example.
pub type NnetChainSupervision = SequenceOutput<Supervision>;

/// One chain example: a chunk of an utterance or, once merged, a minibatch of them.
pub type NnetChainExample = SequenceExample<Supervision>;

/// Chain examples as values of a table.
pub type ChainExampleHolder = ObjectHolder<NnetChainExample>;
