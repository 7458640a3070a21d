//! The objective value of an output.

use nnet3_core::snapshot::Keeper;

/// Sums over frames: the objective, and its divisor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ObjectiveValue {
    pub objective: f64,
    /// Terms of the objective that are reported separately, such as a penalty on large outputs.
    pub auxiliary: f64,
    pub weight: f64,
}

impl ObjectiveValue {
    /// Takes or puts back the sums.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> nnet3_core::Result<()> {
        let ObjectiveValue { objective, auxiliary, weight } = self;
        [objective, auxiliary, weight].into_iter().try_for_each(|sum| keeper.number(sum))
    }

    /// The objective per frame, without auxiliary terms.
    pub fn average(&self) -> f64 {
        self.objective / self.weight
    }

    /// The average of all that is maximised, per frame.
    pub fn total_average(&self) -> f64 {
        (self.objective + self.auxiliary) / self.weight
    }
}

impl std::ops::AddAssign for ObjectiveValue {
    fn add_assign(&mut self, other: ObjectiveValue) {
        self.objective += other.objective;
        self.auxiliary += other.auxiliary;
        self.weight += other.weight;
    }
}
