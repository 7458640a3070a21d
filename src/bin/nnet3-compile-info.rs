//! Shows what a request compiles to.

use nnet3::options::compute::{CachingOptions, OptimizationOptions};
use nnet3_core::compile::compile;
use nnet3_core::computation::print::{Names, print};
use nnet3_core::execute::Program;
use nnet3_core::flops;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::ComputationRequest;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Compile a computation request for a network and print the commands, to standard output.
///
/// Without a request file, the request is the one that training or forward computing would make: --num-sequences
/// sequences of --num-frames output frames with the context that the network needs.
#[derive(clap::Parser)]
struct Options {
    /// If false, print the computation as it was compiled, without optimization passes
    #[arg(id = "run-passes", long = "optimize", default_value_t = true)]
    optimize: bool,
    /// Print a summary (commands, matrices, peak bytes, arena bytes after planning, operations of matrix products,
    /// compile time) instead of the commands
    #[arg(long, default_value_t = false)]
    summary: bool,
    /// Number of sequences, if there is no request file
    #[arg(long, default_value_t = 1)]
    num_sequences: i32,
    /// Number of output frames of each sequence, if there is no request file
    #[arg(long, default_value_t = 8)]
    num_frames: i32,
    /// Input frames for each output frame, if there is no request file
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// Derivatives of the model are wanted, if there is no request file
    #[arg(long, default_value_t = false)]
    derivatives: bool,
    #[command(flatten)]
    optimization: OptimizationOptions,
    #[command(flatten)]
    compiler: CachingOptions,
    /// <raw-nnet-in>
    nnet: String,
    /// [<request-in>]
    request: Option<String>,
}

fn summary(nnet: &Nnet, program: &Program, time: Duration) -> String {
    let (computation, plan) = (program.computation(), program.plan());
    let flops = flops::count(nnet, computation);
    let lines = [
        ("commands", computation.commands.len().to_string()),
        ("matrices", (computation.matrices.len() - 1).to_string()),
        ("peak-bytes", computation.peak_bytes().to_string()),
        ("arena-bytes", plan.arena_bytes().to_string()),
        ("live-bytes", plan.peak_live_bytes().to_string()),
        ("gemm-flops-forward", flops.forward.to_string()),
        ("gemm-flops-backward", flops.backward.to_string()),
        ("compile-ms", format!("{:.3}", time.as_secs_f64() * 1e3)),
    ];
    lines.map(|(key, value)| format!("{key}: {value}\n")).concat()
}

fn info(options: Options) -> anyhow::Result<u8> {
    let nnet = Nnet::load(&options.nnet)?;
    let request = match &options.request {
        Some(file) => ComputationRequest::load(file)?,
        None => nnet.ordinary_request(
            options.num_sequences,
            options.num_frames,
            options.frame_subsampling_factor,
            options.derivatives,
        )?,
    };
    let started = Instant::now();
    let program = match options.optimize {
        true => {
            let mut compiler = nnet3::compiler::new(&options.optimization, &options.compiler);
            compiler.keep_debug_info(!options.summary);
            compiler.program(&nnet, &request)?
        }
        false => Arc::new(Program::new(&nnet, compile(&nnet, std::slice::from_ref(&request))?)?),
    };
    let time = started.elapsed();
    let text = match options.summary {
        true => summary(&nnet, &program, time),
        false => print(program.computation(), &Names::of(&nnet)),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(0)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(info)
}
