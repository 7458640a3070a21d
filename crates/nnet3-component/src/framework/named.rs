//! Parameters of components as named tensors, and the operations that treat all of them alike.

use crate::Component;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_matrix::{Backend, Device, Factor, Matrix};
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;

/// A tensor that is learned.
#[derive(Clone, Debug)]
pub struct Parameter<M> {
    /// `linear`, `bias`, `scale`, `offset` or `peephole`; of a composite component's parts `1.linear` and so on.
    pub name: Cow<'static, str>,
    /// Empty if the component has no such parameter: a `TdnnComponent` may have no bias.
    pub value: M,
}

impl<M> Parameter<M> {
    /// Returns the same parameter with the name that it has in a composite component, as part `i`.
    pub(crate) fn of_part(self, i: usize) -> Parameter<M> {
        Parameter { name: Cow::Owned(format!("{}.{}", i + 1, self.name)), value: self.value }
    }
}

/// Returns the last part of a parameter's name: for `2.linear` of a composite component, `linear`.
pub fn kind_of_parameter(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// True if a line with `part=…` applies to a parameter of this name.
pub fn is_parameter(name: &str, part: &str) -> bool {
    part == "all" || part == name || part == kind_of_parameter(name)
}

/// Parameters of one component. Most components have at most two; listing those allocates no memory.
pub type Parameters<'a> = SmallVec<[Parameter<&'a Matrix>; 2]>;
pub type ParametersMut<'a> = SmallVec<[Parameter<&'a mut Matrix>; 2]>;

/// Parameters with these names.
pub fn named<M, const N: usize>(parameters: [(&'static str, M); N]) -> SmallVec<[Parameter<M>; 2]> {
    let named = |(name, value)| Parameter { name: Cow::Borrowed(name), value };
    parameters.into_iter().map(named).collect()
}

/// Pairs corresponding parameters of two components. Panics if these have not the same ones: callers combine networks of
/// one structure, which has been checked.
pub(crate) fn same_parameters<M>(
    own: SmallVec<[Parameter<M>; 2]>,
    others: Parameters<'_>,
) -> impl Iterator<Item = (M, &Matrix)> {
    assert_eq!(own.len(), others.len(), "components with different parameters");
    own.into_iter().zip(others).map(|(own, other)| {
        assert_eq!(own.name, other.name);
        (own.value, other.value)
    })
}

/// Operations on parameters and statistics together.
impl dyn Component {
    /// Multiplies parameters and statistics by `factor`; 0 gives exact zeros.
    pub fn scale(&mut self, factor: f32) {
        self.parameters_mut().into_iter().for_each(|p| p.value.scale(factor));
        self.scale_stats(factor);
    }

    /// Takes or puts back parameters and statistics, to the last bit.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.parameters_mut().into_iter().try_for_each(|p| keeper.matrix(p.value))?;
        self.keep_stats(keeper)
    }

    /// Adds `alpha` times the parameters and statistics of `other`, which must have the same type.
    pub fn add(&mut self, alpha: f32, other: &dyn Component) {
        let pairs = same_parameters(self.parameters_mut(), other.parameters());
        pairs.for_each(|(own, other)| own.add(alpha, other));
        self.add_stats(alpha, other);
    }

    /// As `scale`, by a factor that lies on the device; the host does not wait for it.
    pub fn scale_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.parameters_mut().into_iter().for_each(|p| p.value.scale_by(factor));
        self.scale_stats_by(backend, factor);
    }

    /// As `add`, with an alpha that lies on the device; the host does not wait for it. An alpha of 0 adds zero.
    pub fn add_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let pairs = same_parameters(self.parameters_mut(), other.parameters());
        pairs.for_each(|(own, other)| own.add_by(alpha, other));
        self.add_stats_by(backend, alpha, other);
    }

    /// Moves all matrices to `device`, unless they are on it.
    pub fn to_device(&mut self, device: &Device) {
        let moved = |matrix: &mut Matrix| {
            if matrix.device().id() != device.id() {
                *matrix = matrix.to_device(device);
            }
        };
        self.parameters_mut().into_iter().for_each(|p| moved(p.value));
        self.constants_mut().into_iter().for_each(moved);
    }

    /// Moves all matrices into the places of `other`, which is useless afterwards. `other` has the same type and the
    /// same parameters, of any dimensions.
    pub fn take_place_of(&mut self, other: &mut dyn Component) {
        let put = |own: &mut Matrix, other: &mut Matrix| {
            let device = other.device().clone();
            if (own.rows(), own.cols()) == (other.rows(), other.cols()) {
                device.upload(other.view_mut(), &own.to_vec());
                std::mem::swap(own, other);
            } else {
                *own = own.to_device(&device);
            }
        };
        let parameters = self.parameters_mut().into_iter().zip(other.parameters_mut());
        parameters.for_each(|(own, other)| put(own.value, other.value));
        self.constants_mut().into_iter().zip(other.constants_mut()).for_each(|(own, other)| put(own, other));
    }

    /// This component as a `T`, if it is one.
    pub fn downcast_ref<T: Component>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    pub fn downcast_mut<T: Component>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }

    /// True if this component is a `T`.
    pub fn is<T: Component>(&self) -> bool {
        (self as &dyn Any).is::<T>()
    }
}
