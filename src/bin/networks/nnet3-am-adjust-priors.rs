//! `nnet3-am-adjust-priors`: sets an acoustic model's priors to average posteriors.

use anyhow::Context;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::num;
use kaldi_io::read_object;
use nnet3::{messages, models};
const DIAGNOSTICS: kaldi_cli::log::Site =
    kaldi_cli::log::Site::new("PrintPriorDiagnostics", "nnet3-am-adjust-priors.cc", 54);

/// Set the priors of the nnet3 neural net to the computed posteriors from the net, on typical data (e.g. training data).
/// This is correct under more general circumstances than using the priors of the class labels in the training data.
///
/// The average posterior typically comes from nnet3-compute-from-egs, matrix-sum-rows and vector-sum.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n nnet3-am-adjust-priors final.mdl counts.vec final.mdl")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Accepted for the sake of scripts; as in the reference, these priors are not floored
    #[arg(long, default_value_t = 1.0e-15)]
    prior_floor: f32,
    nnet_in: String,
    summed_posterior_vector_in: String,
    nnet_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (posteriors, output) = (&options.summed_posterior_vector_in, &options.nnet_out);
    let mut model = models::load_acoustic(&options.nnet_in)?;
    let change = model.adjust_priors(read_object(posteriors)?);
    match change.with_context(|| format!("{} and {posteriors}", options.nnet_in))? {
        None => kaldi_log!(DIAGNOSTICS, "Model did not previously have priors attached."),
        Some(change) => {
            kaldi_log!(
                DIAGNOSTICS,
                "Adjusting priors: largest absolute difference was for pdf {}, {} -> {}",
                change.pdf,
                num(f64::from(change.old)),
                num(f64::from(change.new))
            );
            kaldi_log!(
                DIAGNOSTICS,
                "Adjusting priors: K-L divergence from old to new is {}",
                num(change.divergence)
            );
        }
    }
    model.save(output, options.mode.binary)?;
    messages::log(&format!("Modified priors of neural network model and wrote it to {output}"));
    Ok(0)
}
