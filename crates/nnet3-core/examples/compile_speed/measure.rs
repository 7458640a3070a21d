//! Times and memory of compilations.

use super::Result;
use super::case::Case;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::{compile_observed, shortcut};
use nnet3_core::computation::Computation;
use nnet3_core::execute::Program;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize_observed};
use nnet3_core::request::ComputationRequest;
use nnet3_matrix::{Gemm, Matrix, cpu, set_num_threads};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Shortcut,
    Plain,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shortcut => "shortcut",
            Mode::Plain => "plain",
        }
    }

    pub fn parse(name: &str) -> Result<Mode> {
        [Mode::Shortcut, Mode::Plain]
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("there is no mode '{name}'").into())
    }

    fn compiler(self) -> CachingCompiler {
        let options = CompilerOptions { use_shortcut: self == Mode::Shortcut, ..CompilerOptions::default() };
        CachingCompiler::new(options, OptimizeOptions::default())
    }
}

/// The first compilation of a process.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub seconds: f64,
    /// Seconds of the memory plan, which comes after.
    pub plan_seconds: f64,
    /// `None` if the system does not tell.
    pub grown_bytes: Option<usize>,
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.grown_bytes.map_or("-".to_string(), |bytes| bytes.to_string());
        write!(f, "{} {} {bytes}", self.seconds, self.plan_seconds)
    }
}

impl First {
    pub fn parse(text: &str) -> Result<First> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [seconds, plan, bytes] => Ok(First {
                seconds: seconds.parse()?,
                plan_seconds: plan.parse()?,
                grown_bytes: bytes.parse().ok(),
            }),
            _ => Err(format!("'{text}' is not two times and a size").into()),
        }
    }
}

/// Compiles the case's request once.
pub fn first(case: &Case, mode: Mode) -> Result<First> {
    let mut compiler = mode.compiler();
    let before = memory::reset_peak().and_then(|()| memory::now());
    let start = Instant::now();
    let program = compiler.program(&case.nnet, &case.request)?;
    let plan_seconds = compiler.timing().indexes.as_secs_f64();
    let seconds = start.elapsed().as_secs_f64() - plan_seconds;
    let after = memory::peak();
    black_box(program);
    let grown_bytes = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(First { seconds, plan_seconds, grown_bytes })
}

/// This process's use of memory, as Linux reports it.
mod memory {
    pub fn reset_peak() -> Option<()> {
        std::fs::write("/proc/self/clear_refs", "5").ok()
    }

    pub fn now() -> Option<usize> {
        field("VmRSS:")
    }

    pub fn peak() -> Option<usize> {
        field("VmHWM:")
    }

    fn field(name: &str) -> Option<usize> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: usize = line.split_whitespace().next()?.parse().ok()?;
        Some(1024 * kilobytes)
    }
}

/// The best of many compilations in one process.
pub struct Stages {
    /// Seconds of the whole.
    pub total: f64,
    /// Seconds of each part, of the compilation that was fastest when watched.
    pub parts: Vec<(&'static str, f64)>,
    pub commands: usize,
    /// A hash of the stored form of the computation.
    pub digest: String,
}

/// Time for the repetitions of one figure.
const PATIENCE: Duration = Duration::from_millis(500);
const MIN_REPETITIONS: usize = 5;

fn repeat(mut f: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    let mut count = 0;
    while count < MIN_REPETITIONS || start.elapsed() < PATIENCE {
        f()?;
        count += 1;
    }
    Ok(())
}

pub fn stages(case: &Case, mode: Mode) -> Result<Stages> {
    let mut total = f64::INFINITY;
    repeat(|| {
        let mut compiler = mode.compiler();
        let start = Instant::now();
        black_box(compiler.program(&case.nnet, &case.request)?);
        total = total.min(start.elapsed().as_secs_f64());
        Ok(())
    })?;
    let mut best = Stopwatch::default();
    repeat(|| {
        let mut stopwatch = Stopwatch::default();
        black_box(watched(case, mode, &mut stopwatch)?);
        if best.parts.is_empty() || stopwatch.sum() < best.sum() {
            best = stopwatch;
        }
        Ok(())
    })?;
    let program = mode.compiler().program(&case.nnet, &case.request)?;
    let computation = program.computation();
    let digest = digest(computation)?;
    Ok(Stages { total, parts: best.parts, commands: computation.commands.len(), digest })
}

#[derive(Default)]
struct Stopwatch {
    last: Option<Instant>,
    parts: Vec<(&'static str, f64)>,
}

impl Stopwatch {
    fn start(&mut self) {
        self.last = Some(Instant::now());
    }

    /// Counts the time since the last call for `name`.
    fn done(&mut self, name: &'static str) {
        let now = Instant::now();
        let seconds = self.last.map_or(0.0, |last| (now - last).as_secs_f64());
        match self.parts.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.parts.push((name, seconds)),
        }
        self.last = Some(Instant::now());
    }

    fn sum(&self) -> f64 {
        self.parts.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Runs the stages of the caching compiler one by one and times each.
fn watched(case: &Case, mode: Mode, stopwatch: &mut Stopwatch) -> Result<Program> {
    let (nnet, request) = (&case.nnet, &case.request);
    stopwatch.start();
    let mini = shortcut::mini_request(request).filter(|_| mode == Mode::Shortcut);
    let computation = match mini {
        Some((mini, count)) => {
            stopwatch.done("mini-request");
            let computation = compiled(nnet, &mini, stopwatch)?;
            let expanded = shortcut::expand(nnet, &computation, count, false)?;
            stopwatch.done("expand");
            expanded
        }
        None => compiled(nnet, request, stopwatch)?,
    };
    let program = Program::new(nnet, computation)?;
    stopwatch.done("plan");
    Ok(program)
}

fn compiled(nnet: &Nnet, request: &ComputationRequest, stopwatch: &mut Stopwatch) -> Result<Computation> {
    let mut computation =
        compile_observed(nnet, std::slice::from_ref(request), &mut |stage| stopwatch.done(stage))?;
    check(nnet, &computation, CheckOptions { rewrite: true, ..CheckOptions::default() })?;
    stopwatch.done("check");
    let (options, max_time) = (OptimizeOptions::default(), request.max_output_time()?);
    optimize_observed(&options, nnet, max_time, &mut computation, false, &mut |stage| {
        stopwatch.done(stage.name)
    })?;
    check(nnet, &computation, CheckOptions::default())?;
    stopwatch.done("check");
    Ok(computation)
}

/// FNV-1a of the stored form.
fn digest(computation: &Computation) -> Result<String> {
    let mut w = KaldiWriter::in_memory(false);
    computation.write(&mut w)?;
    let step = |hash: u64, &byte: &u8| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
    let hash = w.into_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    Ok(format!("{hash:016x}"))
}

/// GFLOP/s of a product of 2048³, one thread, the best of a few.
pub fn sgemm() -> f64 {
    const SIZE: usize = 2048;
    set_num_threads(1);
    let device = cpu();
    let mut a = Matrix::zeros(&device, SIZE, SIZE);
    device.fill_normal(a.view_mut(), 1);
    let mut c = Matrix::zeros(&device, SIZE, SIZE);
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        let start = Instant::now();
        device.gemm(Gemm::set(c.view_mut(), a.view(), a.view().transposed()));
        best = best.min(start.elapsed().as_secs_f64());
    }
    2.0 * (SIZE as f64).powi(3) / best / 1e9
}
