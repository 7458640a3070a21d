//! Runs a program repeatedly beside products of large matrices, so that its speed can be given as a share of the
//! machine's rate at the same time.

use super::clock::thread_time;
use super::json::{self, real};
use super::trial::Trial;
use super::{Inspection, Times, milliseconds};
use crate::execute::Program;
use nnet3_base::error::Result;
use nnet3_compiler::computation::Command;
use nnet3_compiler::flops;
use nnet3_matrix::cpu::library_product;
use nnet3_matrix::{Device, Gemm, Matrix};
use nnet3_network::Nnet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows and columns of the matrices in the product that measures the machine's rate, and the number of products in a
/// measurement. On a device with room for large matrices, the launch and the wait then take a negligible part of the
/// time.
const SGEMM: (usize, u32) = (2048, 1);
const SGEMM_OF_DEVICES: (usize, u32) = (8192, 10);
/// Free bytes of a device that has room.
const ROOM: u64 = 4 << 30;
/// Number of uncounted runs with natural gradient: in the first minibatches each updates its estimates.
const NATURAL_START: usize = 11;
/// Number of runs with natural gradient that are averaged: later, one in four updates the estimates, unless the network
/// has another period.
const NATURAL_PERIOD: usize = 4;

#[derive(Clone, Copy, Debug)]
pub struct BenchmarkOptions {
    /// Rounds: a product, runs of the program, and so on; a product at the end.
    pub rounds: usize,
    /// Duration of a round; it has at least one run.
    pub round_time: Duration,
    /// True for wall time, false for this thread's processor time. The latter excludes the work of other programs, and
    /// also that of other threads.
    pub wall_clock: bool,
    /// True if the backward pass is measured with natural gradient too.
    pub natural_gradient: bool,
}

/// Seconds of each run.
#[derive(Clone, Debug, Default)]
pub struct Benchmark {
    /// Seconds of a large product by BLAS, and then as the network's products are done.
    sgemm: Vec<f64>,
    product: Vec<f64>,
    forward: Vec<f64>,
    backward: Vec<f64>,
    /// Seconds backward with natural gradient.
    natural: Vec<f64>,
    /// Rows and columns of the large matrices.
    side: usize,
}

struct Clock {
    wall: Option<Instant>,
    thread: Duration,
}

impl Clock {
    fn start(wall: bool) -> Clock {
        Clock { wall: wall.then(Instant::now), thread: thread_time() }
    }
    fn seconds(&self) -> f64 {
        self.wall.map_or_else(|| thread_time() - self.thread, |start| start.elapsed()).as_secs_f64()
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

fn has_backward(program: &Program) -> bool {
    program.computation().commands.contains(&Command::Marker)
}

/// Runs the next part of the program.
fn seconds(trial: &mut Trial, wall_clock: bool) -> Result<f64> {
    let mut seconds = 0.0;
    trial.part(|executor, model, random| {
        executor.device().synchronize();
        let clock = Clock::start(wall_clock);
        executor.run(model, random)?;
        executor.device().synchronize();
        seconds = clock.seconds();
        Ok(())
    })?;
    Ok(seconds)
}

impl Benchmark {
    /// Runs `program`, forward and (if it has a backward part) backward with plain gradients, on `device`, with
    /// normally distributed inputs and output derivatives. The first run is not counted.
    pub fn measure(
        nnet: &Nnet,
        program: &Arc<Program>,
        device: &Device,
        options: &BenchmarkOptions,
    ) -> Result<Benchmark> {
        let mut trial = Trial::new(nnet, device, false);
        let mut natural = options.natural_gradient.then(|| Trial::new(nnet, device, true));
        let mut product = Product::new(device);
        let mut benchmark = Benchmark::default();
        for by_library in [true, false] {
            product.seconds(by_library, options.wall_clock);
        }
        benchmark.run(&mut trial, program, options.wall_clock)?;
        for _ in 0..NATURAL_START {
            benchmark.run_natural(&mut natural, program, options.wall_clock)?;
        }
        benchmark = Benchmark { side: product.side, ..Benchmark::default() };
        let mut product_times = |benchmark: &mut Benchmark| {
            benchmark.sgemm.push(product.seconds(true, options.wall_clock));
            benchmark.product.push(product.seconds(false, options.wall_clock));
        };
        for _ in 0..options.rounds {
            product_times(&mut benchmark);
            let start = Instant::now();
            loop {
                benchmark.run(&mut trial, program, options.wall_clock)?;
                benchmark.run_natural(&mut natural, program, options.wall_clock)?;
                if start.elapsed() >= options.round_time {
                    break;
                }
            }
        }
        product_times(&mut benchmark);
        Ok(benchmark)
    }

    fn run(&mut self, trial: &mut Trial, program: &Arc<Program>, wall_clock: bool) -> Result<()> {
        trial.start(program)?;
        self.forward.push(seconds(trial, wall_clock)?);
        if has_backward(program) {
            self.backward.push(seconds(trial, wall_clock)?);
        }
        Ok(())
    }

    fn run_natural(
        &mut self,
        trial: &mut Option<Trial>,
        program: &Arc<Program>,
        wall_clock: bool,
    ) -> Result<()> {
        let Some(trial) = trial.as_mut().filter(|_| has_backward(program)) else { return Ok(()) };
        trial.start(program)?;
        seconds(trial, wall_clock)?;
        self.natural.push(seconds(trial, wall_clock)?);
        Ok(())
    }

    /// 10⁹ operations a second of a product of large matrices by BLAS: the median.
    pub fn sgemm_gflops(&self) -> f64 {
        2.0 * (self.side as f64).powi(3) / median(&self.sgemm) / 1e9
    }
    /// The same rate for the products that networks use.
    pub(crate) fn product_gflops(&self) -> f64 {
        2.0 * (self.side as f64).powi(3) / median(&self.product) / 1e9
    }
    /// The median of the forward runs.
    pub(crate) fn forward_seconds(&self) -> f64 {
        median(&self.forward)
    }
    /// The median of the backward runs, if there are any.
    pub(crate) fn backward_seconds(&self) -> Option<f64> {
        (!self.backward.is_empty()).then(|| median(&self.backward))
    }

    /// The same with natural gradient, if that was measured: the median of means of some runs, as some take longer.
    pub(crate) fn natural_backward_seconds(&self) -> Option<f64> {
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
        let means: Vec<f64> = self.natural.chunks(NATURAL_PERIOD).map(mean).collect();
        (!means.is_empty()).then(|| median(&means))
    }

    /// One JSON object on one line; its fields are described in `docs/dev/performance.md`.
    pub fn json(&self, inspection: &Inspection<'_>) -> String {
        let computation = inspection.program.computation();
        let flops = flops::count(inspection.nnet, computation);
        let (forward, backward) = (self.forward_seconds(), self.backward_seconds());
        let percent = |flops: u64, seconds: f64| 100.0 * flops as f64 / seconds / 1e9 / self.sgemm_gflops();
        let time = |of: fn(Times) -> Duration| inspection.times.map(|times| real(milliseconds(of(times))));
        let mut out = serde_json::json!({
            "sgemm_gflops": real(self.sgemm_gflops()),
            "product_gflops": real(self.product_gflops()),
            "compile_ms": time(|times| times.compile),
            "plan_ms": time(|times| times.plan),
            "forward_s": real(forward),
            "backward_s": backward.map(real),
            "gemm_gflop_forward": real(flops.forward as f64 / 1e9),
            "gemm_gflop_backward": real(flops.backward as f64 / 1e9),
            "percent_of_sgemm_forward": real(percent(flops.forward, forward)),
            "percent_of_sgemm_backward": backward.map(|time| real(percent(flops.backward, time))),
            "peak_bytes": computation.peak_bytes(),
            "arena_bytes": inspection.program.plan().arena_bytes(),
            "commands": computation.commands.len(),
            "runs": self.forward.len(),
        });
        if let Some(seconds) = self.natural_backward_seconds() {
            out["natural_backward_s"] = real(seconds);
        }
        json::to_text(&out, 0)
    }
}

/// The product of two large matrices.
struct Product {
    device: Device,
    factors: [Matrix; 2],
    result: Matrix,
    side: usize,
    times: u32,
}

impl Product {
    fn new(device: &Device) -> Product {
        let has_room = device.memory().is_some_and(|memory| memory.free >= ROOM);
        let (side, times) = if has_room { SGEMM_OF_DEVICES } else { SGEMM };
        let random = |key| {
            let mut matrix = Matrix::zeros(device, side, side);
            device.fill_normal(matrix.view_mut(), key);
            matrix
        };
        Product {
            device: device.clone(),
            factors: [random(1), random(2)],
            result: Matrix::zeros(device, side, side),
            side,
            times,
        }
    }

    /// Seconds of one product, by BLAS if `by_blas` and the device is the host.
    fn seconds(&mut self, by_blas: bool, wall_clock: bool) -> f64 {
        let [a, b] = &self.factors;
        self.device.synchronize();
        let clock = Clock::start(wall_clock);
        for _ in 0..self.times {
            match by_blas && self.device.is_host() {
                true => library_product(self.result.view_mut(), a.view(), b.view()),
                false => self.device.gemm(Gemm::set(self.result.view_mut(), a.view(), b.view())),
            }
        }
        self.device.synchronize();
        clock.seconds() / f64::from(self.times)
    }
}
