//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! A network: named components, and nodes that join them.
//!
//! Every `component-node name=N` is two consecutive nodes: `N_input`, a descriptor, and `N`, the component. An output
//! node is a descriptor that no component follows.

pub mod check;
pub mod collapse;
pub mod config;
mod convert;
pub mod descriptor;
pub mod edit;
mod finite;
pub mod info;
mod initialize;
mod mean;
pub mod store;

use crate::descriptor::Descriptor;
use crate::descriptor::eval::lcm;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_base::snapshot::Keeper;
use nnet3_component::{Arrangement, Component, Properties};
use nnet3_matrix::bytes::rounded;
use nnet3_matrix::{Device, Matrix, WeightForm};

/// The objective of an output; its derivative starts backprop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Σ output ⊙ target: cross-entropy after a log-softmax.
    Linear,
    /// -½ Σ (output - target)².
    Quadratic,
}

impl Objective {
    pub fn name(self) -> &'static str {
        match self {
            Objective::Linear => "linear",
            Objective::Quadratic => "quadratic",
        }
    }
}

#[derive(Clone, Debug)]
pub enum Node {
    Input {
        dim: usize,
    },
    /// The input of the component node that follows.
    ComponentInput {
        descriptor: Descriptor,
    },
    Component {
        component: ComponentId,
    },
    /// Columns `offset .. offset + dim` of an input or component node.
    DimRange {
        source: NodeId,
        dim: usize,
        offset: usize,
    },
    Output {
        descriptor: Descriptor,
        objective: Objective,
    },
}

impl Node {
    pub fn descriptor(&self) -> Option<&Descriptor> {
        match self {
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => Some(descriptor),
            _ => None,
        }
    }
    fn descriptor_mut(&mut self) -> Option<&mut Descriptor> {
        match self {
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => Some(descriptor),
            _ => None,
        }
    }
    /// True if descriptors and dim-range nodes may read it.
    fn is_readable(&self) -> bool {
        matches!(self, Node::Input { .. } | Node::Component { .. } | Node::DimRange { .. })
    }
}

/// Rounds each row to eight bits; rows with values that are not finite stay unchanged.
fn rounded_rows(weights: &Matrix) -> Matrix {
    let mut values = weights.to_vec();
    for row in values.chunks_exact_mut(weights.cols().max(1)).filter(|row| row.iter().all(|x| x.is_finite()))
    {
        let (scale, numbers) = rounded(row);
        let numbers: Vec<i8> = numbers.collect();
        row.iter_mut().zip(numbers).for_each(|(x, number)| *x = f32::from(number) * scale);
    }
    Matrix::from_vec(weights.rows(), weights.cols(), values)
}

/// A network. Cloning copies all parameters and statistics.
#[derive(Clone, Default)]
pub struct Nnet {
    nodes: Vec<Node>,
    node_names: Vec<String>,
    components: Vec<Box<dyn Component>>,
    component_names: Vec<String>,
}

impl Nnet {
    #[inline]
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from)
    }
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
    #[inline]
    pub fn node_name(&self, id: NodeId) -> &str {
        &self.node_names[id.index()]
    }
    pub fn node_names(&self) -> &[String] {
        &self.node_names
    }
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.iter().position(|n| n == name).map(NodeId::from)
    }

    pub fn num_components(&self) -> usize {
        self.components.len()
    }
    #[inline]
    pub fn component(&self, id: ComponentId) -> &dyn Component {
        &*self.components[id.index()]
    }
    #[inline]
    pub fn component_mut(&mut self, id: ComponentId) -> &mut dyn Component {
        &mut *self.components[id.index()]
    }
    /// A component to run, with its name for messages.
    #[inline]
    pub fn component_and_name(&mut self, id: ComponentId) -> (&mut dyn Component, &str) {
        (&mut *self.components[id.index()], &self.component_names[id.index()])
    }
    pub fn components(&self) -> impl Iterator<Item = &dyn Component> {
        self.components.iter().map(|c| &**c)
    }
    pub fn components_mut(&mut self) -> impl Iterator<Item = &mut dyn Component> {
        self.components.iter_mut().map(|c| &mut **c)
    }
    #[inline]
    pub fn component_name(&self, id: ComponentId) -> &str {
        &self.component_names[id.index()]
    }
    pub fn component_names(&self) -> &[String] {
        &self.component_names
    }
    pub fn find_component(&self, name: &str) -> Option<ComponentId> {
        self.component_names.iter().position(|n| n == name).map(ComponentId::from)
    }

    pub fn input_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.node_ids().filter(|&id| matches!(self.node(id), Node::Input { .. }))
    }
    pub fn output_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.node_ids().filter(|&id| matches!(self.node(id), Node::Output { .. }))
    }
    /// The output of this name.
    pub fn find_output(&self, name: &str) -> Option<NodeId> {
        self.find_node(name).filter(|&id| matches!(self.node(id), Node::Output { .. }))
    }
    /// The input of this name.
    pub fn find_input(&self, name: &str) -> Option<NodeId> {
        self.find_node(name).filter(|&id| matches!(self.node(id), Node::Input { .. }))
    }

    /// True if the network has an input `input`, an output `output`, and no other input than `ivector`.
    pub fn is_simple(&self) -> bool {
        self.find_output("output").is_some()
            && self.find_input("input").is_some()
            && (self.input_nodes().count() == 1 || self.find_input("ivector").is_some())
    }

    /// The component of a component node or of its input node.
    #[inline]
    pub fn component_of(&self, id: NodeId) -> Option<ComponentId> {
        match self.node(id) {
            Node::Component { component } => Some(*component),
            Node::ComponentInput { .. } => self.component_of(NodeId(id.0 + 1)),
            _ => None,
        }
    }

    /// Columns of a node's value. A network that passed [`Nnet::check`] has no contradictions left.
    pub fn node_dim(&self, id: NodeId) -> usize {
        match self.node(id) {
            Node::Input { dim } | Node::DimRange { dim, .. } => *dim,
            Node::Component { component } => self.component(*component).output_dim(),
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                descriptor.dim(&|n| self.node_dim(n)).unwrap_or(0)
            }
        }
    }

    /// Columns of the input of this name.
    pub fn input_dim(&self, name: &str) -> Option<usize> {
        self.find_input(name).map(|id| self.node_dim(id))
    }
    /// Columns of the output of this name.
    pub fn output_dim(&self, name: &str) -> Option<usize> {
        self.find_output(name).map(|id| self.node_dim(id))
    }

    /// The nodes that a node reads, in order; repeats are possible.
    pub fn node_dependencies(&self, id: NodeId) -> Vec<NodeId> {
        let mut out = Vec::new();
        self.for_each_dependency(id, &mut |n| out.push(n));
        out
    }

    /// Calls `f` for each of [`Nnet::node_dependencies`].
    pub fn for_each_dependency(&self, id: NodeId, f: &mut impl FnMut(NodeId)) {
        match self.node(id) {
            Node::Input { .. } => {}
            Node::Component { .. } => f(NodeId(id.0 - 1)),
            Node::DimRange { source, .. } => f(*source),
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                descriptor.for_each_node(f);
            }
        }
    }

    /// The smallest time shift under which the structure repeats.
    pub fn modulus(&self) -> i32 {
        let modulus = self.nodes.iter().filter_map(Node::descriptor).map(Descriptor::modulus).fold(1, lcm);
        i32::try_from(modulus).unwrap_or(i32::MAX)
    }

    /// Number of trainable parameters.
    pub fn num_parameters(&self) -> usize {
        self.components().filter_map(|c| c.as_updatable()).map(|u| u.num_parameters()).sum()
    }
    /// True if the network has parameters that are trained. A model of Gaussians that is written as a network has none.
    pub fn is_trained(&self) -> bool {
        self.num_parameters() > 0
    }

    /// Ids of the updatable components.
    pub fn updatable_components(&self) -> Vec<ComponentId> {
        let updatable = |id: &ComponentId| self.component(*id).properties().contains(Properties::UPDATABLE);
        (0..self.components.len()).map(ComponentId::from).filter(updatable).collect()
    }

    // ---- operations on all components --------------------------------------------------------------------------

    /// Parameters and statistics × `factor`.
    pub fn scale(&mut self, factor: f32) {
        if factor != 1.0 {
            self.components_mut().for_each(|c| c.scale(factor));
        }
    }

    /// Adds `alpha` times the parameters and statistics of a network of the same structure.
    pub fn add(&mut self, alpha: f32, other: &Nnet) {
        for (c, o) in self.components.iter_mut().zip(&other.components) {
            c.add(alpha, &**o);
        }
    }

    /// An error unless `other` has the same components in the same order with the same numbers of parameters.
    pub fn check_same_structure(&self, other: &Nnet) -> Result<()> {
        if self.component_names != other.component_names {
            return Err(Error::network("the networks have different components"));
        }
        for ((a, b), name) in self.components().zip(other.components()).zip(&self.component_names) {
            let parameters = |c: &dyn Component| c.as_updatable().map(|u| u.num_parameters());
            if a.type_name() != b.type_name()
                || parameters(a) != parameters(b)
                || a.output_dim() != b.output_dim()
            {
                let describe =
                    |c: &dyn Component| format!("{} with output dimension {}", c.type_name(), c.output_dim());
                return Err(Error::network(format!(
                    "component '{name}' is a {} in one network and a {} in the other",
                    describe(a),
                    describe(b)
                )));
            }
        }
        Ok(())
    }

    /// Takes or puts back parameters and statistics, to the last bit.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.components_mut().try_for_each(|c| c.keep(keeper))
    }

    /// Takes or puts back statistics alone.
    pub fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.components_mut().try_for_each(|c| c.keep_stats(keeper))
    }

    pub fn zero_stats(&mut self) {
        self.components_mut().for_each(|c| c.zero_stats());
    }
    pub fn set_batchnorm_test_mode(&mut self, on: bool) {
        self.components_mut().for_each(|c| {
            c.set_batchnorm_test_mode(on);
        });
    }
    pub fn set_dropout_test_mode(&mut self, on: bool) {
        self.components_mut().for_each(|c| {
            c.set_dropout_test_mode(on);
        });
    }
    pub fn scale_batchnorm_stats(&mut self, factor: f32) {
        self.components_mut().for_each(|c| c.scale_batchnorm_stats(factor));
    }
    /// Underlying rate: each component's actual rate is this × its learning-rate factor.
    pub fn set_learning_rate(&mut self, rate: f32) {
        self.components_mut()
            .filter_map(|c| c.as_updatable_mut())
            .for_each(|u| u.set_underlying_learning_rate(rate));
    }
    /// Rate 1, no natural gradient: parameters accumulate plain gradients.
    pub fn set_as_gradient(&mut self) {
        self.components_mut().filter_map(|c| c.as_updatable_mut()).for_each(|u| u.set_as_gradient());
    }
    /// True if the network has batch normalisation.
    pub fn has_batchnorm(&self) -> bool {
        self.components().any(|c| c.type_name() == "BatchNormComponent")
    }
    /// Sum of products of corresponding parameters, a number per updatable component.
    pub fn component_dot_products(&self, other: &Nnet) -> Vec<f64> {
        let pairs = self.components().zip(other.components());
        pairs.filter_map(|(a, b)| a.as_updatable().map(|u| u.dot_product(b))).collect()
    }

    /// Becomes a copy of `other`, a network of the same structure on any device. Matrices keep their place in memory.
    pub fn assign(&mut self, other: &Nnet) {
        let mut copy = other.clone();
        for (to, from) in copy.components.iter_mut().zip(&mut self.components) {
            to.take_place_of(&mut **from);
        }
        *self = copy;
    }

    /// Prepares a network on `device` for forward runs only. If the device has products with arranged weights, these
    /// replace the parameters of affine, linear and TDNN components, one after the other. Components that read an input
    /// of the network keep 32 bits: columns of features differ too much in size for one scale. A network without trained
    /// parameters stays as it is if the device or `form` would round: likelihoods of Gaussians are small differences of large numbers.
    pub fn arrange_weights(&mut self, device: &Device, form: WeightForm) {
        let Some(products) = device.panels() else { return };
        let would_round = form != WeightForm::Float || device.in_floats().is_some();
        if would_round && !self.is_trained() {
            return;
        }
        let first = self.components_of_inputs();
        for (number, component) in self.components.iter_mut().enumerate() {
            let form = if first.contains(&ComponentId::from(number)) { WeightForm::Float } else { form };
            if let Some(arranged) = component.arranged(Arrangement { products, form }) {
                *component = arranged;
            }
        }
    }

    /// Gives the weights that [`WeightForm::Int8`] rounds in [`Nnet::arrange_weights`] the values that they are rounded
    /// to, for a network on the host.
    pub fn round_weights(&mut self) {
        if !self.is_trained() {
            return;
        }
        let first = self.components_of_inputs();
        for (number, component) in self.components.iter_mut().enumerate() {
            let Some(weights) = component.weights_mut() else { continue };
            if !first.contains(&ComponentId::from(number)) {
                *weights = rounded_rows(weights);
            }
        }
    }

    /// The components of those nodes that read input nodes.
    fn components_of_inputs(&self) -> Vec<ComponentId> {
        let is_input = |id: NodeId| match *self.node(id) {
            Node::Input { .. } => true,
            Node::DimRange { source, .. } => matches!(self.node(source), Node::Input { .. }),
            _ => false,
        };
        let mut found = Vec::new();
        for pair in self.nodes.windows(2) {
            if let [Node::ComponentInput { descriptor }, Node::Component { component }] = pair {
                let mut reads = false;
                descriptor.for_each_node(&mut |id| reads |= is_input(id));
                if reads {
                    found.push(*component);
                }
            }
        }
        found
    }

    /// Moves all parameters and statistics from the device to the host. Fails if the device has failed: they are
    /// wrong then.
    pub fn bring_from(&mut self, device: &Device) -> Result<()> {
        if device.id() != 0 {
            self.to_device(&nnet3_matrix::cpu());
        }
        Ok(nnet3_matrix::check(device)?)
    }

    /// Moves all parameters to `device`.
    pub fn to_device(&mut self, device: &Device) {
        self.components_mut().for_each(|c| c.to_device(device));
    }
}
