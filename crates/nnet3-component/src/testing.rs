//! Helpers for the tests of every component: runs on host data, round trips, finite differences.
//!
//! [`check_component`] is the usual entry; [`Check`] sets rows, inputs and index lists if the defaults do not fit.

pub mod by_index;

use super::{Backprop, Component, Context, PrecomputedIndexes, Propagate, Properties, Update, registry};
use crate::plain::Plain;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_matrix::{Device, Matrix, View, ViewMut, Workspace};

/// Checks the component that `config` (`type=T key=value …`) describes: round trips in both modes, in-place and strided
/// runs, and derivatives.
pub fn check_component(config: &str) {
    Check::new(config).run();
}

/// As [`check_component`]; `edit` changes the random input, for instance to keep it away from kinks.
pub fn check_component_with(config: &str, edit: impl Fn(&mut [f32])) {
    Check::new(config).input(edit).run();
}

/// The component of `type=T key=value …`.
pub fn try_component(config: &str) -> Result<Box<dyn Component>> {
    let mut line = ConfigLine::parse("test:1", config)?;
    let name = line.require_string("type")?;
    registry::from_config(&name, &mut line, &Random::new(1))
}

pub fn component(config: &str) -> Box<dyn Component> {
    try_component(config).unwrap_or_else(|e| panic!("{config}: {e}"))
}

/// Asserts that `config` is refused with a message that contains `part`.
#[track_caller]
pub fn refused(config: &str, part: &str) {
    let message = match try_component(config) {
        Ok(_) => panic!("{config}: expected an error"),
        Err(e) => e.to_string(),
    };
    assert!(message.contains(part), "{config}: {message}");
}

// ---- on disk ---------------------------------------------------------------------------------------------------

pub fn written(component: &dyn Component, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    component.write(&mut w).unwrap();
    w.into_bytes()
}

pub fn written_text(component: &dyn Component) -> String {
    String::from_utf8(written(component, false)).unwrap()
}

/// Reads exactly one component.
pub fn try_read(bytes: &[u8], binary: bool) -> Result<Box<dyn Component>> {
    let mut r = KaldiReader::from_bytes("test", bytes.to_vec());
    r.set_binary(binary);
    let component = registry::read(&mut r)?;
    r.skip_whitespace()?;
    assert!(r.at_eof()?, "{}: something left after the component", component.type_name());
    Ok(component)
}

/// The component of a text form.
pub fn from_text(text: &str) -> Box<dyn Component> {
    try_read(text.as_bytes(), false).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Asserts that the text form is refused with a message that contains `part`.
#[track_caller]
pub fn read_refused(text: &str, part: &str) {
    let message = match try_read(text.as_bytes(), false) {
        Ok(_) => panic!("{text}: expected an error"),
        Err(e) => e.to_string(),
    };
    assert!(message.contains(part), "{text}: {message}");
}

/// Writes, reads and writes again, in both modes; a copy must be written the same.
pub fn round_trip(component: &dyn Component) {
    for binary in [true, false] {
        let first = written(component, binary);
        let again = try_read(&first, binary).unwrap_or_else(|e| panic!("{}: {e}", component.type_name()));
        assert_eq!(again.type_name(), component.type_name());
        assert_eq!((again.input_dim(), again.output_dim()), (component.input_dim(), component.output_dim()));
        assert_eq!(again.properties(), component.properties(), "properties after reading");
        assert!(written(&*again, binary) == first, "{}: written again differs", component.type_name());
        assert!(
            written(&*component.clone_box(), binary) == first,
            "{}: a copy differs",
            component.type_name()
        );
        if binary {
            assert_eq!(again.info(false), component.info(false));
        }
    }
    truncated(component);
}

/// Checks that every truncation of a file gives an error.
fn truncated(component: &dyn Component) {
    for binary in [true, false] {
        let bytes = written(component, binary);
        let end = bytes.len() - "</>".len() - component.type_name().len();
        for length in (0..end).step_by(1 + end / 200) {
            let mut r = KaldiReader::from_bytes("test", bytes[..length].to_vec());
            r.set_binary(binary);
            assert!(registry::read(&mut r).is_err(), "{} bytes of {}", length, component.type_name());
        }
    }
}

// ---- running ---------------------------------------------------------------------------------------------------

/// A context on the host.
pub struct Harness {
    pub device: Device,
    pub workspace: Workspace,
    pub random: Random,
}

/// The results of one propagate.
pub struct Forward {
    pub output: Matrix,
    pub memo: Matrix,
}

impl Default for Harness {
    fn default() -> Harness {
        Harness::new()
    }
}

impl Harness {
    pub fn new() -> Harness {
        let device = nnet3_matrix::cpu();
        Harness { workspace: Workspace::new(&device), device, random: Random::new(7) }
    }

    pub fn context(&self) -> Context<'_> {
        Context { backend: &*self.device, workspace: &self.workspace, random: &self.random }
    }

    /// Propagates into an output that holds NaN before, or zeros if the component adds.
    pub fn forward(
        &self,
        component: &dyn Component,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: &Matrix,
        output_rows: usize,
    ) -> Forward {
        let start = if component.properties().contains(Properties::PROPAGATE_ADDS) { 0.0 } else { f32::NAN };
        let mut output = filled(output_rows, component.output_dim(), start);
        let (rows, cols) = component.memo_shape(indexes, output_rows);
        let mut memo = filled(rows, cols, f32::NAN);
        let args = Propagate {
            indexes,
            input: input.view(),
            output: output.view_mut(),
            memo: memo.view_mut(),
            sets: false,
        };
        component.propagate(self.context(), args);
        Forward { output, memo }
    }

    /// Input derivative; the component gets the input and output only if it asks for them.
    pub fn backward(
        &self,
        component: &mut dyn Component,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: &Matrix,
        forward: &Forward,
        out_deriv: &Matrix,
        update: Update<'_>,
    ) -> Matrix {
        let properties = component.properties();
        let start = if properties.contains(Properties::BACKPROP_ADDS) { 0.0 } else { f32::NAN };
        let mut in_deriv = filled(input.rows(), input.cols(), start);
        let args = Backprop {
            name: "test",
            indexes,
            in_value: if properties.contains(Properties::BACKPROP_NEEDS_INPUT) {
                input.view()
            } else {
                View::empty()
            },
            out_value: if properties.contains(Properties::BACKPROP_NEEDS_OUTPUT) {
                forward.output.view()
            } else {
                View::empty()
            },
            out_deriv: out_deriv.view(),
            memo: forward.memo.view(),
            in_deriv: Some(in_deriv.view_mut()),
            sets: false,
            taps: None,
        };
        component.backprop(self.context(), args, update);
        in_deriv
    }
}

pub fn filled(rows: usize, cols: usize, value: f32) -> Matrix {
    Matrix::from_vec(rows, cols, vec![value; rows * cols])
}

pub fn random_matrix(random: &Random, rows: usize, cols: usize) -> Matrix {
    Matrix::from_vec(rows, cols, random.normal_vec(rows * cols, 0.0, 1.0))
}

/// The Frobenius norm of the difference, relative to that of `b`.
pub fn relative_difference(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |v: f64| v * v;
    let difference: f64 = a.iter().zip(b).map(|(&a, &b)| square(a as f64 - b as f64)).sum();
    let norm: f64 = b.iter().map(|&b| square(b as f64)).sum();
    if difference == 0.0 { 0.0 } else { (difference / norm).sqrt() }
}

#[track_caller]
pub fn assert_near(a: &[f32], b: &[f32], tolerance: f64, what: &str) {
    let difference = relative_difference(a, b);
    assert!(difference <= tolerance, "{what}: relative difference {difference}\n{a:?}\n{b:?}");
}

// ---- the check -------------------------------------------------------------------------------------------------

type Edit<'a, T> = Box<dyn Fn(&mut T) + 'a>;

/// A check with other than default settings; ends with [`Check::run`].
pub struct Check<'a> {
    config: &'a str,
    rows: usize,
    edit_input: Option<Edit<'a, [f32]>>,
    edit_component: Option<Edit<'a, dyn Component>>,
    index_lists: Option<(Vec<Index>, Vec<Index>)>,
    tolerance: f64,
    step: f32,
}

impl<'a> Check<'a> {
    pub fn new(config: &'a str) -> Check<'a> {
        Check {
            config,
            rows: 5,
            edit_input: None,
            edit_component: None,
            index_lists: None,
            tolerance: 5e-3,
            step: 1e-2,
        }
    }

    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }
    /// Changes the random input.
    pub fn input(mut self, edit: impl Fn(&mut [f32]) + 'a) -> Self {
        self.edit_input = Some(Box::new(edit));
        self
    }
    /// Changes the new component.
    pub fn component(mut self, edit: impl Fn(&mut dyn Component) + 'a) -> Self {
        self.edit_component = Some(Box::new(edit));
        self
    }
    /// Index lists of a non-simple component; they replace [`Check::rows`].
    pub fn indexes(mut self, inputs: Vec<Index>, outputs: Vec<Index>) -> Self {
        self.index_lists = Some((inputs, outputs));
        self
    }
    /// Largest relative difference of analytic and numeric derivatives.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }
    /// Step of the central differences.
    pub fn step(mut self, step: f32) -> Self {
        self.step = step;
        self
    }

    pub fn run(self) {
        let mut component = component(self.config);
        if let Some(edit) = &self.edit_component {
            edit(&mut *component);
        }
        round_trip(&*component);

        let (mut inputs, mut outputs) = match &self.index_lists {
            Some(lists) => lists.clone(),
            None => {
                let rows: Vec<Index> = (0..self.rows as i32).map(|t| Index::new(0, t, 0)).collect();
                (rows.clone(), rows)
            }
        };
        component.reorder_indexes(&mut inputs, &mut outputs).unwrap();
        let indexes = component.precompute_indexes(&inputs, &outputs, true).unwrap();

        let random = Random::new(3);
        let mut input = random.normal_vec(inputs.len() * component.input_dim(), 0.0, 1.0);
        if let Some(edit) = &self.edit_input {
            edit(&mut input);
        }
        let input = Matrix::from_vec(inputs.len(), component.input_dim(), input);
        let weights = random_matrix(&random, outputs.len(), component.output_dim());
        let run = Objective { harness: Harness::new(), indexes: indexes.as_deref(), input, weights };
        run.layouts(&*component);
        run.derivatives(&*component, &self);
        if component.properties().contains(Properties::UPDATABLE) {
            run.parameters(&*component, &self);
        } else {
            assert!(component.as_updatable().is_none());
        }
    }
}

/// The objective Σ weights ⊙ output of a component at an input.
struct Objective<'a> {
    harness: Harness,
    indexes: Option<&'a dyn PrecomputedIndexes>,
    input: Matrix,
    weights: Matrix,
}

/// The same random numbers in every run, so that masks repeat.
const SEED: i32 = 11;

impl Objective<'_> {
    fn forward(&self, component: &dyn Component, input: &Matrix) -> Forward {
        self.harness.random.reseed(SEED);
        self.harness.forward(component, self.indexes, input, self.weights.rows())
    }

    fn objective(&self, component: &dyn Component, input: &Matrix) -> f64 {
        let output = self.forward(component, input).output.to_vec();
        output.iter().zip(self.weights.to_vec()).map(|(&o, w)| o as f64 * w as f64).sum()
    }

    fn in_deriv(&self, component: &dyn Component) -> Matrix {
        let forward = self.forward(component, &self.input);
        let mut own = component.clone_box();
        self.harness.backward(&mut *own, self.indexes, &self.input, &forward, &self.weights, Update::None)
    }

    fn derivatives(&self, component: &dyn Component, check: &Check<'_>) {
        let analytic = self.in_deriv(component).to_vec();
        let numeric = differences(&self.input.to_vec(), check.step, |values| {
            let input = Matrix::from_vec(self.input.rows(), self.input.cols(), values.to_vec());
            self.objective(component, &input)
        });
        assert_near(&analytic, &numeric, check.tolerance, &format!("{}: input derivative", check.config));
    }

    fn parameters(&self, component: &dyn Component, check: &Check<'_>) {
        let gradient = self.gradient(component);
        let parameters = component.as_updatable().expect("updatable").vectorize();
        let numeric = differences(&parameters, check.step, |values| {
            let mut other = component.clone_box();
            other.as_updatable_mut().expect("updatable").unvectorize(values);
            self.objective(&*other, &self.input)
        });
        assert_near(&gradient, &numeric, check.tolerance, &format!("{}: gradient", check.config));
        whole_object_operations(component);
    }

    fn gradient(&self, component: &dyn Component) -> Vec<f32> {
        let mut delta = component.clone_box();
        delta.scale(0.0);
        delta.as_updatable_mut().expect("updatable").set_as_gradient();
        let forward = self.forward(component, &self.input);
        let mut own = component.clone_box();
        let before = written(component, true);
        let mut plain = Plain;
        let update = Update::to(&mut *delta, &mut plain);
        self.harness.backward(&mut *own, self.indexes, &self.input, &forward, &self.weights, update);
        assert!(written(&*own, true) == before, "the component itself changed");
        delta.as_updatable().expect("updatable").vectorize()
    }

    /// Checks that runs in place, runs with strides and runs that add to old contents give the same values.
    fn layouts(&self, component: &dyn Component) {
        let properties = component.properties();
        let plain = self.forward(component, &self.input);
        let plain_deriv = self.in_deriv(component);
        let memo = || filled(plain.memo.rows(), plain.memo.cols(), f32::NAN);
        let (output, deriv) = (plain.output.to_vec(), plain_deriv.to_vec());

        if properties.contains(Properties::PROPAGATE_IN_PLACE) {
            let mut both = self.input.clone();
            self.harness.random.reseed(SEED);
            let view = both.view_mut();
            let mut memo = memo();
            let args = Propagate {
                indexes: self.indexes,
                input: view.as_view(),
                output: view,
                memo: memo.view_mut(),
                sets: false,
            };
            component.propagate(self.harness.context(), args);
            assert_near(&both.to_vec(), &output, 1e-6, "propagate in place");
        }
        if properties.contains(Properties::BACKPROP_IN_PLACE) {
            let mut both = self.weights.clone();
            let view = both.view_mut();
            self.backprop(component, &plain, self.input.view(), plain.output.view(), view.as_view(), view);
            assert_near(&both.to_vec(), &deriv, 1e-5, "backprop in place");
        }

        let wide_in = !properties.contains(Properties::INPUT_CONTIGUOUS);
        let wide_out = !properties.contains(Properties::OUTPUT_CONTIGUOUS);
        let input = Padded::from(&self.input, wide_in);
        let mut output_matrix =
            Padded::from(&filled(plain.output.rows(), plain.output.cols(), 2.0), wide_out);
        self.harness.random.reseed(SEED);
        let (mut memo, output_view) = (memo(), output_matrix.view_mut());
        let args = Propagate {
            indexes: self.indexes,
            input: input.view(),
            output: output_view,
            memo: memo.view_mut(),
            sets: false,
        };
        component.propagate(self.harness.context(), args);
        let adds = if properties.contains(Properties::PROPAGATE_ADDS) { 2.0 } else { 0.0 };
        let expected: Vec<f32> = output.iter().map(|v| v + adds).collect();
        assert_near(&output_matrix.values(), &expected, 1e-5, "propagate with strides");

        let value = Padded::from(&plain.output, wide_out);
        let out_deriv = Padded::from(&self.weights, wide_out);
        let mut in_deriv = Padded::from(&filled(self.input.rows(), self.input.cols(), 2.0), wide_in);
        let in_view = in_deriv.view_mut();
        self.backprop(component, &plain, input.view(), value.view(), out_deriv.view(), in_view);
        let adds = if properties.contains(Properties::BACKPROP_ADDS) { 2.0 } else { 0.0 };
        let expected: Vec<f32> = deriv.iter().map(|v| v + adds).collect();
        assert_near(&in_deriv.values(), &expected, 1e-5, "backprop with strides");
    }

    fn backprop(
        &self,
        component: &dyn Component,
        forward: &Forward,
        input: View<'_>,
        output: View<'_>,
        out_deriv: View<'_>,
        in_deriv: ViewMut<'_>,
    ) {
        let properties = component.properties();
        let wanted = |property, view| if properties.contains(property) { view } else { View::empty() };
        let args = Backprop {
            name: "test",
            indexes: self.indexes,
            in_value: wanted(Properties::BACKPROP_NEEDS_INPUT, input),
            out_value: wanted(Properties::BACKPROP_NEEDS_OUTPUT, output),
            out_deriv,
            memo: forward.memo.view(),
            in_deriv: Some(in_deriv),
            sets: false,
            taps: None,
        };
        component.clone_box().backprop(self.harness.context(), args, Update::None);
    }
}

/// A matrix, with NaN between its rows if `wide`.
struct Padded {
    matrix: Matrix,
    cols: usize,
}

impl Padded {
    fn from(source: &Matrix, wide: bool) -> Padded {
        let (rows, cols, data) = (source.rows(), source.cols(), source.to_vec());
        let stride = if wide { cols + 3 } else { cols };
        let mut padded = vec![f32::NAN; rows * stride];
        for r in 0..rows {
            padded[r * stride..r * stride + cols].copy_from_slice(&data[r * cols..(r + 1) * cols]);
        }
        Padded { matrix: Matrix::from_vec(rows, stride, padded), cols }
    }
    fn view(&self) -> View<'_> {
        self.matrix.view().col_range(0..self.cols)
    }
    fn view_mut(&mut self) -> ViewMut<'_> {
        self.matrix.view_mut().col_range(0..self.cols)
    }
    fn values(&self) -> Vec<f32> {
        let stride = self.matrix.cols();
        let data = self.matrix.to_vec();
        for padding in data.chunks(stride.max(1)).flat_map(|row| &row[self.cols..]) {
            assert!(padding.is_nan(), "wrote outside of a view");
        }
        data.chunks(stride.max(1)).flat_map(|row| row[..self.cols].to_vec()).collect()
    }
}

/// Central differences of `f` at `values`.
fn differences(values: &[f32], step: f32, f: impl Fn(&[f32]) -> f64) -> Vec<f32> {
    let mut at = values.to_vec();
    (0..values.len())
        .map(|i| {
            at[i] = values[i] + step;
            let (above, upper) = (f(&at), at[i] as f64);
            at[i] = values[i] - step;
            let (below, lower) = (f(&at), at[i] as f64);
            at[i] = values[i];
            ((above - below) / (upper - lower)) as f32
        })
        .collect()
}

/// Checks that vectorize, unvectorize, scale, add, dot product and perturb agree with each other.
fn whole_object_operations(component: &dyn Component) {
    let name = component.type_name();
    let updatable = component.as_updatable().expect("updatable");
    let parameters = updatable.vectorize();
    assert_eq!(parameters.len(), updatable.num_parameters(), "{name}: number of parameters");

    let mut other = component.clone_box();
    let negated: Vec<f32> = parameters.iter().map(|p| 0.5 - p).collect();
    other.as_updatable_mut().expect("updatable").unvectorize(&negated);
    assert_eq!(other.as_updatable().expect("updatable").vectorize(), negated, "{name}: unvectorize");
    let dot: f64 = parameters.iter().zip(&negated).map(|(&a, &b)| a as f64 * b as f64).sum();
    let found = updatable.dot_product(&*other);
    assert!((found - dot).abs() <= 1e-4 * (1.0 + dot.abs()), "{name}: dot product {found}, expected {dot}");

    let mut sum = component.clone_box();
    sum.scale(2.0);
    sum.add(3.0, &*other);
    let expected: Vec<f32> = parameters.iter().zip(&negated).map(|(a, b)| 2.0 * a + 3.0 * b).collect();
    assert_near(&sum.as_updatable().expect("updatable").vectorize(), &expected, 1e-5, "scale and add");

    sum.scale(0.0);
    assert!(
        sum.as_updatable().expect("updatable").vectorize().iter().all(|&p| p == 0.0),
        "{name}: scale by 0"
    );
    sum.as_updatable_mut().expect("updatable").perturb(0.5, &Random::new(5));
    let perturbed = sum.as_updatable().expect("updatable").vectorize();
    assert!(perturbed.iter().all(|&p| p != 0.0 && p.abs() < 3.0), "{name}: perturb");
}
