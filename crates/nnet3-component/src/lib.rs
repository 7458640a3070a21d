//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The trait [`Component`], and the one list of all types.
//!
//! A component is written once, against [`Backend`]. Each family has a file that exports `TYPES`; [`registry`] joins
//! them. Formulas and file formats are those of the reference's `nnet-*-component` sources.

pub mod affine;
pub mod algorithms;
pub mod attention;
pub mod composite;
pub mod convolution;
pub mod dropout;
pub mod elementwise;
pub mod framework;
pub mod normalize;
pub mod recurrent;
pub mod statistics;
pub mod testing;

use bitflags::bitflags;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_matrix::{Backend, Factor, Matrix, PanelProducts, View, ViewMut, WeightForm, Workspace};
use std::any::Any;
use std::fmt;

pub use affine::as_sparse_affine;
pub use affine::{Weights, block_affine, fixed, linear, repeated, tdnn, tdnn_keys};
pub use algorithms::{convolution_model, convolution_plan, grid, row_ranges, winograd};
pub use convolution::time_height;
pub use dropout::{general_dropout, spec_augment};
pub use elementwise::{
    constant, distribute, groups, nonlinear, nonlinear_stats, per_element, scale_and_offset,
};
pub use framework::{
    capabilities, declared, field, fields, fit, gradient, named, parameters, plain, preconditioners,
    registry, tally, target, updatable,
};
pub use normalize::batch_norm;
pub use recurrent::{clip_gradient, gru, lstm, tanh_stats, truncation};
pub use statistics::{pooling, summed};
pub use testing::by_index;

pub use capabilities::{DropoutMode, Indexed, Masks, Normalization, Rectification, Statistics, Stepwise};
pub use declared::Stored;
pub use gradient::{DerivsOfInput, Products, RowProducts, Rows, Update};
pub use named::{Parameter, Parameters, ParametersMut, is_parameter, kind_of_parameter, named};
pub use registry::{ComponentType, Key, Kind};
pub use updatable::{Updatable, UpdatableSettings};

bitflags! {
    /// Properties of a component for the compiler and the executor. The reference prints the same values.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Properties: u32 {
        /// Rows map one to one with equal indexes.
        const SIMPLE = 0x001;
        const UPDATABLE = 0x002;
        /// Input and output of propagate may be one matrix.
        const PROPAGATE_IN_PLACE = 0x004;
        /// Propagate adds to its output (not in place).
        const PROPAGATE_ADDS = 0x008;
        /// [`Indexed::reorder_indexes`] must be called.
        const REORDERS_INDEXES = 0x010;
        /// Backprop adds to the input derivative (not in place).
        const BACKPROP_ADDS = 0x020;
        const BACKPROP_NEEDS_INPUT = 0x040;
        const BACKPROP_NEEDS_OUTPUT = 0x080;
        /// Output and input derivative may be one matrix.
        const BACKPROP_IN_PLACE = 0x100;
        /// [`Statistics::store_stats`] has an effect.
        const STORES_STATS = 0x200;
        /// Input and its derivative need stride = columns.
        const INPUT_CONTIGUOUS = 0x400;
        /// Output and its derivative need stride = columns.
        const OUTPUT_CONTIGUOUS = 0x800;
        /// Propagate leaves a memo for backprop, see [`Component::memo_shape`].
        const USES_MEMO = 0x1000;
        const RANDOM = 0x2000;
    }
}

impl Properties {
    /// `self` if `condition`, else no property: for conditional terms of a sum of properties.
    pub fn when(self, condition: bool) -> Properties {
        if condition { self } else { Properties::empty() }
    }
}

/// The names as the documentation has them, such as `propagate-in-place`.
impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.iter_names().map(|(name, _)| name.to_ascii_lowercase().replace('_', "-")).collect();
        f.write_str(&names.join(", "))
    }
}

/// The surroundings of a component's run. Scratch memory comes from `workspace` only, so that repeated runs allocate no
/// memory.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub backend: &'a dyn Backend,
    pub workspace: &'a Workspace,
    pub random: &'a Random,
}

impl<'a> Context<'a> {
    /// The same, with a backend that does not round factors of products to bf16 if the device has one.
    pub fn in_floats(self) -> Context<'a> {
        Context { backend: self.backend.in_floats().unwrap_or(self.backend), ..self }
    }
}

/// Arguments of [`Component::propagate`].
pub struct Propagate<'a> {
    pub indexes: Option<&'a dyn PrecomputedIndexes>,
    pub input: View<'a>,
    pub output: ViewMut<'a>,
    /// Destination of the memo, of [`Component::memo_shape`]; empty if that is (0, 0). Its contents are unspecified.
    pub memo: ViewMut<'a>,
    /// If true, propagate sets `output` although the component otherwise adds to it (see
    /// [`Component::sets_output`]).
    pub sets: bool,
}

/// Arguments of [`Component::backprop`]. Views that the component's properties do not ask for are empty (0 × 0).
pub struct Backprop<'a> {
    /// The component's name, for messages.
    pub name: &'a str,
    pub indexes: Option<&'a dyn PrecomputedIndexes>,
    pub in_value: View<'a>,
    pub out_value: View<'a>,
    pub out_deriv: View<'a>,
    /// The memo of propagate, of [`Component::memo_shape`]; empty if that is (0, 0).
    pub memo: View<'a>,
    /// Destination of the derivative with respect to the input, if wanted.
    pub in_deriv: Option<ViewMut<'a>>,
    /// If true, backprop sets `in_deriv` although the component otherwise adds to it (see
    /// [`Component::sets_in_deriv`]).
    pub sets: bool,
    /// The structure of an affine component's input, if known.
    pub taps: Option<winograd::Taps>,
}

impl Backprop<'_> {
    /// Returns the factor of the old contents of `in_deriv` in a product that goes there.
    pub fn beta(&self) -> f32 {
        if self.sets { 0.0 } else { 1.0 }
    }
}

/// Tables that a non-simple component computes from its index lists before the first run.
pub trait PrecomputedIndexes: Any + Send + Sync + fmt::Debug {
    /// Writes `<TypePrecomputedIndexes> … </TypePrecomputedIndexes>`.
    fn write(&self, w: &mut KaldiWriter) -> Result<()>;
}

/// The component's own precomputed indexes. Panics on another type: the compiler made them with this component, or
/// [`Indexed::check_precomputed`] has checked them.
pub fn precomputed<T: PrecomputedIndexes>(indexes: Option<&dyn PrecomputedIndexes>) -> &T {
    indexes.and_then(|i| (i as &dyn Any).downcast_ref()).expect("precomputed indexes of this component")
}

/// Answers whether an input index is available (see [`Indexed::is_computable`]).
pub(crate) type Available<'a> = &'a dyn Fn(Index) -> bool;

/// Form of the weights of a network that only runs forward, and the products that read them.
#[derive(Clone, Copy)]
pub struct Arrangement<'a> {
    pub products: &'a dyn PanelProducts,
    pub form: WeightForm,
}

/// One node type of a network: a function on rows, with or without parameters.
pub trait Component: Any + Stored + CloneComponent + Send + Sync {
    fn input_dim(&self) -> usize;
    fn output_dim(&self) -> usize;
    fn properties(&self) -> Properties;

    /// The rules about indexes, of a component that is not simple.
    fn as_indexed(&self) -> Option<&dyn Indexed> {
        None
    }

    // ---- running -----------------------------------------------------------------------------------------------

    /// Returns the rows and columns of the memo that propagate leaves for backprop and [`Statistics::store_stats`]. The
    /// plan places it like any matrix.
    fn memo_shape(&self, indexes: Option<&dyn PrecomputedIndexes>, output_rows: usize) -> (usize, usize) {
        let _ = (indexes, output_rows);
        (0, 0)
    }

    /// True if values and derivatives at both sides are floats on every device (see `forms.rs`): they are states of a
    /// recurrence, or sums of many numbers.
    fn needs_floats(&self) -> bool {
        false
    }

    /// Sets the output (adds to it, with [`Properties::PROPAGATE_ADDS`]) and the memo.
    fn propagate(&self, context: Context<'_>, args: Propagate<'_>);

    /// If this is all that propagate does, output = input · linearᵀ + bias: linear and bias.
    fn as_affine(&self) -> Option<(Weights<'_>, View<'_>)> {
        None
    }

    /// The parameters of a component that normalises columns with the statistics of its input.
    fn as_normalization(&self) -> Option<Normalization> {
        None
    }

    /// True if the component is a [`Rectification`].
    fn rectifies(&self) -> bool {
        false
    }

    /// True if the output is the logarithm of the softmax of each row.
    fn is_log_softmax(&self) -> bool {
        false
    }

    /// The parts of propagate and backprop of a rectification.
    fn as_rectification_mut(&mut self) -> Option<&mut dyn Rectification> {
        None
    }

    /// The masks of propagate, of a component that multiplies rows by masks.
    fn as_masks(&self) -> Option<&dyn Masks> {
        None
    }

    /// The parts of backprop, of a component that can collect its update in the steps of a recurrence.
    fn as_stepwise_mut(&mut self) -> Option<&mut dyn Stepwise> {
        None
    }
    /// True if [`Component::as_stepwise_mut`] gives the parts.
    fn is_stepwise(&self) -> bool {
        false
    }

    /// The weights that [`Component::arranged`] arranges, O × I.
    fn weights_mut(&mut self) -> Option<&mut Matrix> {
        None
    }

    /// A component that does the same in a network that is only run: it takes this one's weights, and has them as products
    /// read them. `None` if the type has none.
    fn arranged(&mut self, how: Arrangement<'_>) -> Option<Box<dyn Component>> {
        let _ = how;
        None
    }

    /// True if propagate, which otherwise adds to its output, sets it if [`Propagate::sets`] asks for that.
    fn sets_output(&self) -> bool {
        false
    }

    /// Computes the derivative with respect to the input; `update` receives gradients and statistics.
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>);

    /// True if backprop, which otherwise adds to the input derivative, sets it if [`Backprop::sets`] asks for that.
    fn sets_in_deriv(&self) -> bool {
        false
    }

    // ---- whole-object operations -------------------------------------------------------------------------------

    /// The statistics of training, of a component that has any.
    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        None
    }

    /// The modes of a component with random masks.
    fn as_dropout_mut(&mut self) -> Option<&mut dyn DropoutMode> {
        None
    }

    /// Returns the columns of a linear part that read the output's own place, if it reads several places. `None` means
    /// all columns; an error gives the reason why there are none.
    fn center(&self) -> Option<std::result::Result<std::ops::Range<usize>, &'static str>> {
        None
    }

    /// The learned parameters, in the order of the file. All copies of a network have the same.
    fn parameters(&self) -> Parameters<'_> {
        Parameters::new()
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        ParametersMut::new()
    }

    /// Matrices that are not learned, but are used on the device.
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        Vec::new()
    }

    /// `Some` exactly if [`Properties::UPDATABLE`].
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        None
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        None
    }

    /// The linear part of the parameters, and the orthonormal constraint on it. Linear, Affine (and types derived from
    /// it) and Tdnn can have one.
    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        None
    }
}

/// Copies a [`Component`] of unknown type. All types that can be cloned have it.
pub trait CloneComponent {
    fn clone_box(&self) -> Box<dyn Component>;
}

impl<T: Component + Clone> CloneComponent for T {
    fn clone_box(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Component> {
    fn clone(&self) -> Box<dyn Component> {
        self.clone_box()
    }
}

/// `other` as a `T`. Panics on another type: callers combine networks of one structure (checked before).
pub fn downcast<T: Component>(other: &dyn Component) -> &T {
    other.downcast_ref().unwrap_or_else(|| panic!("unexpected component type {}", other.type_name()))
}

/// As [`downcast`], for a mutable reference.
pub fn downcast_mut<T: Component>(other: &mut dyn Component) -> &mut T {
    let name = other.type_name();
    other.downcast_mut().unwrap_or_else(|| panic!("unexpected component type {name}"))
}

// ---- matrices of components on disk ----------------------------------------------------------------------------

/// A float matrix of a component's file form.
pub fn read_matrix(r: &mut KaldiReader) -> Result<Matrix> {
    let m = kaldi_io::matrix::DenseMatrix::<f32>::read(r)?;
    Ok(Matrix::from_vec(m.rows, m.cols, m.data))
}

/// A float vector, as a matrix with one row.
pub(crate) fn read_row(r: &mut KaldiReader) -> Result<Matrix> {
    let v = kaldi_io::matrix::read_vector::<f32>(r)?;
    Ok(Matrix::from_vec(1, v.len(), v))
}

pub fn write_matrix(w: &mut KaldiWriter, m: &Matrix) -> Result<()> {
    kaldi_io::matrix::write_matrix(w, m.rows(), m.cols(), &m.values())?;
    Ok(())
}

/// A matrix from a file named in a config line (`matrix=`), full, compressed, text or binary.
pub(crate) fn load_matrix(rxfilename: &str) -> Result<Matrix> {
    let mut r = KaldiReader::open(rxfilename)?;
    let m = read_matrix(&mut r)?;
    r.close()?;
    Ok(m)
}

/// A vector from a file named in a config line (`vector=`, `scales=`, `bias=`), as a matrix with one row.
pub(crate) fn load_row(rxfilename: &str) -> Result<Matrix> {
    let mut r = KaldiReader::open(rxfilename)?;
    let m = read_row(&mut r)?;
    r.close()?;
    Ok(m)
}
