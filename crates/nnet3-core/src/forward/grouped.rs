//! Runs a network over many utterances. Similar chunks of several utterances run together, on one thread or several.
//! Each utterance gets the same outputs as alone.
//!
//! Chunks are collected until there are enough of them; then they are sorted by length and run in minibatches. If that
//! provably changes no output (see `reach`), chunks of one utterance are joined, which saves the frames of context
//! between them. Under the same condition shorter chunks are padded with their last frame.

use super::reach::Reach;
use super::runner::{Chunks, Shape, request, run_program};
use super::{Chunk, Chunking, Ivectors, OutputScaling, check_dims};
use crate::execute::CachingCompiler;
use crate::execute::{Executor, Program};
use kaldi_io::{DenseMatrix, threads};
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_compiler::graph::FrameContext;
use nnet3_matrix::{Device, Matrix, View, cpu};
use nnet3_network::Nnet;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Default limit of waiting outputs for each thread, in elements (2 MiB); see [`GroupedForward::let_wait`].
const WAITING_ELEMENTS: usize = 1 << 19;
/// A thread's share has at most this many chunks.
const WAITING_CHUNKS: usize = 256;
/// Chunks are joined to at most this many input frames.
const JOINED_FRAMES: usize = 512;
/// A minibatch has at most this many input frames.
const MINIBATCH_FRAMES: usize = 4096;
/// Smallest number of input frames of a minibatch with products at their full rate. (Products of a recurrent network
/// have one row for each chunk.)
const ENOUGH_FRAMES: usize = 1024;
/// Possible numbers of chunks in a minibatch. There are few sizes, so that few programs are compiled.
const SIZES: [usize; 12] = [64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];
/// Lengths that chunks are continued to are multiples of this many frames, where outputs are as frequent.
const LENGTH_STEP: usize = 4;
/// A chunk is not continued to more than this times its own length.
const MOST_CONTINUED: f64 = 1.3;
/// Once there are enough frames, a chunk is not continued to more than this times its own length.
const HARDLY_CONTINUED: f64 = 1.02;

/// Runs one network on utterances. The network should be in test mode.
pub struct GroupedForward<'a> {
    nnet: &'a Nnet,
    chunking: Chunking,
    scaling: OutputScaling,
    compiler: CachingCompiler,
    left_context: i32,
    right_context: i32,
    reach: Reach,
    /// One for each thread.
    executors: Vec<Executor>,
    tasks: Vec<Task>,
    waiting_elements: usize,
    most_waiting: usize,
    /// The utterances with outputs that the caller has not taken, in order.
    utterances: VecDeque<Utterance>,
    /// Number of utterances with outputs that the caller has taken.
    taken: usize,
}

/// A chunk of an utterance, with its i-vector.
type ChunkInput<'v> = (Chunk, Option<&'v [f32]>);

/// A chunk that waits.
struct Task {
    /// Number of its utterance, counted from the first of all.
    utterance: usize,
    first_row: usize,
    shape: Shape,
    input: Vec<f32>,
    ivector: Option<Vec<f32>>,
}

struct Utterance {
    /// The outputs so far; empty before the first ones.
    outputs: DenseMatrix<f32>,
    /// Number of chunks that have not run.
    missing: usize,
}

/// Chunks that run together, and their shape.
struct Minibatch {
    shape: Shape,
    tasks: Vec<Task>,
    program: Arc<Program>,
}

impl<'a> GroupedForward<'a> {
    /// Makes a runner. It is an error if the network is not simple (see [`Nnet::is_simple`]) or if settings are
    /// invalid. `chunking` is used unchanged; see [`Chunking::round_up`]. `nnet` must be on `device`. `threads` is at
    /// least 1.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        chunking: Chunking,
        scaling: impl Into<OutputScaling>,
        compiler: CachingCompiler,
        threads: usize,
    ) -> Result<GroupedForward<'a>> {
        chunking.check()?;
        let (left_context, right_context) = nnet.context()?;
        let scaling = scaling.into();
        scaling.check(nnet.output_dim("output").unwrap_or(0))?;
        Ok(GroupedForward {
            nnet,
            reach: Reach::new(nnet, chunking.frame_subsampling_factor),
            chunking,
            scaling,
            compiler: compiler.for_device(device),
            left_context,
            right_context,
            executors: (0..threads.max(1)).map(|_| Executor::new(device)).collect(),
            tasks: Vec::new(),
            waiting_elements: 0,
            most_waiting: WAITING_ELEMENTS,
            utterances: VecDeque::new(),
            taken: 0,
        })
    }

    /// Sets the limit of waiting: chunks wait until their outputs, for each thread, have this many elements, or until
    /// there are enough for the largest minibatch. A lower limit saves memory; a higher one groups more chunks of equal
    /// length.
    pub fn let_wait(&mut self, elements: usize) {
        self.most_waiting = elements;
    }

    /// Programs compiled so far, and the time that took.
    pub fn compiler(&self) -> &CachingCompiler {
        &self.compiler
    }

    /// One for each thread.
    pub fn executors(&mut self) -> &mut [Executor] {
        &mut self.executors
    }

    /// Takes an utterance; all chunks run if now enough of them wait. `features` has a row for every frame. Fails if
    /// dimensions do not fit the network.
    pub fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> Result<()> {
        check_dims(self.nnet, features.cols, ivectors)?;
        let chunks = self.chunking.chunks(features.rows, self.left_context, self.right_context);
        let chunks = chunks.map(|chunk| Ok((chunk, ivectors.of_chunk(&chunk)?)));
        let chunks = self.joined(chunks.collect::<Result<_>>()?)?;
        let rows = self.chunking.output_rows(features.rows);
        let cols = self.nnet.output_dim("output").unwrap_or(0);
        let number = self.taken + self.utterances.len();
        let outputs = DenseMatrix { rows, cols, data: Vec::new() };
        self.utterances.push_back(Utterance { outputs, missing: 0 });
        for (chunk, ivector) in chunks {
            let mut input =
                Vec::with_capacity((chunk.last_input - chunk.first_input + 1) as usize * features.cols);
            chunk.input_frames(features.rows).for_each(|t| input.extend_from_slice(features.row(t)));
            let shape = Shape::of(&chunk);
            let ivector = ivector.map(<[f32]>::to_vec);
            self.tasks.push(Task { utterance: number, first_row: chunk.first_row, shape, input, ivector });
            self.utterances.iter_mut().last().into_iter().for_each(|utterance| utterance.missing += 1);
            self.waiting_elements += chunk.rows * cols;
            let threads = self.executors.len();
            if self.tasks.len() >= threads * WAITING_CHUNKS
                || self.waiting_elements >= threads * self.most_waiting
            {
                self.run_all()?;
            }
        }
        Ok(())
    }

    /// Runs the remaining chunks.
    pub fn finish(&mut self) -> Result<()> {
        self.run_all()
    }

    /// The scaled outputs of the next utterance, in the order in which they were accepted; None if it is not finished.
    pub fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        if self.utterances.front()?.missing > 0 {
            return None;
        }
        self.taken += 1;
        self.utterances.pop_front().map(|done| done.outputs)
    }

    /// The chunks of an utterance, in order: as few as possible with the same outputs.
    fn joined<'v>(&mut self, chunks: Vec<ChunkInput<'v>>) -> Result<Vec<ChunkInput<'v>>> {
        let mut few: Vec<ChunkInput<'_>> = Vec::with_capacity(chunks.len());
        for (next, ivector) in chunks {
            if let Some((last, its)) = few.last_mut() {
                let both = last.joined(&next);
                let shapes = [Shape::of(last), Shape::of(&next), Shape::of(&both)];
                if *its == ivector
                    && shapes[2].inputs <= JOINED_FRAMES
                    && self.reach.may_join(self.nnet, &shapes[0], &shapes[1], &shapes[2])?
                {
                    *last = both;
                    continue;
                }
            }
            few.push((next, ivector));
        }
        Ok(few)
    }

    /// Cuts the waiting chunks into minibatches.
    fn minibatches(&mut self) -> Result<Vec<Minibatch>> {
        let mut tasks: VecDeque<Task> = {
            let mut tasks = std::mem::take(&mut self.tasks);
            tasks.sort_by_key(|task| (task.shape.first_input, Reverse(task.shape.inputs), task.utterance));
            tasks.into()
        };
        self.waiting_elements = 0;
        let share =
            tasks.iter().map(|task| task.shape.inputs).sum::<usize>().div_ceil(4 * self.executors.len());
        let frames = if self.executors.len() == 1 { MINIBATCH_FRAMES } else { MINIBATCH_FRAMES.min(share) };
        let mut minibatches = Vec::new();
        while let Some(longest) = tasks.front().map(|task| task.shape) {
            let mut shape = self.rounded(&longest);
            if !self.may_continue(&longest, &shape, MOST_CONTINUED)? {
                shape = longest;
            }
            let most = (frames / shape.inputs).clamp(1, SIZES[0]);
            let enough = match tasks.len() == 1 || self.reach.is_unlimited(self.nnet, &shape)? {
                true => most,
                false => ENOUGH_FRAMES.div_ceil(shape.inputs),
            };
            let mut count = 1;
            while count < most.min(tasks.len()) {
                let stretch = if count < enough { MOST_CONTINUED } else { HARDLY_CONTINUED };
                if !self.may_continue(&tasks[count].shape, &shape, stretch)? {
                    break;
                }
                count += 1;
            }
            let size = SIZES.into_iter().find(|&size| size <= count).unwrap_or(1);
            let tasks: Vec<Task> = tasks.drain(..size).collect();
            let with_ivectors = tasks[0].ivector.is_some();
            let request = request(&shape, size, with_ivectors, self.chunking.frame_subsampling_factor);
            let program = self.compiler.program(self.nnet, &request)?;
            minibatches.push(Minibatch { shape, tasks, program });
        }
        Ok(minibatches)
    }

    /// The shape with its length rounded up, except for full chunks.
    fn rounded(&self, shape: &Shape) -> Shape {
        let factor = self.chunking.frame_subsampling_factor;
        let full = (self.chunking.frames_per_chunk / factor).max(1) as usize;
        let step = (LENGTH_STEP / factor as usize).max(1);
        let outputs = if shape.outputs == full { full } else { shape.outputs.next_multiple_of(step) };
        Shape { outputs, inputs: shape.inputs + (outputs - shape.outputs) * factor as usize, ..*shape }
    }

    /// True if a chunk may be padded to the shape `long`, at most `stretch` times its length.
    fn may_continue(&mut self, short: &Shape, long: &Shape, stretch: f64) -> Result<bool> {
        let not_too_far = long.inputs as f64 <= stretch * short.inputs as f64;
        Ok(not_too_far && self.reach.may_continue(self.nnet, short, long)?)
    }

    fn run_all(&mut self) -> Result<()> {
        let minibatches = self.minibatches()?;
        let next = AtomicUsize::new(0);
        let done = Mutex::new((&mut self.utterances, Ok(())));
        let (nnet, taken, scaling) = (self.nnet, self.taken, &self.scaling);
        let work = |executor: &mut Executor| {
            while let Some(minibatch) = minibatches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let device = executor.device().clone();
                let outputs = minibatch.run(nnet, executor).and_then(|view| {
                    let fetched = fetched(&device, view);
                    nnet3_matrix::check(&device)?;
                    Ok(minibatch.scaled(fetched.as_ref().map_or(view, Matrix::view), scaling))
                });
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                match outputs {
                    Ok(outputs) => minibatch.hand_out(outputs, taken, done.0),
                    Err(error) => return done.1 = Err(error),
                }
            }
        };
        match &mut self.executors[..] {
            [] => {}
            // An idle thread takes the next minibatch. The result does not depend on the number of threads.
            [own, others @ ..] => std::thread::scope(|scope| {
                let wanted = minibatches.len().saturating_sub(1);
                for executor in others.iter_mut().take(wanted) {
                    if threads::start_in_or_return(scope, "chunks", executor, work).is_err() {
                        break;
                    }
                }
                work(own);
            }),
        }
        done.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// Copies a view from a device with its own memory to the host. The host waits once for all chunks.
fn fetched(device: &Device, view: View<'_>) -> Option<Matrix> {
    (!device.is_host()).then(|| Matrix::from_vec(view.rows(), view.cols(), device.download(view)))
}

impl Minibatch {
    /// The outputs, one chunk after another.
    fn run<'e>(&self, nnet: &Nnet, executor: &'e mut Executor) -> Result<View<'e>> {
        let (sequences, cols) = (self.tasks.len(), self.tasks[0].input.len() / self.tasks[0].shape.inputs);
        let rows = sequences * self.shape.inputs;
        let (mut inputs, mut ivectors) = (Vec::with_capacity(rows * cols), Vec::new());
        for task in &self.tasks {
            inputs.extend_from_slice(&task.input);
            let last = &task.input[task.input.len() - cols..];
            (task.shape.inputs..self.shape.inputs).for_each(|_| inputs.extend_from_slice(last));
            ivectors.extend(task.ivector.iter().flatten());
        }
        let ivectors = self.tasks[0].ivector.as_ref().map(|_| &ivectors[..]);
        let chunks = Chunks { sequences, rows, inputs: &inputs, ivectors };
        run_program(nnet, executor, &self.program, &Random::new(0), &chunks)
    }

    /// Returns the scaled outputs of each task, from the outputs of all tasks on the host.
    fn scaled(&self, outputs: View<'_>, scaling: &OutputScaling) -> Vec<Vec<f32>> {
        let rows = outputs.rows() / self.tasks.len();
        let own = |(k, task): (usize, &Task)| {
            let mut own = cpu().download(outputs.row_range(k * rows..k * rows + task.shape.outputs));
            scaling.apply(&mut own);
            own
        };
        self.tasks.iter().enumerate().map(own).collect()
    }

    /// Hands outputs to the utterances that they belong to.
    fn hand_out(&self, outputs: Vec<Vec<f32>>, first_utterance: usize, utterances: &mut VecDeque<Utterance>) {
        for (task, own) in self.tasks.iter().zip(outputs) {
            let utterance = &mut utterances[task.utterance - first_utterance];
            let DenseMatrix { rows, cols, data } = &mut utterance.outputs;
            if own.len() == *rows * *cols {
                *data = own;
            } else {
                data.resize(*rows * *cols, 0.0);
                data[task.first_row * *cols..][..own.len()].copy_from_slice(&own);
            }
            utterance.missing -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SPLICED, WITH_IVECTOR, assert_close, forward, network, random_matrix};
    use super::*;
    use crate::execute::CompilerOptions;
    use nnet3_compiler::optimize::OptimizeOptions;

    const BOTH_WAYS: &str = "
        component name=a type=NaturalGradientAffineComponent input-dim=5 output-dim=3
        component name=b type=NaturalGradientAffineComponent input-dim=5 output-dim=3
        component name=s type=SumBlockComponent input-dim=6 output-dim=3
        input-node name=input dim=2
        component-node name=a component=a input=Append(input, IfDefined(Offset(a, -1)))
        component-node name=b component=b input=Append(input, IfDefined(Offset(b, 2)))
        component-node name=s component=s input=Append(a, b)
        output-node name=output input=s";

    fn grouped<'a>(nnet: &'a Nnet, chunking: &Chunking, threads: usize) -> GroupedForward<'a> {
        let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        GroupedForward::new(nnet, &nnet3_matrix::cpu(), chunking.clone(), 0.5, compiler, threads).unwrap()
    }

    /// Compares utterances of many lengths, by themselves and together.
    #[test]
    fn outputs_are_those_of_utterances_by_themselves() {
        let ivector = [0.5, -2.0];
        for (config, ivectors) in [
            (SPLICED, Ivectors::None),
            (BOTH_WAYS, Ivectors::None),
            (WITH_IVECTOR, Ivectors::Utterance(&ivector)),
        ] {
            let nnet = network(config);
            for (frames_per_chunk, factor, extra, threads) in [(20, 1, 0, 1), (30, 3, 7, 2)] {
                let chunking = Chunking {
                    frames_per_chunk,
                    frame_subsampling_factor: factor,
                    extra_left_context: extra,
                    extra_left_context_initial: 0,
                    extra_right_context_final: extra / 2,
                    ..Default::default()
                };
                let mut grouped = grouped(&nnet, &chunking, threads);
                let mut alone = forward(&nnet, chunking, 0.5);
                let lengths = (0..400).map(|i| 1 + (i * 37) % 61);
                let utterances: Vec<_> =
                    lengths.enumerate().map(|(i, rows)| random_matrix(rows, 2, i as i32)).collect();
                let (mut outputs, mut longest) = (Vec::new(), 0);
                for (i, features) in utterances.iter().enumerate() {
                    grouped.accept(features, ivectors).unwrap();
                    outputs.extend(std::iter::from_fn(|| grouped.next_output()));
                    longest = longest.max(i + 1 - outputs.len());
                }
                assert!(longest <= threads * WAITING_CHUNKS, "{longest} utterances waited");
                grouped.finish().unwrap();
                outputs.extend(std::iter::from_fn(|| grouped.next_output()));
                assert_eq!(outputs.len(), utterances.len());
                for (features, output) in utterances.iter().zip(&outputs) {
                    let expected = alone.compute(features, ivectors).unwrap();
                    assert_eq!((output.rows, output.cols), (expected.rows, expected.cols));
                    assert_close(&output.data, &expected.data);
                }
            }
        }
    }

    #[test]
    fn an_empty_utterance_has_empty_outputs() {
        let nnet = network(SPLICED);
        let mut grouped = grouped(&nnet, &Chunking::default(), 1);
        grouped.accept(&DenseMatrix::new(0, 2), Ivectors::None).unwrap();
        assert_eq!(grouped.next_output().unwrap().rows, 0);
        let error = grouped.accept(&random_matrix(4, 3, 7), Ivectors::None).unwrap_err().to_string();
        assert!(error.contains("'input' has dimension 2"), "{error}");
    }
}
