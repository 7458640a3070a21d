//! `rnnlm-sentence-probs`: log-probabilities of the words of sentences by a recurrent language model.

use std::io::Write;

use anyhow::{Context, Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_cli::log::num;
use kaldi_io::KaldiReader;
use kaldi_io::text::split_integers;
use nnet3::options::device;

use super::options::{Files, SentenceArguments};

/// Takes a text corpus (with words represented by symbol-id's) and an already trained RNNLM model. Prints the
/// log-probabilities of each word in the corpus.
///
/// The RNNLM resets its hidden state for each new line. This is used in n-best rescoring with RNNLMs.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: rnnlm-sentence-probs --bos-symbol=1 --eos-symbol=2 rnnlm/final.raw rnnlm/final.word_embedding dev_corpus.txt > output_logprobs.txt"
)]
pub struct Options {
    /// Accepted as by Kaldi's program; sentences are computed word by word on the CPU, so this has no effect
    #[arg(long, default_value = "no", value_parser = device::USE_GPU)]
    use_gpu: String,
    /// If true, set test-mode to true on any BatchNormComponents.
    #[arg(long, default_value_t = true)]
    batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = true)]
    dropout_test_mode: bool,
    #[command(flatten)]
    sentence: SentenceArguments,
    rnnlm_in: String,
    word_embedding_in: String,
    text_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let files = Files { rnnlm: &options.rnnlm_in, embedding: &options.word_embedding_in };
    let test_mode = (options.batchnorm_test_mode, options.dropout_test_mode);
    let mut model = options.sentence.open(&files, test_mode)?;
    let mut r = KaldiReader::open_raw(&options.text_in)?;
    let mut out = StandardOutput::open()?;
    while let Some(line) = r.read_line()? {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (key, words) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let Some(words) = split_integers(words, &[' ', '\t'], true) else {
            bail!("{}, key '{key}': Input file should contain only integers.", options.text_in);
        };
        let place = || format!("{}, key '{key}'", options.text_in);
        let probs = model.sentence(&words).with_context(place)?;
        let probs: Vec<String> = probs.into_iter().map(|p| num(p.into())).collect();
        writeln!(out, "{key} {}", probs.join(" "))?;
    }
    out.flush()?;
    r.close()?;
    Ok(0)
}
