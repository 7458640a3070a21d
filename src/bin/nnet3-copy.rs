//! Copies a network, changing it on the way.

use kaldi_io::kaldi_log;
use kaldi_io::log::Site;
use nnet3::options::edit::EditOptions;
use nnet3_core::nnet::Nnet;
use std::process::ExitCode;

/// Copy 'raw' nnet3 neural network to standard output, possibly changing it.
#[derive(clap::Parser)]
struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    #[command(flatten)]
    edit: EditOptions,
    /// Sets the test mode of batch-norm components
    #[arg(long, default_value_t = false)]
    batchnorm_test_mode: bool,
    /// <raw-nnet-in>
    nnet_in: String,
    /// <raw-nnet-out>
    nnet_out: String,
}

const SITE: Site = Site::main("nnet3-copy.cc", 130);

fn copy(options: Options) -> anyhow::Result<u8> {
    let mut nnet = Nnet::load(&options.nnet_in)?;
    let edit = &options.edit;
    edit.apply_config(&mut nnet)?;
    edit.apply_learning_rate(&mut nnet);
    nnet.scale(edit.scale);
    edit.apply_edits(&mut nnet)?;
    if edit.prepare_for_test {
        nnet3::prepare::for_test(&mut nnet)?;
    } else {
        nnet.set_batchnorm_test_mode(options.batchnorm_test_mode);
    }
    nnet.save(&options.nnet_out, options.binary)?;
    kaldi_log!(SITE, "Copied raw neural net from {} to {}", options.nnet_in, options.nnet_out);
    Ok(0)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(copy)
}
