//! Copies an acoustic model, changing it on the way.

use nnet3::acoustic::warn_of_removed_priors;
use nnet3::messages;
use nnet3::options::edit::EditOptions;
use nnet3_core::nnet::Nnet;
use nnet3_train::acoustic::AmNnet;
use std::process::ExitCode;

/// Copy nnet3 neural-net acoustic model file, possibly changing it; supports conversion to raw model (--raw=true).
///
/// The network can be replaced by a raw one (--set-raw-nnet), and changed as nnet3-copy does.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n nnet3-am-copy --binary=false 1.mdl text.mdl\n nnet3-am-copy --raw=true 1.mdl 1.raw"
)]
struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// If true, write only 'raw' neural net without transition model and priors
    #[arg(long, default_value_t = false)]
    raw: bool,
    /// Set the raw nnet inside the model to the one in this file; done before everything else
    #[arg(long, default_value = "")]
    set_raw_nnet: String,
    /// Convert all RepeatedAffineComponents and NaturalGradientRepeatedAffineComponents to BlockAffineComponents; done
    /// after set-raw-nnet and nnet-config
    #[arg(long, default_value_t = false)]
    convert_repeated_to_block: bool,
    #[command(flatten)]
    edit: EditOptions,
    nnet_in: String,
    nnet_out: String,
}

fn copy(options: Options) -> anyhow::Result<u8> {
    let (from, to) = (&options.nnet_in, &options.nnet_out);
    let mut model = AmNnet::load(from)?;
    if !options.set_raw_nnet.is_empty() {
        warn_of_removed_priors(model.set_nnet(Nnet::load(&options.set_raw_nnet)?)?);
    }
    warn_of_removed_priors(model.change_nnet(|nnet| change(&options, nnet))?);
    if options.raw {
        model.into_nnet().save(to, options.binary)?;
        messages::log(&format!("Copied neural net from {from} to raw format as {to}"));
    } else {
        model.save(to, options.binary)?;
        messages::log(&format!("Copied neural net from {from} to {to}"));
    }
    Ok(0)
}

fn change(options: &Options, nnet: &mut Nnet) -> anyhow::Result<()> {
    let edit = &options.edit;
    edit.apply_config(nnet)?;
    if options.convert_repeated_to_block {
        nnet.convert_repeated_to_block();
    }
    edit.apply_learning_rate(nnet);
    edit.apply_edits(nnet)?;
    nnet.scale(edit.scale);
    if edit.prepare_for_test {
        nnet3::prepare::for_test(nnet)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    kaldi_io::cli::run(copy)
}
