//! `nnet3-xconfig-to-configs`: expands a network described layer by layer into configs.

use crate::networks::config_dir::{ConfigDir, existing_nodes};
use anyhow::bail;
use kaldi_io::Contents;
use kaldi_io::reader::KaldiReader;
use kaldi_lang::plain_text;
use nnet3_core::nnet::Nnet;
use std::path::Path;
/// Read an xconfig, which describes a network layer by layer, and write the configs that nnet3-init reads.
///
/// The folder --config-dir gets these files. final.config is the network, and ref.config the same with random
/// parameters in place of files. If the network has an LDA-like transform, init.config is the input for its statistics.
/// vars has the context that the network needs. xconfig and xconfig.expanded.* are a copy and its expansion.
#[derive(clap::Parser)]
pub struct Options {
    /// The xconfig to read (required)
    #[arg(long, default_value = "")]
    xconfig_file: String,
    /// The folder to write (required); it is made if it does not exist
    #[arg(long, default_value = "")]
    config_dir: String,
    /// A network with nodes for the layers to use; the configs will be added to it
    #[arg(long, default_value = "")]
    existing_model: String,
    /// Edits as in nnet3-copy --edits before the context is computed, for networks whose output has another name than
    /// 'output': for example 'rename-node old-name=output-0 new-name=output'
    #[arg(long, default_value = "")]
    nnet_edits: String,
}

/// The kind of a file that is no xconfig. `None` of texts, and of inputs that are no files.
fn other_kind(file: &str) -> anyhow::Result<Option<Contents>> {
    if !Path::new(file).is_file() {
        return Ok(None);
    }
    let found = KaldiReader::open_raw(file)?.peek_contents()?;
    Ok(found.filter(|found| !matches!(found, Contents::Xconfig | Contents::Text | Contents::ScriptLine)))
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    for (name, value) in [("xconfig-file", &options.xconfig_file), ("config-dir", &options.config_dir)] {
        if value.is_empty() {
            return Ok(kaldi_cli::usage_error::<Options>(&format!("--{name} is required")));
        }
    }
    let existing_model = Some(options.existing_model.as_str()).filter(|model| !model.is_empty());
    let existing = match existing_model {
        Some(model) => existing_nodes(&Nnet::load(model)?),
        None => Vec::new(),
    };
    let file = &options.xconfig_file;
    if let Some(found) = other_kind(file)? {
        bail!("{file}: expected an xconfig (lines such as 'input name=input dim=40'), found {found}");
    }
    let xconfig = plain_text::read(file)?;
    let network = nnet3_xconfig::expand(file, &xconfig, existing)?;
    let command_line: Vec<String> =
        kaldi_cli::command_line().iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let dir = ConfigDir {
        path: Path::new(&options.config_dir),
        command_line: &command_line.join(" "),
        existing_model,
        nnet_edits: &options.nnet_edits,
    };
    dir.write(&xconfig, &network)?;
    Ok(0)
}
