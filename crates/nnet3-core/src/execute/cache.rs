//! Compiles requests and keeps the programs, so that a repeated request needs no compilation.

use super::Program;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::fast_hash::FastMap;
use nnet3_base::random::Random;
use nnet3_compiler::check::{CheckOptions, check};
use nnet3_compiler::compile::{compile, draws, shortcut};
use nnet3_compiler::computation::Computation;
use nnet3_compiler::lower::{self, Watch};
use nnet3_compiler::optimize::{self, OptimizeOptions, optimize_observed, stack_in_place};
use nnet3_compiler::request::ComputationRequest;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of the caching compiler (`--compiler.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerOptions {
    /// Compile for two sequences and expand, where requests allow it.
    pub use_shortcut: bool,
    /// Number of compiled requests to keep, at least 1; the least recently used go first.
    pub cache_capacity: usize,
    /// Checks more than the optimised result: before optimisation, after every pass, and after expansion. Also checks
    /// lowered operations after every pass over them.
    pub check_all: bool,
}

impl Default for CompilerOptions {
    fn default() -> CompilerOptions {
        CompilerOptions { use_shortcut: true, cache_capacity: 64, check_all: cfg!(debug_assertions) }
    }
}

/// The time that each stage of compiling took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    pub total: Duration,
    pub compile: Duration,
    pub optimize: Duration,
    pub expand: Duration,
    pub check: Duration,
    /// The time of the memory plan, of lowering and of making index tables.
    pub indexes: Duration,
    /// Reading and writing caches; not part of the total.
    pub io: Duration,
}

impl std::ops::AddAssign for Timing {
    fn add_assign(&mut self, other: Timing) {
        self.total += other.total;
        self.compile += other.compile;
        self.optimize += other.optimize;
        self.expand += other.expand;
        self.check += other.check;
        self.indexes += other.indexes;
        self.io += other.io;
    }
}

impl Timing {
    /// The reference's summary line; `None` if no request was compiled, read or written.
    pub fn summary(&self) -> Option<String> {
        let seconds = |d: Duration| kaldi_io::text::format_g(d.as_secs_f64(), 3);
        let known = self.compile + self.optimize + self.expand + self.check + self.indexes;
        (self.total + self.io > Duration::ZERO).then(|| {
            format!(
                "{} seconds taken in nnet3 compilation total (breakdown: {} compilation, {} optimization, {} shortcut \
                 expansion, {} checking, {} computing indexes, {} misc.) + {} I/O.",
                seconds(self.total),
                seconds(self.compile),
                seconds(self.optimize),
                seconds(self.expand),
                seconds(self.check),
                seconds(self.indexes),
                seconds(self.total.saturating_sub(known)),
                seconds(self.io)
            )
        })
    }
}

/// A stage on the way to a program, with its result.
pub enum Stage<'a> {
    /// A stage that changes the computation.
    Computation(optimize::Stage<'a>),
    /// A stage that changes the lowered operations.
    Lowering(lower::Stage),
}

/// Is called after each stage.
pub type Observer<'a> = &'a mut dyn FnMut(Stage<'_>);

/// The manner of making a program.
#[derive(Clone, Copy, Default)]
struct Manner<'r> {
    /// The observer wants to see the passes over lowered operations.
    observed: bool,
    /// Takes random numbers from here, as the reference does.
    random: Option<&'r Random>,
}

/// A computation that is to be run, or that others were expanded from.
enum Compiled {
    Program(Arc<Program>),
    Computation(Arc<Computation>),
}

impl Compiled {
    fn computation(&self) -> &Computation {
        match self {
            Compiled::Program(program) => program.compiled(),
            Compiled::Computation(computation) => computation,
        }
    }
}

struct Entry {
    compiled: Compiled,
    last_use: u64,
}

/// Compiles, optimises, plans and remembers.
pub struct CachingCompiler {
    options: CompilerOptions,
    optimize: OptimizeOptions,
    entries: FastMap<ComputationRequest, Entry>,
    uses: u64,
    timing: Timing,
    keep_debug_info: bool,
    device: Device,
}

impl CachingCompiler {
    /// Makes programs for the host.
    pub fn new(options: CompilerOptions, optimize: OptimizeOptions) -> CachingCompiler {
        CachingCompiler {
            options: CompilerOptions { cache_capacity: options.cache_capacity.max(1), ..options },
            optimize,
            entries: FastMap::default(),
            uses: 0,
            timing: Timing::default(),
            keep_debug_info: false,
            device: nnet3_matrix::cpu(),
        }
    }

    /// Makes programs for `device` from now on.
    pub fn for_device(self, device: &Device) -> CachingCompiler {
        CachingCompiler { device: device.clone(), ..self }
    }

    /// Keeps the meaning of rows in expanded computations; needed only for printing.
    pub fn keep_debug_info(&mut self, on: bool) {
        self.keep_debug_info = on;
    }

    /// The program of a request, compiled if need be.
    pub fn program(&mut self, nnet: &Nnet, request: &ComputationRequest) -> Result<Arc<Program>> {
        self.make(nnet, request, &mut |_| (), Manner::default())
    }

    /// As [`CachingCompiler::program`]. If it compiles, it takes as many random numbers as the reference's compiler, so that
    /// training goes on at the same place of the sequence.
    pub fn program_drawing(
        &mut self,
        nnet: &Nnet,
        request: &ComputationRequest,
        random: &Random,
    ) -> Result<Arc<Program>> {
        self.make(nnet, request, &mut |_| (), Manner { random: Some(random), ..Manner::default() })
    }

    /// As [`CachingCompiler::program`]; `observer` sees the stages that run: `compile`, the passes, `expand`, the
    /// passes over lowered operations, and `plan`.
    pub fn program_observed(
        &mut self,
        nnet: &Nnet,
        request: &ComputationRequest,
        observer: Observer<'_>,
    ) -> Result<Arc<Program>> {
        self.make(nnet, request, observer, Manner { observed: true, random: None })
    }

    fn make(
        &mut self,
        nnet: &Nnet,
        request: &ComputationRequest,
        observer: Observer<'_>,
        manner: Manner<'_>,
    ) -> Result<Arc<Program>> {
        let computation = match self.find(request) {
            Some(Compiled::Program(program)) => return Ok(program.clone()),
            Some(Compiled::Computation(computation)) => Some(computation.clone()),
            None => None,
        };
        let start = Instant::now();
        let computation = match computation {
            Some(computation) => (*computation).clone(),
            None => self.create(nnet, request, observer, manner.random)?,
        };
        let changed = self.stack_in_place(nnet, &computation, observer)?;
        let planning = Instant::now();
        let mut passes: Vec<lower::Stage> = Vec::new();
        let mut note = |stage| passes.push(stage);
        let mut watch = Watch { check: self.options.check_all, ..Watch::default() };
        if manner.observed {
            watch.observer = Some(&mut note);
        }
        let program = match changed {
            Some(changed) => {
                Program::for_device(nnet, changed, &self.device, &mut watch)?.compiled_as(computation)
            }
            None => Program::for_device(nnet, computation, &self.device, &mut watch)?,
        };
        let program = Arc::new(program);
        let checking = watch.time;
        let time = planning.elapsed().saturating_sub(checking);
        self.timing.indexes += time;
        self.timing.check += checking;
        let computation = program.computation();
        let lowering = passes.iter().map(|pass| pass.time).sum();
        passes.into_iter().for_each(|pass| observer(Stage::Lowering(pass)));
        let time = time.saturating_sub(lowering);
        observer(Stage::Computation(optimize::Stage { name: "plan", computation, time }));
        self.timing.total += start.elapsed();
        self.insert(request.clone(), Compiled::Program(program.clone()));
        Ok(program)
    }

    fn create(
        &mut self,
        nnet: &Nnet,
        request: &ComputationRequest,
        observer: Observer<'_>,
        random: Option<&Random>,
    ) -> Result<Computation> {
        if self.options.use_shortcut
            && let Some((mini, count)) = shortcut::mini_request(request)
            && let Some(computation) = self.expand(nnet, mini, count, observer, random)?
        {
            return Ok(computation);
        }
        self.compile(nnet, request, observer, random)
    }

    /// Expands a computation for two sequences; `None` if it cannot be expanded.
    fn expand(
        &mut self,
        nnet: &Nnet,
        mini: ComputationRequest,
        count: usize,
        observer: Observer<'_>,
        random: Option<&Random>,
    ) -> Result<Option<Computation>> {
        if self.find(&mini).is_none() {
            let compiled = Compiled::Computation(Arc::new(self.compile(nnet, &mini, observer, random)?));
            self.insert(mini.clone(), compiled);
        }
        let Some(entry) = self.entries.get(&mini) else {
            return Ok(None);
        };
        let start = Instant::now();
        let expanded = shortcut::expand(nnet, entry.compiled.computation(), count, self.keep_debug_info);
        let time = start.elapsed();
        self.timing.expand += time;
        let Ok(expanded) = expanded else {
            return Ok(None);
        };
        if let Some(random) = random {
            draws::of_expansion(nnet, entry.compiled.computation(), &expanded, random);
        }
        observer(Stage::Computation(optimize::Stage { name: "expand", computation: &expanded, time }));
        if self.options.check_all {
            self.check(nnet, &expanded, CheckOptions::default())?;
        }
        Ok(Some(expanded))
    }

    fn compile(
        &mut self,
        nnet: &Nnet,
        request: &ComputationRequest,
        observer: Observer<'_>,
        random: Option<&Random>,
    ) -> Result<Computation> {
        let start = Instant::now();
        let mut computation = compile(nnet, std::slice::from_ref(request))?;
        let mut draws = random.map(|random| draws::Draws::begin(nnet, request, &computation, random));
        let time = start.elapsed();
        self.timing.compile += time;
        observer(Stage::Computation(optimize::Stage { name: "compile", computation: &computation, time }));
        if self.options.check_all {
            // Passes reuse matrices that are no longer needed. Before them, no variable is written twice.
            self.check(nnet, &computation, CheckOptions { rewrite: true, ..CheckOptions::default() })?;
        }
        let start = Instant::now();
        let max_time = request.max_output_time()?;
        optimize_observed(
            &self.optimize,
            nnet,
            max_time,
            &mut computation,
            self.options.check_all,
            &mut |stage| {
                draws.iter_mut().for_each(|draws| draws.pass(&stage));
                observer(Stage::Computation(stage));
            },
        )?;
        self.timing.optimize += start.elapsed();
        self.check(nnet, &computation, CheckOptions::default())?;
        Ok(computation)
    }

    /// Runs the pass `stack-in-place`, which completes `consolidate-model-update`. Returns the computation that it makes, or `None`
    /// if it changes nothing.
    fn stack_in_place(
        &mut self,
        nnet: &Nnet,
        computation: &Computation,
        observer: Observer<'_>,
    ) -> Result<Option<Computation>> {
        if !(self.optimize.optimize && self.optimize.consolidate_model_update) {
            return Ok(None);
        }
        let start = Instant::now();
        let changed = stack_in_place::run(nnet, computation)?;
        let time = start.elapsed();
        self.timing.optimize += time;
        if let Some(computation) = &changed {
            observer(Stage::Computation(optimize::Stage { name: "stack-in-place", computation, time }));
            if self.options.check_all {
                self.check(nnet, computation, CheckOptions::default())?;
            }
        }
        Ok(changed)
    }

    fn check(&mut self, nnet: &Nnet, computation: &Computation, options: CheckOptions) -> Result<()> {
        let start = Instant::now();
        check(nnet, computation, options)?;
        self.timing.check += start.elapsed();
        Ok(())
    }

    fn find(&mut self, request: &ComputationRequest) -> Option<&Compiled> {
        self.uses += 1;
        let entry = self.entries.get_mut(request)?;
        entry.last_use = self.uses;
        Some(&entry.compiled)
    }

    fn insert(&mut self, request: ComputationRequest, compiled: Compiled) {
        self.uses += 1;
        let full = self.entries.len() >= self.options.cache_capacity;
        if full && !self.entries.contains_key(&request) {
            let oldest =
                self.entries.iter().min_by_key(|(_, e)| e.last_use).map(|(request, _)| request.clone());
            oldest.map(|request| self.entries.remove(&request));
        }
        self.entries.insert(request, Entry { compiled, last_use: self.uses });
    }

    /// Takes over the compiled computations of `other`, a compiler with the same options, and adds its times.
    pub fn absorb(&mut self, other: CachingCompiler) {
        let mut entries: Vec<_> = other.entries.into_iter().collect();
        entries.sort_by_key(|(_, entry)| entry.last_use);
        for (request, entry) in entries {
            if !self.entries.contains_key(&request) {
                self.insert(request, entry.compiled);
            }
        }
        self.timing += other.timing;
    }

    /// Compiled requests in the cache, those for two sequences that others were expanded from included.
    pub fn num_cached(&self) -> usize {
        self.entries.len()
    }

    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Adds the computations of a cache file, unless it was made with other optimisation options. Returns their number.
    pub fn read_cache(&mut self, nnet: &Nnet, r: &mut KaldiReader) -> Result<usize> {
        let start = Instant::now();
        if !self.optimize.agrees_with(&OptimizeOptions::read(r)?) {
            return Ok(0);
        }
        r.expect_token("<ComputationCacheSize>")?;
        let count = r.read_i32()?;
        r.expect_token("<ComputationCache>")?;
        for _ in 0..count {
            let request = ComputationRequest::read(r)?;
            let computation = Computation::read(r)?;
            self.check(nnet, &computation, CheckOptions::default())?;
            self.insert(request, Compiled::Computation(Arc::new(computation)));
        }
        self.timing.io += start.elapsed();
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Writes all computations, the least recently used first.
    pub fn write_cache(&mut self, w: &mut KaldiWriter) -> Result<()> {
        let start = Instant::now();
        self.optimize.write(w)?;
        w.write_token("<ComputationCacheSize>")?;
        w.write_i32(self.entries.len() as i32)?;
        w.write_token("<ComputationCache>")?;
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(_, entry)| entry.last_use);
        for (request, entry) in entries {
            request.write(w)?;
            entry.compiled.computation().write(w)?;
        }
        self.timing.io += start.elapsed();
        Ok(())
    }
}
