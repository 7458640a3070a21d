//! Describes compiled computations for people: results of passes, places and times of commands, pictures.

mod benchmark;
mod clock;
mod dot;
mod json;
pub mod passes;
pub mod profile;
mod text;
mod trial;

pub use benchmark::{Benchmark, BenchmarkOptions};
pub use clock::thread_time;
pub use passes::{Pass, Passes};
pub use profile::{Profile, ProfileOptions};
pub use text::op_kind;

use crate::execute::Program;
use nnet3_base::index::NodeId;
use nnet3_compiler::computation::{Backprop, Command, Computation, MatrixId, Propagate, SubmatrixId};
use nnet3_compiler::flops;
use nnet3_compiler::lower::{Op, Ordered, Step, StepsUpdate, SumRows};
use nnet3_network::{Nnet, Node};
use std::time::Duration;

/// Times of the stages that make a program.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The time from the request to the optimised and checked computation, which the reference calls compilation.
    pub compile: Duration,
    /// The time of the memory plan, of index tables and of lowering. The reference finds memory while it runs.
    pub plan: Duration,
}

/// A program with all that is known of it. Its forms: [`Inspection::text`], [`Inspection::json`], [`Inspection::dot`],
/// [`Inspection::summary`].
pub struct Inspection<'a> {
    pub nnet: &'a Nnet,
    pub program: &'a Program,
    /// Is there if the program was compiled here.
    pub times: Option<Times>,
    /// Sizes before and after each stage of compiling, if they were observed.
    pub passes: Option<&'a Passes>,
    /// Times of the operations, if it has been run.
    pub profile: Option<&'a Profile>,
}

impl Inspection<'_> {
    /// `key: value` lines: commands, matrices, bytes, operations of matrix products, compile time.
    pub fn summary(&self) -> String {
        self.summary_items().iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    fn summary_items(&self) -> Vec<(&'static str, String)> {
        let (computation, plan) = (self.program.compiled(), self.program.plan());
        let flops = flops::count(self.nnet, computation);
        let mut items = vec![
            ("commands", computation.commands.len().to_string()),
            ("matrices", (computation.matrices.len() - 1).to_string()),
            ("peak-bytes", computation.peak_bytes().to_string()),
            ("arena-bytes", plan.arena_bytes().to_string()),
            ("live-bytes", plan.peak_live_bytes().to_string()),
            ("gemm-flops-forward", flops.forward.to_string()),
            ("gemm-flops-backward", flops.backward.to_string()),
        ];
        if let Some(Times { compile, plan }) = self.times {
            items.push(("compile-ms", format!("{:.3}", milliseconds(compile))));
            items.push(("plan-ms", format!("{:.3}", milliseconds(plan))));
        }
        items
    }

    /// Names of a command's nodes. These are the nodes of the rows that it writes, if debug info exists, and the
    /// nodes that use the command's component.
    fn nodes_of(&self, computation: &Computation, command: &Command) -> Vec<&str> {
        let rows_of = |s: SubmatrixId| rows_of(computation, s);
        let nodes = match *command {
            Command::AcceptInput { node, .. } | Command::ProvideOutput { node, .. } => vec![node],
            Command::Propagate(Propagate { component, output, .. }) => {
                self.of_component(component, rows_of(output))
            }
            Command::Backprop(Backprop { component, out_deriv, .. }) => {
                self.of_component(component, rows_of(out_deriv))
            }
            Command::SetConst { dest, .. }
            | Command::Copy { dest, .. }
            | Command::Add { dest, .. }
            | Command::CopyRows { dest, .. }
            | Command::AddRows { dest, .. }
            | Command::CopyRowsMulti { dest, .. }
            | Command::AddRowsMulti { dest, .. }
            | Command::AddRowRanges { dest, .. } => rows_of(dest),
            Command::CopyToRowsMulti { rows, .. } | Command::AddToRowsMulti { rows, .. } => {
                let list = &computation.multi_indexes[rows.index()];
                let mut places: Vec<SubmatrixId> = list.iter().flatten().map(|&(s, _)| s).collect();
                places.sort_unstable();
                places.dedup();
                sorted(places.into_iter().flat_map(rows_of).collect())
            }
            _ => Vec::new(),
        };
        self.named(nodes)
    }

    fn named(&self, nodes: Vec<NodeId>) -> Vec<&str> {
        nodes.into_iter().map(|node| self.nnet.node_name(node)).collect()
    }

    /// The nodes that an operation works for; `computation` is [`nnet3_compiler::lower::Lowered::extended`].
    fn nodes_of_op(&self, computation: &Computation, op: &Op) -> Vec<&str> {
        let of_output =
            |component, output| self.named(self.of_component(component, rows_of(computation, output)));
        match op {
            Op::Nothing | Op::Goto { .. } => Vec::new(),
            Op::Command(command) => self.nodes_of(computation, command),
            Op::Propagate(propagate) => self.nodes_of(computation, &Command::Propagate(propagate.args)),
            Op::Backprop(backprop) => self.nodes_of(computation, &Command::Backprop(backprop.args)),
            Op::Affine(affine) => of_output(affine.component, affine.output),
            Op::InputDerivative(product) => of_output(product.component, product.out_deriv),
            Op::Filter(filter) => of_output(filter.component, filter.output),
            Op::PickedPropagate(picked) => of_output(picked.component, picked.output),
            Op::PickedBackprop(picked) => self.nodes_of(computation, &Command::Backprop(picked.args)),
            Op::Step(Step { args, .. }) | Op::StepsUpdate(StepsUpdate { args, .. }) => {
                self.nodes_of(computation, &Command::Backprop(*args))
            }
            Op::Share(share) => self.named(self.of_component(share.component, Vec::new())),
            Op::CopyShare { dest, .. } | Op::SumRows(SumRows { dest, .. }) => {
                self.named(rows_of(computation, *dest))
            }
            Op::NormalizedSum(sum) => {
                let bypass = sum.bypass.map(|bypass| bypass.copy);
                let commands = sum.parts().map(|part| Command::Propagate(part.args)).chain(bypass);
                commands.flat_map(|command| self.nodes_of(computation, &command)).collect()
            }
            Op::NormalizedBackprop(back) => {
                let commands = back.parts().map(|part| Command::Backprop(part.args)).chain(back.copy);
                commands.flat_map(|command| self.nodes_of(computation, &command)).collect()
            }
            Op::Ordered(ordered) => {
                let commands = match *ordered {
                    Ordered::Propagate { affine, log_softmax, .. } => {
                        vec![Some(Command::Propagate(affine)), log_softmax.map(Command::Propagate)]
                    }
                    Ordered::LogSoftmaxBackprop { args, .. } | Ordered::AffineBackprop { args, .. } => {
                        vec![Some(Command::Backprop(args))]
                    }
                };
                commands.iter().flatten().flat_map(|command| self.nodes_of(computation, command)).collect()
            }
            Op::Blocks(blocks) => {
                let commands = blocks.commands.iter();
                let mut nodes: Vec<&str> =
                    commands.flat_map(|command| self.nodes_of(computation, command)).collect();
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
        }
    }

    /// Returns the nodes among `nodes` that use the component; if there are none, all nodes that use it. (After a merge
    /// of matrices, debug info describes only one of them.)
    fn of_component(&self, component: nnet3_base::index::ComponentId, nodes: Vec<NodeId>) -> Vec<NodeId> {
        let uses = |&node: &NodeId| matches!(self.nnet.node(node), Node::Component { component: c } if *c == component);
        let those: Vec<NodeId> = nodes.into_iter().filter(uses).collect();
        match those.is_empty() {
            true => self.nnet.node_ids().filter(uses).collect(),
            false => those,
        }
    }

    /// First and last command between which a matrix has storage, both included.
    fn life(&self, m: MatrixId) -> Option<(usize, usize)> {
        let computation = self.program.computation();
        let of = |s: SubmatrixId| computation.matrix_of(s) == m;
        let mut commands = computation.commands.iter();
        let begins = |command: &Command| match *command {
            Command::Allocate { matrix } | Command::AcceptInput { matrix, .. } => of(matrix),
            Command::Swap { first, .. } => of(first),
            _ => false,
        };
        let ends = |command: &Command| match *command {
            Command::Deallocate { matrix } => of(matrix),
            Command::Swap { second, .. } => of(second),
            _ => false,
        };
        let first = commands.position(begins)?;
        let last = computation.commands[first + 1..].iter().position(ends).map(|c| first + 1 + c);
        Some((first, last.unwrap_or(computation.commands.len() - 1)))
    }
}

/// The nodes of the rows of a sub-matrix.
fn rows_of(computation: &Computation, s: SubmatrixId) -> Vec<NodeId> {
    let s = computation.submatrix(s);
    let info = computation.debug_info.get(s.matrix.index());
    let rows = info.and_then(|info| info.cindexes.get(s.row_offset..s.row_offset + s.rows));
    sorted(rows.unwrap_or_default().iter().map(|c| c.node).collect())
}

fn sorted(mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
