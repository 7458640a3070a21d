//! `compute-atwv`: term-weighted values of hits of keywords.

use anyhow::{Result, bail};
use kaldi_cli::log::num;
use kaldi_io::KaldiWriter;
use kaldi_io::holder::F64ListHolder;
use kaldi_kws::term_weighted::{HEADER, ScoreOptions, Term, align, values};
use nnet3::messages;
use nnet3::tables::Input;

/// Computes the Actual Term-Weighted Value and prints it.
///
/// The number of trials is usually equal to the size of the searched collection in seconds. Each line of references and
/// hypotheses is "<KW-ID> <utterance-id> <start-frame> <end-frame> <score>"; scores are expected to be probabilities (kws-search
/// prints -log(probability)). There is no score normalization.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-atwv 32485.4 ark:ref.1 ark:hyp.1 ali.csv")]
pub struct Options {
    /// Max distance on the ref and hyp centers to be considered as a potential match
    #[arg(long = "max_distance", default_value_t = 50)]
    max_distance: i32,
    /// The cost of an incorrect detection
    #[arg(long, default_value_t = 0.1)]
    cost_fa: f32,
    /// The value (gain) of a correct detection
    #[arg(long, default_value_t = 1.0)]
    value_corr: f32,
    /// The prior probability of a keyword
    #[arg(long, default_value_t = 1e-4)]
    prior_kw_probability: f32,
    /// The score threshold for computation of ATWV
    #[arg(long, default_value_t = 0.5)]
    score_threshold: f32,
    /// Size of the bin during sweeping for the oracle measures
    #[arg(long, default_value_t = 0.05)]
    sweep_step: f32,
    /// Number of feature vector frames per second. This is used only when writing the alignment to a file
    #[arg(long, default_value_t = 100)]
    frames_per_sec: i32,
    nof_trials: f32,
    ref_rspecifier: String,
    hyp_rspecifier: String,
    /// The alignment, in the format of F4DE
    alignment_csv_filename: Option<String>,
}

fn terms(rspecifier: &str, what: &str) -> Result<Vec<Term>> {
    let mut terms = Vec::new();
    Input::<F64ListHolder>::open(rspecifier)?.for_each(|key, values| {
        let Some(term) = Term::new(key, &values) else {
            bail!(
                "Incorrect format of the {what} file -- 4 entries expected, {} given!\nKey: {key}",
                values.len()
            );
        };
        terms.push(term);
        Ok(())
    })?;
    Ok(terms)
}

pub fn run(options: Options) -> Result<u8> {
    if options.nof_trials.is_nan() || options.nof_trials <= 0.0 {
        bail!("The duration is either negative or zero");
    }
    let references = terms(&options.ref_rspecifier, "reference")?;
    let hits = terms(&options.hyp_rspecifier, "hypotheses")?;
    messages::log(&format!("Read {} hypotheses", hits.len()));
    messages::log(&format!("Read {} references", references.len()));
    let alignment = align(&references, &hits, options.max_distance);
    messages::log(&format!("Alignment size before adding unseen: {}", alignment.hits));
    messages::log(&format!("Alignment size after  adding unseen: {}", alignment.pairs.len()));
    if let Some(file) = &options.alignment_csv_filename {
        let mut w = KaldiWriter::create(file, false)?;
        w.write_str(&format!("{HEADER}\n"))?;
        for pair in &alignment.pairs {
            let line = pair.line(options.frames_per_sec as f32, |value| num(value.into()));
            w.write_str(&format!("{line}\n"))?;
        }
        w.finish()?;
    }
    let values = values(
        &alignment,
        ScoreOptions {
            cost_fa: options.cost_fa,
            value_corr: options.value_corr,
            prior_kw_probability: options.prior_kw_probability,
            score_threshold: options.score_threshold,
            sweep_step: options.sweep_step,
            trials: options.nof_trials,
        },
    );
    let mut out = KaldiWriter::create("-", false)?;
    for (name, value) in [
        ("ATWV", values.actual),
        ("STWV", values.supremum),
        ("MTWV", values.maximum),
        ("MTWV threshold", values.maximum_threshold),
        ("OTWV", values.optimum),
    ] {
        out.write_str(&format!("aproximate {name} = {value:.4}\n"))?;
    }
    out.finish()?;
    Ok(0)
}
