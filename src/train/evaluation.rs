//! The programs that evaluate the objective of a network on a table of examples.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3_core::nnet::Nnet;
use nnet3_train::diagnostics::ProbComputer;
use nnet3_train::objective::Objective;

use crate::egs::{self, ExampleKind, Opening};
use crate::{progress, training_log};

// Components that behave in tests in another way than in training.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct TestMode {
    /// If true, set test-mode to true on any BatchNormComponents.
    #[arg(long, default_value_t = true)]
    pub batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = true)]
    pub dropout_test_mode: bool,
}

impl TestMode {
    /// Sets the test mode where it is wanted.
    pub fn apply(self, nnet: &mut Nnet) {
        if self.batchnorm_test_mode {
            nnet.set_batchnorm_test_mode(true);
        }
        if self.dropout_test_mode {
            nnet.set_dropout_test_mode(true);
        }
    }
}

/// Evaluates all examples of a table. `totals` logs the result, and returns false if no output had any weight. Returns the
/// exit status.
pub fn run<O: Objective>(
    site: &Site,
    egs: Opening<'_, O::Example>,
    mut computer: ProbComputer<O>,
    totals: impl FnOnce(&mut ProbComputer<O>) -> Result<bool>,
) -> Result<u8>
where
    O::Example: ExampleKind,
{
    let mut egs = egs.finish()?;
    if egs.at_end()? {
        return egs::nothing(site, egs);
    }
    let bar = progress::counter("examples", egs.name());
    while let Some((_, example)) = egs.next()? {
        computer.compute(&example).map_err(|e| egs.blame(e))?;
        training_log::remarks(&mut computer);
        bar.inc();
    }
    drop(bar);
    egs.close()?;
    let useful = totals(&mut computer)?;
    training_log::compilation(computer.runner().compiler());
    Ok(u8::from(!useful))
}
