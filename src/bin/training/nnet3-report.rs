//! `nnet3-report`: the logs of a training as a page.

use anyhow::{Context, Result};
use kaldi_io::writer::KaldiWriter;
use nnet3::messages;
use std::path::Path;
use training_report::{Training, page};

/// Show the progress of a training: write a page with objective, accuracy, learning rate, changes of parameters,
/// saturation and times over the iterations.
///
/// Reads the logs in the folder log of an experiment, made by scripts/train.sh or Kaldi's drivers: train.I.J.log,
/// compute_prob_{train,valid}.I.log, progress.I.log; or those of nnet3-fit, with its events.jsonl. The page is one HTML
/// file, without references to other files or the network. During the training, a browser loads it again every 20
/// seconds.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-report exp/tdnn exp/tdnn/report.html")]
pub struct Options {
    /// Title of the page; the folder's name if empty
    #[arg(long, default_value = "")]
    title: String,
    experiment_dir: String,
    html_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let training = Training::read(Path::new(&options.experiment_dir))?;
    let title = if options.title.is_empty() { &options.experiment_dir } else { &options.title };
    let out = &options.html_out;
    let mut w = KaldiWriter::create(out, false).with_context(|| format!("cannot write {out}"))?;
    w.write_str(&page(title, &training))?;
    w.finish().with_context(|| format!("cannot write {out}"))?;
    messages::log(&format!("Wrote a report of {} iterations to {out}", training.iterations.len()));
    Ok(0)
}
