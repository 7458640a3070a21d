//! A network as an ONNX model, or a model as a safetensors file.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use kaldi_io::cli;
use nnet3::messages;
use nnet3_core::request::ComputationRequest;
use nnet3_export::onnx;
use nnet3_export::safetensors::{self, ModelFile};

/// Write a network as an ONNX model (operators of the standard, opset 17) for other programs.
///
/// Inputs and outputs are tensors [sequences, frames, columns]. The model has any number of frames, or with
/// --fixed-frames=true the number that --frames-per-chunk new frames and the network's context need, or with --request the
/// rows of a computation request. Frames that the network needs before and after are part of the input.
///
/// If the second file ends in .safetensors, it gets the whole model, to the last byte: every matrix and vector is a tensor named
/// after its component and its token in the file, such as tdnn1.affine.linear_params; there are no options for this.
#[derive(Parser, PartialEq)]
#[command(after_help = "e.g.: nnet3-export --frame-subsampling-factor=3 final.mdl model.onnx\n\
    or: nnet3-export final.mdl model.safetensors\nSee also: nnet3-import, nnet3-compute")]
struct Options {
    /// Frames of the input that a chunk of a fixed length stands for, besides context
    #[arg(long, default_value_t = 50)]
    frames_per_chunk: i32,
    /// Frames of the input for each frame of the output, where the network's outputs are fewer ('chain' models)
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// If true, the model takes one number of frames only
    #[arg(long)]
    fixed_frames: bool,
    /// Number of sequences; 0 leaves it open
    #[arg(long, default_value_t = 0)]
    batch_size: usize,
    /// Comma-separated list of output nodes
    #[arg(long, default_value = "output")]
    outputs: String,
    /// Subtract the logarithms of the priors stored with the model (which must then be an acoustic model, .mdl)
    #[arg(long)]
    use_priors: bool,
    /// Multiply the output by this
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Export the computation of this request, without its derivatives, as nnet3-compute-request takes it; any network
    #[arg(long, default_value = "")]
    request: String,
    #[arg(value_name = "<model-in>")]
    model: String,
    #[arg(value_name = "(<onnx-out>|<safetensors-out>)")]
    out: String,
}

fn as_safetensors(options: &Options) -> Result<u8> {
    let defaults = Options::parse_from(["nnet3-export", "", ""]);
    if (Options { model: options.model.clone(), out: options.out.clone(), ..defaults }) != *options {
        bail!(
            "{}: the options are for ONNX models; a safetensors file holds the model as it is",
            options.out
        );
    }
    let model = nnet3::models::binary_bytes(&options.model)?;
    let tensors = ModelFile::read(&options.model, model)
        .and_then(|model| safetensors::export(&model))
        .with_context(|| options.model.clone())?;
    nnet3::models::write_bytes(&options.out, &tensors)?;
    Ok(0)
}

fn run(options: Options) -> Result<u8> {
    if options.out.ends_with(".safetensors") {
        return as_safetensors(&options);
    }
    let scale = options.acoustic_scale;
    if scale.is_nan() || scale <= 0.0 {
        bail!("--acoustic-scale must be greater than 0, found {scale}");
    }
    if !options.out.ends_with(".onnx") {
        bail!("{}: expected a file name that ends in .onnx or .safetensors", options.out);
    }
    let (mut nnet, mut log_priors) = (None, Vec::new());
    if options.use_priors {
        let model = nnet3::models::load_acoustic(&options.model)?;
        log_priors = model.log_priors().with_context(|| options.model.clone())?;
        if log_priors.is_empty() {
            messages::warn(&format!("{}: --use-priors=true, but the model has no priors", options.model));
        }
        nnet = Some(model.into_nnet());
    }
    let mut nnet = match nnet {
        Some(nnet) => nnet,
        None => nnet3::models::load(&options.model)?,
    };
    nnet3::prepare::for_running(&mut nnet)?;
    let how = onnx::Options {
        frames_per_chunk: options.frames_per_chunk,
        frame_subsampling_factor: options.frame_subsampling_factor,
        batch_size: (options.batch_size > 0).then_some(options.batch_size),
        log_priors,
        acoustic_scale: scale,
        outputs: options.outputs.split(',').map(str::to_owned).collect(),
    };
    let bytes = match options.request.as_str() {
        "" if options.fixed_frames => onnx::export_chunk(&nnet, &how),
        "" => onnx::export_any_length(&nnet, &how),
        file => onnx::export_request(&nnet, &ComputationRequest::load(file)?, &how),
    };
    let bytes = bytes.with_context(|| options.model.clone())?;
    nnet3::models::write_bytes(&options.out, &bytes)?;
    Ok(0)
}

pub fn main() -> ExitCode {
    cli::run(run)
}
