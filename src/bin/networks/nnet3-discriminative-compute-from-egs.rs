//! `nnet3-discriminative-compute-from-egs`: a network's outputs for discriminative examples.

use anyhow::Result;
use nnet3::from_egs::FromEgsArgs;
use nnet3_discriminative::NnetDiscriminativeExample;
use nnet3_train::Error;
use nnet3_train::sequence::output_request;

/// The output that is computed.
const OUTPUT: &str = "output";

/// Read input nnet discriminative training examples, and compute the output for each one. This program is similar to
/// nnet3-compute-from-egs, but works with discriminative egs.
///
/// The network is used as it is, not in test mode. The lattices are not used: see nnet3-discriminative-compute-objf for that. If
/// --apply-exp=true, apply the Exp() function to the output before writing it out.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-discriminative-compute-from-egs --apply-exp=true 0.raw ark:1.degs ark:- | matrix-sum-rows ark:- ...\n\
    See also: nnet3-compute, nnet3-compute-from-egs"
)]
pub struct Options {
    #[command(flatten)]
    args: FromEgsArgs,
}

pub fn run(options: Options) -> Result<u8> {
    options.args.run(|forward, example: &NnetDiscriminativeExample| {
        let output = example
            .output(OUTPUT)
            .ok_or_else(|| Error::data(format!("the example has no output '{OUTPUT}'")))?;
        let request = output_request(forward.nnet(), example, output)?;
        forward.output_of(&request, OUTPUT)
    })
}
