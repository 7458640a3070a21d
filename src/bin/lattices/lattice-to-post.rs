//! `lattice-to-post`: probabilities of transition-ids.

use anyhow::Result;
use kaldi_cli::log::{num, ratio};
use kaldi_io::holder::{FloatHolder, PosteriorHolder};
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::posterior::transition_posteriors;
use nnet3_decode::{LatticeHolder, Scale};

/// Do forward-backward and collect posteriors over lattices.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-post --acoustic-scale=0.1 ark:1.lats ark:1.post\n\
    See also: lattice-to-ctm-conf, post-to-pdf-post")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for "graph costs" (including LM costs)
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    lats_rspecifier: String,
    posts_wspecifier: String,
    loglikes_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    let input = Input::<LatticeHolder>::open(&options.lats_rspecifier)?;
    let mut output = Output::<PosteriorHolder>::open(&options.posts_wspecifier)?;
    let mut loglikes = lattices::open_writer::<FloatHolder>(options.loglikes_wspecifier.as_ref())?;
    let (mut log_like, mut acoustic, mut frames) = (0.0, 0.0, 0.0);
    input.for_each(|key, lattice| {
        let sums =
            lattices::scaled(lattice, scale).and_then(|mut lattice| transition_posteriors(&mut lattice));
        let sums = match sums {
            Ok(sums) => sums,
            Err(error) => {
                output.skip(key, error);
                return Ok(());
            }
        };
        log_like += sums.log_like;
        acoustic += sums.acoustic;
        frames += sums.posterior.len() as f64;
        lattices::write(&mut loglikes, key, &(sums.log_like as f32))?;
        output.write(key, &sums.posterior)
    })?;
    messages::log(&format!(
        "Overall average log-like/frame is {} over {} frames.  Average acoustic like/frame is {}",
        ratio(log_like, frames),
        num(frames),
        ratio(acoustic, frames)
    ));
    messages::log(&format!("Done {} lattices.", output.done));
    lattices::report_left_out(output.failed);
    lattices::close(loglikes)?;
    output.finish()
}
