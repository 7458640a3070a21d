//! The loop of `online2-cli-nnet3-decode-faster`: one utterance, as samples on standard input.

use std::io::Read;
use std::num::NonZero;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::Group;
use kaldi_feat::wave::RATES;
use kaldi_io::KaldiReader;
use kaldi_online::Speaker;
use nnet3::lattices::{self, open_symbols};
use nnet3::options::cpu_math::CpuMathOptions;
use nnet3::options::weights::WeightsOptions;
use nnet3::tables::Output;
use nnet3::{forward, messages};
use nnet3_decode::CompactLatticeHolder;
use nnet3_online::config::recognizer::RecognizerArgs;
use nnet3_online::graph::read_whole;
use nnet3_online::{SampleBytes, Stream};

use super::{check_determinized, ending, finished_lattice};
use crate::recognition::options::online::{PipelineArgs, check, model};

// From samples to a lattice.
#[derive(Args, Clone, Debug)]
pub struct SamplesOptions {
    /// Sampling frequency of the input signal (coded as 16-bit slinear).
    #[arg(long, default_value_t = 16000.0)]
    pub samp_freq: f32,
    #[command(flatten)]
    pub pipeline: PipelineArgs,
    #[command(flatten)]
    pub recognizer: Group<RecognizerArgs>,
    #[command(flatten)]
    pub weights: WeightsOptions,
    #[command(flatten)]
    pub cpu: CpuMathOptions,
}

/// The files of a model.
pub struct Files<'f> {
    pub network: &'f str,
    pub graph: &'f str,
    pub words: &'f str,
}

/// Key of the lattice.
const KEY: &str = "utt";
/// Samples of a piece.
const PIECE: usize = 1024;
/// Threads that prepare the estimation of i-vectors.
const THREADS: NonZero<usize> = NonZero::new(8).unwrap();
/// Beginnings of files of sound with a header.
const HEADERS: [&[u8]; 5] = [b"RIFF", b"fLaC", b"OggS", b"ID3", b"FORM"];

/// Decodes standard input until its end, and writes the lattice.
pub fn decode(options: &SamplesOptions, files: &Files<'_>, lattice_wspecifier: &str) -> Result<u8> {
    check(&options.recognizer)?;
    check_determinized(&options.recognizer)?;
    if !(*RATES.start() as f32..=*RATES.end() as f32).contains(&options.samp_freq) {
        let (least, most) = (RATES.start(), RATES.end());
        bail!("--samp-freq={}: expected from {least} to {most} Hz", options.samp_freq);
    }
    let features = options.pipeline.read(|_| {}, THREADS)?;
    let symbols = open_symbols(files.words)?;
    let device = options.cpu.device();
    let scale = options.recognizer.acoustic_scale;
    let network =
        forward::load_acoustic_network(files.network, &device, scale, options.weights.form(&device)?)?;
    let silence_weighting = options.pipeline.silence_weighting.options()?;
    let graph = read_whole(files.graph, network.transitions.num_transition_ids())?.0.into();
    let model = model(&options.recognizer, network, features, silence_weighting, graph)?;
    let mut stream = Stream::new(&model, model.options())?;
    // An error now, not at the first piece.
    stream.accept(options.samp_freq, &[0.0])?;
    stream.begin(Speaker::default())?;
    let mut output = Output::<CompactLatticeHolder>::open(lattice_wspecifier)?;
    let samples = search(&mut stream, options.samp_freq)?;
    if stream.frames_decoded() == 0 {
        output.skip(KEY, format!("standard input has {samples} samples, too few for a frame"));
    } else if !stream.finish()? {
        output.skip(KEY, "no path was left");
    } else {
        match finished_lattice(&mut stream, &ending(&options.recognizer), KEY) {
            Ok((lattice, best)) => {
                if let Some(symbols) = &symbols {
                    lattices::print_words(KEY, &best.words, symbols)?;
                }
                output.write(KEY, &lattice)?;
            }
            Err(error) => output.skip(KEY, error.to_string()),
        }
    }
    output.finish()
}

/// Gives the samples to the stream as they come. Returns their number.
fn search(stream: &mut Stream, rate: f32) -> Result<usize> {
    let mut input = KaldiReader::open_raw("-")?;
    let (mut bytes, mut count) = (vec![0; 2 * PIECE], 0);
    loop {
        let filled = fill(&mut input, &mut bytes).context("standard input")?;
        if count == 0
            && let Some(header) = HEADERS.iter().find(|header| bytes[..filled].starts_with(header))
        {
            messages::warn(&format!(
                "standard input begins with '{}', as files of sound do; expected samples of 16 bits without a header",
                String::from_utf8_lossy(header)
            ));
        }
        if filled % 2 != 0 {
            messages::warn(&format!(
                "standard input has {} bytes, an odd number: expected samples of 16 bits",
                2 * count + filled
            ));
        }
        let samples = SampleBytes::default().take(&bytes[..filled], i16::from_le_bytes);
        count += samples.len();
        if filled < bytes.len() {
            stream.accept_last(rate, &samples)?;
            return Ok(count);
        }
        stream.accept(rate, &samples)?;
    }
}

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
