//! `nnet3-sample-text`: text from a network that predicts the next character.

use crate::learning::text_windows::Vocabulary;
use anyhow::{Context, Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_io::{DenseMatrix, SparseMatrix, SparseVector};
use nnet3::{models, prepare};
use nnet3_core::Random;
use nnet3_train::forward::ExampleForward;
use nnet3_train::{NnetExample, NnetIo};

/// Print text that a network makes up, character by character. Each character is drawn with the probabilities that the
/// network gives for it after the characters before it.
///
/// The network has an input 'input' of one-hot rows, and log-probabilities as its output 'output', as egs/chars trains
/// it.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-sample-text --length=500 --start=$'ROMEO:\\n' final.raw vocab")]
pub struct Options {
    /// Characters to print
    #[arg(long, default_value_t = 500)]
    length: usize,
    /// Beginning of the text
    #[arg(long, default_value = "\n")]
    start: String,
    /// Characters before the next one that the network sees at most
    #[arg(long, default_value_t = 70)]
    context: usize,
    /// Divisor of log-probabilities: less than 1 prefers probable symbols
    #[arg(long, default_value_t = 1.0)]
    temperature: f64,
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    raw_model_in: String,
    vocab_rxfilename: String,
}

pub fn run(options: Options) -> Result<u8> {
    if options.temperature <= 0.0 || !options.temperature.is_finite() {
        bail!("--temperature={}: expected a number above 0", options.temperature);
    }
    if options.context == 0 {
        bail!("--context=0: expected a number above 0");
    }
    let vocabulary = Vocabulary::read(&options.vocab_rxfilename)?;
    let mut ids = vocabulary.ids(&options.start).context("--start")?;
    if ids.is_empty() {
        bail!("--start: expected at least one character");
    }
    let mut nnet = models::load(&options.raw_model_in)?;
    let dims = (nnet.input_dim("input"), nnet.output_dim("output"));
    if dims != (Some(vocabulary.len()), Some(vocabulary.len())) {
        bail!(
            "{}: expected an input 'input' and an output 'output' of dimension {}, as many as the vocabulary has characters",
            options.raw_model_in,
            vocabulary.len()
        );
    }
    prepare::for_running(&mut nnet)?;
    let mut forward = ExampleForward::new(nnet, &nnet3_matrix::cpu());
    let random = Random::new(options.srand);
    let mut text = options.start.clone();
    for _ in 0..options.length {
        let next =
            next_symbol(&mut forward, &ids[ids.len().saturating_sub(options.context)..], &options, &random)?;
        ids.push(next as i32);
        let symbol = vocabulary.symbol(next).context("a symbol of the vocabulary")?;
        text.push(symbol);
    }
    StandardOutput::print(text + "\n")?;
    Ok(0)
}

fn next_symbol(
    forward: &mut ExampleForward,
    ids: &[i32],
    options: &Options,
    random: &Random,
) -> Result<usize> {
    let dim = forward.nnet().input_dim("input").unwrap_or(0);
    let one_hot = |&id: &i32| SparseVector::new(dim, vec![(id, 1.0)]);
    let rows = ids.iter().map(one_hot).collect::<kaldi_io::Result<Vec<_>>>()?;
    let last = ids.len() as i32 - 1;
    let ios = vec![
        NnetIo::new("input", SparseMatrix { rows }.into(), 0, 1),
        NnetIo::new("output", DenseMatrix::new(1, 1).into(), last, 1),
    ];
    let output = forward.compute(&NnetExample { ios }, "output")?;
    let scores: Vec<f64> = output.row(0).iter().map(|&x| f64::from(x) / options.temperature).collect();
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - best).exp()).collect();
    let mut left = f64::from(random.uniform()) * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        left -= weight;
        left <= 0.0
    });
    Ok(chosen.unwrap_or(weights.len() - 1))
}
