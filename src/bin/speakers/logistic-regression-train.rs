//! `logistic-regression-train`: trains a logistic regression model.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32Holder, VectorHolder};
use kaldi_speaker::logistic::{TrainOptions, train};
use nnet3::messages;
use nnet3::tables::Input;

/// Trains a model using Logistic Regression with L-BFGS from a set of vectors. The class labels in `<classes-rspecifier>`
/// must be a set of integers such that there are no gaps in its range and the smallest label must be 0.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: logistic-regression-train ark:ivectors.ark ark:utt2class model\n\
    See also: logistic-regression-eval, logistic-regression-copy")]
pub struct Options {
    /// Maximum steps for each training
    #[arg(long, default_value_t = 20)]
    max_steps: i32,
    /// Coefficient for L2 regularization.
    #[arg(long, default_value_t = 0.0025)]
    normalizer: f64,
    /// Target number of mixture components to create, if supplied.
    #[arg(long, default_value_t = 0)]
    mix_up: i32,
    /// Power rule for determining the number of mixtures to create.
    #[arg(long, default_value_t = 0.15)]
    power: f64,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    vector_rspecifier: String,
    classes_rspecifier: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (Ok(max_steps), Ok(mix_up)) = (usize::try_from(options.max_steps), usize::try_from(options.mix_up))
    else {
        bail!(
            "--max-steps={} --mix-up={}: expected numbers that are not negative",
            options.max_steps,
            options.mix_up
        );
    };
    let mut table = RandomReader::<VectorHolder>::open(&options.vector_rspecifier)?;
    let (mut vectors, mut classes, mut missing) = (Vec::<Vec<f32>>::new(), Vec::new(), 0u64);
    Input::<I32Holder>::open(&options.classes_rspecifier)?.for_each(|key, class| {
        let Some(vector) = table.get(key)?.filter(|vector| !vector.is_empty()) else {
            messages::warn(&format!("No vector for utterance {key}"));
            missing += 1;
            return Ok(());
        };
        kaldi_speaker::vectors::check(vector)?;
        if let Some(expected) = vectors.first().map(Vec::len).filter(|expected| *expected != vector.len()) {
            bail!("dimension {}, the vectors before it have {expected}", vector.len());
        }
        vectors.push(vector.clone());
        classes.push(class);
        Ok(())
    })?;
    table.close()?;
    messages::log(&format!(
        "Retrieved {} vectors with {missing} missing. There were {} class labels.",
        vectors.len(),
        classes.iter().max().map_or(0, |last| last + 1)
    ));
    let settings = TrainOptions { max_steps, normalizer: options.normalizer, mix_up, power: options.power };
    let trained = train(&vectors, &classes, &settings).with_context(|| options.classes_rspecifier.clone())?;
    let log = |values: &[f64]| {
        values.iter().for_each(|&value| messages::log(&format!("Objective function is {}", num(value))));
    };
    log(&trained.first);
    messages::log("Finished training parameters without mixture components.");
    if let Some(second) = &trained.second {
        messages::log(&format!(
            "Target number mixture components was {mix_up}. Training {} mixture components. ",
            trained.model.components()
        ));
        log(second);
        messages::log("Finished training mixture components.");
    }
    kaldi_io::write_object(&options.model_out, options.mode.binary, &trained.model)?;
    Ok(0)
}
