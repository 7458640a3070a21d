//! From a request to an unoptimised computation: the graph, its steps, then the commands.

mod backward;
pub mod draws;
mod forward;
mod locations;
pub mod looped;
mod reads;
pub mod shortcut;
#[cfg(test)]
mod tests;

use self::reads::{Reads, Scales};
use crate::computation::{Command, Computation, MatrixDebugInfo, Precomputed, PrecomputedId, SubmatrixId};
use crate::graph::steps::{Step, StepId, Steps};
use crate::graph::{self, ComputationGraph};
use crate::optimize::consolidate_io;
use crate::request::ComputationRequest;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, Index, NodeId};
use nnet3_component::Properties;
use nnet3_network::{Nnet, Node};
use std::rc::Rc;
use std::sync::Arc;

/// Compiles one request, or several that follow each other in time (the segments of a looped computation).
pub fn compile(nnet: &Nnet, requests: &[ComputationRequest]) -> Result<Computation> {
    compile_observed(nnet, requests, &mut |_| ())
}

/// As [`compile`]; calls the observer with the name of each stage after it.
pub fn compile_observed(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    done: &mut dyn FnMut(&'static str),
) -> Result<Computation> {
    requests[0].need_derivatives()?;
    if requests.len() > 1 {
        check_segments(requests)?;
    }
    let (graph, steps) = graph::graph_and_steps(nnet, requests, done)?;
    generate(nnet, requests, graph, steps, done)
}

/// The commands for a graph and its steps.
fn generate(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    graph: ComputationGraph,
    steps: Steps,
    done: &mut dyn FnMut(&'static str),
) -> Result<Computation> {
    let Steps { steps, locations, num_sequences } = steps;
    let mut out =
        Computation { need_model_derivative: requests[0].need_model_derivative, ..Computation::new() };
    out.matrices.reserve(2 * steps.len());
    out.submatrices.reserve(4 * steps.len());
    out.commands.reserve(8 * steps.len());
    let mut compiler = Compiler {
        nnet,
        requests,
        need_derivatives: requests[0].need_derivatives()?,
        graph,
        locations,
        num_sequences,
        infos: Vec::with_capacity(steps.len()),
        scales: vec![None; nnet.num_nodes()],
        out,
    };
    compiler.create_matrices(steps)?;
    compiler.allocate();
    done("matrices");
    compiler.precompute_indexes()?;
    done("precompute-indexes");
    compiler.forward()?;
    done("forward");
    compiler.out.commands.push(Command::Marker);
    compiler.backward()?;
    done("backward");
    compiler.deallocate();
    compiler.add_debug_info();
    consolidate_io::run(&mut compiler.out);
    done("debug-info");
    Ok(compiler.out)
}

fn check_segments(requests: &[ComputationRequest]) -> Result<()> {
    let stats = requests[0].store_component_stats;
    if requests.iter().any(|r| r.need_model_derivative || r.store_component_stats != stats) {
        return Err(Error::Request(
            "segments of one computation cannot have model derivatives or differ in statistics".into(),
        ));
    }
    Ok(())
}

/// A step with the matrices that hold it.
struct StepInfo {
    step: Step,
    /// `None` for an empty step.
    value: Option<SubmatrixId>,
    /// The derivative, if needed.
    deriv: Option<SubmatrixId>,
    /// For the step of a descriptor, the columns of each appended part, of its value and of its derivative.
    parts: Vec<Part>,
    precomputed: Option<PrecomputedId>,
}

struct Part {
    value: SubmatrixId,
    deriv: Option<SubmatrixId>,
    /// Source rows found by the forward pass, for use by the backward pass.
    reads: Option<Reads>,
}

struct Compiler<'a> {
    nnet: &'a Nnet,
    requests: &'a [ComputationRequest],
    need_derivatives: bool,
    graph: ComputationGraph,
    /// Step of each cindex, and its position in the step's ids.
    locations: Vec<(StepId, u32)>,
    /// The number of sequences that each cindex stands for.
    num_sequences: usize,
    infos: Vec<StepInfo>,
    /// The scales of each part of a node's descriptor; `None` until they are needed.
    scales: Vec<Option<Rc<[Rc<Scales>]>>>,
    out: Computation,
}

impl Compiler<'_> {
    fn index_list(&self, step: usize) -> Vec<Index> {
        self.infos[step].step.indexes(&self.graph, self.num_sequences)
    }

    fn component(&self, node: NodeId) -> Option<(ComponentId, Properties)> {
        self.nnet.component_of(node).map(|id| (id, self.nnet.component(id).properties()))
    }

    fn request_of(&self, step: &Step) -> &ComputationRequest {
        &self.requests[step.segment]
    }

    /// Returns for each step whether its derivative is needed.
    fn derivatives_needed(&self, steps: &[Step]) -> Vec<bool> {
        let mut needed = vec![false; steps.len()];
        for (s, step) in steps.iter().enumerate() {
            if step.ids.is_empty() {
                continue;
            }
            let request = self.request_of(step);
            let name = self.nnet.node_name(step.node);
            let of_its_own = match self.nnet.node(step.node) {
                Node::Input { .. } => request.input(name).is_some_and(|io| io.has_deriv),
                Node::Output { .. } => request.output(name).is_some_and(|io| io.has_deriv),
                Node::Component { component } if request.need_model_derivative => {
                    let updatable = self.nnet.component(*component).as_updatable();
                    updatable.is_some_and(|u| u.settings().learning_rate != 0.0)
                }
                _ => false,
            };
            let inherited = || match self.nnet.node(step.node) {
                Node::Component { .. } => needed[s - 1],
                _ => step
                    .ids
                    .iter()
                    .flat_map(|&id| self.graph.dependencies(id).iter())
                    .any(|&d| needed[self.locations[d as usize].0.index()]),
            };
            needed[s] = of_its_own || inherited();
        }
        needed
    }

    fn create_matrices(&mut self, steps: Vec<Step>) -> Result<()> {
        let needed = match self.need_derivatives {
            true => self.derivatives_needed(&steps),
            false => vec![false; steps.len()],
        };
        for (step, need_deriv) in steps.into_iter().zip(needed) {
            let info = self.create_matrix(step, need_deriv)?;
            self.infos.push(info);
        }
        Ok(())
    }

    fn create_matrix(&mut self, step: Step, need_deriv: bool) -> Result<StepInfo> {
        let mut info = StepInfo { step, value: None, deriv: None, parts: vec![], precomputed: None };
        if info.step.ids.is_empty() {
            return Ok(info);
        }
        let node = info.step.node;
        let (rows, cols) = (info.step.num_rows(self.num_sequences), self.nnet.node_dim(node));
        if let Node::DimRange { dim, offset, .. } = self.nnet.node(node) {
            let source = info.step.ids.iter().find_map(|&id| self.graph.dependencies(id).first());
            let source = source.map(|&d| self.locations[d as usize].0.index());
            let source = source.ok_or_else(|| Error::computation("a dim-range step reads nothing"))?;
            let columns = *offset..offset + dim;
            let part = |out: &mut Computation, base: Option<SubmatrixId>| {
                base.map(|base| out.new_submatrix(base, 0..rows, columns.clone()))
            };
            info.value = part(&mut self.out, self.infos[source].value);
            if need_deriv {
                info.deriv = part(&mut self.out, self.infos[source].deriv);
            }
            return Ok(info);
        }
        let contiguous = self.component(node).is_some_and(|(_, properties)| match self.nnet.node(node) {
            Node::ComponentInput { .. } => properties.contains(Properties::INPUT_CONTIGUOUS),
            _ => properties.contains(Properties::OUTPUT_CONTIGUOUS),
        });
        let value = self.out.new_matrix(rows, cols, contiguous);
        info.value = Some(value);
        if need_deriv {
            info.deriv = Some(self.out.new_matrix(rows, cols, contiguous));
        }
        if let Some(descriptor) = self.nnet.node(node).descriptor() {
            let mut first = 0;
            for part in &descriptor.parts {
                let dim = part.dim(&|n| self.nnet.node_dim(n)).unwrap_or(0);
                info.parts.push(match descriptor.parts.len() {
                    1 => Part { value, deriv: info.deriv, reads: None },
                    _ => Part {
                        value: self.out.new_submatrix(value, 0..rows, first..first + dim),
                        deriv: info.deriv.map(|d| self.out.new_submatrix(d, 0..rows, first..first + dim)),
                        reads: None,
                    },
                });
                first += dim;
            }
        }
        Ok(info)
    }

    /// True if the step is an output whose derivative the user supplies.
    fn deriv_is_supplied(&self, step: &Step) -> bool {
        let name = self.nnet.node_name(step.node);
        matches!(self.nnet.node(step.node), Node::Output { .. })
            && self.request_of(step).output(name).is_some_and(|io| io.has_deriv)
    }

    fn is_input(&self, step: &Step) -> bool {
        matches!(self.nnet.node(step.node), Node::Input { .. })
    }

    /// Allocates every matrix that the user does not supply, and zeroes it: all combining is by addition.
    fn allocate(&mut self) {
        let mut supplied = vec![false; self.out.matrices.len()];
        for info in &self.infos {
            let of_user = match () {
                () if self.is_input(&info.step) => info.value,
                () if self.deriv_is_supplied(&info.step) => info.deriv,
                () => None,
            };
            if let Some(submatrix) = of_user {
                supplied[self.out.matrix_of(submatrix).index()] = true;
            }
        }
        for (m, whole) in self.out.whole_submatrices().into_iter().enumerate() {
            if let (Some(matrix), false) = (whole, supplied[m]) {
                self.out.commands.push(Command::Allocate { matrix });
                self.out.commands.push(Command::SetConst { dest: matrix, value: 0.0 });
            }
        }
    }

    fn precompute_indexes(&mut self) -> Result<()> {
        for s in 0..self.infos.len() {
            let Node::Component { component } = self.nnet.node(self.infos[s].step.node) else {
                continue;
            };
            let component = self.nnet.component(*component);
            if component.properties().contains(Properties::SIMPLE) {
                continue;
            }
            let (inputs, outputs) = (self.index_list(s - 1), self.index_list(s));
            let Some(data) = component.precompute_indexes(&inputs, &outputs, self.need_derivatives)? else {
                continue;
            };
            self.infos[s].precomputed = Some(PrecomputedId::from(self.out.precomputed.len()));
            // The shortcut compiler expands exactly two sequences. Only then does it need the lists.
            let keep = inputs.last().is_some_and(|i| i.n == 1) && outputs.last().is_some_and(|i| i.n == 1);
            let (input_indexes, output_indexes) = if keep { (inputs, outputs) } else { Default::default() };
            self.out.precomputed.push(Precomputed {
                data: Some(Arc::from(data)),
                input_indexes,
                output_indexes,
            });
        }
        Ok(())
    }

    /// Frees all matrices except those that the user may fetch at the end.
    fn deallocate(&mut self) {
        let mut kept = vec![false; self.out.matrices.len()];
        for info in &self.infos {
            let name = self.nnet.node_name(info.step.node);
            let of_user = match self.nnet.node(info.step.node) {
                Node::Output { .. } => info.value,
                Node::Input { .. }
                    if self.request_of(&info.step).input(name).is_some_and(|io| io.has_deriv) =>
                {
                    info.deriv
                }
                _ => None,
            };
            if let Some(submatrix) = of_user {
                kept[self.out.matrix_of(submatrix).index()] = true;
            }
        }
        for (m, whole) in self.out.whole_submatrices().into_iter().enumerate() {
            if let (Some(matrix), false) = (whole, kept[m]) {
                self.out.commands.push(Command::Deallocate { matrix });
            }
        }
    }

    fn add_debug_info(&mut self) {
        self.out.debug_info = vec![MatrixDebugInfo::default(); self.out.matrices.len()];
        for info in &self.infos {
            let Some(value) = info.value.filter(|&v| self.out.is_whole(v)) else {
                continue;
            };
            let matrix = self.out.matrix_of(value).index();
            if !self.out.debug_info[matrix].cindexes.is_empty() {
                continue;
            }
            let cindexes = info.step.cindexes(&self.graph, self.num_sequences);
            if let Some(deriv) = info.deriv.filter(|&d| self.out.is_whole(d)) {
                let matrix = self.out.matrix_of(deriv).index();
                self.out.debug_info[matrix] = MatrixDebugInfo { is_deriv: true, cindexes: cindexes.clone() };
            }
            self.out.debug_info[matrix] = MatrixDebugInfo { is_deriv: false, cindexes };
        }
    }
}
