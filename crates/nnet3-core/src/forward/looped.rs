//! Runs a network over whole utterances as over live sound: in equal chunks of new frames. The program keeps the
//! earlier rows that recurrences and splicing need.

use super::{Ivectors, OutputScaling, check_dim, check_dims};
use crate::execute::{Executor, Model, Program};
use kaldi_io::DenseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_compiler::compile::looped::{
    LoopedOptions, chunk_size, compile_looped, looped_requests, set_ivector_period,
};
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::lower::Watch;
use nnet3_compiler::optimize::OptimizeOptions;
use nnet3_compiler::request::ComputationRequest;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::ops::Range;
use std::sync::Arc;

/// Options for streaming through an utterance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streaming {
    /// New frames of each chunk, at least; see [`chunk_size`].
    pub frames_per_chunk: i32,
    pub frame_subsampling_factor: i32,
    /// Number of frames before the utterance, in addition to the network's own left context. They repeat its first
    /// frame.
    pub extra_left_context_initial: i32,
}

/// A network with its compiled program. Threads share it; each runs it with a [`LoopedForward`] of its own.
pub struct LoopedProgram {
    nnet: Nnet,
    program: Arc<Program>,
    requests: [ComputationRequest; 3],
    options: LoopedOptions,
    scaling: OutputScaling,
    device: Device,
}

impl LoopedProgram {
    /// Compiles the single program. It is an error if the network is not simple, or if its chunks do not become
    /// periodic. `ReplaceIndex(ivector, t, 0)` in the network is changed to mean the i-vector of a chunk. `nnet` must
    /// be on `device`, and should be in test mode.
    pub fn new(
        mut nnet: Nnet,
        device: &Device,
        streaming: &Streaming,
        scaling: impl Into<OutputScaling>,
        optimize: &OptimizeOptions,
    ) -> Result<LoopedProgram> {
        let subsampling = streaming.frame_subsampling_factor;
        let scaling = scaling.into();
        scaling.check(nnet.output_dim("output").unwrap_or(0))?;
        let chunk = chunk_size(&nnet, subsampling, streaming.frames_per_chunk)?;
        let (left, right_context) = nnet.context()?;
        set_ivector_period(&mut nnet, chunk)?;
        let options = LoopedOptions {
            chunk_size: chunk,
            frame_subsampling_factor: subsampling,
            ivector_period: chunk,
            left_context: left + streaming.extra_left_context_initial,
            right_context,
            num_sequences: 1,
        };
        let requests = looped_requests(&nnet, &options)?;
        let computation = compile_looped(&nnet, optimize, &requests)?;
        let program = Arc::new(Program::for_device(&nnet, computation, device, &mut Watch::default())?);
        Ok(LoopedProgram { nnet, program, requests, options, scaling, device: device.clone() })
    }

    /// Checks that the network takes features, and maybe i-vectors, of these dimensions.
    pub fn check_inputs(&self, feature_dim: usize, ivector_dim: Option<usize>) -> Result<()> {
        check_dim(&self.nnet, "input", Some(feature_dim))?;
        check_dim(&self.nnet, "ivector", ivector_dim)
    }

    /// Input frames to an output frame.
    pub fn frame_subsampling_factor(&self) -> usize {
        self.options.frame_subsampling_factor as usize
    }
}

/// Runs one network on utterances, one after another.
pub struct LoopedForward {
    shared: Arc<LoopedProgram>,
    executor: Executor,
    random: Random,
    /// Chunks of the utterance that have been computed.
    chunks: usize,
}

impl LoopedForward {
    /// Compiles a network ([`LoopedProgram::new`]) for one runner.
    pub fn new(
        nnet: Nnet,
        device: &Device,
        streaming: &Streaming,
        scaling: impl Into<OutputScaling>,
        optimize: &OptimizeOptions,
    ) -> Result<LoopedForward> {
        let program = LoopedProgram::new(nnet, device, streaming, scaling, optimize)?;
        Ok(LoopedForward::of(Arc::new(program)))
    }

    /// Makes a runner. Its first call must be [`begin`](Self::begin) or [`compute`](Self::compute).
    pub fn of(shared: Arc<LoopedProgram>) -> LoopedForward {
        let executor = Executor::new(&shared.device);
        LoopedForward { shared, executor, random: Random::new(0), chunks: 0 }
    }

    /// The network and its program, for other runners.
    pub fn program(&self) -> &Arc<LoopedProgram> {
        &self.shared
    }

    /// Makes another runner, for another thread.
    pub fn another(&self) -> LoopedForward {
        LoopedForward::of(self.shared.clone())
    }

    /// New frames of each chunk.
    pub fn frames_per_chunk(&self) -> i32 {
        self.shared.options.chunk_size
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// Scaled values of the node `output` for an utterance: a row for every output frame. `features` has a row for
    /// every frame, and at least one. Fails if dimensions do not fit the network.
    pub fn compute(
        &mut self,
        features: &DenseMatrix<f32>,
        ivectors: Ivectors<'_>,
    ) -> Result<DenseMatrix<f32>> {
        check_dims(&self.shared.nnet, features.cols, ivectors)?;
        if features.rows == 0 {
            return Err(Error::Execution("an utterance without frames".to_string()));
        }
        let rows = self.outputs_ready(features.rows, true);
        let cols = self.shared.nnet.output_dim("output").unwrap_or(0);
        let mut outputs = DenseMatrix { rows, cols, data: Vec::with_capacity(rows * cols) };
        self.begin()?;
        let mut input = Vec::new();
        while outputs.data.len() < rows * cols {
            let frames = self.next_input();
            input.clear();
            for t in frames.clone() {
                input.extend_from_slice(features.row((t.max(0) as usize).min(features.rows - 1)));
            }
            let output = self.advance(&input, ivectors.at_frame(frames.end as usize)?)?;
            let wanted = output.data.len().min(rows * cols - outputs.data.len());
            outputs.data.extend_from_slice(&output.data[..wanted]);
        }
        Ok(outputs)
    }

    /// Checks that the network takes features, and maybe i-vectors, of these dimensions.
    pub fn check_inputs(&self, feature_dim: usize, ivector_dim: Option<usize>) -> Result<()> {
        self.shared.check_inputs(feature_dim, ivector_dim)
    }

    /// Begins an utterance. Its chunks are then computed one after another.
    pub fn begin(&mut self) -> Result<()> {
        self.chunks = 0;
        self.executor.start(&self.shared.program)
    }

    /// Number of output frames that `frames` input frames allow; all frames if the input is `finished`.
    pub fn outputs_ready(&self, frames: usize, finished: bool) -> usize {
        let LoopedOptions { chunk_size, frame_subsampling_factor, right_context, .. } = self.shared.options;
        let (chunk, factor) = (chunk_size as usize, frame_subsampling_factor as usize);
        if finished {
            return frames.div_ceil(factor);
        }
        frames.saturating_sub(right_context.max(0) as usize) / chunk * (chunk / factor)
    }

    /// The frames of input that the next chunk needs. Frames before 0 are copies of the first one, frames after the end
    /// are copies of the last one.
    pub fn next_input(&self) -> Range<i32> {
        let LoopedOptions { chunk_size, left_context, right_context, .. } = self.shared.options;
        let begin = self.chunks as i32 * chunk_size + right_context;
        (if self.chunks == 0 { -left_context } else { begin })..begin + chunk_size
    }

    /// Computes the next chunk from the frames of [`next_input`](Self::next_input), one behind another: scaled values of the
    /// node `output`, a row for each output frame of the chunk.
    pub fn advance(&mut self, input: &[f32], ivector: Option<&[f32]>) -> Result<DenseMatrix<f32>> {
        let nnet = &self.shared.nnet;
        let count = self.next_input().len();
        self.executor.accept_input(nnet, "input", count, input.len() / count, input)?;
        // All chunks from the third on are equal apart from their times.
        let request = &self.shared.requests[self.chunks.min(2)];
        if let Some(io) = request.inputs.iter().find(|io| io.name == "ivector")
            && let Some(ivector) = ivector
        {
            let count = io.indexes.len();
            self.executor.accept_input(nnet, "ivector", count, ivector.len(), &ivector.repeat(count))?;
        }
        self.executor.run(&mut Model::Frozen(nnet), &self.random)?;
        let output = self.executor.output(nnet, "output")?;
        let mut values = DenseMatrix::new(output.rows(), output.cols());
        self.executor.device().download_into(output, &mut values.data);
        self.executor.check_device()?;
        self.shared.scaling.apply(&mut values.data);
        self.chunks += 1;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chunking;
    use super::super::tests::{
        SPLICED, WITH_IVECTOR, assert_close, by_hand, forward, network, random_matrix,
    };
    use super::*;

    fn looped(nnet: &Nnet, frames_per_chunk: i32, factor: i32, extra: i32) -> LoopedForward {
        let streaming = Streaming {
            frames_per_chunk,
            frame_subsampling_factor: factor,
            extra_left_context_initial: extra,
        };
        let options = OptimizeOptions::default();
        LoopedForward::new(nnet.clone(), &nnet3_matrix::cpu(), &streaming, 1.0, &options).unwrap()
    }

    #[test]
    fn chunks_of_any_length_agree_with_a_calculation_by_hand() {
        let nnet = network(SPLICED);
        for (chunk, factor) in [(1, 1), (4, 1), (23, 1), (50, 1), (6, 3), (7, 3)] {
            let mut looped = looped(&nnet, chunk, factor, 0);
            assert_eq!(looped.frames_per_chunk() % factor, 0);
            for frames in [23, 1, 8, 40] {
                let features = random_matrix(frames, 2, frames as i32);
                let outputs = looped.compute(&features, Ivectors::None).unwrap();
                assert_close(&outputs.data, &by_hand(&nnet, &features, &[-3, 0, 1], factor as usize));
            }
        }
    }

    const RECURRENT: &str = "component name=c type=AffineComponent input-dim=4 output-dim=2
         component name=tanh type=TanhComponent dim=2
         input-node name=input dim=2
         component-node name=c component=c input=Append(Offset(input, 1), IfDefined(Offset(tanh, -1)))
         component-node name=tanh component=tanh input=c
         output-node name=output input=tanh";

    /// Shows that two runners which take turns do not see each other's state, and that the second may be on another
    /// thread.
    #[test]
    #[allow(clippy::disallowed_methods)] // A test may panic if there is no thread.
    fn another_one_has_its_own_state() {
        let mut first = looped(&network(RECURRENT), 4, 1, 3);
        let features = [random_matrix(13, 2, 1), random_matrix(18, 2, 2)];
        let expected = [0, 1].map(|n| first.compute(&features[n], Ivectors::None).unwrap());
        let (mut second, mut out) = (first.another(), [Vec::new(), Vec::new()]);
        first.begin().unwrap();
        second.begin().unwrap();
        for _ in 0..3 {
            for (n, forward) in [&mut first, &mut second].into_iter().enumerate() {
                let input: Vec<f32> = forward
                    .next_input()
                    .flat_map(|t| features[n].row((t.max(0) as usize).min(features[n].rows - 1)).to_vec())
                    .collect();
                out[n].extend(forward.advance(&input, None).unwrap().data);
            }
        }
        for (out, expected) in out.iter().zip(&expected) {
            assert_eq!(out[..], expected.data[..out.len()]);
        }
        let (mut third, features) = (first.another(), &features[0]);
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(move || third.compute(features, Ivectors::None).unwrap()).join().unwrap()
        });
        assert_eq!(elsewhere.data, expected[0].data);
    }

    /// A recurrence must see all earlier frames: the outputs are those of one chunk for the whole utterance.
    #[test]
    fn state_is_kept_between_chunks() {
        let nnet = network(RECURRENT);
        let features = random_matrix(31, 2, 5);
        let whole = Chunking { frames_per_chunk: 100, extra_left_context: 9, ..Default::default() };
        let expected = forward(&nnet, whole, 1.0).compute(&features, Ivectors::None).unwrap();
        for chunk in [1, 4, 10] {
            let outputs = looped(&nnet, chunk, 1, 9).compute(&features, Ivectors::None).unwrap();
            assert_close(&outputs.data, &expected.data);
        }
    }

    #[test]
    fn chunks_that_can_be_computed() {
        // A context of 3 frames on the left and 1 on the right; chunks of 6 frames are 2 frames of output.
        let mut looped = looped(&network(SPLICED), 6, 3, 2);
        let ready = |frames, finished| looped.outputs_ready(frames, finished);
        assert_eq!([0, 6, 7, 12, 13].map(|frames| ready(frames, false)), [0, 0, 2, 2, 4]);
        assert_eq!([0, 1, 3, 4, 12, 13].map(|frames| ready(frames, true)), [0, 1, 1, 2, 4, 5]);
        assert!(looped.check_inputs(2, None).is_ok());
        assert!(looped.check_inputs(3, None).is_err() && looped.check_inputs(2, Some(1)).is_err());
        let features = random_matrix(13, 2, 1);
        let whole = looped.compute(&features, Ivectors::None).unwrap();
        looped.begin().unwrap();
        for (frames, rows) in [(-5..7, 0..2), (7..13, 2..4)] {
            assert_eq!(looped.next_input(), frames);
            let input: Vec<f32> =
                frames.flat_map(|t| features.row(t.max(0) as usize).iter().copied()).collect();
            let output = looped.advance(&input, None).unwrap();
            assert_eq!(output.data, whole.data[rows.start * whole.cols..rows.end * whole.cols]);
        }
    }

    #[test]
    fn each_chunk_has_its_ivector() {
        let nnet = network(WITH_IVECTOR);
        let features = random_matrix(10, 2, 1);
        let one = random_matrix(1, 2, 2);
        let constant = Ivectors::Utterance(&one.data);
        let expected = forward(&nnet, Chunking::default(), 1.0).compute(&features, constant).unwrap();
        assert_close(&looped(&nnet, 3, 1, 0).compute(&features, constant).unwrap().data, &expected.data);

        // Chunks of 4 frames with a right context of 1 read up to frames 5, 9 and 13. They use the i-vectors for times
        // 0 and 4, then 8, then 12.
        let matrix = random_matrix(3, 2, 3);
        let online = Ivectors::Online { matrix: &matrix, period: 4 };
        let outputs = looped(&nnet, 4, 1, 0).compute(&features, online).unwrap();
        for (chunk, row) in [1, 1, 2].into_iter().enumerate() {
            let ivector = Ivectors::Utterance(matrix.row(row));
            let all = forward(&nnet, Chunking::default(), 1.0).compute(&features, ivector).unwrap();
            let rows = 4 * chunk..(4 * chunk + 4).min(10);
            assert_close(
                &outputs.data[3 * rows.start..3 * rows.end],
                &all.data[3 * rows.start..3 * rows.end],
            );
        }
        assert!(looped(&nnet, 4, 1, 0).compute(&features, Ivectors::None).is_err());
    }
}
