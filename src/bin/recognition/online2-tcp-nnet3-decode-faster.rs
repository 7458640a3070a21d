//! `online2-tcp-nnet3-decode-faster`: a server that recognizes sound from TCP connections.

use crate::recognition::online::samples::Files;
use crate::recognition::server::{self, RecognitionArgs, ServerArgs};
use anyhow::Result;

/// Reads in audio from a network socket and performs online decoding with neural nets (nnet3 setup), with iVector-based speaker
/// adaptation and endpointing.
///
/// Clients send samples of 16 bits, the low byte first, and get lines of words. Words so far end with a carriage return; final words, at
/// an endpoint or at the end, end with a newline. Some configuration values and inputs are set via config files whose filenames are
/// passed as options.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: online2-tcp-nnet3-decode-faster --config=conf/online.conf --endpoint.silence-phones=1:2 --samp-freq=16000 \
    final.mdl HCLG.fst words.txt\n  sox audio.wav -t raw -e signed -b 16 -r 16000 - | nc -N localhost 5050"
)]
pub struct Options {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    recognition: RecognitionArgs,
    nnet3_in: String,
    fst_in: String,
    word_symbol_table: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { server, recognition, nnet3_in, fst_in, word_symbol_table } = &options;
    let files = Files { network: nnet3_in, graph: fst_in, words: word_symbol_table };
    server::serve(server, recognition, &files)
}
