//! The slow, obvious way to run a network: one chunk at a time. Tests compare the others with it.

use super::runner::{Runner, Shape};
use super::{Chunking, Ivectors, OutputScaling, check_dims};
use crate::execute::CachingCompiler;
use kaldi_io::DenseMatrix;
use nnet3_base::error::Result;
use nnet3_compiler::graph::FrameContext;
use nnet3_matrix::Device;
use nnet3_network::Nnet;

/// Runs one network on utterances, one after another. The network should be in test mode.
pub struct Forward<'a> {
    runner: Runner<'a>,
    chunking: Chunking,
    scaling: OutputScaling,
    left_context: i32,
    right_context: i32,
}

impl<'a> Forward<'a> {
    /// Makes a runner. It is an error if the network is not simple (see [`Nnet::is_simple`]) or if settings are
    /// invalid. `chunking` is used unchanged; see [`Chunking::round_up`]. `nnet` must be on `device`.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        chunking: Chunking,
        scaling: impl Into<OutputScaling>,
        compiler: CachingCompiler,
    ) -> Result<Forward<'a>> {
        chunking.check()?;
        let (left_context, right_context) = nnet.context()?;
        let scaling = scaling.into();
        scaling.check(nnet.output_dim("output").unwrap_or(0))?;
        let runner = Runner::new(nnet, device, chunking.frame_subsampling_factor, compiler);
        Ok(Forward { runner, chunking, scaling, left_context, right_context })
    }

    /// Scaled values of the node `output` for an utterance: a row for every output frame. `features` has a row for
    /// every frame. Fails if dimensions do not fit the network.
    pub fn compute(
        &mut self,
        features: &DenseMatrix<f32>,
        ivectors: Ivectors<'_>,
    ) -> Result<DenseMatrix<f32>> {
        let nnet = self.runner.nnet;
        check_dims(nnet, features.cols, ivectors)?;
        let rows = self.chunking.output_rows(features.rows);
        let cols = nnet.output_dim("output").unwrap_or(0);
        let mut outputs = DenseMatrix { rows, cols, data: Vec::with_capacity(rows * cols) };
        let mut input = Vec::new();
        for chunk in self.chunking.chunks(features.rows, self.left_context, self.right_context) {
            input.clear();
            chunk.input_frames(features.rows).for_each(|t| input.extend_from_slice(features.row(t)));
            self.runner.run(&Shape::of(&chunk), 1, &input, ivectors.of_chunk(&chunk)?, &mut outputs.data)?;
        }
        self.scaling.apply(&mut outputs.data);
        Ok(outputs)
    }
}
