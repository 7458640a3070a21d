//! `nnet3-serve`: a server of recognisers: WebSockets with vosk-server's protocol, recordings over HTTP, a page.

#![cfg(feature = "serve")]

use crate::recognition::elsewhere::OF_SERVERS;
use crate::recognition::serving::{ServingArgs, serve};
use crate::recognition::transcribe::{PieceArgs, SpeakerArgs};
use std::process::ExitCode;

use anyhow::Result;
use kaldi_cli::Style;

/// Serve recognition of speech, with a model folder as for nnet3-transcribe.
///
/// Clients of vosk-server work unchanged: a WebSocket takes {"config": {"sample_rate": 16000, "words": 1}}, then samples of
/// 16 bits in binary messages, then {"eof": 1}. Each message with samples has an answer: words so far, or the result of a
/// sentence. POST /transcribe takes a recording in any format that nnet3-transcribe reads, and answers with JSON, or with
/// ?format=text, srt or vtt; ?channels=each, mix or a number chooses channels; with --speakers, ?speakers=true tells who speaks. The page at / takes a microphone or a file.
/// /healthz and /readyz are for probes, /metrics for Prometheus.
///
/// SIGTERM or SIGINT: the server admits no new sessions, and ends after those that run; a second signal ends it at once.
/// Without a token or with --listen other than 127.0.0.1, put a server with TLS in front of it; see docs/server.md.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-serve model-ko\n      nnet3-serve --listen=0.0.0.0 --token-file=token model-ko\n      curl --data-binary @some.flac 'http://localhost:2700/transcribe?format=srt'"
)]
pub struct Options {
    #[command(flatten)]
    serving: ServingArgs,
    #[command(flatten)]
    pieces: PieceArgs,
    #[command(flatten)]
    speakers: SpeakerArgs,
    /// <model-dir>, unless --model or --mdl names it
    #[arg(value_name = "<model-dir>")]
    model: Option<String>,
}

pub fn main() -> ExitCode {
    kaldi_cli::run_advised(Style::Mixed, OF_SERVERS, run)
}

pub fn run(options: Options) -> Result<u8> {
    serve(&options.serving, &options.pieces, &options.speakers, options.model)
}
