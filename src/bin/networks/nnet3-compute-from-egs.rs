//! `nnet3-compute-from-egs`: a network's outputs for examples.

use anyhow::Result;
use nnet3::from_egs::FromEgsArgs;
use nnet3_train::NnetExample;

/// Read input nnet training examples, and compute the output for each one.
///
/// The network is not changed to test mode. If --apply-exp=true, apply the Exp() function to the output before writing
/// it out.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-compute-from-egs --apply-exp=true 0.raw ark:1.egs ark:- | matrix-sum-rows ark:- ...\n\
    See also: nnet3-compute"
)]
pub struct Options {
    /// Do computation for specified output-node
    #[arg(long, default_value = "output")]
    output_name: String,
    #[command(flatten)]
    args: FromEgsArgs,
}

pub fn run(options: Options) -> Result<u8> {
    options.args.run(|forward, example: &NnetExample| forward.compute(example, &options.output_name))
}
