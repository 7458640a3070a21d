//! A recurrent network one frame after another, with states to go back to: sequences that share their beginnings.

use super::check_dim;
use crate::execute::{Executor, ExecutorState, Model, Program};
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_compiler::compile::looped::{LoopedOptions, compile_looped, looped_requests};
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::lower::Watch;
use nnet3_compiler::optimize::OptimizeOptions;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::sync::Arc;

/// Runs one network, a frame of input and one of output at a time.
pub struct StepForward {
    nnet: Nnet,
    program: Arc<Program>,
    executor: Executor,
    random: Random,
}

/// The state of a network after some frames.
#[derive(Clone, Debug, PartialEq)]
pub struct StepState(ExecutorState);

impl StepForward {
    /// Compiles the network, which lies on `device` and has an input-node 'input' and an output-node 'output'.
    ///
    /// # Errors
    /// An output needs inputs of other times, other than through recurrences and `IfDefined`; the network cannot go on frame by
    /// frame.
    pub fn new(nnet: Nnet, device: &Device, optimize: &OptimizeOptions) -> Result<StepForward> {
        let (left, right) = nnet.context()?;
        if (left, right) != (0, 0) {
            return Err(Error::network(format!(
                "expected a network without context, found a left context of {left} frames and a right context of {right}"
            )));
        }
        let options = LoopedOptions {
            chunk_size: 1,
            frame_subsampling_factor: 1,
            ivector_period: 1,
            left_context: 0,
            right_context: 0,
            num_sequences: 1,
        };
        check_dim(&nnet, "ivector", None)?;
        let computation = compile_looped(&nnet, optimize, &looped_requests(&nnet, &options)?)?;
        let program = Arc::new(Program::for_device(&nnet, computation, device, &mut Watch::default())?);
        let (executor, random) = (Executor::new(device), Random::new(1));
        Ok(StepForward { nnet, program, executor, random })
    }

    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// Begins a sequence.
    pub fn begin(&mut self) -> Result<()> {
        self.executor.start(&self.program)
    }

    /// Returns the output for the next frame of input.
    pub fn advance(&mut self, input: &[f32]) -> Result<Vec<f32>> {
        self.executor.accept_input(&self.nnet, "input", 1, input.len(), input)?;
        self.executor.run(&mut Model::Frozen(&self.nnet), &self.random)?;
        let output = self.executor.device().download(self.executor.output(&self.nnet, "output")?);
        self.executor.check_device()?;
        Ok(output)
    }

    /// Returns the state after the frames so far.
    pub fn state(&self) -> Result<StepState> {
        Ok(StepState(self.executor.state()?))
    }

    /// Goes back to a state of this network.
    pub fn restore(&mut self, state: &StepState) -> Result<()> {
        self.executor.restore(&state.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{network, random_matrix};
    use super::*;

    const RECURRENT: &str = "component name=c type=AffineComponent input-dim=6 output-dim=2
         component name=tanh type=TanhComponent dim=2
         input-node name=input dim=2
         component-node name=c component=c input=Append(input, IfDefined(Offset(tanh, -1)), IfDefined(Offset(input, -2)))
         component-node name=tanh component=tanh input=c
         output-node name=output input=tanh";

    fn forward() -> StepForward {
        StepForward::new(network(RECURRENT), &nnet3_matrix::cpu(), &OptimizeOptions::default()).unwrap()
    }

    /// The recursion by hand, from the outputs of the component alone.
    fn by_hand(nnet: &Nnet, frames: &[&[f32]]) -> Vec<f32> {
        let p: Vec<f32> =
            nnet.components().filter_map(|c| c.as_updatable()).flat_map(|u| u.vectorize()).collect();
        let mut h = [0.0f32; 2];
        for (t, frame) in frames.iter().enumerate() {
            let earlier = if t >= 2 { frames[t - 2] } else { &[0.0, 0.0] };
            let x = [frame[0], frame[1], h[0], h[1], earlier[0], earlier[1]];
            h = [0, 1].map(|i| (0..6).map(|j| p[6 * i + j] * x[j]).sum::<f32>() + p[12 + i]).map(f32::tanh);
        }
        h.to_vec()
    }

    /// Sequences branch from states anywhere: at the beginning, where the program has not come round yet, and later.
    #[test]
    fn branches() {
        let frames = random_matrix(24, 2, 3);
        let mut forward = forward();
        forward.begin().unwrap();
        let mut states = vec![(Vec::new(), forward.state().unwrap())];
        for t in 0..24 {
            // Go on from any of the states so far.
            let (mut sequence, state): (Vec<&[f32]>, StepState) = states[(7 * t) % states.len()].clone();
            forward.restore(&state).unwrap();
            sequence.push(frames.row(t));
            let output = forward.advance(frames.row(t)).unwrap();
            let expected = by_hand(forward.nnet(), &sequence);
            let close = output.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close, "{output:?} for {expected:?} after {} frames", sequence.len());
            states.push((sequence, forward.state().unwrap()));
            // And on for two frames, which are forgotten.
            forward.advance(frames.row(0)).unwrap();
            forward.advance(frames.row(1)).unwrap();
        }
        assert!(states.iter().map(|(sequence, _)| sequence.len()).max() > Some(4));
    }

    #[test]
    fn states_have_only_what_is_needed() {
        let mut forward = forward();
        forward.begin().unwrap();
        for _ in 0..12 {
            forward.advance(&[0.5, -1.0]).unwrap();
        }
        let state = forward.state().unwrap();
        assert!(state.0.elements() < 40, "{}", state.0.elements());
    }

    #[test]
    fn networks_with_context() {
        let nnet = network(super::super::tests::SPLICED);
        let error = StepForward::new(nnet, &nnet3_matrix::cpu(), &OptimizeOptions::default()).err();
        assert!(error.expect("an error").to_string().contains("without context"));
    }
}
