//! `ivector-plda-scoring`: PLDA scores of trials.

use crate::speakers::trials::{self, Side};
use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::num;
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32Holder, VectorHolder};
use kaldi_speaker::plda::{Length, Plda, Scorer};
use kaldi_speaker::vectors::Spread;
use nnet3::messages;
use nnet3::tables::Input;
use rustc_hash::FxHashMap;

/// Computes log-likelihood ratios for trials using PLDA model.
///
/// Note: the "trials-file" has lines of the form `<key1> <key2>` and the output will have the form `<key1> <key2>
/// [<score>]`. If you have "train" vectors that are averages, give the numbers of utterances with --num-utts.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-plda-scoring --num-utts=ark:exp/train/num_utts.ark plda \
    ark:exp/train/spk_ivectors.ark ark:exp/test/ivectors.ark trials scores\n\
    See also: ivector-compute-dot-products, ivector-compute-plda")]
pub struct Options {
    /// Table to read the number of utterances per speaker, e.g. ark:num_utts.ark
    #[arg(long, default_value = "")]
    num_utts: String,
    /// If true, do length normalization as part of PLDA (see code for details)
    #[arg(long, default_value_t = true)]
    normalize_length: bool,
    /// If true, replace the default length normalization by dividing by the length and multiplying by sqrt(dimension)
    #[arg(long, default_value_t = false)]
    simple_length_normalization: bool,
    plda: String,
    train_ivector_rspecifier: String,
    test_ivector_rspecifier: String,
    trials_rxfilename: String,
    scores_wxfilename: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: Plda = kaldi_io::read_object(&options.plda)?;
    let length = Length::new(options.normalize_length, options.simple_length_normalization);
    let train = read(&model, length, "training", &options.train_ivector_rspecifier, &options.num_utts)?;
    let test = read(&model, length, "test", &options.test_ivector_rspecifier, "")?;
    let mut scorers = FxHashMap::<usize, Scorer>::default();
    let counts = trials::score(
        &options.trials_rxfilename,
        [&train, &test],
        &options.scores_wxfilename,
        |(enrolled, examples), (test, _)| {
            Ok(scorers.entry(*examples).or_insert_with(|| model.scorer(*examples)).score(enrolled, test))
        },
    )?;
    counts.log("score", ",");
    Ok(if counts.done > 0 { 0 } else { NOTHING_DONE })
}

/// Reads vectors into the model's space, with the number of utterances of each.
fn read(
    model: &Plda,
    length: Length,
    kind: &str,
    table: &str,
    num_utts: &str,
) -> Result<Side<(Vec<f32>, usize)>> {
    let mut numbers = nnet3::tables::open_optional::<I32Holder>(num_utts)?;
    let mut vectors = FxHashMap::default();
    let (mut scales, mut failed) = (Spread::default(), 0);
    messages::log(&format!("Reading {} iVectors", if kind == "test" { "test" } else { "train" }));
    Input::<VectorHolder>::open(table)?.for_each(|key, vector| {
        let mut skip = |reason: String| {
            messages::warn(&format!("{key}: {reason}"));
            failed += 1;
            Ok(())
        };
        if vectors.contains_key(key) {
            bail!("Duplicate {kind} iVector found for {key}");
        }
        let examples = match &mut numbers {
            None => 1,
            Some(numbers) => match numbers.get(key)?.map(|&count| usize::try_from(count)) {
                Some(Ok(count)) if count > 0 => count,
                Some(_) => bail!("{num_utts}: the number of utterances of {key} is not above 0"),
                None => return skip(format!("Number of utterances not given in {num_utts}")),
            },
        };
        match model.project(&vector, examples, length) {
            Ok((projected, scale)) => {
                scales.add(scale);
                vectors.insert(key.to_owned(), (projected, examples));
                Ok(())
            }
            Err(reason) => skip(reason.to_string()),
        }
    })?;
    numbers.map_or(Ok(()), RandomReader::close)?;
    messages::log(&format!("Read {} {kind} iVectors, errors on {failed}", vectors.len()));
    if vectors.is_empty() {
        bail!("{table}: No {kind} iVectors present.");
    }
    messages::log(&format!("Average renormalization scale on {kind} iVectors was {}", num(scales.mean())));
    Ok(Side { name: if kind == "test" { "test iVectors" } else { "training iVectors" }, vectors })
}
