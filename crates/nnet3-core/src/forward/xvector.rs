//! Computes x-vectors: one vector for each utterance, the mean of a network's outputs for its chunks, each at time 0.
//!
//! [`XvectorForward`] cuts utterances into chunks that may be shorter at the end, and weighs each by its length.
//! [`BatchedXvectors`] cuts them into chunks of one length. Many of those run together, from any utterances.

use super::runner::{Chunks, run_program};
use super::{Ivectors, check_dims};
use crate::execute::{CachingCompiler, Executor};
use kaldi_io::DenseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::collections::VecDeque;

/// Settings of [`XvectorForward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XvectorOptions {
    /// Frames of a chunk. `None`: an utterance is one chunk.
    pub chunk_size: Option<usize>,
    /// Shorter chunks are padded to this length, or left out.
    pub min_chunk_size: usize,
    /// Pads short chunks by repeating their first and last frames.
    pub pad_input: bool,
}

/// Runs a network on chunks of one utterance after another.
struct Vectors<'a> {
    nnet: &'a Nnet,
    compiler: CachingCompiler,
    executor: Executor,
    random: Random,
    dim: usize,
}

impl<'a> Vectors<'a> {
    fn new(nnet: &'a Nnet, device: &Device, compiler: CachingCompiler) -> Result<Self> {
        let (Some(dim), Some(_)) = (nnet.output_dim("output"), nnet.input_dim("input")) else {
            return Err(Error::network("x-vectors need a network with a node 'input' and a node 'output'"));
        };
        let (compiler, executor) = (compiler.for_device(device), Executor::new(device));
        Ok(Vectors { nnet, compiler, executor, random: Random::new(0), dim })
    }

    /// The outputs at time 0 of chunks of `frames` frames; `inputs` has their frames one chunk after another.
    fn run(&mut self, sequences: usize, frames: usize, inputs: &[f32]) -> Result<Vec<f32>> {
        let n = sequences as i32;
        let request = ComputationRequest {
            inputs: vec![IoSpecification::new("input", n, 0..frames as i32, false)],
            outputs: vec![IoSpecification {
                name: "output".to_owned(),
                indexes: (0..n).map(|n| Index::new(n, 0, 0)).collect(),
                has_deriv: false,
            }],
            ..Default::default()
        };
        let program = self.compiler.program(self.nnet, &request)?;
        let chunks = Chunks { sequences, rows: sequences * frames, inputs, ivectors: None };
        let device = self.executor.device().clone();
        let output = run_program(self.nnet, &mut self.executor, &program, &self.random, &chunks)?;
        let vectors = device.download(output);
        self.executor.check_device()?;
        Ok(vectors)
    }
}

/// Computes the vectors of utterances one by one. The network should be in test mode.
///
/// Each length of chunks is compiled once, as long as the compiler keeps it; whole chunks have one length.
pub struct XvectorForward<'a> {
    vectors: Vectors<'a>,
    options: XvectorOptions,
}

impl<'a> XvectorForward<'a> {
    /// Prepares a network on `device`. Fails if it lacks `input` or `output`, or if chunks would have no frames.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        options: XvectorOptions,
        compiler: CachingCompiler,
    ) -> Result<Self> {
        if options.chunk_size == Some(0) {
            return Err(Error::Execution("chunks of 0 frames: expected at least one".to_owned()));
        }
        Ok(XvectorForward { vectors: Vectors::new(nnet, device, compiler)?, options })
    }

    pub fn compiler(&mut self) -> &mut CachingCompiler {
        &mut self.vectors.compiler
    }
    pub fn executor(&mut self) -> &mut Executor {
        &mut self.vectors.executor
    }

    /// The vector of an utterance, as a matrix with one row; without rows if all its chunks are too short.
    ///
    /// Fails if dimensions do not fit the network, or it needs more frames.
    pub fn compute(&mut self, features: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        check_dims(self.vectors.nnet, features.cols, Ivectors::None)?;
        let cols = features.cols;
        let size = self.options.chunk_size.unwrap_or(usize::MAX).min(features.rows).max(1);
        let least = self.options.min_chunk_size;
        let mut sum = vec![0.0f32; self.vectors.dim];
        let mut weight = 0.0;
        for chunk in features.data.chunks(size * cols) {
            let frames = chunk.len() / cols;
            let output = match least.checked_sub(frames).filter(|&missing| missing > 0) {
                None => self.vectors.run(1, frames, chunk)?,
                Some(_) if !self.options.pad_input => continue,
                Some(missing) => self.vectors.run(1, least, &padded(chunk, cols, missing))?,
            };
            weight += frames as f32;
            sum.iter_mut().zip(&output).for_each(|(sum, x)| *sum += frames as f32 * x);
        }
        if weight == 0.0 {
            return Ok(DenseMatrix::new(0, self.vectors.dim));
        }
        sum.iter_mut().for_each(|x| *x /= weight);
        Ok(DenseMatrix { rows: 1, cols: sum.len(), data: sum })
    }
}

/// Repeats the first frame `missing / 2` times in front, and the last frame behind.
fn padded(chunk: &[f32], cols: usize, missing: usize) -> Vec<f32> {
    let left = missing / 2;
    let (first, last) = (&chunk[..cols], &chunk[chunk.len() - cols..]);
    [first.repeat(left), chunk.to_vec(), last.repeat(missing - left)].concat()
}

/// Settings of [`BatchedXvectors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchedOptions {
    /// Frames of a chunk, the network's context included.
    pub chunk_size: usize,
    /// Chunks that run together.
    pub batch_size: usize,
    /// Continues utterances that are shorter than a chunk with their last frame. If not, their vector is 0.
    pub pad_input: bool,
}

/// The vector of an utterance that is not complete.
struct Waiting {
    vector: Vec<f32>,
    chunks: usize,
    missing: usize,
}

/// Computes the vectors of many utterances in batches of equal chunks. The network should be in test mode.
pub struct BatchedXvectors<'a> {
    vectors: Vectors<'a>,
    options: BatchedOptions,
    context: (i32, i32),
    /// The inputs of the next batch, and the utterance of each chunk in it.
    inputs: Vec<f32>,
    owners: Vec<usize>,
    waiting: VecDeque<Waiting>,
    /// The number of utterances that have been taken.
    taken: usize,
}

impl<'a> BatchedXvectors<'a> {
    /// Prepares a network on `device`. Fails if it lacks `input` or `output`, or if chunks are not longer than its
    /// context.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        options: BatchedOptions,
        compiler: CachingCompiler,
    ) -> Result<Self> {
        let vectors = Vectors::new(nnet, device, compiler)?;
        let context = nnet.context()?;
        if options.batch_size == 0 || options.chunk_size as i64 <= i64::from(context.0 + context.1) {
            return Err(Error::Execution(format!(
                "batches of {} chunks of {} frames: expected at least one chunk, and more frames than the context of the network, {} + {}",
                options.batch_size, options.chunk_size, context.0, context.1
            )));
        }
        let (inputs, owners, waiting) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(BatchedXvectors { vectors, options, context, inputs, owners, waiting, taken: 0 })
    }

    /// The left and right context that chunks are cut with.
    pub fn context(&self) -> (i32, i32) {
        self.context
    }
    pub fn compiler(&self) -> &CachingCompiler {
        &self.vectors.compiler
    }
    pub fn executor(&mut self) -> &mut Executor {
        &mut self.vectors.executor
    }

    /// Takes an utterance, and runs the batches that it makes full. Fails if dimensions do not fit the network.
    pub fn accept(&mut self, features: &DenseMatrix<f32>) -> Result<()> {
        check_dims(self.vectors.nnet, features.cols, Ivectors::None)?;
        let size = self.options.chunk_size;
        let starts = match features.rows {
            rows if rows < size && (rows == 0 || !self.options.pad_input) => Vec::new(),
            rows => starts(rows, size, (self.context.0 + self.context.1) as usize),
        };
        let owner = self.taken + self.waiting.len();
        let (vector, chunks) = (vec![0.0; self.vectors.dim], starts.len());
        self.waiting.push_back(Waiting { vector, chunks, missing: chunks });
        for start in starts {
            for t in start..start + size {
                self.inputs.extend_from_slice(features.row(t.min(features.rows - 1)));
            }
            self.owners.push(owner);
            if self.owners.len() == self.options.batch_size {
                self.run()?;
            }
        }
        Ok(())
    }

    /// Runs the chunks that are left.
    pub fn finish(&mut self) -> Result<()> {
        if self.owners.is_empty() { Ok(()) } else { self.run() }
    }

    /// The vector of the next utterance, as a matrix with one row; `None` if it is not complete.
    pub fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        if self.waiting.front()?.missing > 0 {
            return None;
        }
        let done = self.waiting.pop_front()?;
        self.taken += 1;
        Some(DenseMatrix { rows: 1, cols: done.vector.len(), data: done.vector })
    }

    /// Runs a batch. One that is not full has zeros in the place of chunks, so that one computation does for all.
    fn run(&mut self) -> Result<()> {
        let (size, batch) = (self.options.chunk_size, self.options.batch_size);
        let cols = self.inputs.len() / (self.owners.len() * size);
        self.inputs.resize(batch * size * cols, 0.0);
        let outputs = self.vectors.run(batch, size, &self.inputs)?;
        self.inputs.clear();
        for (owner, output) in self.owners.drain(..).zip(outputs.chunks_exact(self.vectors.dim)) {
            let waiting = &mut self.waiting[owner - self.taken];
            let scale = 1.0 / waiting.chunks as f32;
            waiting.vector.iter_mut().zip(output).for_each(|(sum, x)| *sum += scale * x);
            waiting.missing -= 1;
        }
        Ok(())
    }
}

/// Returns the first frames of an utterance's chunks.
///
/// If no whole number of chunks fits, either fewer chunks with gaps or more chunks with overlaps are used. The choice
/// is the one whose mean over frames has the smaller variance. `context` frames of each chunk give no statistics.
fn starts(rows: usize, size: usize, context: usize) -> Vec<usize> {
    if rows <= size {
        return vec![0];
    }
    let (frames, step) = (rows - context, size - context);
    let fewer = frames / step;
    let twice = ((fewer + 1) * step - frames) as f64;
    let once = frames as f64 - twice;
    let with_gaps = 1.0 / (fewer * step) as f64;
    let with_overlaps = (once + 4.0 * twice) / (once + 2.0 * twice).powi(2);
    let mut start = 0;
    if with_gaps as f32 <= with_overlaps as f32 {
        let gaps = pieces(frames - fewer * step, fewer + 1);
        return (0..fewer)
            .map(|i| {
                let this = start + gaps(i);
                start = this + step;
                this
            })
            .collect();
    }
    let overlaps = pieces((fewer + 1) * step - frames, fewer);
    (0..=fewer)
        .map(|i| {
            let this = start;
            start += step - if i < fewer { overlaps(i) } else { 0 };
            this
        })
        .collect()
}

/// Divides a number into pieces that differ by at most 1, the smaller ones first.
fn pieces(sum: usize, count: usize) -> impl Fn(usize) -> usize {
    move |i| sum / count + usize::from(i >= count - sum % count)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, network, random_matrix};
    use super::*;
    use crate::execute::CompilerOptions;
    use nnet3_compiler::optimize::OptimizeOptions;

    /// Sums of two neighbours (context 1), then means and deviations over at most 30 frames.
    const POOLED: &str = "
        component name=c type=LinearComponent input-dim=4 output-dim=3
        component name=e type=StatisticsExtractionComponent input-dim=3 input-period=1 output-period=1 include-variance=true
        component name=p type=StatisticsPoolingComponent input-dim=7 input-period=1 left-context=0 right-context=30 num-log-count-features=0 output-stddevs=true
        input-node name=input dim=2
        component-node name=c component=c input=Append(input, Offset(input, 1))
        component-node name=e component=e input=c
        component-node name=p component=p input=e
        output-node name=output input=p";

    fn compiler() -> CachingCompiler {
        CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default())
    }

    /// The network's output for a chunk, from the outputs of its first layer.
    fn slowly(nnet: &Nnet, chunk: &DenseMatrix<f32>) -> Vec<f32> {
        let spliced = "
            component name=c type=LinearComponent input-dim=4 output-dim=3
            input-node name=input dim=2
            component-node name=c component=c input=Append(input, Offset(input, 1))
            output-node name=output input=c";
        assert_eq!(nnet.output_dim("output"), Some(6));
        let first = network(spliced);
        let mut rows = Vec::new();
        for t in 0..(chunk.rows - 1).min(31) {
            let pair = DenseMatrix::from_rows(&[chunk.row(t), chunk.row(t + 1)]);
            let options = XvectorOptions { chunk_size: None, min_chunk_size: 1, pad_input: false };
            let mut one = XvectorForward::new(&first, &nnet3_matrix::cpu(), options, compiler()).unwrap();
            rows.push(one.compute(&pair).unwrap().data);
        }
        let n = rows.len() as f64;
        let mean = |d: usize| rows.iter().map(|row| f64::from(row[d])).sum::<f64>() / n;
        let square = |d: usize| rows.iter().map(|row| f64::from(row[d]).powi(2)).sum::<f64>() / n;
        let stddevs = (0..3).map(|d| (square(d) - mean(d).powi(2)).max(1e-10).sqrt() as f32);
        (0..3).map(|d| mean(d) as f32).chain(stddevs).collect()
    }

    fn part(features: &DenseMatrix<f32>, rows: std::ops::Range<usize>) -> DenseMatrix<f32> {
        DenseMatrix::from_rows(
            &rows.map(|t| features.row(t.min(features.rows - 1)).to_vec()).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn chunks_are_weighed_by_their_lengths() {
        let nnet = network(POOLED);
        let features = random_matrix(23, 2, 5);
        let compute = |chunk_size, min_chunk_size, pad_input| {
            let options = XvectorOptions { chunk_size, min_chunk_size, pad_input };
            let mut forward = XvectorForward::new(&nnet, &nnet3_matrix::cpu(), options, compiler()).unwrap();
            let output = forward.compute(&features).unwrap();
            (output, forward.compiler().num_cached())
        };
        let [a, b, c] = [0..10, 10..20, 20..23].map(|rows| slowly(&nnet, &part(&features, rows)));
        let mean = |weights: [f32; 3], c: &[f32]| -> Vec<f32> {
            let total: f32 = weights.iter().sum();
            (0..6).map(|d| (weights[0] * a[d] + weights[1] * b[d] + weights[2] * c[d]) / total).collect()
        };
        let (found, compiled) = compute(Some(10), 2, true);
        assert_close(&found.data, &mean([10.0, 10.0, 3.0], &c));
        assert_eq!(compiled, 2, "two lengths");
        assert_close(&compute(Some(10), 4, false).0.data, &mean([10.0, 10.0, 0.0], &c));
        let frames = [20, 20, 21, 22, 22, 22].map(|t| features.row(t).to_vec());
        let repeated = slowly(&nnet, &DenseMatrix::from_rows(&frames));
        assert_close(&compute(Some(10), 6, true).0.data, &mean([10.0, 10.0, 3.0], &repeated));
        assert_close(&compute(None, 2, true).0.data, &slowly(&nnet, &features));
        assert_eq!(compute(Some(10), 11, false).0.rows, 0);
    }

    #[test]
    fn batches_give_what_chunks_give() {
        let nnet = network(POOLED);
        let options = BatchedOptions { chunk_size: 11, batch_size: 4, pad_input: true };
        let mut batched = BatchedXvectors::new(&nnet, &nnet3_matrix::cpu(), options, compiler()).unwrap();
        assert_eq!(batched.context(), (0, 1));
        let utterances: Vec<_> = [4, 11, 25, 36, 59].map(|rows| random_matrix(rows, 2, rows as i32)).into();
        utterances.iter().for_each(|features| batched.accept(features).unwrap());
        batched.finish().unwrap();
        for features in &utterances {
            let chunks: Vec<_> = starts(features.rows, 11, 1)
                .into_iter()
                .map(|start| slowly(&nnet, &part(features, start..start + 11)))
                .collect();
            let mean = |d: usize| chunks.iter().map(|chunk| chunk[d]).sum::<f32>() / chunks.len() as f32;
            assert_close(&batched.next_output().unwrap().data, &(0..6).map(mean).collect::<Vec<_>>());
        }
        assert!(batched.next_output().is_none());
        // One program for two sequences, and its expansion.
        assert_eq!(batched.compiler().num_cached(), 2);
    }

    #[test]
    fn utterances_shorter_than_a_chunk() {
        let nnet = network(POOLED);
        let options = BatchedOptions { chunk_size: 11, batch_size: 4, pad_input: false };
        let mut batched = BatchedXvectors::new(&nnet, &nnet3_matrix::cpu(), options, compiler()).unwrap();
        batched.accept(&random_matrix(10, 2, 1)).unwrap();
        assert_eq!(batched.next_output().unwrap().data, [0.0; 6]);
        let options = BatchedOptions { chunk_size: 1, ..options };
        let error = BatchedXvectors::new(&nnet, &nnet3_matrix::cpu(), options, compiler()).err().unwrap();
        assert!(error.to_string().contains("the context of the network, 0 + 1"), "{error}");
    }

    #[test]
    fn gaps_and_overlaps() {
        // By hand, in steps of 10. Of 24 frames three chunks count 6 twice: a variance of (18 + 4·6)/(18 + 2·6)² =
        // 0.047, below the 1/20 of two chunks. Of 22 frames they count 8 twice: 46/900 = 0.051.
        assert_eq!(starts(25, 11, 1), [0, 7, 14]);
        assert_eq!(starts(23, 11, 1), [0, 11]);
        // 29 frames: 28 of 30, overlaps of 1 and 1.
        assert_eq!(starts(29, 11, 1), [0, 9, 18]);
        assert_eq!(starts(31, 11, 1), [0, 10, 20]);
        assert_eq!(starts(11, 11, 1), [0]);
        for rows in 12..200 {
            let starts = starts(rows, 11, 1);
            assert!(
                starts.iter().all(|start| start + 11 <= rows) && starts.is_sorted(),
                "{rows}: {starts:?}"
            );
        }
    }
}
