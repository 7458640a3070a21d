//! Combines the last networks of a training run: the mean of as many as give the best objective (nnet3-combine).

use crate::average::add_to_mean;
use crate::diagnostics::{ProbComputer, ProbOptions};
use crate::error::{Error, Result};
use crate::objective::{Objective, ObjectiveValue};
use kaldi_io::threads::{self, ScopedThread};
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_matrix::Device;

#[derive(Debug, Clone)]
pub struct CombineOptions {
    /// Largest number of evaluations of the objective, apart from the first network's.
    pub max_objective_evaluations: usize,
    /// True to put batch normalisation into test mode for the evaluation of objectives; dropout likewise.
    pub batchnorm_test_mode: bool,
    pub dropout_test_mode: bool,
    pub prob: ProbOptions,
    /// Threads that evaluate an objective together, each some of the examples; a GPU is for one.
    pub threads: usize,
}

/// The result.
pub struct Combined {
    pub nnet: Nnet,
    /// Number of networks in the mean.
    pub count: usize,
    /// Objective of the first network, and of the result.
    pub first_objective: f64,
    pub best_objective: f64,
}

/// Loads the networks one after another, the newest first, and finds the best mean of the first n. `make` makes the
/// objective of a thread. `report` gets each n that is tried, with its objective.
pub fn combine<O: Objective, E: From<Error>>(
    make: impl Fn() -> O + Sync,
    names: &[String],
    load: impl Fn(&str) -> std::result::Result<Nnet, E>,
    examples: &[O::Example],
    options: &CombineOptions,
    device: &Device,
    mut report: impl FnMut(usize, f64),
) -> std::result::Result<Combined, E> {
    let Some(first) = names.first() else {
        return Err(Error::options("expected at least one network to combine").into());
    };
    if options.max_objective_evaluations == 0 {
        return Err(Error::options("`max-objective-evaluations`=0: expected a number above 0").into());
    }
    let mut mean = load(first)?;
    let first_objective = objective(&make, &mean, examples, options, device)?;
    report(1, first_objective);
    let mut best =
        Combined { nnet: mean.clone(), count: 1, first_objective, best_objective: first_objective };
    let step = names.len().div_ceil(options.max_objective_evaluations);
    for (n, name) in names.iter().enumerate().skip(1) {
        add_to_mean(&mut mean, &load(name)?, n + 1)
            .map_err(|e| Error::data(format!("{first} and {name} cannot be combined: {e}")))?;
        if n % step == 0 || n + 1 == names.len() {
            let objective = objective(&make, &mean, examples, options, device)?;
            report(n + 1, objective);
            if objective > best.best_objective {
                best =
                    Combined { nnet: mean.clone(), count: n + 1, first_objective, best_objective: objective };
            }
        }
    }
    Ok(best)
}

/// Objective per frame, of all outputs together and with auxiliary terms; minus infinity if it is not a number.
fn objective<O: Objective>(
    make: &(impl Fn() -> O + Sync),
    nnet: &Nnet,
    examples: &[O::Example],
    options: &CombineOptions,
    device: &Device,
) -> Result<f64> {
    let mut nnet = nnet.clone();
    if options.batchnorm_test_mode {
        nnet.set_batchnorm_test_mode(true);
    }
    if options.dropout_test_mode {
        nnet.set_dropout_test_mode(true);
    }
    let (dropout, batchnorm) = (options.dropout_test_mode, options.batchnorm_test_mode);
    nnet.collapse(&CollapseOptions { dropout, batchnorm, ..CollapseOptions::ALL })?;
    let share = examples.len().div_ceil(options.threads.max(1)).max(1);
    let total = std::thread::scope(|scope| {
        // (In boxes, since a part for which there is no thread comes back.)
        type Part<'p> = Box<dyn FnOnce() -> Result<ObjectiveValue> + Send + 'p>;
        let mut parts = examples.chunks(share).map(|part| -> Part<'_> {
            let nnet = nnet.clone();
            Box::new(move || total_of(make(), nnet, part, &options.prob, device))
        });
        let own = parts.next();
        // (Those for which there is no thread are done here.)
        let others: Vec<_> =
            parts.map(|part| threads::start_in_or_return(scope, "examples", part, |part| part())).collect();
        let mut total = own.map_or(Ok(ObjectiveValue::default()), |part| part())?;
        for other in others {
            total += other.map_or_else(|part| part(), ScopedThread::join)?;
        }
        Ok::<_, Error>(total)
    })?;
    if total.weight.is_nan() || total.weight <= 0.0 {
        return Err(Error::data(format!("the sum of all targets is {}, not above 0", total.weight)));
    }
    let average = total.total_average();
    Ok(if average.is_finite() { average } else { f64::NEG_INFINITY })
}

/// The sum of objectives, by a computer that is made and used on one thread.
fn total_of<O: Objective>(
    objective: O,
    nnet: Nnet,
    examples: &[O::Example],
    options: &ProbOptions,
    device: &Device,
) -> Result<ObjectiveValue> {
    let mut computer = ProbComputer::with_objective(objective, nnet, options.clone(), device);
    examples.iter().try_for_each(|example| computer.compute(example))?;
    Ok(computer.total())
}

/// Replaces all activation and batch-norm statistics by those of one pass over the examples in training mode. Returns
/// the network and its objective.
pub fn recompute_stats<O: Objective>(
    objective: O,
    mut nnet: Nnet,
    examples: &[O::Example],
    options: &ProbOptions,
    device: &Device,
    report: impl FnOnce(&mut ProbComputer<O>),
) -> Result<Nnet> {
    nnet.zero_stats();
    let options = ProbOptions { store_component_stats: true, derivative: false, ..options.clone() };
    let mut computer = ProbComputer::with_objective(objective, nnet, options, device);
    examples.iter().try_for_each(|example| computer.compute(example))?;
    report(&mut computer);
    let mut nnet = computer.into_nnet();
    nnet.bring_from(device)?;
    Ok(nnet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::FrameObjective;
    use crate::testing::{affine_network, parameters, with_parameters};
    use crate::{NnetExample, NnetIo};
    use kaldi_io::DenseMatrix;

    /// y = w x with the target y = 2 x: the mean of weights 1 and 3 is best.
    #[test]
    fn the_best_mean_wins() {
        let column = |values: [f32; 3]| DenseMatrix { rows: 3, cols: 1, data: values.to_vec() };
        let example = NnetExample {
            ios: vec![
                NnetIo::new("input", column([1.0, -1.0, 2.0]).into(), 0, 1),
                NnetIo::new("output", column([2.0, -2.0, 4.0]).into(), 0, 1),
            ],
        };
        let names = ["1", "3", "5", "7"].map(str::to_owned);
        let load = |name: &str| {
            let mut nnet = affine_network(1, 1);
            let weight: f32 = name.parse().unwrap_or(0.0);
            with_parameters(&mut nnet, |p| p.copy_from_slice(&[weight, 0.0]));
            Ok::<_, Error>(nnet)
        };
        for (evaluations, tried, threads) in
            [(30, vec![1, 2, 3, 4], 1), (2, vec![1, 3, 4], 1), (30, vec![1, 2, 3, 4], 2)]
        {
            let options = CombineOptions {
                max_objective_evaluations: evaluations,
                batchnorm_test_mode: false,
                dropout_test_mode: true,
                prob: ProbOptions::default(),
                threads,
            };
            let mut seen = Vec::new();
            let device = nnet3_matrix::cpu();
            let examples = &[example.clone(), example.clone()];
            let report = |n, _| seen.push(n);
            let best = combine(FrameObjective::default, &names, load, examples, &options, &device, report);
            let best = best.unwrap();
            assert_eq!(seen, tried);
            if evaluations == 30 {
                assert_eq!((best.count, parameters(&best.nnet)), (2, vec![2.0, 0.0]));
                assert!((best.first_objective + 1.0).abs() < 1e-6 && best.best_objective == 0.0);
            }
        }
    }
}
