//! `nnet3-import`: reads a model, or some of its parameters, from a safetensors file.

use anyhow::{Context, Result, bail};
use clap::Parser;
use kaldi_io::Contents;
use nnet3::{messages, models};
use nnet3_export::safetensors::{self, ModelFile, NameMap};

/// Write the model that a safetensors file of nnet3-export holds; or, given a model too, set its parameters by name.
///
/// With two arguments, the result is the exported file, byte for byte, except for values that have been changed since.
/// Changed statistics with a count of 0 are an error, because they would have no effect.
///
/// With three arguments, the model is copied, and tensors (of any program) replace its values with the same name.
/// nnet3-export of the model shows names and shapes. F16, BF16, F32 and F64 are converted to the model's type; shapes
/// must be the same, and numbers finite. Single numbers of a component can be set by tensors of one element, such as
/// the count of frames of a batch normalisation's statistics: tdnn1.batchnorm.count.
#[derive(Parser, Debug)]
#[command(after_help = "e.g.: nnet3-import model.safetensors final.mdl\n\
    or: nnet3-import --names=map.txt 0.raw weights.safetensors 1.raw\nSee also: nnet3-export")]
pub struct Options {
    /// File with a line for each tensor that has another name in the model: the two names, or the tensor's and - to
    /// leave it out
    #[arg(long, default_value = "")]
    names: String,
    /// If true, a tensor without counterpart in the model is an error; if false, a warning
    #[arg(long, default_value_t = true)]
    strict: bool,
    /// Files
    #[arg(value_name = "[<model-in>] <safetensors-in> <model-out>", required = true, num_args = 2..=3)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    match &options.arguments[..] {
        [tensors, out] => {
            if !options.names.is_empty() || !options.strict {
                bail!(
                    "--names and --strict are for setting parameters of a model, which is the first of three arguments"
                );
            }
            let bytes = models::bytes(tensors)?;
            let model = safetensors::restore(&bytes).with_context(|| match Contents::of(&bytes) {
                Some(kind) => format!("{tensors}: expected a safetensors file of nnet3-export, found {kind}"),
                None => tensors.clone(),
            })?;
            models::write_bytes(out, &model)?;
            messages::log(&format!("Wrote the model in {tensors} to {out}"));
        }
        [base, tensors, out] => set_by_name(&options, base, tensors, out)?,
        _ => bail!("expected two or three arguments"),
    }
    Ok(0)
}

fn set_by_name(options: &Options, base: &str, tensors: &str, out: &str) -> Result<()> {
    let names = match options.names.as_str() {
        "" => NameMap::default(),
        file => {
            let text = String::from_utf8(models::bytes(file)?).with_context(|| file.to_owned())?;
            NameMap::parse(&text).with_context(|| file.to_owned())?
        }
    };
    let model = ModelFile::read(base, models::binary_bytes(base)?).with_context(|| base.to_owned())?;
    let done = safetensors::assign(&model, &models::bytes(tensors)?, &names, options.strict)
        .with_context(|| format!("{tensors} for {base}"))?;
    for name in &done.ignored {
        messages::warn(&format!(
            "{tensors}: the tensor '{name}' has no counterpart in {base}; it is left out"
        ));
    }
    if done.set.is_empty() {
        bail!("{tensors}: no tensor has a counterpart in {base}, so there is nothing to set");
    }
    models::write_bytes(out, &done.model)?;
    let kept = match &done.kept[..] {
        [] => "; nothing has kept its values".to_owned(),
        [name] => format!("; {name} has kept its values"),
        [first, ..] => {
            format!("; {} matrices and vectors, such as {first}, have kept their values", done.kept.len())
        }
    };
    messages::log(&format!("Set {} of {base} from {tensors}, in {out}{kept}", done.set.len()));
    Ok(())
}
