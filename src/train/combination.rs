//! Parts shared by the programs that combine models.

use anyhow::Result;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::sites::{RECOMPUTE_STATS, RECOMPUTE_STATS_DONE};
use kaldi_cli::log::{Site, num};
use kaldi_io::KaldiWriter;
use nnet3_core::nnet::Nnet;
use nnet3_train::combine::{combine, recompute_stats};
use nnet3_train::diagnostics::ProbComputer;
use nnet3_train::objective::Objective;

use crate::egs::{self, ExampleKind, Prepare};
use crate::options::combine::CombineArgs;
use crate::options::prob::prob_defaults;
use crate::{models, training_log};

/// The inputs of a combination.
pub struct Combination<'o, E> {
    /// Source place of messages.
    pub site: Site,
    pub options: &'o CombineArgs,
    /// Models, the newest first, then the examples, then the file to write.
    pub arguments: Vec<String>,
    /// Done to each example.
    pub prepare: Prepare<E>,
}

impl<E: ExampleKind> Combination<'_, E> {
    /// Finds the best mean of the first models and writes it. `objective` makes the objective of a
    /// thread. `totals` logs what the result was found to be worth while its statistics were recomputed
    /// with the objective of `recomputing`.
    pub fn run<O: Objective<Example = E>>(
        mut self,
        objective: impl Fn() -> O + Sync,
        recomputing: impl FnOnce(&Nnet) -> O,
        totals: impl FnOnce(&mut ProbComputer<O>),
    ) -> Result<u8> {
        let (Some(output), Some(rspecifier)) = (self.arguments.pop(), self.arguments.pop()) else {
            return Ok(kaldi_cli::NOTHING_DONE);
        };
        let (site, models) = (self.site, self.arguments);
        let device = self.options.select_device()?;
        let options = self.options.combine_options(&device)?;
        KaldiWriter::check(&output)?;
        let egs = egs::read_all(&rspecifier, self.prepare)?;
        kaldi_log!(site, "Read {} examples.", egs.len());
        let report = |n: usize, objective: f64| {
            let objective = num(objective);
            match n {
                1 => kaldi_log!(site, "objective function using the last model is {objective}"),
                _ => kaldi_log!(site, "Combining last {n} models, objective function is {objective}"),
            }
        };
        let mut best = combine(objective, &models, models::load, &egs, &options, &device, report)?;
        kaldi_log!(
            site,
            "Combining {} nnets, objective function changed from {} to {}",
            best.count,
            num(best.first_objective),
            num(best.best_objective)
        );
        if best.nnet.has_batchnorm() {
            kaldi_log!(RECOMPUTE_STATS, "Recomputing stats on nnet (affects batch-norm)");
            let objective = recomputing(&best.nnet);
            best.nnet = recompute_stats(objective, best.nnet, &egs, &prob_defaults(), &device, |computer| {
                totals(computer);
                kaldi_log!(RECOMPUTE_STATS_DONE, "Done recomputing stats.");
                training_log::compilation(computer.runner().compiler());
            })?;
        }
        models::save_trained(&best.nnet, &output, self.options.mode.binary)?;
        kaldi_log!(site, "Finished combining neural nets, wrote model to {output}");
        Ok(0)
    }
}
