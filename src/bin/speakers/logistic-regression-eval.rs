//! `logistic-regression-eval`: probabilities of classes by logistic regression.

use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_io::holder::{I32Holder, VectorHolder};
use kaldi_io::text::{FILE_PRECISION, format_g};
use kaldi_io::{KaldiWriter, RandomReader};
use kaldi_speaker::logistic::LogisticRegression;
use nnet3::messages;
use nnet3::tables::{self, Input};

/// Evaluates a model on input vectors and outputs either log posterior probabilities or scores.
///
/// Usage1: logistic-regression-eval `<model> <input-vectors-rspecifier> <output-log-posteriors-wspecifier>`.
/// Usage2: logistic-regression-eval `<model> <trials-file> <input-vectors-rspecifier> <output-scores-file>`, where the
/// trials are a table of classes, and the scores are lines of key, class and log posterior.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: logistic-regression-eval --apply-log=false model ark:ivectors.ark ark,t:posteriors\n\
    See also: logistic-regression-train"
)]
pub struct Options {
    /// If false, apply Exp to the log posteriors output. This is helpful when combining posteriors from multiple
    /// logistic regression models.
    #[arg(long, default_value_t = true)]
    apply_log: bool,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 20)]
    max_steps: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 0.0025)]
    normalizer: f64,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 0)]
    mix_up: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 0.15)]
    power: f64,
    model: String,
    #[arg(
        value_name = "(<vectors-rspecifier> <log-posteriors-wspecifier>|<trials-rspecifier> <vectors-rspecifier> <scores-wxfilename>)",
        required = true,
        num_args = 2..=3
    )]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let model: LogisticRegression = kaldi_io::read_object(&options.model)?;
    let evaluate = |vector: &[f32]| -> kaldi_speaker::Result<Vec<f32>> {
        let mut posteriors = model.log_posteriors(vector)?;
        if !options.apply_log {
            posteriors.iter_mut().for_each(|x| *x = x.exp());
        }
        Ok(posteriors)
    };
    match &options.arguments[..] {
        [vectors, to] => {
            let output =
                tables::map::<VectorHolder, VectorHolder>(vectors, to, |_, vector| {
                    match evaluate(&vector) {
                        Ok(posteriors) => Ok(Ok(posteriors)),
                        Err(reason) => tables::skip(reason),
                    }
                })?;
            messages::log(&format!("Calculated log posteriors for {} vectors.", output.done));
            output.finish()
        }
        [trials, vectors, to] => scores(trials, vectors, to, evaluate),
        _ => bail!("expected 3 or 4 arguments"),
    }
}

/// Writes the value of each key's class.
fn scores(
    trials: &str,
    vectors: &str,
    to: &str,
    evaluate: impl Fn(&[f32]) -> kaldi_speaker::Result<Vec<f32>>,
) -> Result<u8> {
    let mut table = RandomReader::<VectorHolder>::open(vectors)?;
    let input = Input::<I32Holder>::open(trials)?;
    let mut writer = KaldiWriter::create(to, false)?;
    let (mut done, mut failed) = (0u64, 0u64);
    input.for_each(|key, class| {
        let mut skip = |reason: String| {
            messages::warn(&format!("{key}: {reason}"));
            failed += 1;
            Ok(())
        };
        let Some(vector) = table.get(key)? else {
            return skip(format!("no vector in {vectors}"));
        };
        let values = match evaluate(vector) {
            Ok(values) => values,
            Err(reason) => return skip(reason.to_string()),
        };
        let Some(&value) = usize::try_from(class).ok().and_then(|class| values.get(class)) else {
            return skip(format!("class {class}, but the model has {} classes", values.len()));
        };
        done += 1;
        Ok(writer.write_str(&format!("{key} {class} {}\n", format_g(value.into(), FILE_PRECISION)))?)
    })?;
    table.close()?;
    messages::log(&format!("Calculated scores for {done} vectors, errors on {failed}."));
    if done == 0 {
        return Ok(NOTHING_DONE);
    }
    writer.finish()?;
    Ok(0)
}
