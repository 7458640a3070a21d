//! Outputs of a network for examples.

use crate::error::{Error, Result};
use crate::example::NnetExample;
use crate::minibatch::{CompileOptions, Purpose, Runner};
use crate::request::{MinibatchRequest, forward_request};
use kaldi_io::DenseMatrix;
use nnet3_core::execute::{Executor, Model};
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_matrix::Device;

/// Runs a network on examples, without putting components into test mode.
pub struct ExampleForward {
    nnet: Nnet,
    runner: Runner,
    random: Random,
}

impl ExampleForward {
    pub fn new(nnet: Nnet, device: &Device) -> ExampleForward {
        ExampleForward::with_options(nnet, &CompileOptions::default(), device)
    }

    pub fn with_options(mut nnet: Nnet, options: &CompileOptions, device: &Device) -> ExampleForward {
        nnet.to_device(device);
        let runner = Runner::new(options, Executor::new(device));
        ExampleForward { nnet, runner, random: Random::new(1) }
    }

    /// Returns the output at the indexes that the example has for it, a row for each index.
    pub fn compute(&mut self, example: &NnetExample, output: &str) -> Result<DenseMatrix<f32>> {
        if self.nnet.find_output(output).is_none() {
            return Err(Error::data(format!("the network has no output '{output}'")));
        }
        let request = forward_request(&self.nnet, example, output)?;
        self.output_of(&request, output)
    }

    /// Returns the output for a request made for [`ExampleForward::nnet`], a row for each index. The request must
    /// contain the output.
    pub fn output_of(&mut self, request: &MinibatchRequest<'_>, output: &str) -> Result<DenseMatrix<f32>> {
        self.runner.start(&self.nnet, request, Purpose::default())?;
        let executor = self.runner.executor();
        executor.run(&mut Model::Frozen(&self.nnet), &self.random)?;
        let view = executor.output(&self.nnet, output)?;
        let (rows, cols) = (view.rows(), view.cols());
        let data = executor.device().download(view);
        executor.check_device()?;
        Ok(DenseMatrix { rows, cols, data })
    }

    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }

    /// The random numbers that random components draw.
    pub fn random(&self) -> &Random {
        &self.random
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::NnetIo;
    use crate::testing::{affine_network, parameters};

    /// Targets need not have the output's dimension.
    #[test]
    fn outputs_at_the_indexes_of_targets() {
        let nnet = affine_network(2, 3);
        let p = parameters(&nnet);
        let input = DenseMatrix::from_rows(&[[1.0f32, 2.0], [-1.0, 0.5], [3.0, 0.0]]);
        let example = NnetExample {
            ios: vec![
                NnetIo::new("input", input.clone().into(), 0, 1),
                NnetIo::new("output", DenseMatrix::new(2, 7).into(), 1, 1),
            ],
        };
        let mut forward = ExampleForward::new(nnet, &nnet3_matrix::cpu());
        let output = forward.compute(&example, "output").unwrap();
        assert_eq!((output.rows, output.cols), (2, 3));
        for t in 0..2 {
            for i in 0..3 {
                let x = input.row(t + 1);
                let expected = p[2 * i] * x[0] + p[2 * i + 1] * x[1] + p[6 + i];
                assert!((output.row(t)[i] - expected).abs() < 1e-5);
            }
        }
        let error = |example: &NnetExample, forward: &mut ExampleForward, name: &str| {
            forward.compute(example, name).unwrap_err().to_string()
        };
        assert!(error(&example, &mut forward, "out").contains("no output 'out'"));
        let mut bad = example.clone();
        bad.ios.pop();
        assert!(error(&bad, &mut forward, "output").contains("the example has no output 'output'"));
        let mut bad = example;
        bad.ios[0].features = DenseMatrix::new(3, 4).into();
        assert!(error(&bad, &mut forward, "output").contains("features of dimension 4"));
    }
}
