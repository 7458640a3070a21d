//! `arpa-mix`: language models → their interpolation, an ARPA file.

use anyhow::{Context, Result, bail};
use kaldi_fst::store::{self, Names, Symbols};
use kaldi_graph::arpa::{BackoffModel, Event, Vocabulary, mix};
use kaldi_io::text::parse_real;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::messages;

/// The first byte of OpenFst's files; ARPA files are text.
const FST: u8 = 0xd6;

/// Interpolate language models linearly into one model in the ARPA format.
///
/// A model is an ARPA file, or an acceptor of n-grams such as G.fst of a lang folder or Gr.fst of a published model. The
/// result has the n-grams of all models, with the weighted sums of their probabilities, and backoff weights that make
/// probabilities sum to 1. With a single model, the result has its n-grams alone: an acceptor becomes an ARPA file.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: arpa-mix --weights=0.5,0.5 model/graph/Gr.fst new.arpa mixed.arpa")]
pub struct Options {
    /// Weights of the models, separated by commas; they are divided by their sum. Equal weights if not given
    #[arg(long, default_value = "")]
    weights: String,
    /// Symbol table for acceptors that have no names of words in them
    #[arg(long, default_value = "")]
    words: String,
    /// Models, and the name of the output
    #[arg(value_name = "<model> … <arpa-out>", num_args = 2.., required = true)]
    files: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some((out, files)) = options.files.split_last() else {
        bail!("expected at least one model and an output")
    };
    let weights = match options.weights.as_str() {
        "" => vec![1.0; files.len()],
        list => list.split(',').map(|weight| parse_real(weight).unwrap_or(f64::NAN)).collect(),
    };
    if weights.len() != files.len() {
        bail!("--weights has {} numbers, but there are {} models", weights.len(), files.len());
    }
    if weights.iter().any(|weight| !(*weight > 0.0 && weight.is_finite())) {
        bail!("--weights: expected numbers above 0 with commas between them, found '{}'", options.weights);
    }
    let total: f64 = weights.iter().sum();
    let mut vocabulary = Vocabulary::default();
    let models = files
        .iter()
        .map(|file| read(file, &options.words, &mut vocabulary).with_context(|| file.clone()))
        .collect::<Result<Vec<BackoffModel>>>()?;
    let parts: Vec<(f64, &BackoffModel)> = weights.iter().map(|weight| weight / total).zip(&models).collect();
    let mixture = if let [(_, only)] = parts[..] { only.clone() } else { mix(&parts, &vocabulary) };
    let mut w = KaldiWriter::create(out, false)?;
    mixture.write_arpa(&mut w, &vocabulary)?;
    w.finish()?;
    let numbers: Vec<String> = models.iter().map(|model| model.num_ngrams().to_string()).collect();
    messages::log(&format!("n-grams: {} of models of {}", mixture.num_ngrams(), numbers.join(" and ")));
    Ok(0)
}

fn read(file: &str, words: &str, vocabulary: &mut Vocabulary) -> Result<BackoffModel> {
    let mut r = KaldiReader::open_raw(file)?;
    if r.peek_byte()? != Some(FST) {
        let model = BackoffModel::from_arpa(&mut r, vocabulary, &mut |event| {
            if let Event::Warning(message) | Event::ManyWarnings(message) = event {
                messages::warn(&message);
            }
        })?;
        r.close()?;
        return Ok(model);
    }
    r.set_binary(true);
    let (fst, names) = store::read_with_names(&mut r)?;
    let names = match (names, words) {
        (Some(names), _) => names,
        (None, "") => bail!("the acceptor has no symbol table: expected --words=FILE"),
        (None, table) => Names::try_from(&Symbols::load(table)?).map_err(anyhow::Error::msg)?,
    };
    Ok(BackoffModel::from_fst(&fst, &names, vocabulary)?)
}
