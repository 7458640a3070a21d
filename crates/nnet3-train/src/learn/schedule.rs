//! Schedules: factors on learning rates as functions of how far a training is.

use crate::error::Result;
use crate::keys::{self, Keys};
use nnet3_core::config::ConfigLine;

const TYPES: &str = "constant, step, set, power, inverse, polynomial, exponential, cosine, linear, plateau";

/// The progress of a training.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Epochs that are done.
    pub epochs: u64,
    /// Epochs of the whole training.
    pub of: u64,
    /// The part of the present epoch's minibatches that is done, from 0 to below 1.
    pub within: f64,
}

impl Progress {
    /// The part of the training that is done.
    fn part(&self, by_epoch: bool) -> f64 {
        let within = if by_epoch { 0.0 } else { self.within };
        ((self.epochs as f64 + within) / self.of.max(1) as f64).min(1.0)
    }
}

/// A factor on the rate of an optimiser.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    kind: Kind,
    /// The part of the training in which the factor rises from 0.
    warm_up: f64,
    by_epoch: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Constant,
    Step { at: Vec<u64>, factor: f64 },
    Set { at: Vec<u64>, to: Vec<f64> },
    Power { every: u64, factor: f64 },
    Inverse { decay: f64 },
    Polynomial { power: f64 },
    Exponential { last: f64 },
    Cosine { last: f64 },
    Linear { last: f64 },
    Plateau(Plateau),
}

/// The factor falls when evaluations do not get better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    pub factor: f64,
    /// Evaluations in a row without improvement that are borne.
    pub patience: u64,
}

/// The history of evaluations; a lower value is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watch {
    /// The best value.
    pub best: f64,
    /// Evaluations in a row since then that were not better.
    pub without_improvement: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Watch { best: f64::INFINITY, without_improvement: 0 }
    }
}

impl Watch {
    /// Takes note of an evaluation. Returns whether it was better than the best by more than `min_delta`.
    pub fn evaluated(&mut self, value: f64, min_delta: f64) -> bool {
        let better = value < self.best - min_delta;
        match better {
            true => *self = Watch { best: value, without_improvement: 0 },
            false => self.without_improvement += 1,
        }
        better
    }
}

/// The state of a plateau schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlateauState {
    pub watch: Watch,
    pub factor: f64,
}

impl Default for PlateauState {
    fn default() -> Self {
        PlateauState { watch: Watch::default(), factor: 1.0 }
    }
}

impl PlateauState {
    /// Takes note of an evaluation; `loss` is to fall.
    pub fn evaluated(&mut self, loss: f64, plateau: Plateau) {
        self.watch.evaluated(loss, 0.0);
        if self.watch.without_improvement > plateau.patience {
            (self.factor, self.watch.without_improvement) = (self.factor * plateau.factor, 0);
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { kind: Kind::Constant, warm_up: 0.0, by_epoch: false }
    }
}

impl Schedule {
    /// The rest of a line `schedule type=…`.
    pub fn parse(line: &mut ConfigLine) -> Result<Schedule> {
        let kind = line.require_string("type")?;
        let warm_up = Keys { line }.get("warm-up", 0.0, keys::below_one)?;
        let by_epoch = match line.get_string("by").as_deref() {
            None | Some("minibatch") => false,
            Some("epoch") => true,
            Some(other) => {
                return Err(line.error(format!("by={other}: expected minibatch or epoch")).into());
            }
        };
        let kind = match &*kind {
            "constant" => Kind::Constant,
            "step" => {
                let at = numbers::<u64>(line, "at", "epochs such as 2,6")?;
                rising(line, &at)?;
                Kind::Step { at, factor: Keys { line }.get("factor", 0.1, keys::positive)? }
            }
            "set" => {
                let at = numbers::<u64>(line, "at", "epochs such as 2,6")?;
                rising(line, &at)?;
                let to = numbers::<f64>(line, "to", "rates such as .6,.4")?;
                if at.len() != to.len() || to.iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
                    let message = format!("expected as many rates in 'to' as epochs in 'at' ({})", at.len());
                    return Err(line.error(message).into());
                }
                Kind::Set { at, to }
            }
            "power" => {
                let every = line.get_dim("every")?.unwrap_or(1) as u64;
                Kind::Power { every, factor: Keys { line }.get("factor", 0.1, keys::positive)? }
            }
            "inverse" => Kind::Inverse { decay: required(line, "decay", keys::not_negative)? },
            "polynomial" => Kind::Polynomial { power: required(line, "power", keys::positive)? },
            "exponential" => Kind::Exponential { last: required(line, "final-factor", keys::positive)? },
            "cosine" => Kind::Cosine { last: Keys { line }.get("final-factor", 0.0, keys::not_negative)? },
            "linear" => Kind::Linear { last: Keys { line }.get("final-factor", 0.0, keys::not_negative)? },
            "plateau" => {
                let patience = line.get_i32("patience")?.unwrap_or(10);
                let Ok(patience) = u64::try_from(patience) else {
                    let message = format!("patience={patience}: expected a number that is not negative");
                    return Err(line.error(message).into());
                };
                let factor = Keys { line }.get("factor", 0.1, keys::below_one)?;
                Kind::Plateau(Plateau { factor, patience })
            }
            other => return Err(line.error(format!("type={other}: there are {TYPES}")).into()),
        };
        Ok(Schedule { kind, warm_up, by_epoch })
    }

    /// The plateau schedule, if it is one: it depends on evaluations.
    pub fn plateau(&self) -> Option<Plateau> {
        match self.kind {
            Kind::Plateau(plateau) => Some(plateau),
            _ => None,
        }
    }

    /// Returns the schedule's factor for a rate with the base value `base`, without the factor of a plateau.
    pub fn factor(&self, progress: Progress, base: f64) -> f64 {
        let (e, p, w) = (progress.epochs, progress.part(self.by_epoch), self.warm_up);
        // Progress of the rest after the warm-up, from 0 to 1.
        let q = if p < w { 0.0 } else { (p - w) / (1.0 - w) };
        let begun = |at: &[u64]| at.iter().filter(|&&at| at <= e).count();
        let factor = match &self.kind {
            Kind::Constant | Kind::Plateau(_) => 1.0,
            Kind::Step { at, factor } => factor.powi(begun(at) as i32),
            Kind::Set { at, to } => match begun(at) {
                0 => 1.0,
                count if base > 0.0 => to[count - 1] / base,
                _ => 1.0,
            },
            Kind::Power { every, factor } => factor.powi((e / every) as i32),
            Kind::Inverse { decay } => 1.0 / (1.0 + decay * e as f64),
            Kind::Polynomial { power } => (1.0 - q).powf(*power),
            Kind::Exponential { last } => last.powf(q),
            Kind::Cosine { last } => last + (1.0 - last) * 0.5 * (1.0 + (std::f64::consts::PI * q).cos()),
            Kind::Linear { last } => last + (1.0 - last) * (1.0 - q),
        };
        if p < w { factor * p / w } else { factor }
    }
}

fn required(
    line: &mut ConfigLine,
    key: &str,
    check: fn(f64) -> std::result::Result<(), &'static str>,
) -> Result<f64> {
    let value = Keys { line }.optional(key, check)?;
    Ok(value.ok_or_else(|| line.error(format!("'{key}' is missing")))?)
}

fn numbers<T: std::str::FromStr>(line: &mut ConfigLine, key: &str, what: &str) -> Result<Vec<T>> {
    let text = line.require_string(key)?;
    let parsed: Option<Vec<T>> = text.split(',').map(|piece| piece.trim().parse().ok()).collect();
    Ok(parsed.ok_or_else(|| line.error(format!("{key}={text}: expected {what}")))?)
}

fn rising(line: &ConfigLine, at: &[u64]) -> Result<()> {
    match at.is_sorted_by(|a, b| a < b) {
        true => Ok(()),
        false => Err(line.error("the epochs in 'at' must rise").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Schedule {
        let mut line = ConfigLine::parse("rules:1", format!("schedule type={text}")).unwrap();
        let schedule = Schedule::parse(&mut line).unwrap();
        line.finish().unwrap();
        schedule
    }

    /// Compares with values of neon and PyTorch, by epochs.
    #[test]
    fn values_of_ten_epochs() {
        for (text, expected) in [
            ("constant", [1.0; 10]),
            ("step at=2,6 factor=.5", [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]),
            ("set at=2,6 to=.6,.4", [1.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.4, 0.4, 0.4, 0.4]),
            ("power every=3 factor=.5", [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]),
            (
                "inverse decay=.3",
                [1.0, 0.769231, 0.625, 0.526316, 0.454545, 0.4, 0.357143, 0.322581, 0.294118, 0.27027],
            ),
            (
                "polynomial power=.7",
                [
                    1.0, 0.928902, 0.855388, 0.779056, 0.699368, 0.615572, 0.526553, 0.430512, 0.324131,
                    0.199526,
                ],
            ),
            (
                "exponential final-factor=.1",
                [
                    1.0, 0.794328, 0.630957, 0.501187, 0.398107, 0.316228, 0.251189, 0.199526, 0.158489,
                    0.125893,
                ],
            ),
            (
                "cosine",
                [1.0, 0.975528, 0.904508, 0.793893, 0.654508, 0.5, 0.345492, 0.206107, 0.0954915, 0.0244717],
            ),
            (
                "cosine warm-up=.2 final-factor=.1",
                [0.0, 0.5, 1.0, 0.965746, 0.868198, 0.722208, 0.55, 0.377792, 0.231802, 0.134254],
            ),
            ("linear warm-up=.2", [0.0, 0.5, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]),
        ] {
            for (epochs, expected) in expected.into_iter().enumerate() {
                let progress = Progress { epochs: epochs as u64, of: 10, within: 0.0 };
                let found = schedule(text).factor(progress, 1.0);
                assert!((found - expected).abs() < 1e-6, "{text}, epoch {epochs}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn within_an_epoch() {
        let progress = Progress { epochs: 2, of: 4, within: 0.5 };
        assert_eq!(schedule("linear").factor(progress, 1.0), 0.375);
        assert_eq!(schedule("linear by=epoch").factor(progress, 1.0), 0.5);
        assert_eq!(schedule("set at=2 to=.3").factor(progress, 0.1), 0.3 / 0.1);
    }

    #[test]
    fn a_plateau_waits_for_more_than_its_patience() {
        let (plateau, mut state) = (Plateau { factor: 0.5, patience: 2 }, PlateauState::default());
        let factors: Vec<f64> = [3.0, 2.0, 2.0, 2.5, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
            .map(|loss| {
                state.evaluated(loss, plateau);
                state.factor
            })
            .to_vec();
        assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25]);
    }

    #[test]
    fn mistakes() {
        for (text, message) in [
            ("cosin", "there are constant, step"),
            ("step at=6,2", "must rise"),
            ("set at=2 to=1,2", "as many rates"),
            ("cosine warm-up=1.5", "below 1"),
            ("polynomial", "'power' is missing"),
            ("linear by=day", "expected minibatch or epoch"),
        ] {
            let mut line = ConfigLine::parse("rules:7", format!("schedule type={text}")).unwrap();
            let error = Schedule::parse(&mut line).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains("rules:7"), "{text}: {error}");
        }
    }
}
