//! `online2-wav-nnet3-latgen-incremental`: sound → lattices, determinized in chunks, as if it came in live.

use crate::recognition::online::{self, Kind, OnlineOptions, OnlineTables};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3_online::config::incremental::IncrementalArgs;

/// Read in wav file(s) and simulate online decoding with neural nets (nnet3 setup), with optional iVector-based speaker
/// adaptation and optional endpointing.
///
/// Lattices are determinized in chunks while the sound comes in, so that little is left to do at the end.
///
/// Some configuration values and inputs are set via config files whose filenames are passed as options. The
/// <spk2utt-rspecifier> can just be <utterance-id> <utterance-id> if you want to decode utterance by utterance. With
/// --verbose=3 there is a line for each piece of sound.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: online2-wav-nnet3-latgen-incremental --config=conf/online.conf --frame-subsampling-factor=3 \
    --acoustic-scale=1.0 final.mdl HCLG.fst ark:spk2utt scp:wav.scp ark:lat.ark"
)]
pub struct Options {
    #[command(flatten)]
    online: OnlineOptions,
    #[command(flatten)]
    tables: OnlineTables,
    #[command(flatten)]
    incremental: Group<IncrementalArgs>,
}

pub fn run(options: Options) -> Result<u8> {
    online::decode(&options.online, &options.tables, Kind::Incremental(options.incremental.options()?))
}
