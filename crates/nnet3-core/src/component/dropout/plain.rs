//! Dropout and DropoutMask components: random zeros in the input, and random masks without an input. Neither rescales
//! the values it keeps.

use crate::component::fields::{self, key};
use crate::component::parameters::copy_unless_same;
use crate::component::{
    Backprop, Component, ComponentType, Context, Kind, PrecomputedIndexes, Properties, Update,
};
use crate::config::ConfigLine;
use crate::error::Result;
use crate::index::Index;
use crate::text::number;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{Map, View, ViewMut};

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: "DropoutComponent",
        purpose: "Zeroes random elements or rows; in test mode multiplies by the proportion that is kept.",
        keys: &[
            key("dim", Kind::Int, "", "number of columns of input and output"),
            key("dropout-proportion", Kind::Float, "", "probability of a zero"),
            key("dropout-per-frame", Kind::Bool, "false", "zero whole rows"),
            key("test-mode", Kind::Bool, "false", "no random zeros"),
        ],
        updatable: false,
        example: "dim=4 dropout-proportion=0.25",
        from_config: |line, _| Dropout::from_config(line),
        read: Dropout::read,
    },
    ComponentType {
        name: "DropoutMaskComponent",
        purpose: "Produces random dropout masks; has no input.",
        keys: &[
            key(
                "output-dim",
                Kind::Int,
                "",
                "number of columns; with 2 or 3 the first two are never both zero",
            ),
            key("dropout-proportion", Kind::Float, "0.5", "probability of a zero"),
            key(
                "continuous",
                Kind::Bool,
                "false",
                "uniform numbers between 1-2p and 1+2p instead of zeros and ones",
            ),
            key("test-mode", Kind::Bool, "false", "the mean instead of random numbers"),
        ],
        updatable: false,
        example: "output-dim=3 dropout-proportion=0.25",
        from_config: |line, _| DropoutMask::from_config(line),
        read: DropoutMask::read,
    },
];

/// dst = 1 where dst > threshold, else 0.
fn above(context: Context<'_>, dst: ViewMut<'_>, threshold: f32) {
    context.backend.map(dst, dst.as_view(), Map::Affine { scale: 1.0, offset: -threshold });
    context.backend.map(dst, dst.as_view(), Map::Heaviside);
}

#[derive(Clone, Debug)]
pub(crate) struct Dropout {
    dim: usize,
    proportion: f32,
    per_frame: bool,
    test_mode: bool,
}

impl Dropout {
    pub fn proportion(&self) -> f32 {
        self.proportion
    }

    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        let dim = line.require_dim("dim")?;
        let proportion = line.require_f32("dropout-proportion")?;
        Ok(Box::new(Dropout {
            dim,
            proportion: fields::proportion(line, "dropout-proportion", proportion)?,
            per_frame: line.get_bool("dropout-per-frame")?.unwrap_or(false),
            test_mode: line.get_bool("test-mode")?.unwrap_or(false),
        }))
    }

    /// The two switches may be missing (false).
    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let dim = fields::read_dim(r, "<Dim>")?;
        let proportion = fields::read_f32(r, "<DropoutProportion>")?;
        fields::check_proportion(r, "<DropoutProportion>", proportion)?;
        let per_frame = fields::optional_bool(r, "<DropoutPerFrame>")?;
        let test_mode = fields::optional_bool(r, "<TestMode>")?;
        r.expect_token("</DropoutComponent>")?;
        Ok(Box::new(Dropout { dim, proportion, per_frame, test_mode }))
    }
}

impl Component for Dropout {
    fn type_name(&self) -> &'static str {
        "DropoutComponent"
    }

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
    fn info(&self, _detailed: bool) -> String {
        let proportion = number(self.proportion as f64);
        let per_frame = self.per_frame;
        format!(
            "DropoutComponent, dim={}, dropout-proportion={proportion}, dropout-per-frame={per_frame}",
            self.dim
        )
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<DropoutComponent>")?;
        fields::write_dim(w, "<Dim>", self.dim)?;
        fields::write_f32(w, "<DropoutProportion>", self.proportion)?;
        fields::write_bool(w, "<DropoutPerFrame>", self.per_frame)?;
        fields::write_bool(w, "<TestMode>", self.test_mode)?;
        w.write_token("</DropoutComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
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
    fn set_dropout_test_mode(&mut self, on: bool) -> bool {
        self.test_mode = on;
        true
    }
    fn set_dropout_proportion(&mut self, proportion: f32) -> bool {
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

impl DropoutMask {
    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        let output_dim = line.require_dim("output-dim")?;
        let proportion = line.get_f32("dropout-proportion")?.unwrap_or(0.5);
        Ok(Box::new(DropoutMask {
            output_dim,
            proportion: fields::proportion(line, "dropout-proportion", proportion)?,
            continuous: line.get_bool("continuous")?.unwrap_or(false),
            test_mode: line.get_bool("test-mode")?.unwrap_or(false),
        }))
    }

    /// `<TestMode>` may be missing (false).
    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let output_dim = fields::read_dim(r, "<OutputDim>")?;
        let proportion = fields::read_f32(r, "<DropoutProportion>")?;
        fields::check_proportion(r, "<DropoutProportion>", proportion)?;
        let test_mode = fields::optional_bool(r, "<TestMode>")?;
        let continuous = r.accept_token("<Continuous>")?;
        r.expect_token("</DropoutMaskComponent>")?;
        Ok(Box::new(DropoutMask { output_dim, proportion, continuous, test_mode }))
    }
}

impl Component for DropoutMask {
    fn type_name(&self) -> &'static str {
        "DropoutMaskComponent"
    }

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
    fn info(&self, _detailed: bool) -> String {
        let proportion = number(self.proportion as f64);
        let continuous = if self.continuous { ", continuous=true" } else { "" };
        format!(
            "DropoutMaskComponent, output-dim={}, dropout-proportion={proportion}{continuous}",
            self.output_dim
        )
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<DropoutMaskComponent>")?;
        fields::write_dim(w, "<OutputDim>", self.output_dim)?;
        fields::write_f32(w, "<DropoutProportion>", self.proportion)?;
        fields::write_bool(w, "<TestMode>", self.test_mode)?;
        if self.continuous {
            w.write_token("<Continuous>")?;
        }
        w.write_token("</DropoutMaskComponent>")?;
        Ok(())
    }
    fn input_indexes(&self, _output: Index, _inputs: &mut Vec<Index>) {}
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        _input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
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
    fn set_dropout_test_mode(&mut self, on: bool) -> bool {
        self.test_mode = on;
        true
    }
    fn set_dropout_proportion(&mut self, proportion: f32) -> bool {
        self.proportion = proportion;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::testing::*;
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
