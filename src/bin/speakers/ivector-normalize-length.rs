//! `ivector-normalize-length`: scales vectors to the length √dimension.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::vectors::{Spread, check, length_ratio};
use nnet3::{messages, tables};

/// Normalize length of iVectors to equal sqrt(feature-dimension).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-normalize-length ark:ivectors.ark ark:normalized_ivectors.ark")]
pub struct Options {
    /// Set this to false to disable normalization
    #[arg(long, default_value_t = true)]
    normalize: bool,
    /// If false, normalize to length 1 rather than sqrt(dimension)
    #[arg(long, default_value_t = true)]
    scaleup: bool,
    ivector_rspecifier: String,
    ivector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut ratios = Spread::default();
    let (from, to) = (&options.ivector_rspecifier, &options.ivector_wspecifier);
    let output = tables::map::<VectorHolder, VectorHolder>(from, to, |key, mut vector| {
        if let Err(reason) = check(&vector) {
            return tables::skip(reason);
        }
        let ratio = length_ratio(&vector, !options.scaleup);
        if ratio == 0.0 {
            messages::warn("Zero iVector");
            messages::log(&format!("{key} has the length 0 and is copied as it is"));
        } else if options.normalize {
            vector.iter_mut().for_each(|x| *x *= 1.0 / ratio);
        }
        ratios.add(ratio.into());
        Ok(Ok(vector))
    })?;
    messages::log(&format!("Processed {} iVectors.", output.done));
    if output.done > 0 {
        let (mean, deviation) = (num(ratios.mean()), num(ratios.deviation()));
        messages::log(&format!(
            "Average ratio of iVector to expected length was {mean}, standard deviation was {deviation}"
        ));
    }
    output.finish()
}
