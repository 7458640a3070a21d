//! A count of rows that the host knows, until it is scaled or added to by a factor that only the device knows.

use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_matrix::{Accumulator, Backend, Factor};

/// The count is `here`, plus the single sum in `there` if `is_there`.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    here: f64,
    there: Accumulator,
    is_there: bool,
}

impl Tally {
    pub fn new(value: f64) -> Tally {
        Tally { here: value, ..Default::default() }
    }

    /// The count; waits for the device if it has a part of it.
    pub fn value(&self) -> f64 {
        if self.is_there { self.here + self.there.values()[0] } else { self.here }
    }

    /// The count, if the host has all of it.
    pub fn known(&self) -> Option<f64> {
        (!self.is_there).then_some(self.here)
    }

    /// True if the count is certainly 0. False may be wrong: a part on the device may have been multiplied by 0.
    pub fn is_zero(&self) -> bool {
        self.known() == Some(0.0)
    }

    /// All of the count as a sum of the device, at place 0.
    pub fn on_device(&mut self) -> &mut Accumulator {
        if self.here != 0.0 || !self.is_there {
            self.there.add(1.0, &Accumulator::from_vec(vec![std::mem::take(&mut self.here)]));
            self.is_there = true;
        }
        &mut self.there
    }

    pub fn increase(&mut self, by: f64) {
        self.here += by;
    }

    /// Multiplies the count; a factor of 0 gives exactly zero.
    pub fn scale(&mut self, factor: f64) {
        self.here = if factor == 0.0 { 0.0 } else { self.here * factor };
        self.there.scale(factor);
        self.is_there &= factor != 0.0;
    }

    /// Takes or puts back both parts of the count.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        keeper.number(&mut self.here)?;
        keeper.flag(&mut self.is_there)?;
        if self.is_there { keeper.sums(&mut self.there, 1) } else { Ok(()) }
    }

    pub fn add(&mut self, alpha: f64, other: &Tally) {
        self.here += alpha * other.here;
        if other.is_there {
            self.there.add(alpha, &other.there);
            self.is_there = true;
        }
    }

    /// As [`Tally::scale`], by a factor that lies on the device.
    pub fn scale_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        if let Some(factor) = backend.value_at_once(factor) {
            return self.scale(factor.into());
        }
        if self.is_there {
            backend.scale_sums_by(&mut self.there, factor);
        }
        let here = std::mem::take(&mut self.here);
        self.add_times(backend, here, factor);
    }

    /// As [`Tally::add`], with an alpha that lies on the device. An alpha of 0 adds zero.
    pub fn add_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &Tally) {
        if let Some(alpha) = backend.value_at_once(alpha) {
            return self.add(alpha.into(), other);
        }
        if other.is_there {
            backend.add_sums_by(&mut self.there, alpha, &other.there);
            self.is_there = true;
        }
        self.add_times(backend, other.here, alpha);
    }

    /// Adds a number times a factor of the device.
    fn add_times(&mut self, backend: &dyn Backend, number: f64, factor: Factor<'_>) {
        if number == 0.0 {
            return;
        }
        if self.there.is_empty() {
            self.there = Accumulator::zeros(1);
        }
        backend.accumulate_row(&mut self.there, 0, number * f64::from(factor.times), factor.element);
        self.is_there = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Component, Properties, Update, registry};
    use nnet3_matrix::{Factor, Matrix};

    /// Returns a component after a forward and a backward pass that stored statistics.
    fn used(harness: &Harness, config: &str) -> Option<Box<dyn Component>> {
        let mut component = component(config);
        if !component.properties().contains(Properties::SIMPLE) {
            return None;
        }
        let input = random_matrix(&harness.random, 6, component.input_dim());
        let forward = harness.forward(&*component, None, &input, 6);
        component.store_stats(harness.context(), input.view(), forward.output.view(), forward.memo.view());
        let out_deriv = random_matrix(&harness.random, 6, component.output_dim());
        harness.backward(&mut *component, None, &input, &forward, &out_deriv, Update::Own);
        Some(component)
    }

    /// Parameters and statistics of each type follow a factor of the device as they do one of the host.
    #[test]
    fn each_type_takes_factors_of_the_device() {
        let harness = Harness::new();
        let mut count = 0;
        for entry in registry::types() {
            let config = format!("type={} {}", entry.name, entry.example);
            let Some(more) = used(&harness, &config) else { continue };
            for number in [0.0f32, 0.5, 3.0] {
                let element = Matrix::from_vec(1, 1, vec![number]);
                let factor = Factor { times: 1.0, element: element.view() };
                let (mut expected, mut found) = (more.clone_box(), more.clone_box());
                if number != 0.0 {
                    expected.add(number, &*more);
                }
                found.add_by(&*harness.device, factor, &*more);
                assert_eq!(written_text(&*found), written_text(&*expected), "{config}: add {number}");
                expected.scale(number);
                found.scale_by(&*harness.device, factor);
                assert_eq!(written_text(&*found), written_text(&*expected), "{config}: scale {number}");
            }
            count += 1;
        }
        assert!(count > 30, "{count} types");
    }
}
