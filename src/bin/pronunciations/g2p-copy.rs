//! `g2p-copy`: copies a model of letters and phones, binary or as an ARPA file.

use anyhow::Result;
use kaldi_g2p::Model;
use nnet3::messages;

/// Copy a model of letters and phones, and change its form.
///
/// With --binary=false the model is an ARPA file. Its words are letters with phones: 'x=K+S' (a letter with two phones), 'e=' (a silent
/// letter). The programs read both forms.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: g2p-copy --binary=false g2p.model - | less")]
pub struct Options {
    /// Write a binary file; otherwise an ARPA file
    #[arg(long, default_value_t = true)]
    binary: bool,
    #[arg(value_name = "model-in")]
    from: String,
    #[arg(value_name = "model-out")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model = Model::load(&options.from)?;
    model.store(&options.to, options.binary)?;
    messages::log(&format!("Copied a model of {} graphones", model.inventory.len()));
    Ok(0)
}
