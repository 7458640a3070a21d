//! `online2-wav-nnet3-wake-word-decoder-faster`: sound → words as soon as they are certain, until a wake word comes.

use anyhow::Result;

use crate::recognition::spotting::{self, SpottingOptions, SpottingTables};

/// Read in wav file(s) and simulate online decoding for a wake word with neural nets (nnet3 setup), with optional iVector-based
/// speaker adaptation.
///
/// Words are printed as soon as they are certain. An utterance ends with the wake word, or with its sound; then the words and the
/// transition-ids of the best path are written. The <spk2utt-rspecifier> can just be <utterance-id> <utterance-id> if you want to
/// decode utterance by utterance. Options of silence weighting and endpoints have no effect.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: online2-wav-nnet3-wake-word-decoder-faster --config=conf/online.conf --wake-word-id=5 \
    --acoustic-scale=1.0 --frame-subsampling-factor=3 final.mdl HCLG.fst ark:spk2utt scp:wav.scp words.txt ark,t:words ark:ali"
)]
pub struct Options {
    #[command(flatten)]
    spotting: SpottingOptions,
    #[command(flatten)]
    tables: SpottingTables,
}

pub fn run(options: Options) -> Result<u8> {
    spotting::run(&options.spotting, &options.tables)
}
