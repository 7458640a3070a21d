//! `ivector-extract-online2`: i-vectors as online decoding would estimate them.

use crate::recognition::ivectors::{self, ExtractOptions};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3_online::config::ivector::IvectorArgs;

/// Extract iVectors for utterances every --ivector-period frames, using a trained iVector extractor and features, as online
/// decoding would.
///
/// Note: the value of --use-most-recent-ivector is ignored; it's set to false. The output is an archive of matrices,
/// indexed by utterance-id; each row is an iVector. The input features are the raw, non-cepstral-mean-normalized
/// features, e.g. MFCC. To do it separately per utterance, have lines '<utterance-id> <utterance-id>' in
/// <spk2utt-rspecifier>.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-extract-online2 --config=exp/nnet3_online/conf/ivector_extractor.conf \
    ark:data/train/spk2utt scp:data/train/feats.scp ark,t:ivectors.1.ark"
)]
pub struct Options {
    #[command(flatten)]
    ivectors: Group<IvectorArgs>,
    #[command(flatten)]
    extract: ExtractOptions,
}

pub fn run(options: Options) -> Result<u8> {
    ivectors::extract(&options.ivectors, &options.extract)
}
