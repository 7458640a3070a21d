//! Dropout and DropoutMask components: random zeros in the input, and random masks without an input. Neither rescales
//! the values it keeps.

use crate::capabilities::{DropoutMode, Indexed};
use crate::declared::*;
use crate::parameters::copy_unless_same;
use crate::parameters::{DIM, OUTPUT_DIM};
use crate::{Backprop, Component, ComponentType, Context, Propagate, Properties, Update};
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_matrix::{Map, ViewMut};

pub const TYPES: &[&ComponentType] = &[Dropout::TYPE, DropoutMask::TYPE];

const PROPORTION: Field<f32> =
    field("dropout-proportion", "<DropoutProportion>", "probability of a zero").range(FROM_0_TO_1);
const PER_FRAME: Field<bool> =
    field("dropout-per-frame", "<DropoutPerFrame>", "zero whole rows").or(false).may_miss();
const TEST_MODE: Field<bool> =
    field("test-mode", "<TestMode>", "no random zeros").or(false).may_miss().hidden();
const CONTINUOUS: Field<bool> =
    field("continuous", "<Continuous>", "uniform numbers between 1-2p and 1+2p instead of zeros and ones")
        .or(false)
        .flag();

/// dst = 1 where dst > threshold, else 0.
fn above(context: Context<'_>, dst: ViewMut<'_>, threshold: f32) {
    context.backend.map(dst, dst.as_view(), Map::Affine { scale: 1.0, offset: -threshold });
    context.backend.map(dst, dst.as_view(), Map::Heaviside);
}

#[derive(Clone, Debug)]
pub struct Dropout {
    dim: usize,
    proportion: f32,
    per_frame: bool,
    test_mode: bool,
}

impl Dropout {
    pub fn proportion(&self) -> f32 {
        self.proportion
    }
}

impl Declared for Dropout {
    const TYPE: &'static ComponentType = &ComponentType::of::<Dropout>(
        "DropoutComponent",
        "Zeroes random elements or rows; in test mode multiplies by the proportion that is kept.",
        "dim=4 dropout-proportion=0.25",
    );

    fn fields(f: &mut Fields<'_, Dropout>) -> Result<Option<Dropout>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let proportion = f.get(&PROPORTION, |c| c.proportion)?;
        let per_frame = f.get(&PER_FRAME, |c| c.per_frame)?;
        let test_mode = f.get(&TEST_MODE, |c| c.test_mode)?;
        f.done(Dropout { dim, proportion, per_frame, test_mode })
    }
}

impl Component for Dropout {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::BACKPROP_IN_PLACE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_NEEDS_OUTPUT
            | Properties::RANDOM
    }
    fn as_dropout_mut(&mut self) -> Option<&mut dyn DropoutMode> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let backend = context.backend;
        if self.proportion == 0.0 {
            if !self.test_mode {
                // Draws a key all the same, so that the draws of other components do not depend on this proportion.
                context.random.key();
            }
            return backend.copy(output, input);
        }
        if self.test_mode {
            return backend.copy_scaled(output, 1.0 - self.proportion, input);
        }
        if self.per_frame {
            let mut kept = context.workspace.take(output.rows(), 1);
            let kept = kept.view_mut();
            backend.fill_uniform(kept, context.random.key());
            above(context, kept, self.proportion);
            backend.copy(output, input);
            backend.scale_rows(output, kept.as_view());
        } else {
            backend.fill_uniform(output, context.random.key());
            above(context, output, self.proportion);
            backend.multiply(output, input);
        }
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        match args.in_deriv {
            Some(in_deriv) if self.proportion == 0.0 => copy_unless_same(context, in_deriv, args.out_deriv),
            Some(in_deriv) => {
                context.backend.multiply_by_ratio(in_deriv, args.out_deriv, args.out_value, args.in_value)
            }
            None => {}
        }
    }
}

impl DropoutMode for Dropout {
    fn set_test_mode(&mut self, on: bool) {
        self.test_mode = on;
    }

    fn set_proportion(&mut self, proportion: f32) -> bool {
        self.proportion = proportion;
        true
    }
}

#[derive(Clone, Debug)]
struct DropoutMask {
    output_dim: usize,
    proportion: f32,
    continuous: bool,
    test_mode: bool,
}

impl Declared for DropoutMask {
    const TYPE: &'static ComponentType = &ComponentType::of::<DropoutMask>(
        "DropoutMaskComponent",
        "Produces random dropout masks; has no input.",
        "output-dim=3 dropout-proportion=0.25",
    );

    fn fields(f: &mut Fields<'_, DropoutMask>) -> Result<Option<DropoutMask>> {
        const COLUMNS: Field<usize> =
            OUTPUT_DIM.meaning("number of columns; with 2 or 3 the first two are never both zero");
        const MEAN: Field<bool> = TEST_MODE.meaning("the mean instead of random numbers");
        let output_dim = f.get(&COLUMNS, |c| c.output_dim)?;
        let proportion = f.get(&PROPORTION.or(0.5), |c| c.proportion)?;
        let continuous = f.key(&CONTINUOUS)?;
        let test_mode = f.get(&MEAN, |c| c.test_mode)?;
        let continuous = f.stored(&CONTINUOUS, continuous, |c| c.continuous)?;
        f.done(DropoutMask { output_dim, proportion, continuous, test_mode })
    }
}

impl Component for DropoutMask {
    /// There is no input; the reference returns this dimension.
    fn input_dim(&self) -> usize {
        self.output_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::RANDOM
    }
    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }
    fn as_dropout_mut(&mut self) -> Option<&mut dyn DropoutMode> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { output, .. }: Propagate<'_>) {
        let (p, backend) = (self.proportion, context.backend);
        if p == 0.0 || (self.continuous && self.test_mode) {
            return backend.set(output, 1.0);
        }
        if self.test_mode {
            return backend.set(output, 1.0 - p);
        }
        backend.fill_uniform(output, context.random.key());
        if self.continuous {
            return backend.map(
                output,
                output.as_view(),
                Map::Affine { scale: 4.0 * p, offset: 1.0 - 2.0 * p },
            );
        }
        if matches!(self.output_dim, 2 | 3) {
            // From one u per row: u for the first column and 1 - u for the second, so that with p < 0.5 they are never
            // both zero.
            let mut uniform = context.workspace.take(output.rows(), 1);
            let uniform = uniform.view_mut();
            backend.fill_uniform(uniform, context.random.key());
            let mirrored = Map::Affine { scale: -1.0, offset: 1.0 };
            copy_unless_same(context, output.col_range(0..1), uniform.as_view());
            backend.map(output.col_range(1..2), uniform.as_view(), mirrored);
        }
        above(context, output, p);
    }
    fn backprop(&mut self, _context: Context<'_>, _args: Backprop<'_>, _update: Update<'_>) {}
}

impl Indexed for DropoutMask {
    fn input_indexes(&self, _output: Index, _inputs: &mut Vec<Index>) {}
}

impl DropoutMode for DropoutMask {
    fn set_test_mode(&mut self, on: bool) {
        self.test_mode = on;
    }

    fn set_proportion(&mut self, proportion: f32) -> bool {
        self.proportion = proportion;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=DropoutComponent dim=6 dropout-proportion=0.4");
        check_component("type=DropoutComponent dim=6 dropout-proportion=0.4 dropout-per-frame=true");
        check_component("type=DropoutComponent dim=6 dropout-proportion=0.4 test-mode=true");
        check_component("type=DropoutComponent dim=6 dropout-proportion=0");
        check_component(
            "type=DropoutComponent dim=6 dropout-proportion=0 dropout-per-frame=true test-mode=true",
        );
        for keys in ["", " continuous=true", " test-mode=true"] {
            let c = component(&format!("type=DropoutMaskComponent output-dim=2{keys}"));
            round_trip(&*c);
        }
    }

    #[test]
    fn reads_older_forms() {
        let start = "<DropoutComponent> <Dim> 2 <DropoutProportion> 0.5 ";
        let expected = format!("{start}<DropoutPerFrame> T <TestMode> F </DropoutComponent> ");
        let c = from_text(&format!("{start}<DropoutPerFrame> T </DropoutComponent> "));
        assert_eq!(written_text(&*c), expected);
        let c = from_text(&format!("{start}</DropoutComponent> "));
        assert_eq!(written_text(&*c), expected.replace("Frame> T", "Frame> F"));
        let start = "<DropoutMaskComponent> <OutputDim> 2 <DropoutProportion> 0.5 ";
        let c = from_text(&format!("{start}<Continuous> </DropoutMaskComponent> "));
        assert_eq!(written_text(&*c), format!("{start}<TestMode> F <Continuous> </DropoutMaskComponent> "));
        assert_eq!(
            c.info(false),
            "DropoutMaskComponent, output-dim=2, dropout-proportion=0.5, continuous=true"
        );
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=DropoutComponent dim=2", "'dropout-proportion' is missing");
        refused("type=DropoutComponent dim=2 dropout-proportion=1.5", "from 0 to 1");
        refused("type=DropoutMaskComponent", "'output-dim' is missing");
        refused("type=DropoutMaskComponent output-dim=2 dropout-proportion=-1", "from 0 to 1");
        read_refused("<DropoutComponent> <Dim> 2 <DropoutProportion> 2 ", "from 0 to 1");
    }

    fn output(config: &str, input: &Matrix) -> Vec<f32> {
        let (harness, c) = (Harness::new(), component(config));
        harness.forward(&*c, None, input, input.rows()).output.to_vec()
    }

    #[test]
    fn zeros_as_often_as_asked() {
        let input = filled(1000, 20, 3.0);
        let values = output("type=DropoutComponent dim=20 dropout-proportion=0.3", &input);
        assert!(values.iter().all(|&v| v == 0.0 || v == 3.0));
        let zeros = values.iter().filter(|&&v| v == 0.0).count();
        assert!((5700..6300).contains(&zeros), "{zeros}");

        let values =
            output("type=DropoutComponent dim=20 dropout-proportion=0.3 dropout-per-frame=true", &input);
        assert!(values.chunks(20).all(|row| row.iter().all(|&v| v == row[0])));
        let zeros = values.chunks(20).filter(|row| row[0] == 0.0).count();
        assert!((240..360).contains(&zeros), "{zeros}");
        for (p, value) in [(0, 3.0), (1, 0.0)] {
            let values = output(&format!("type=DropoutComponent dim=20 dropout-proportion={p}"), &input);
            assert!(values.iter().all(|&v| v == value));
        }
    }

    fn mask(config: &str, rows: usize, dim: usize) -> Vec<f32> {
        let mut c = component(&format!("type=DropoutMaskComponent output-dim={dim} {config}"));
        let harness = Harness::new();
        let first = harness.forward(&*c, None, &Matrix::empty(), rows).output.to_vec();
        assert!(c.set_dropout_test_mode(true));
        let test = harness.forward(&*c, None, &Matrix::empty(), rows).output.to_vec();
        let mean = if config.contains("continuous") { 1.0 } else { 0.7 };
        assert!(test.iter().all(|&v| (v - mean).abs() < 1e-6));
        first
    }

    #[test]
    fn masks() {
        let values = mask("dropout-proportion=0.3", 1000, 3);
        let zeros = |j: usize| values.chunks(3).filter(|row| row[j] == 0.0).count();
        assert!((0..3).all(|j| (240..360).contains(&zeros(j))));
        assert!(values.chunks(3).all(|row| row[0] + row[1] > 0.0), "the first two are both zero somewhere");
        assert!(values.chunks(3).any(|row| row[2] == 0.0 && row[0] == 0.0));
        let values = mask("dropout-proportion=0.3", 1000, 4);
        assert!(values.chunks(4).any(|row| row[0] + row[1] == 0.0));
        let values = mask("dropout-proportion=0.3 continuous=true", 1000, 4);
        assert!(values.iter().all(|&v| v > 0.4 && v < 1.6));
        let mean = values.iter().sum::<f32>() / 4000.0;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn proportion_can_be_set() {
        let mut c = component("type=DropoutMaskComponent output-dim=2");
        assert!(c.set_dropout_proportion(0.0));
        let harness = Harness::new();
        assert_eq!(harness.forward(&*c, None, &Matrix::empty(), 2).output.to_vec(), [1.0; 4]);
        assert!(c.is_computable(Index::new(0, 0, 0), &|_| false, None));
        let mut c = component("type=DropoutComponent dim=2 dropout-proportion=0.5");
        assert!(c.set_dropout_proportion(0.25));
        assert!(c.info(false).contains("dropout-proportion=0.25"));
    }
}
