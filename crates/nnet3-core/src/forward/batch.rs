//! A network over many utterances: chunks of equal structure, of whichever utterance, run together in minibatches.

use super::batch_chunks::BatchChunk;
use super::runner::{Runner, Shape};
use super::{Chunking, Ivectors, OutputScaling, check_dims};
use crate::execute::CachingCompiler;
use crate::execute::Executor;
use kaldi_io::DenseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_compiler::graph::FrameContext;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Instant;

/// Weight of a minibatch's fullness against the age of its utterances, in the order of runs.
const FULLNESS_WEIGHT: f64 = 10.0;
/// I-vectors may be this many frames too few for their utterance.
const MOST_MISSING_IVECTOR_FRAMES: usize = 20;

/// Options for putting chunks together.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchOptions {
    /// Chunks of a minibatch.
    pub minibatch_size: usize,
    /// Chunks in a minibatch of first or last chunks of utterances, which have another context.
    pub edge_minibatch_size: usize,
    /// True if utterances shorter than a chunk get a computation of their own length.
    pub ensure_exact_final_context: bool,
    /// Size ratio of partial minibatches, from 0 to below 1. A remainder runs in a minibatch that is smaller than the
    /// full one by a power of this factor.
    pub partial_minibatch_factor: f32,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            minibatch_size: 128,
            edge_minibatch_size: 32,
            ensure_exact_final_context: false,
            partial_minibatch_factor: 0.5,
        }
    }
}

impl BatchOptions {
    fn check(&self) -> Result<()> {
        if self.minibatch_size == 0 || self.edge_minibatch_size == 0 {
            return Err(Error::Execution(
                "minibatch-size and edge-minibatch-size must be at least 1".to_string(),
            ));
        }
        if !(0.0..1.0).contains(&self.partial_minibatch_factor) {
            return Err(Error::Execution(format!(
                "partial-minibatch-factor must be at least 0 and below 1, found {}",
                self.partial_minibatch_factor
            )));
        }
        Ok(())
    }

    /// Chunks of a full minibatch of chunks like this one.
    fn full_size(&self, chunk: &BatchChunk) -> usize {
        match chunk {
            BatchChunk { is_irregular: true, .. } => 1,
            BatchChunk { is_edge: true, .. } => self.edge_minibatch_size,
            _ => self.minibatch_size,
        }
    }

    /// The size of the minibatch that `tasks` chunks run in.
    fn size_for(&self, tasks: usize, full: usize) -> usize {
        let smaller = |size: usize| (self.partial_minibatch_factor * size as f32) as usize;
        let mut size = full;
        while tasks < smaller(size) {
            size = smaller(size);
        }
        size
    }
}

/// Chunks that may share a minibatch have the same group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    shape: Shape,
    full_size: usize,
}

/// A chunk that waits.
struct Task {
    /// Number of its utterance, counted from the first of all.
    utterance: usize,
    chunk: BatchChunk,
    input: Vec<f32>,
    ivector: Option<Vec<f32>>,
}

struct Utterance {
    outputs: DenseMatrix<f32>,
    /// Number of chunks that have not run.
    missing: usize,
}

/// Runs one network on many utterances. The network should be in test mode.
pub struct BatchForward<'a> {
    runner: Runner<'a>,
    chunking: Chunking,
    options: BatchOptions,
    scaling: OutputScaling,
    left_context: i32,
    right_context: i32,
    tasks: BTreeMap<Group, VecDeque<Task>>,
    /// The utterances with outputs that the caller has not taken, in order.
    utterances: VecDeque<Utterance>,
    /// Number of utterances with outputs that the caller has taken.
    taken: usize,
    stats: BatchStats,
}

impl<'a> BatchForward<'a> {
    /// Makes a runner. It is an error if the network is not simple (see [`Nnet::is_simple`]) or if settings are
    /// invalid. `chunking` is used unchanged; see [`Chunking::round_up`]. `nnet` must be on `device`.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        chunking: Chunking,
        options: BatchOptions,
        scaling: impl Into<OutputScaling>,
        compiler: CachingCompiler,
    ) -> Result<BatchForward<'a>> {
        chunking.check()?;
        options.check()?;
        let (left_context, right_context) = nnet.context()?;
        let scaling = scaling.into();
        scaling.check(nnet.output_dim("output").unwrap_or(0))?;
        Ok(BatchForward {
            runner: Runner::new(nnet, device, chunking.frame_subsampling_factor, compiler),
            chunking,
            options,
            scaling,
            left_context,
            right_context,
            tasks: BTreeMap::new(),
            utterances: VecDeque::new(),
            taken: 0,
            stats: BatchStats::default(),
        })
    }

    /// Programs compiled so far, and the time that took.
    pub fn compiler(&self) -> &CachingCompiler {
        &self.runner.compiler
    }
    pub fn executor(&mut self) -> &mut Executor {
        &mut self.runner.executor
    }
    /// Minibatches so far.
    pub fn stats(&self) -> &BatchStats {
        &self.stats
    }

    /// Takes an utterance, and runs the minibatches that it makes full. `features` has a row for every frame, and at least
    /// one. Fails if dimensions do not fit the network.
    pub fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> Result<()> {
        check_dims(self.runner.nnet, features.cols, ivectors)?;
        if features.rows == 0 {
            return Err(Error::Execution("an utterance without frames".to_string()));
        }
        let (left, right) = (self.left_context, self.right_context);
        let exact = self.options.ensure_exact_final_context;
        let chunks = self.chunking.batch_chunks(features.rows, left, right, exact);
        let rows = self.chunking.output_rows(features.rows);
        let outputs = DenseMatrix::new(rows, self.runner.nnet.output_dim("output").unwrap_or(0));
        let utterance = self.taken + self.utterances.len();
        let mut new = Vec::new();
        for &chunk in &chunks {
            let frames = chunk.input_frames(features.rows);
            let input = frames.flat_map(|t| features.row(t).iter().copied()).collect();
            let ivector = self.ivector(ivectors, &chunk, features.rows)?.map(<[f32]>::to_vec);
            new.push(Task { utterance, chunk, input, ivector });
        }
        self.utterances.push_back(Utterance { outputs, missing: new.len() });
        for task in new {
            let group = Group { shape: task.chunk.shape, full_size: self.options.full_size(&task.chunk) };
            self.tasks.entry(group).or_default().push_back(task);
        }
        self.run_all(false)
    }

    /// Runs all that is left, in minibatches that need not be full.
    pub fn finish(&mut self) -> Result<()> {
        self.run_all(true)
    }

    /// The scaled outputs of the next utterance, in the order in which they were accepted; None if it is not finished.
    pub fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        if self.utterances.front()?.missing > 0 {
            return None;
        }
        self.taken += 1;
        self.utterances.pop_front().map(|done| done.outputs)
    }

    /// The i-vector of a chunk's middle.
    fn ivector<'v>(
        &self,
        ivectors: Ivectors<'v>,
        chunk: &BatchChunk,
        frames: usize,
    ) -> Result<Option<&'v [f32]>> {
        let middle = chunk.first_row + chunk.shape.outputs / 2;
        let frame = middle * self.chunking.frame_subsampling_factor as usize;
        // An utterance that is shorter than its chunk ends before the chunk's middle.
        ivectors.check_enough(frame.min(frames - 1), MOST_MISSING_IVECTOR_FRAMES)?;
        ivectors.at_frame(frame)
    }

    fn run_all(&mut self, allow_partial: bool) -> Result<()> {
        while let Some(group) = self.most_urgent(allow_partial) {
            self.run_minibatch(group)?;
        }
        Ok(())
    }

    /// Returns the group that should run the next minibatch: early utterances and full minibatches come first.
    fn most_urgent(&self, allow_partial: bool) -> Option<Group> {
        let mut best: Option<(f64, Group)> = None;
        for (&group, tasks) in &self.tasks {
            let count = tasks.len().min(group.full_size);
            if count < group.full_size && !allow_partial {
                continue;
            }
            let sum: f64 = tasks.iter().take(count).map(|task| task.utterance as f64).sum();
            let fullness = count as f64 / group.full_size as f64;
            let priority = FULLNESS_WEIGHT * (fullness - 1.0) - sum / count as f64;
            if best.is_none_or(|(highest, _)| priority > highest) {
                best = Some((priority, group));
            }
        }
        best.map(|(_, group)| group)
    }

    fn run_minibatch(&mut self, group: Group) -> Result<()> {
        let start = Instant::now();
        let waiting = self.tasks.entry(group).or_default();
        let size = self.options.size_for(waiting.len(), group.full_size);
        let tasks: Vec<Task> = waiting.drain(..waiting.len().min(size)).collect();
        if waiting.is_empty() {
            self.tasks.remove(&group);
        }
        // Places that are left over get zeros.
        let fill = |values: &dyn Fn(&Task) -> &[f32]| {
            let mut all: Vec<f32> = tasks.iter().flat_map(|task| values(task).iter().copied()).collect();
            all.resize(all.len() / tasks.len() * size, 0.0);
            all
        };
        let inputs = fill(&|task| &task.input);
        let with_ivectors = tasks.iter().any(|task| task.ivector.is_some());
        let ivectors = with_ivectors.then(|| fill(&|task| task.ivector.as_deref().unwrap_or_default()));
        let mut outputs = Vec::new();
        self.runner.run(&group.shape, size, &inputs, ivectors.as_deref(), &mut outputs)?;
        self.scaling.apply(&mut outputs);
        let cols = outputs.len() / (size * group.shape.outputs);
        for (task, rows) in tasks.iter().zip(outputs.chunks(group.shape.outputs * cols)) {
            let utterance = &mut self.utterances[task.utterance - self.taken];
            let BatchChunk { first_row, unused, used, .. } = task.chunk;
            let to = (first_row + unused) * cols;
            utterance.outputs.data[to..to + used * cols]
                .copy_from_slice(&rows[unused * cols..(unused + used) * cols]);
            utterance.missing -= 1;
        }
        self.stats.add(&group.shape, size, tasks.len(), start.elapsed().as_secs_f64());
        Ok(())
    }
}

/// Numbers and times of the minibatches that ran, by kind.
#[derive(Clone, Debug, Default)]
pub struct BatchStats {
    /// Statistics by (input frames, output frames, size).
    kinds: BTreeMap<(usize, usize, usize), KindStats>,
}

#[derive(Clone, Copy, Debug, Default)]
struct KindStats {
    minibatches: usize,
    tasks: usize,
    seconds: f64,
}

impl BatchStats {
    fn add(&mut self, shape: &Shape, size: usize, tasks: usize, seconds: f64) {
        let kind = self.kinds.entry((shape.inputs, shape.outputs, size)).or_default();
        kind.minibatches += 1;
        kind.tasks += tasks;
        kind.seconds += seconds;
    }

    /// Minibatches, the chunks in them, and the seconds they took.
    pub fn totals(&self) -> (usize, usize, f64) {
        let add =
            |(m, t, s): (usize, usize, f64), k: &KindStats| (m + k.minibatches, t + k.tasks, s + k.seconds);
        self.kinds.values().fold((0, 0, 0.0), add)
    }
}

/// The kinds that took longest, as a table.
impl fmt::Display for BatchStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_SHOWN: usize = 10;
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        for ((inputs, outputs, size), kind) in kinds.iter().take(MOST_SHOWN) {
            let percent = kind.tasks * 100 / (size * kind.minibatches);
            let (seconds, minibatches) = (kind.seconds, kind.minibatches);
            write!(f, "{seconds:.2},{inputs}:{outputs}*{size}={minibatches}({percent}%) ")?;
        }
        if kinds.len() > MOST_SHOWN { write!(f, "...") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Forward;
    use super::super::tests::{
        SPLICED, WITH_IVECTOR, assert_close, by_hand, forward, network, random_matrix,
    };
    use super::*;
    use crate::execute::CompilerOptions;
    use nnet3_compiler::optimize::OptimizeOptions;

    fn batch(nnet: &Nnet, chunking: Chunking, options: BatchOptions) -> BatchForward<'_> {
        let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        BatchForward::new(nnet, &nnet3_matrix::cpu(), chunking, options, 1.0, compiler).unwrap()
    }

    fn outputs(batch: &mut BatchForward<'_>, utterances: &[DenseMatrix<f32>]) -> Vec<DenseMatrix<f32>> {
        let mut outputs = Vec::new();
        for features in utterances {
            batch.accept(features, Ivectors::None).unwrap();
            outputs.extend(std::iter::from_fn(|| batch.next_output()));
        }
        batch.finish().unwrap();
        outputs.extend(std::iter::from_fn(|| batch.next_output()));
        outputs
    }

    #[test]
    fn minibatches_of_any_size_agree_with_a_calculation_by_hand() {
        let nnet = network(SPLICED);
        let lengths = [23, 1, 8, 40, 7, 3, 16];
        let utterances: Vec<_> = lengths.iter().map(|&n| random_matrix(n, 2, n as i32)).collect();
        for (minibatch_size, edge_minibatch_size, exact) in [(1, 1, false), (4, 2, true), (128, 32, false)] {
            for (frames_per_chunk, factor) in [(5, 1), (50, 1), (6, 3)] {
                let chunking = Chunking {
                    frames_per_chunk,
                    frame_subsampling_factor: factor,
                    extra_left_context: 2,
                    extra_left_context_initial: 0,
                    ..Default::default()
                };
                let options = BatchOptions {
                    minibatch_size,
                    edge_minibatch_size,
                    ensure_exact_final_context: exact,
                    ..Default::default()
                };
                let mut batch = batch(&nnet, chunking, options);
                let outputs = outputs(&mut batch, &utterances);
                assert_eq!(outputs.len(), utterances.len());
                for (features, output) in utterances.iter().zip(&outputs) {
                    assert_eq!(output.rows, features.rows.div_ceil(factor as usize));
                    assert_close(&output.data, &by_hand(&nnet, features, &[-3, 0, 1], factor as usize));
                }
            }
        }
    }

    /// There are 7 chunks of 5 frames in minibatches of 4: one is full, then come 3 in 4 places, as 3 is not below 4/2. A
    /// factor of 0 keeps the size.
    #[test]
    fn sizes() {
        let options = |minibatch_size, partial_minibatch_factor| BatchOptions {
            minibatch_size,
            partial_minibatch_factor,
            ..Default::default()
        };
        let usual = options(128, 0.5);
        assert_eq!(
            [128, 64, 63, 32, 31, 3, 1].map(|tasks| usual.size_for(tasks, 128)),
            [128, 128, 64, 64, 32, 4, 2]
        );
        assert_eq!(options(4, 0.0).size_for(1, 4), 4);

        let nnet = network(SPLICED);
        let chunking = Chunking { frames_per_chunk: 5, ..Default::default() };
        let mut batch = batch(&nnet, chunking, options(4, 0.5));
        batch.accept(&random_matrix(15, 2, 1), Ivectors::None).unwrap();
        assert!(batch.next_output().is_none() && batch.stats().totals().0 == 0);
        batch.accept(&random_matrix(20, 2, 2), Ivectors::None).unwrap();
        assert_eq!(batch.next_output().unwrap().rows, 15);
        assert!(batch.next_output().is_none());
        batch.finish().unwrap();
        assert_eq!(batch.next_output().unwrap().rows, 20);
        assert_eq!((batch.stats().totals().0, batch.stats().totals().1), (2, 7));
        let text = batch.stats().to_string();
        assert!(text.ends_with(",9:5*4=2(87%) "), "{text}");
    }

    #[test]
    fn ivectors_and_priors() {
        let nnet = network(WITH_IVECTOR);
        let features = random_matrix(10, 2, 4);
        let online = random_matrix(3, 2, 5);
        let chunking = Chunking { frames_per_chunk: 4, ..Default::default() };
        let scaling = OutputScaling { log_priors: vec![0.5, -1.0, 2.0], scale: 0.5 };
        let compiler = || CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        let new = |scaling| {
            let options = BatchOptions::default();
            BatchForward::new(&nnet, &nnet3_matrix::cpu(), chunking.clone(), options, scaling, compiler())
        };
        let mut batch = new(scaling.clone()).unwrap();
        batch.accept(&features, Ivectors::Online { matrix: &online, period: 4 }).unwrap();
        batch.finish().unwrap();
        let outputs = batch.next_output().unwrap();
        // Chunks 0..4, 4..8 and 6..10, of which 8..10 are used; their middles are 2, 6 and 8.
        for (rows, ivector) in [(0..4, 0), (4..8, 1), (8..10, 2)] {
            let whole = Ivectors::Utterance(online.row(ivector));
            let plain = forward(&nnet, Chunking::default(), 1.0).compute(&features, whole).unwrap();
            let columns = scaling.log_priors.iter().cycle();
            let expected: Vec<f32> = plain.data.iter().zip(columns).map(|(x, p)| 0.5 * (x - p)).collect();
            assert_close(
                &outputs.data[3 * rows.start..3 * rows.end],
                &expected[3 * rows.start..3 * rows.end],
            );
        }
        let one = Forward::new(&nnet, &nnet3_matrix::cpu(), chunking.clone(), scaling.clone(), compiler());
        let whole = Ivectors::Utterance(online.row(0));
        let one = one.unwrap().compute(&features, whole).unwrap();
        let mut batch = new(scaling).unwrap();
        batch.accept(&features, whole).unwrap();
        batch.finish().unwrap();
        assert_close(&batch.next_output().unwrap().data, &one.data);

        let wrong = new(OutputScaling { log_priors: vec![0.5], scale: 1.0 }).err().unwrap().to_string();
        assert_eq!(wrong, "the output has 3 columns, but there are 1 priors");
        let short = Ivectors::Online { matrix: &random_matrix(1, 2, 5), period: 10 };
        let error = batch.accept(&random_matrix(200, 2, 6), short).unwrap_err().to_string();
        assert!(error.contains("no i-vector for frame"), "{error}");
        // A padded utterance needs no i-vectors for its padding.
        let mut padded = self::batch(&nnet, Chunking::default(), BatchOptions::default());
        padded.accept(&random_matrix(3, 2, 6), short).unwrap();
    }

    #[test]
    fn options_that_make_no_sense() {
        let nnet = network(SPLICED);
        for options in [
            BatchOptions { minibatch_size: 0, ..Default::default() },
            BatchOptions { edge_minibatch_size: 0, ..Default::default() },
            BatchOptions { partial_minibatch_factor: 1.0, ..Default::default() },
            BatchOptions { partial_minibatch_factor: f32::NAN, ..Default::default() },
        ] {
            let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
            let cpu = nnet3_matrix::cpu();
            assert!(BatchForward::new(&nnet, &cpu, Chunking::default(), options, 1.0, compiler).is_err());
        }
    }
}
