//! `nnet3-show-progress`: compares two networks, and attributes the change of the objective to components.

use anyhow::{Result, bail};
use kaldi_cli::log::{Site, num};
use kaldi_cli::{kaldi_log, kaldi_vlog, kaldi_warn};
use nnet3::options::{device, prob::ComputeProbOptions};
use nnet3::{egs, models, training_log};
use nnet3_core::graph::FrameContext;
use nnet3_train::objective::FrameObjective;
use nnet3_train::progress::{Segment, difference, differences, objective_change};

const fn site(line: u32) -> Site {
    Site::main("nnet3-show-progress.cc", line)
}

/// Reads an old and a new 'raw' nnet3 network and some training examples (possibly held-out). Shows the average
/// objective function of the mean of the two networks, and the contribution of each component to its change (computed
/// from derivatives).
///
/// Also shows parameter differences per layer. If training examples are not provided, only shows parameter differences per
/// layer.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-show-progress 1.nnet 2.nnet ark:valid.egs")]
pub struct Options {
    /// Number of line segments used for computing derivatives
    #[arg(long, default_value_t = 1)]
    num_segments: i32,
    /// yes|no|optional|wait: whether to run on a GPU
    #[arg(long, default_value = "no", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    prob: ComputeProbOptions,
    old_net_in: String,
    new_net_in: String,
    training_examples_in: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let prob_options = options.prob.prob_options()?;
    let Some(segments) = u32::try_from(options.num_segments).ok().filter(|&n| n > 0) else {
        bail!("--num-segments={}: expected a number above 0", options.num_segments);
    };
    let device = options.device.select(&options.use_gpu)?;
    let old = models::load(&options.old_net_in)?;
    let new = models::load(&options.new_net_in)?;
    if old.num_parameters() != new.num_parameters() {
        kaldi_warn!(site(76), "Parameter-dim mismatch, cannot show progress.");
        return Ok(0);
    }
    let rspecifier = options.training_examples_in.as_deref().filter(|name| !name.is_empty());
    if let Some(rspecifier) = rspecifier.filter(|_| old.is_simple()) {
        let egs = egs::read_all(rspecifier, egs::as_they_are)?;
        let objective = || options.prob.frame_objective();
        let report = |segment: &Segment<'_, FrameObjective>| {
            training_log::frame_totals(segment.computer);
            kaldi_log!(
                site(115),
                "At position {}, objf per frame is {}",
                num(segment.position),
                num(segment.objective)
            );
            kaldi_vlog!(1, site(124), "Up to this position, objf change is {}", segment.change);
        };
        let change = objective_change(objective, &old, &new, &egs, segments, &prob_options, &device, report)?;
        kaldi_log!(site(128), "Total objf change per component is {change}");
    }
    kaldi_vlog!(
        1,
        site(136),
        "Printing info for the difference between the neural nets: {}",
        difference(&old, &new).info(false)
    );
    let differences = differences(&old, &new)?;
    kaldi_log!(site(143), "Parameter differences per layer are {}", differences.absolute);
    kaldi_log!(site(153), "Norms of parameter matrices from <new-nnet-in> are {}", differences.new_norms);
    kaldi_log!(site(157), "Relative parameter differences per layer are {}", differences.relative);
    Ok(0)
}
