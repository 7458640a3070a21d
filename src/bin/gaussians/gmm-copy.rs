//! `gmm-copy`: copies a Gaussian model, or one of its parts.

use anyhow::{Result, bail};
use kaldi_gmm::AmDiagGmm;
use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use nnet3::messages;

/// Copy GMM-based model (and possibly change binary/text format).
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-copy --binary=false 1.mdl 1_txt.mdl")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Copy the acoustic model (AmDiagGmm object)
    #[arg(long, default_value_t = true)]
    copy_am: bool,
    /// Copy the transition model. If false, the input must not have one: it begins with the acoustic model.
    #[arg(long, default_value_t = true)]
    copy_tm: bool,
    model_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { copy_tm, copy_am, .. } = options;
    if !copy_tm && !copy_am {
        bail!("--copy-tm=false and --copy-am=false leave nothing to copy");
    }
    let mut r = KaldiReader::open(&options.model_in)?;
    let transitions = copy_tm.then(|| TransitionModel::read(&mut r)).transpose()?;
    let mixtures = copy_am.then(|| AmDiagGmm::read(&mut r)).transpose()?;
    r.finish()?;
    let mut w = KaldiWriter::create(&options.model_out, options.mode.binary)?;
    transitions.map_or(Ok(()), |transitions| transitions.write(&mut w))?;
    mixtures.map_or(Ok(()), |mixtures| mixtures.write(&mut w))?;
    w.finish()?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
