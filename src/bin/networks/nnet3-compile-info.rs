//! `nnet3-compile-info`: prints the compiled computation of a request: commands, times, memory, passes.

use anyhow::{Result, bail};
use kaldi_cli::Group;
use kaldi_io::writer::KaldiWriter;
use nnet3::options::compute::{CachingOptions, OptimizationOptions};
use nnet3_core::compile::compile;
use nnet3_core::execute::Program;
use nnet3_core::execute::cache::Stage;
use nnet3_core::graph::FrameContext;
use nnet3_core::graph::explain::{explain_output, parse_output};
use nnet3_core::inspect::{Inspection, Passes, Profile, ProfileOptions, Times};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize;
use nnet3_core::request::ComputationRequest;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Compile a computation request for a network and print the commands, to standard output.
///
/// Without a request file, the request is the one that training or forward computing would make. It has
/// --num-sequences sequences of --num-frames output frames with the context that the network needs.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: nnet3-compile-info --num-sequences=64 --derivatives=true --profile=true 0.raw\n \
                        nnet3-compile-info --format=dot 0.raw request.txt | dot -Tsvg > computation.svg\n \
                        nnet3-compile-info --explain-output=output:0,3 0.raw request.txt"
)]
pub struct Options {
    /// If false, print the computation as it was compiled, without optimization passes
    #[arg(id = "run-passes", long = "optimize", default_value_t = true)]
    optimize: bool,
    /// text: the commands; json: commands and matrices for programs; dot: a graph for Graphviz; stored: the text form of
    /// files, which --computation of this program and of nnet3-compute-request reads
    #[arg(long, default_value = "text", value_parser = ["text", "json", "dot", "stored"])]
    format: String,
    /// Print a summary (commands, matrices, peak bytes, arena bytes after planning, operations of matrix products,
    /// compile time) instead of the commands
    #[arg(long, default_value_t = false)]
    summary: bool,
    /// Print tables instead of the commands. For each optimization pass: commands, matrices and bytes before and after,
    /// and its time. For each pass of lowering operations: bytes read and written, and products, before and after
    #[arg(long, default_value_t = false)]
    passes: bool,
    /// Print the lowered operations, which run in place of the commands
    #[arg(long, default_value_t = false)]
    lowered: bool,
    /// Run it with random inputs; the operations that run are printed with their times and rates, and tables by kind of
    /// command
    #[arg(long, default_value_t = false)]
    profile: bool,
    /// Duration of the runs of --profile=true
    #[arg(long, default_value_t = 0.5)]
    profile_seconds: f64,
    /// If false, --profile=true computes the plain gradient, not the natural gradient of training
    #[arg(long, default_value_t = true)]
    natural_gradient: bool,
    /// NODE:N,T or NODE:N,T,X: explain why this row of an output can or cannot be computed, and from which inputs
    #[arg(long, default_value = "")]
    explain_output: String,
    /// Show this computation, in the form of --format=stored or binary, instead of compiling a request
    #[arg(long, default_value = "")]
    computation: String,
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
    optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    compiler: CachingOptions,
    #[arg(value_name = "<raw-nnet-in>")]
    nnet: String,
    #[arg(value_name = "<request-in>")]
    request: Option<String>,
}

impl Options {
    fn check(&self) -> Result<()> {
        if !(0.0..=3600.0).contains(&self.profile_seconds) {
            bail!("--profile-seconds={}: expected a number from 0 to 3600", self.profile_seconds);
        }
        if self.computation.is_empty() {
            return Ok(());
        }
        match &self.request {
            Some(request) => {
                bail!("--computation={} and the request {request}: give one of them", self.computation)
            }
            None if self.passes => bail!("--passes=true: a stored computation is not compiled"),
            None if !self.explain_output.is_empty() => {
                bail!("--explain-output is about a request, not about a stored computation")
            }
            None => Ok(()),
        }
    }

    fn request(&self, nnet: &Nnet) -> Result<ComputationRequest> {
        Ok(match &self.request {
            Some(file) => ComputationRequest::load(file)?,
            None => nnet.ordinary_request(
                self.num_sequences,
                self.num_frames,
                self.frame_subsampling_factor,
                self.derivatives,
            )?,
        })
    }

    /// The program, and the times that it took, if it was compiled.
    fn program(&self, nnet: &Nnet, passes: &mut Passes) -> Result<(Arc<Program>, Option<Times>)> {
        if !self.computation.is_empty() {
            return Ok((
                crate::networks::compiler::load(nnet, &self.computation, &nnet3_matrix::cpu())?,
                None,
            ));
        }
        let request = self.request(nnet)?;
        let started = Instant::now();
        let (program, plan) = if self.optimize {
            let mut compiler = crate::networks::compiler::new(&self.optimization, &self.compiler);
            compiler.keep_debug_info(!self.summary);
            let program = match self.passes {
                true => compiler.program_observed(nnet, &request, &mut |stage| passes.add(stage))?,
                false => compiler.program(nnet, &request)?,
            };
            (program, compiler.timing().indexes)
        } else {
            let computation = compile(nnet, std::slice::from_ref(&request))?;
            let time = started.elapsed();
            passes.add(Stage::Computation(optimize::Stage {
                name: "compile",
                computation: &computation,
                time,
            }));
            let planning = Instant::now();
            let program = crate::networks::compiler::lower(nnet, computation, &nnet3_matrix::cpu())?;
            (program, planning.elapsed())
        };
        Ok((program, Some(Times { compile: started.elapsed() - plan, plan })))
    }

    fn print(&self, inspection: &Inspection<'_>) -> Result<String> {
        let (summary, passes) = (self.summary, inspection.passes.filter(|_| self.passes));
        Ok(match self.format.as_str() {
            "json" => inspection.json(),
            "dot" => inspection.dot(),
            "stored" => {
                let mut w = KaldiWriter::in_memory(false);
                inspection.program.compiled().write(&mut w)?;
                String::from_utf8(w.into_bytes())?
            }
            _ if summary || passes.is_some() => {
                let summary = if summary { inspection.summary() } else { String::new() };
                summary + &passes.map_or(String::new(), Passes::table) + &inspection.profile_tables()
            }
            _ if self.lowered && inspection.profile.is_none() => inspection.lowered(),
            _ => inspection.text(),
        })
    }
}

pub fn run(options: Options) -> Result<u8> {
    options.check()?;
    let nnet = Nnet::load(&options.nnet)?;
    let text = if options.explain_output.is_empty() {
        let mut passes = Passes::default();
        let (program, times) = options.program(&nnet, &mut passes)?;
        let (natural_gradient, time) =
            (options.natural_gradient, Duration::from_secs_f64(options.profile_seconds));
        let measure = ProfileOptions { natural_gradient, time };
        let profile = match options.profile {
            true => Some(Profile::measure(&nnet, &program, &nnet3_matrix::cpu(), &measure)?),
            false => None,
        };
        let (passes, profile) = (options.passes.then_some(&passes), profile.as_ref());
        options.print(&Inspection { nnet: &nnet, program: &program, times, passes, profile })?
    } else {
        let (name, index) = parse_output(&options.explain_output)?;
        explain_output(&nnet, &options.request(&nnet)?, name, index)?
    };
    kaldi_cli::StandardOutput::open()?.write_all(text.as_bytes())?;
    Ok(0)
}
