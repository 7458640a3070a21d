//! `nnet3-benchmark`: measures a request, compared with the machine's rate of matrix products.

use anyhow::{Context, Result, anyhow, bail};
use kaldi_cli::Group;
use kaldi_io::read_object;
use nnet3::options::compute::{CachingOptions, OptimizationOptions};
use nnet3::options::device::{DeviceOptions, USE_GPU};
use nnet3::options::threads;
use nnet3_chain::{DenominatorGraph, ObjectiveTimes, Supervision};
use nnet3_core::Random;
use nnet3_core::config::read_config;
use nnet3_core::inspect::{Benchmark, BenchmarkOptions, Inspection, Profile, ProfileOptions, Times};
use nnet3_core::nnet::Nnet;
use nnet3_core::request::ComputationRequest;
use std::io::Write;
use std::time::{Duration, Instant};

/// Compile a computation request, and run it with random inputs: forward and, if it wants derivatives, backward with
/// plain gradients. Print one JSON object: the times, and the rates as shares of the rate of a 2048 x 2048 matrix
/// product. This product is measured in between on the same machine.
///
/// Times are medians. With one thread they are processor times, so other programs have little effect.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: nnet3-benchmark final.raw request.txt\n \
                        nnet3-benchmark --profile=true --repeats=1 network.config request.txt\n\
                  See also: nnet3-compile-info --profile=true, which shows each command")]
pub struct Options {
    /// Threads of a matrix product
    #[arg(long, default_value_t = 1)]
    num_threads: i64,
    /// Rounds of measuring. A round is a matrix product, and runs for 0.3 seconds, at least one
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Print a table by kind of command to standard error
    #[arg(long, default_value_t = false)]
    profile: bool,
    /// Also measure backward as in training, with natural gradient: natural_backward_s
    #[arg(long, default_value_t = false)]
    natural_gradient: bool,
    /// yes|no|optional|wait: whether to run on a GPU
    #[arg(long, default_value = "no", value_parser = USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: DeviceOptions,
    /// Also measure the objective of chain training with this denominator FST, on one thread of the host, with the same
    /// number of rounds: chain_forward_s, chain_backward_s, chain_objective_s
    #[arg(long, default_value = "")]
    chain_den_fst: String,
    /// The supervision of a minibatch, as chain examples have it, for --chain-den-fst
    #[arg(long, default_value = "")]
    chain_supervision: String,
    /// Seed for random number generator (parameters of a network from a config)
    #[arg(long, default_value_t = 0)]
    srand: i32,
    #[command(flatten)]
    optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    compiler: CachingOptions,
    #[arg(value_name = "(<raw-nnet-in>|<config-in>)")]
    nnet: String,
    #[arg(value_name = "<request-in>")]
    request: String,
}

/// A network from a model file or from a config.
fn load(file: &str, random: &Random) -> Result<Nnet> {
    let from_config = || -> nnet3_core::Result<Nnet> {
        let mut nnet = Nnet::default();
        nnet.read_config(read_config(file)?, random)?;
        Ok(nnet)
    };
    Nnet::load(file).or_else(|as_network| {
        from_config()
            .map_err(|as_config| anyhow!("{file} is no network ({as_network}) and no config ({as_config})"))
    })
}

/// Returns the times of the objective of chain training, as further fields of a JSON object. Empty if they were not
/// requested.
fn chain_times(options: &Options) -> Result<String> {
    let Options { chain_den_fst, chain_supervision, .. } = options;
    if chain_den_fst.is_empty() {
        return Ok(String::new());
    }
    let fst = kaldi_fst::read_fst(chain_den_fst)?;
    let supervision: Supervision = read_object(chain_supervision)?;
    supervision.check().with_context(|| chain_supervision.clone())?;
    let graph =
        DenominatorGraph::new(&fst, supervision.label_dim as usize).with_context(|| chain_den_fst.clone())?;
    let times = ObjectiveTimes::measure(&graph, &supervision, options.repeats)
        .with_context(|| format!("{chain_den_fst} and {chain_supervision}"))?;
    let fields = [
        ("chain_forward_s", times.forward.as_secs_f64()),
        ("chain_backward_s", times.backward.as_secs_f64()),
        ("chain_objective_s", times.whole.as_secs_f64()),
        ("chain_products", times.products),
    ];
    Ok(fields.iter().map(|(name, value)| format!(", \"{name}\": {value}")).collect())
}

pub fn run(options: Options) -> Result<u8> {
    if options.repeats == 0 {
        bail!("--repeats=0: expected at least 1");
    }
    let num_threads = threads::number("num-threads", options.num_threads)?.get();
    if options.chain_den_fst.is_empty() != options.chain_supervision.is_empty() {
        bail!("--chain-den-fst and --chain-supervision go together");
    }
    let device = options.device.select(&options.use_gpu)?;
    nnet3_matrix::set_num_threads(num_threads);
    let nnet = load(&options.nnet, &Random::new(options.srand))?;
    let request = ComputationRequest::load(&options.request)?;
    let mut compiler =
        crate::networks::compiler::new(&options.optimization, &options.compiler).for_device(&device);
    let started = Instant::now();
    let program = compiler.program(&nnet, &request)?;
    let plan = compiler.timing().indexes;
    let times = Some(Times { compile: started.elapsed() - plan, plan });
    let measure = BenchmarkOptions {
        rounds: options.repeats,
        round_time: Duration::from_millis(300),
        wall_clock: num_threads > 1 || !device.is_host(),
        natural_gradient: options.natural_gradient,
    };
    let benchmark = Benchmark::measure(&nnet, &program, &device, &measure)?;
    let inspection = Inspection { nnet: &nnet, program: &program, times, passes: None, profile: None };
    let object = benchmark.json(&inspection);
    let fields = object.strip_suffix("}\n").expect("an object on a line");
    let kernel = device.kernel();
    let object = format!("{fields}, \"kernel\": \"{kernel}\"{}}}\n", chain_times(&options)?);
    kaldi_cli::StandardOutput::open()?.write_all(object.as_bytes())?;
    if options.profile {
        let measure = ProfileOptions { natural_gradient: false, ..ProfileOptions::default() };
        let profile = Profile::measure(&nnet, &program, &device, &measure)?;
        let tables = Inspection { profile: Some(&profile), ..inspection }.profile_tables();
        kaldi_cli::terminal::print(tables.as_bytes());
    }
    Ok(0)
}
