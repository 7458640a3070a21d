//! Compares two networks, and attributes the change of the objective to components (nnet3-show-progress).

use crate::diagnostics::{ProbComputer, ProbOptions};
use crate::error::{Error, Result};
use crate::objective::Objective;
use kaldi_io::log::num;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

/// The output with the objective.
const OUTPUT: &str = "output";

/// A number for each component with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct PerComponent {
    pub values: Vec<(String, f64)>,
}

/// Prints `[ name:value name:value ]`, as scripts parse it.
impl std::fmt::Display for PerComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[ ")?;
        self.values.iter().try_for_each(|(name, value)| write!(f, "{name}:{} ", num(*value)))?;
        write!(f, "]")
    }
}

impl PerComponent {
    fn new(nnet: &Nnet, values: impl IntoIterator<Item = f64>) -> PerComponent {
        let names = nnet.updatable_components().into_iter().map(|id| nnet.component_name(id).to_owned());
        PerComponent { values: names.zip(values).collect() }
    }

    fn map(&self, other: &PerComponent, f: impl Fn(f64, f64) -> f64) -> PerComponent {
        let pairs = self.values.iter().zip(&other.values);
        PerComponent { values: pairs.map(|((name, a), (_, b))| (name.clone(), f(*a, *b))).collect() }
    }
}

/// Norms of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// ‖new - old‖ of each component.
    pub absolute: PerComponent,
    /// ‖new‖.
    pub new_norms: PerComponent,
    /// ‖new - old‖ / ‖old‖.
    pub relative: PerComponent,
}

/// Compares networks of the same structure.
pub fn differences(old: &Nnet, new: &Nnet) -> Result<Differences> {
    old.check_same_structure(new)?;
    let norms =
        |nnet: &Nnet| PerComponent::new(nnet, nnet.component_dot_products(nnet).into_iter().map(f64::sqrt));
    let absolute = norms(&difference(old, new));
    let relative = absolute.map(&norms(old), |difference, old| difference / old);
    Ok(Differences { absolute, new_norms: norms(new), relative })
}

/// old - new, statistics included.
pub fn difference(old: &Nnet, new: &Nnet) -> Nnet {
    let mut difference = old.clone();
    difference.add(-1.0, new);
    difference
}

/// The networks on the way from old to new, at one place.
pub struct Segment<'s, O> {
    /// Between 0 (old) and 1 (new).
    pub position: f64,
    /// The evaluation at this point.
    pub computer: &'s ProbComputer<O>,
    /// Objective per frame.
    pub objective: f64,
    /// The objective's change per component over all segments so far.
    pub change: PerComponent,
}

/// Follows the straight line from `old` to `new` in `segments` steps, and attributes the change of the objective to
/// components. The share of a component is the derivative in the middle of each step, times the difference of its
/// parameters. `objective` makes the objective of a step. Calls `report` after each step. The result is the last step's
/// sum.
#[allow(clippy::too_many_arguments)]
pub fn objective_change<O: Objective>(
    objective: impl Fn() -> O,
    old: &Nnet,
    new: &Nnet,
    examples: &[O::Example],
    segments: u32,
    options: &ProbOptions,
    device: &Device,
    mut report: impl FnMut(&Segment<'_, O>),
) -> Result<PerComponent> {
    if examples.is_empty() || segments == 0 {
        return Err(Error::data(
            "expected at least one example and at least one segment between the networks",
        ));
    }
    old.check_same_structure(new)?;
    let zeros = old.updatable_components().iter().map(|_| 0.0).collect::<Vec<_>>();
    let mut change = PerComponent::new(old, zeros);
    for segment in 0..segments {
        let position = (f64::from(segment) + 0.5) / f64::from(segments);
        let mut nnet = new.clone();
        nnet.scale(position as f32);
        nnet.add((1.0 - position) as f32, old);
        let options = ProbOptions { derivative: true, ..options.clone() };
        let mut computer = ProbComputer::with_objective(objective(), nnet, options, device);
        examples.iter().try_for_each(|example| computer.compute(example))?;
        let Some(totals) = computer.totals().get(OUTPUT) else {
            return Err(Error::data(format!("the examples have no '{OUTPUT}'")));
        };
        let (weight, objective) = (totals.objective.weight, totals.objective.average());
        let products = |nnet: &Nnet| PerComponent::new(old, computer.gradient().component_dot_products(nnet));
        let step = products(new).map(&products(old), |new, old| (new - old) / weight);
        change = change.map(&step, |sum, step| sum + step / f64::from(segments));
        report(&Segment { position, computer: &computer, objective, change: change.clone() });
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::FrameObjective;
    use crate::testing::{affine_network, classifier, minibatch, with_parameters};

    #[test]
    fn norms_by_hand() {
        let mut old = affine_network(1, 1);
        let mut new = affine_network(1, 1);
        with_parameters(&mut old, |p| p.copy_from_slice(&[3.0, 4.0]));
        with_parameters(&mut new, |p| p.copy_from_slice(&[0.0, 0.0]));
        let differences = differences(&old, &new).unwrap();
        assert_eq!(differences.absolute.to_string(), "[ a:5 ]");
        assert_eq!(differences.new_norms.to_string(), "[ a:0 ]");
        assert_eq!(differences.relative.to_string(), "[ a:1 ]");
    }

    /// Many short steps must add up to the whole change of the objective, like an integral.
    #[test]
    fn changes_add_up() {
        let old = classifier();
        let mut new = old.clone();
        with_parameters(&mut new, |p| {
            p.iter_mut().enumerate().for_each(|(i, p)| *p += 0.1 * (i as f32).sin())
        });
        let examples = [minibatch(3, 1), minibatch(5, 2)];
        let device = nnet3_matrix::cpu();
        let objective = |nnet: &Nnet| {
            let mut computer = ProbComputer::new(nnet.clone(), ProbOptions::default(), &device);
            examples.iter().for_each(|example| computer.compute(example).unwrap());
            computer.total().average()
        };
        let expected = objective(&new) - objective(&old);
        let mut positions = Vec::new();
        let (frames, options) = (FrameObjective::default, ProbOptions::default());
        let change = objective_change(frames, &old, &new, &examples, 64, &options, &device, |s| {
            positions.push(s.position)
        });
        let change = change.unwrap();
        let total: f64 = change.values.iter().map(|(_, value)| value).sum();
        assert!((total - expected).abs() < 0.02 * expected.abs(), "{change}: {total} {expected}");
        assert_eq!((positions.len(), positions[0]), (64, 1.0 / 128.0));
    }
}
