//! `online2-cli-nnet3-decode-faster`: samples on standard input → a lattice.

use crate::recognition::online::samples::{self, Files, SamplesOptions};
use anyhow::Result;

/// Reads in audio from stdin and performs online decoding with neural nets (nnet3 setup), with iVector-based speaker adaptation.
///
/// Samples have 16 bits, the low byte first, and no header; there is one channel. Pieces of 1024 samples are decoded as they come. At the
/// end of standard input the lattice is written, with the key utt. Some configuration values and inputs are set via config files whose
/// filenames are passed as options. Rules of endpoints have no effect: the sound is one utterance. Rhasspy and Home Assistant's
/// speech-to-phrase call this program.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: sox audio.wav -t raw -e signed -b 16 -r 16000 -c 1 - | \
    online2-cli-nnet3-decode-faster --config=conf/online.conf --acoustic-scale=1.0 final.mdl HCLG.fst words.txt ark:lat.ark")]
pub struct Options {
    #[command(flatten)]
    samples: SamplesOptions,
    nnet3_in: String,
    fst_in: String,
    word_symbol_table: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { nnet3_in, fst_in, word_symbol_table, .. } = &options;
    let files = Files { network: nnet3_in, graph: fst_in, words: word_symbol_table };
    samples::decode(&options.samples, &files, &options.lattice_wspecifier)
}
