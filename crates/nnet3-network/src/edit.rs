//! Edit directives of `nnet3-copy --edits`, one a line, in order.

use super::{Nnet, Node};
use kaldi_io::alike::did_you_mean;
use kaldi_numerics::svd::by_products::sorted_svd;
use nalgebra::DMatrix;
use nnet3_base::config::{ConfigLine, is_valid_name};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_base::random::Random;
use nnet3_component::affine::Affine;
use nnet3_component::fixed::FixedAffine;
use nnet3_component::linear::Linear;
use nnet3_component::{Component, Updatable};
use nnet3_matrix::Matrix;

/// All directives, for messages.
const DIRECTIVES: [&str; 12] = [
    "convert-to-fixed-affine",
    "remove-orphan-nodes",
    "remove-orphan-components",
    "remove-orphans",
    "set-learning-rate",
    "set-learning-rate-factor",
    "rename-node",
    "remove-output-nodes",
    "set-dropout-proportion",
    "apply-svd",
    "reduce-rank",
    "initialize",
];

/// True if `name` matches `pattern`, in which `*` stands for any run of characters.
pub fn matches_pattern(name: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or("")) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The result of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub done: String,
    /// Set if the pattern matches no item that the line could change.
    pub warning: Option<String>,
}

/// Names for a message: the first of them, and how many more there are.
pub fn some_names<S: AsRef<str>>(names: impl ExactSizeIterator<Item = S>) -> String {
    const MOST: usize = 20;
    let more = names.len().saturating_sub(MOST);
    let mut out = String::new();
    for name in names.take(MOST) {
        out += if out.is_empty() { "" } else { ", " };
        out += name.as_ref();
    }
    if more > 0 {
        out += &format!(" and {more} more");
    }
    out
}

impl Nnet {
    /// Executes the directives and returns the result of each. On error `self` is unchanged. Random numbers of
    /// `initialize` are those of seed 0.
    pub fn edit(&mut self, lines: Vec<ConfigLine>) -> Result<Vec<Edited>> {
        self.edit_with(lines, &Random::new(0))
    }

    /// As [`Nnet::edit`], with these random numbers.
    pub fn edit_with(&mut self, lines: Vec<ConfigLine>, random: &Random) -> Result<Vec<Edited>> {
        let mut edited = self.clone();
        let mut reports = Vec::new();
        let mut remembered_rank = None;
        for mut line in lines {
            if line.first_token == "initialize" {
                let done = edited.initialize(&mut line, random)?;
                reports.push(Edited { done, warning: None });
                continue;
            }
            let pattern = line.get_string("name");
            let warning = pattern.as_deref().and_then(|pattern| edited.unmatched(&line.first_token, pattern));
            let done = edited.edit_one(&mut line, pattern, &mut remembered_rank)?;
            line.finish()?;
            reports.push(Edited { done, warning });
        }
        *self = edited;
        Ok(reports)
    }

    /// Returns a warning if a pattern matches no item that the directive can change.
    fn unmatched(&self, directive: &str, pattern: &str) -> Option<String> {
        let components = |can_change: &dyn Fn(&dyn Component) -> bool| {
            let named = self.components.iter().zip(&self.component_names);
            named.filter(|(c, _)| can_change(c.as_ref())).map(|(_, name)| name.as_str()).collect()
        };
        let (what, names): (&str, Vec<&str>) = match directive {
            "set-learning-rate" | "set-learning-rate-factor" => {
                ("component with parameters", components(&|c| c.as_updatable().is_some()))
            }
            "set-dropout-proportion" => ("component", components(&|_| true)),
            "convert-to-fixed-affine" | "apply-svd" | "reduce-rank" => {
                ("affine component", components(&|c| c.is::<Affine>()))
            }
            "remove-output-nodes" => {
                ("output node", self.output_nodes().map(|id| self.node_name(id)).collect())
            }
            _ => return None,
        };
        // A pattern `*` may match an empty set.
        if pattern == "*" || names.iter().any(|name| matches_pattern(name, pattern)) {
            return None;
        }
        let there = match names.len() {
            0 => "there is none".to_owned(),
            _ => format!("there are {}", some_names(names.iter())),
        };
        Some(format!("{directive}: no {what} matches '{pattern}'; {there}"))
    }

    fn edit_one(
        &mut self,
        line: &mut ConfigLine,
        pattern: Option<String>,
        remembered_rank: &mut Option<usize>,
    ) -> Result<String> {
        let any = pattern.clone().unwrap_or_else(|| "*".to_string());
        let required = |line: &ConfigLine| pattern.clone().ok_or_else(|| line.error("'name' is missing"));
        match line.first_token.clone().as_str() {
            "convert-to-fixed-affine" => Ok(self.convert_to_fixed_affine(&any)),
            "remove-orphan-nodes" => {
                let inputs = line.get_bool("remove-orphan-inputs")?.unwrap_or(false);
                Ok(format!("Removed {} orphan nodes.", self.remove_orphan_nodes(inputs)?))
            }
            "remove-orphan-components" => {
                Ok(format!("Removed {} orphan components.", self.remove_orphan_components()))
            }
            "remove-orphans" => {
                let inputs = line.get_bool("remove-orphan-inputs")?.unwrap_or(false);
                let nodes = self.remove_orphan_nodes(inputs)?;
                Ok(format!(
                    "Removed {nodes} orphan nodes and {} orphan components.",
                    self.remove_orphan_components()
                ))
            }
            "set-learning-rate" => {
                let rate = non_negative(line, "learning-rate")?;
                let count = self.for_updatable(&any, |u| u.set_underlying_learning_rate(rate));
                Ok(format!("Set learning rates for {count} components."))
            }
            "set-learning-rate-factor" => {
                let factor = non_negative(line, "learning-rate-factor")?;
                let count = self.for_updatable(&any, |u| u.settings_mut().learning_rate_factor = factor);
                Ok(format!("Set learning rate factors for {count} components."))
            }
            "rename-node" => {
                let (old, new) = (line.require_string("old-name")?, line.require_string("new-name")?);
                self.rename_node(&old, &new).map_err(|e| line.error(e.to_string()))?;
                Ok(format!("Renamed node '{old}' to '{new}'."))
            }
            "remove-output-nodes" => {
                let pattern = required(line)?;
                let count = self.remove_output_nodes(&pattern).map_err(|e| line.error(e.to_string()))?;
                Ok(format!("Removed {count} output nodes."))
            }
            "set-dropout-proportion" => {
                let proportion = line.require_f32("proportion")?;
                if !(0.0..=1.0).contains(&proportion) {
                    return Err(line.error(format!("proportion={proportion}: expected a number from 0 to 1")));
                }
                let names = self.component_names.clone();
                let components = self.components.iter_mut().zip(names);
                let count = components
                    .filter(|(_, name)| matches_pattern(name, &any))
                    .filter_map(|(c, _)| c.set_dropout_proportion(proportion).then_some(()))
                    .count();
                Ok(format!("Set dropout proportions for {count} components."))
            }
            "apply-svd" => {
                let pattern = required(line)?;
                self.apply_svd(line, &pattern, remembered_rank)
            }
            "reduce-rank" => {
                let pattern = required(line)?;
                let rank = line.require_dim("rank")?;
                self.reduce_rank(&pattern, rank)
            }
            other => Err(line.error(format!(
                "unknown edit directive '{other}'{}; expected one of {}",
                did_you_mean(other, DIRECTIVES),
                DIRECTIVES.join(", ")
            ))),
        }
    }

    fn for_updatable(&mut self, pattern: &str, mut f: impl FnMut(&mut dyn Updatable)) -> usize {
        let mut count = 0;
        for (component, name) in self.components.iter_mut().zip(&self.component_names) {
            if let (true, Some(updatable)) = (matches_pattern(name, pattern), component.as_updatable_mut()) {
                f(updatable);
                count += 1;
            }
        }
        count
    }

    /// Ids of matching components that are affine, with natural gradient or without.
    fn matching_affine(&self, pattern: &str) -> Vec<ComponentId> {
        let matching = |id: &ComponentId| {
            matches_pattern(self.component_name(*id), pattern) && self.component(*id).is::<Affine>()
        };
        (0..self.components.len()).map(ComponentId::from).filter(matching).collect()
    }

    fn affine(&self, id: ComponentId) -> &Affine {
        nnet3_component::downcast(self.component(id))
    }

    fn convert_to_fixed_affine(&mut self, pattern: &str) -> String {
        let ids = self.matching_affine(pattern);
        for &id in &ids {
            let affine = self.affine(id);
            let fixed = FixedAffine::new(affine.linear_params().clone(), affine.bias_params().clone());
            self.components[id.index()] = Box::new(fixed);
        }
        format!("Converted {} components to FixedAffineComponent.", ids.len())
    }

    /// Removes nodes on which no output depends; input nodes only if asked. Returns how many, component inputs not
    /// counted.
    pub(crate) fn remove_orphan_nodes(&mut self, remove_inputs: bool) -> Result<usize> {
        let mut orphans = self.orphan_nodes();
        orphans.retain(|&id| remove_inputs || !matches!(self.node(id), Node::Input { .. }));
        let count =
            orphans.iter().filter(|&&id| !matches!(self.node(id), Node::ComponentInput { .. })).count();
        self.remove_nodes(&orphans)?;
        Ok(count)
    }

    /// Removes components that no node uses; returns how many.
    pub(crate) fn remove_orphan_components(&mut self) -> usize {
        let orphans = self.orphan_components();
        let mut new_ids = vec![ComponentId(0); self.components.len()];
        let mut next = 0;
        for id in (0..self.components.len()).map(ComponentId::from) {
            if !orphans.contains(&id) {
                new_ids[id.index()] = ComponentId::from(next);
                self.components.swap(next, id.index());
                self.component_names.swap(next, id.index());
                next += 1;
            }
        }
        self.components.truncate(next);
        self.component_names.truncate(next);
        for node in &mut self.nodes {
            if let Node::Component { component } = node {
                *component = new_ids[component.index()];
            }
        }
        orphans.len()
    }

    /// Removes nodes that no remaining node reads.
    pub(crate) fn remove_nodes(&mut self, remove: &[NodeId]) -> Result<()> {
        let mut new_ids = vec![NodeId(0); self.nodes.len()];
        let mut next = 0;
        for id in self.node_ids() {
            new_ids[id.index()] = NodeId::from(next);
            next += usize::from(!remove.contains(&id));
        }
        let kept = |id: &usize| !remove.contains(&NodeId::from(*id));
        let nodes: Vec<Node> = (0..self.nodes.len()).filter(kept).map(|i| self.nodes[i].clone()).collect();
        let names = (0..self.nodes.len()).filter(kept).map(|i| self.node_names[i].clone()).collect();
        self.nodes = nodes;
        self.node_names = names;
        for node in &mut self.nodes {
            if let Node::DimRange { source, .. } = node {
                *source = new_ids[source.index()];
            }
            if let Some(descriptor) = node.descriptor_mut() {
                descriptor.renumber(&|id| new_ids[id.index()]);
            }
        }
        self.check()
    }

    /// Gives a node another name; the structure stays.
    pub(crate) fn rename_node(&mut self, old: &str, new: &str) -> Result<()> {
        let id = self.find_node(old).ok_or_else(|| Error::network(format!("there is no node '{old}'")))?;
        if !is_valid_name(new) {
            return Err(Error::network(format!("'{new}' is not a valid name")));
        }
        if self.find_node(new).is_some() {
            return Err(Error::network(format!("there is already a node '{new}'")));
        }
        self.node_names[id.index()] = new.to_string();
        if let Node::Component { .. } = self.node(id) {
            self.node_names[id.index() - 1] = format!("{new}_input");
        }
        Ok(())
    }

    fn remove_output_nodes(&mut self, pattern: &str) -> Result<usize> {
        let all: Vec<NodeId> = self.output_nodes().collect();
        let remove: Vec<NodeId> =
            all.iter().copied().filter(|&id| matches_pattern(self.node_name(id), pattern)).collect();
        if remove.len() == all.len() {
            return Err(Error::network(format!("'{pattern}' would remove all output nodes")));
        }
        self.remove_nodes(&remove)?;
        Ok(remove.len())
    }

    fn apply_svd(
        &mut self,
        line: &mut ConfigLine,
        pattern: &str,
        remembered: &mut Option<usize>,
    ) -> Result<String> {
        let dim = line.get_i32("bottleneck-dim")?.unwrap_or(-1);
        let energy = line.get_f32("energy-threshold")?.unwrap_or(-1.0);
        let shrinkage = line.get_f32("shrinkage-threshold")?.unwrap_or(1.0);
        if dim <= 0 && energy <= 0.0 {
            return Err(line.error("either bottleneck-dim or energy-threshold must be greater than 0"));
        }
        let mut rank_limit = usize::try_from(dim).ok().or(*remembered);
        let mut decomposed = 0;
        for id in self.matching_affine(pattern) {
            let affine = self.affine(id);
            let (outputs, inputs) = (affine.output_dim(), affine.input_dim());
            if rank_limit.is_some_and(|rank| inputs.min(outputs) <= rank) {
                continue;
            }
            let (u, s, vt) = sorted_svd(&dense(affine.linear_params()));
            let rank = if energy > 0.0 { rank_for_energy(&s, energy) } else { rank_limit.unwrap_or(1) };
            if energy > 0.0 {
                rank_limit = Some(rank);
            }
            if (rank * (inputs + outputs)) as f32 / (inputs * outputs) as f32 > shrinkage {
                continue;
            }
            let roots = DMatrix::from_diagonal(&nalgebra::DVector::from_iterator(
                rank,
                s.iter().take(rank).map(|v| v.sqrt()),
            ));
            let first = to_matrix(&(&roots * vt.rows(0, rank)));
            let second = to_matrix(&(u.columns(0, rank) * &roots));
            self.replace_by_pair(id, first, second)?;
            decomposed += 1;
        }
        *remembered = rank_limit;
        self.remove_orphan_nodes(false)?;
        self.remove_orphan_components();
        Ok(format!("Decomposed {decomposed} components with SVD."))
    }

    /// Component C becomes `C_a` (linear) and `C_b` (affine), each of its nodes N becomes `N_a` and `N_b`.
    fn replace_by_pair(&mut self, id: ComponentId, first: Matrix, second: Matrix) -> Result<()> {
        let name = self.component_name(id).to_string();
        let affine = self.affine(id);
        let settings = affine.settings().clone();
        let mut linear = Linear::new(first);
        *linear.settings_mut() = settings.clone();
        let mut output = Affine::with_natural_gradient(second, affine.bias_params().clone());
        *output.settings_mut() = settings;
        let mut new_ids = Vec::new();
        for (suffix, component) in [("a", Box::new(linear) as Box<dyn Component>), ("b", Box::new(output))] {
            let new_name = format!("{name}_{suffix}");
            if self.find_component(&new_name).is_some() {
                return Err(Error::network(format!("there is already a component '{new_name}'")));
            }
            new_ids.push(ComponentId::from(self.components.len()));
            self.components.push(component);
            self.component_names.push(new_name);
        }
        let users: Vec<NodeId> = self
            .node_ids()
            .filter(|&n| matches!(self.node(n), Node::Component { component } if *component == id))
            .collect();
        for node in users.into_iter().rev() {
            self.split_node(node, new_ids[0], new_ids[1])?;
        }
        Ok(())
    }

    /// Puts a node `N_a` of component `a` before component node N, which becomes `N_b` of component `b`.
    fn split_node(&mut self, node: NodeId, a: ComponentId, b: ComponentId) -> Result<()> {
        let name = self.node_name(node).to_string();
        for suffix in ["a", "b", "a_input", "b_input"] {
            if self.find_node(&format!("{name}_{suffix}")).is_some() {
                return Err(Error::network(format!("there is already a node '{name}_{suffix}'")));
            }
        }
        // Two nodes are inserted after N's input: N_a, and the input of N_b.
        let at = node.0;
        let moved = |id: NodeId| if id.0 >= at { NodeId(id.0 + 2) } else { id };
        for n in &mut self.nodes {
            if let Node::DimRange { source, .. } = n {
                *source = moved(*source);
            }
            if let Some(descriptor) = n.descriptor_mut() {
                descriptor.renumber(&moved);
            }
        }
        let read_a = self.descriptor_of_node(node);
        let at = node.index();
        self.nodes[at] = Node::Component { component: b };
        self.nodes
            .splice(at..at, [Node::Component { component: a }, Node::ComponentInput { descriptor: read_a }]);
        self.node_names[at - 1] = format!("{name}_a_input");
        self.node_names[at] = format!("{name}_b");
        self.node_names.splice(at..at, [format!("{name}_a"), format!("{name}_b_input")]);
        Ok(())
    }

    fn descriptor_of_node(&self, node: NodeId) -> crate::descriptor::Descriptor {
        use crate::descriptor::{Descriptor, Forward, Sum};
        Descriptor { parts: vec![Sum::Simple(Forward::Node { node, scale: 1.0 })] }
    }

    fn reduce_rank(&mut self, pattern: &str, rank: usize) -> Result<String> {
        let mut reduced = 0;
        for id in self.matching_affine(pattern) {
            let affine = self.affine(id);
            if affine.input_dim().min(affine.output_dim()) <= rank {
                continue;
            }
            let (u, s, vt) = sorted_svd(&dense(affine.linear_params()));
            let values = nalgebra::DVector::from_iterator(rank, s.iter().take(rank).copied());
            let linear =
                to_matrix(&(u.columns(0, rank) * DMatrix::from_diagonal(&values) * vt.rows(0, rank)));
            let bias = affine.bias_params().clone();
            let component = nnet3_component::downcast_mut::<Affine>(self.component_mut(id));
            component.set_params(linear, bias);
            reduced += 1;
        }
        Ok(format!("Reduced rank of parameters of {reduced} components."))
    }
}

fn non_negative(line: &mut ConfigLine, key: &str) -> Result<f32> {
    let value = line.require_f32(key)?;
    if value >= 0.0 { Ok(value) } else { Err(line.error(format!("{key}={value}: expected 0 or more"))) }
}

/// 1 + the first position at which the running energy reaches this share of the total.
fn rank_for_energy(singular_values: &[f64], share: f32) -> usize {
    let total: f64 = singular_values.iter().map(|s| s * s).sum();
    let mut sum = 0.0;
    let reached = singular_values.iter().position(|s| {
        sum += s * s;
        sum >= share as f64 * total
    });
    reached.map_or(singular_values.len(), |i| i + 1)
}

/// The matrix in double precision, on the host.
fn dense(matrix: &Matrix) -> DMatrix<f64> {
    let data: Vec<f64> = matrix.to_vec().into_iter().map(f64::from).collect();
    DMatrix::from_row_slice(matrix.rows(), matrix.cols(), &data)
}

pub(super) fn to_matrix(m: &DMatrix<f64>) -> Matrix {
    let data = m.transpose().iter().map(|&v| v as f32).collect();
    Matrix::from_vec(m.nrows(), m.ncols(), data)
}

#[cfg(test)]
mod tests;
