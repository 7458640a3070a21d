//! `nnet3-compute-request`: runs any computation request on matrices from files.

use kaldi_cli::Group;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::table::{SequentialReader, TableWriter};
use nnet3::options::compute::{CachingOptions, ComputationOptions, OptimizationOptions};
use nnet3::options::device::{DeviceOptions, USE_GPU};
use nnet3_core::Random;
use nnet3_core::compile::compile;
use nnet3_core::execute::Executor;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::ComputationRequest;
use nnet3_core::run_request::{NamedMatrices, run_request};
/// Run a computation request: a list of indexes of inputs and outputs, in the form of nnet3-compile-info. The inputs'
/// matrices are in a table keyed by node name, with rows in the request's order. The outputs are written to another
/// such table.
#[derive(clap::Parser)]
pub struct Options {
    /// If false, run the computation as it was compiled, without optimization passes
    #[arg(id = "run-passes", long = "optimize", default_value_t = true)]
    optimize: bool,
    /// Run this computation, as nnet3-compile-info --format=stored prints it, instead of compiling the request
    #[arg(long, default_value = "")]
    computation: String,
    /// Table of derivatives with respect to the outputs; needed if the request wants derivatives
    #[arg(long, default_value = "")]
    output_derivs: String,
    /// Output table of derivatives with respect to the inputs
    #[arg(long, default_value = "")]
    input_derivs: String,
    /// Output file of the gradient: the network with its parameters replaced by their gradient
    #[arg(long, default_value = "")]
    gradient: String,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Seed for random number generator (dropout)
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// yes|no|optional|wait: whether to run on a GPU
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: DeviceOptions,
    #[command(flatten)]
    optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    compiler: CachingOptions,
    #[command(flatten)]
    computing: ComputationOptions,
    #[arg(value_name = "<raw-nnet-in>")]
    nnet: String,
    #[arg(value_name = "<request-in>")]
    request: String,
    #[arg(value_name = "<inputs-rspecifier>")]
    inputs: String,
    #[arg(value_name = "<outputs-wspecifier>")]
    outputs: String,
}

fn read_table(rspecifier: &str) -> anyhow::Result<NamedMatrices> {
    let mut matrices = NamedMatrices::new();
    let mut reader = SequentialReader::<MatrixHolder>::open(rspecifier)?;
    while let Some((key, matrix)) = reader.next()? {
        matrices.insert(key, matrix);
    }
    reader.close()?;
    Ok(matrices)
}

fn write_table(wspecifier: &str, matrices: &NamedMatrices) -> anyhow::Result<()> {
    let mut writer = TableWriter::<MatrixHolder>::open(wspecifier)?;
    for (name, matrix) in matrices {
        writer.write(name, matrix)?;
    }
    Ok(writer.close()?)
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let nnet = Nnet::load(&options.nnet)?;
    let request = ComputationRequest::load(&options.request)?;
    let derivatives = request.need_derivatives()?;
    if derivatives && options.output_derivs.is_empty() {
        anyhow::bail!(
            "the request wants derivatives: give those of the outputs with --output-derivs=<rspecifier>"
        );
    }
    let has_gradient = derivatives && request.need_model_derivative;
    if !options.gradient.is_empty() && !has_gradient {
        anyhow::bail!("--gradient is given, but {} does not ask for the model's derivative", options.request);
    }
    let device = options.device.select(&options.use_gpu)?;
    let compiler = crate::networks::compiler::new(&options.optimization, &options.compiler);
    let program = match options.optimize {
        _ if !options.computation.is_empty() => {
            crate::networks::compiler::load(&nnet, &options.computation, &device)?
        }
        true => compiler.for_device(&device).program(&nnet, &request)?,
        false => {
            let computation = compile(&nnet, std::slice::from_ref(&request))?;
            crate::networks::compiler::lower(&nnet, computation, &device)?
        }
    };
    let inputs = read_table(&options.inputs)?;
    let output_derivs = if derivatives { read_table(&options.output_derivs)? } else { NamedMatrices::new() };
    let mut executor = Executor::new(&device);
    options.computing.observe(&mut executor);
    let random = Random::new(options.srand);
    let results = run_request(&nnet, &request, &program, &mut executor, &inputs, &output_derivs, &random)?;
    write_table(&options.outputs, &results.outputs)?;
    if !options.input_derivs.is_empty() {
        write_table(&options.input_derivs, &results.input_derivs)?;
    }
    if let (false, Some(gradient)) = (options.gradient.is_empty(), &results.gradient) {
        gradient.save(&options.gradient, options.mode.binary)?;
    }
    Ok(0)
}
