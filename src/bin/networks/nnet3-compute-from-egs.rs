//! `nnet3-compute-from-egs`: a network's outputs for examples.

use anyhow::Result;
use kaldi_io::TableWriter;
use kaldi_io::holder::MatrixHolder;
use nnet3::options::device;
use nnet3::{egs, messages, models};
use nnet3_train::forward::ExampleForward;

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
    /// Only for compatibility: whether tables are binary is part of their names
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// If true, apply exp function to output
    #[arg(long)]
    apply_exp: bool,
    /// Do computation for specified output-node
    #[arg(long, default_value = "output")]
    output_name: String,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    raw_nnet_in: String,
    training_examples_in: String,
    matrices_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let device = options.device.select(&options.use_gpu)?;
    if !options.binary {
        messages::warn("--binary=false has no effect on tables: use ark,t: for text");
    }
    let mut forward = ExampleForward::new(models::load(&options.raw_nnet_in)?, &device);
    let mut egs = egs::open(&options.training_examples_in)?;
    egs.at_end()?;
    let mut writer = TableWriter::<MatrixHolder>::open(&options.matrices_out)?;
    while let Some((key, example)) = egs.next()? {
        let mut output = forward.compute(&example, &options.output_name).map_err(|e| egs.blame(e))?;
        if options.apply_exp {
            output.data.iter_mut().for_each(|x| *x = x.exp());
        }
        writer.write(&key, &output)?;
    }
    let count = egs.count();
    egs.close()?;
    writer.close()?;
    messages::log(&format!("Processed {count} examples."));
    Ok(0)
}
