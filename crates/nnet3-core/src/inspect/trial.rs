//! Copies of a network, and runs of programs with random inputs, for measuring.

use crate::execute::{Executor, Model, Program};
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_learning::Delta;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::sync::Arc;

pub(super) struct Trial {
    pub executor: Executor,
    nnet: Nnet,
    delta: Delta,
    natural_gradient: bool,
    random: Random,
}

impl Trial {
    /// Prepares runs on `device`, with copies of `nnet`; backward with natural or with plain gradients.
    pub fn new(nnet: &Nnet, device: &Device, natural_gradient: bool) -> Trial {
        let mut nnet = nnet.clone();
        nnet.to_device(device);
        let mut delta = Delta::new(&nnet);
        if !natural_gradient {
            delta.nnet_mut().set_as_gradient();
        }
        Trial { executor: Executor::new(device), nnet, delta, natural_gradient, random: Random::new(0) }
    }

    pub fn start(&mut self, program: &Arc<Program>) -> Result<()> {
        self.executor.start(program)
    }

    /// Gives normally distributed values wherever the program wants some, and runs its next part with `run`.
    pub fn part(
        &mut self,
        run: impl FnOnce(&mut Executor, &mut Model<'_>, &Random) -> Result<()>,
    ) -> Result<()> {
        let Trial { executor, nnet, delta, natural_gradient, random } = self;
        let device = executor.device().clone();
        while let Some(node) = executor.wants() {
            device.fill_normal(executor.input(nnet, nnet.node_name(node))?, random.key());
        }
        let mut model = match natural_gradient {
            true => Model::Train { nnet, delta },
            false => Model::Gradient { nnet, gradient: delta.nnet_mut() },
        };
        run(executor, &mut model, random)
    }
}
