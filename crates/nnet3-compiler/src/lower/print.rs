//! Prints operations for people.

use super::op::{
    Affine, Backprop, InputDerivative, Mode, Op, Ordered, Propagate, Share, Step, StepsUpdate, SumRows,
};
use super::{FilterProduct, Lowered, PickedBackprop, PickedPropagate};
use crate::computation::print::{self, Names};
use crate::computation::{Command, Computation, SubmatrixId};
use nnet3_base::index::{ComponentId, shorten};
use nnet3_network::Nnet;
use std::fmt::Write;

impl Lowered {
    /// Returns the computation with the parts as further sub-matrices. The numbers in operations refer to it.
    pub fn extended(&self, computation: &Computation) -> Computation {
        let mut extended = computation.clone();
        extended.submatrices.extend(&self.parts);
        extended
    }

    /// Writes a line for each operation: its command and its effect, in the notation of commands as far as possible.
    /// The line of matrices comes first.
    pub fn text(&self, nnet: &Nnet, computation: &Computation) -> String {
        let (extended, names) = (self.extended(computation), Names::of(nnet));
        let mut out = print::preamble(computation, &names);
        for i in 0..self.ops.len() {
            let _ = writeln!(out, "{}", self.line(&extended, &names, i));
        }
        out
    }

    /// One line, without newline; `extended` is [`Lowered::extended`].
    pub fn line(&self, extended: &Computation, names: &Names<'_>, i: usize) -> String {
        let text = match &self.ops[i] {
            Op::Goto { target } => format!("goto c{}", self.command(*target)),
            op => op.text(extended, names),
        };
        let lists = match &self.ops[i] {
            Op::SumRows(SumRows { lists, .. })
            | Op::InputDerivative(InputDerivative { rows: Some(lists), .. }) => self.lists_text(*lists),
            _ => String::new(),
        };
        let text = text + &lists;
        let mut line = shorten(format!("c{}: {text}\n", self.command(i)));
        line.pop();
        line
    }
}

impl Lowered {
    /// The lists of rows of a sum: one for each row of the destination.
    fn lists_text(&self, lists: usize) -> String {
        let list = |rows: &[i32]| rows.iter().map(i32::to_string).collect::<Vec<_>>().join("+");
        format!(": [{}]", self.row_lists[lists].iter().map(list).collect::<Vec<_>>().join(", "))
    }
}

impl Op {
    /// Describes the operation; `computation` is [`Lowered::extended`].
    pub fn text(&self, computation: &Computation, names: &Names<'_>) -> String {
        let s = |id: SubmatrixId| print::submatrix(computation, id);
        let component = |id: ComponentId| &names.components[id.index()];
        let command = |command| print::command(computation, names, &command);
        let mode = |mode| match mode {
            Mode::Ordinary => "",
            Mode::Sets => " [sets]",
            Mode::Summed { .. } => " [sums of windows]",
        };
        match self {
            Op::Nothing => "[nothing]".to_string(),
            Op::Command(same) => command(*same),
            Op::Goto { .. } => "goto".to_string(),
            Op::Propagate(Propagate { args, mode: m }) => command(Command::Propagate(*args)) + mode(*m),
            Op::Backprop(Backprop { args, mode: m, taps }) => {
                let taps = taps.map_or(String::new(), |taps| {
                    let summed = if taps.summed { "" } else { ", parameters only" };
                    format!(" [{} taps every {} rows{summed}]", taps.count, taps.step)
                });
                command(Command::Backprop(*args)) + mode(*m) + &taps
            }
            &Op::Affine(Affine { component: c, ref columns, input, output, adds }) => {
                let (first, last) = (columns.start, columns.end - 1);
                let (name, sign) = (component(c), if adds { "+=" } else { "=" });
                format!("{} {sign} {name}.Affine(columns {first}:{last}, {})", s(output), s(input))
            }
            &Op::InputDerivative(InputDerivative {
                component: c,
                ref columns,
                out_deriv,
                in_deriv,
                rows,
                adds,
                ..
            }) => {
                let (first, last) = (columns.start, columns.end - 1);
                let (name, sign) = (component(c), if adds { "+=" } else { "=" });
                let order = if rows.is_some() { " [rows in another order]" } else { "" };
                let (to, from) = (s(in_deriv), s(out_deriv));
                format!("{to} {sign} {name}.InputDerivative(columns {first}:{last}, {from}){order}")
            }
            Op::Filter(FilterProduct { component: c, sources, output, .. }) => {
                let sources: Vec<String> = sources.iter().map(|&source| s(source)).collect();
                format!("{}.Filter({}, &{})", component(*c), sources.join(", "), s(*output))
            }
            Op::PickedPropagate(PickedPropagate { component: c, node, output, .. }) => {
                format!(
                    "{} = {}.Affine(rows of a table, {})",
                    s(*output),
                    component(*c),
                    names.nodes[node.index()]
                )
            }
            Op::PickedBackprop(PickedBackprop { args, node, .. }) => {
                let node = &names.nodes[node.index()];
                format!("{} [rows of a table, {node}]", command(Command::Backprop(*args)))
            }
            Op::Step(Step { args, collects, .. }) => {
                let collects = if *collects { ", collects its update" } else { "" };
                format!("{} [step{collects}]", command(Command::Backprop(*args)))
            }
            Op::StepsUpdate(StepsUpdate { args, collected }) => {
                let how = if *collected { "collected by the steps" } else { "after the steps" };
                format!("{} [{how}]", command(Command::Backprop(*args)))
            }
            &Op::Share(Share { share, component: c, ref columns, source }) => {
                let (first, last) = (columns.start, columns.end - 1);
                format!("share {share} = {}.Affine(columns {first}:{last}, {})", component(c), s(source))
            }
            Op::CopyShare { share, rows, dest, last } => {
                let last = if *last { " [last]" } else { "" };
                format!("{} = share {share}({}:{}, :){last}", s(*dest), rows.start, rows.end - 1)
            }
            &Op::SumRows(SumRows { dest, src, alpha, adds, .. }) => {
                let factor = if alpha == 1.0 { String::new() } else { format!("{alpha} * ") };
                format!("{} {} {factor}sums of rows of {}", s(dest), if adds { "+=" } else { "=" }, s(src))
            }
            Op::NormalizedSum(sum) => {
                let parts = sum.parts().map(|part| command(Command::Propagate(part.args)));
                let bypass = sum.bypass.into_iter().flat_map(|bypass| [bypass.copy, bypass.add]).map(command);
                let all: Vec<String> = parts.chain(bypass).collect();
                let last = sum.masks.is_none() && sum.bypass.is_none();
                let unwritten = if sum.keeps_values || last { "" } else { " [values not written]" };
                format!("in one pass: {}{unwritten}", all.join("; "))
            }
            Op::NormalizedBackprop(back) => {
                let parts = back.parts().map(|part| command(Command::Backprop(part.args)));
                let all: Vec<String> = back.copy.map(command).into_iter().chain(parts).collect();
                format!("in one pass after sums: {}", all.join("; "))
            }
            Op::Ordered(ordered) => ordered_text(ordered, s, command),
            Op::Blocks(blocks) => {
                let ops: Vec<String> = blocks.commands.iter().map(|same| command(*same)).collect();
                format!("{} rows of m{} at a time: {}", blocks.rows, blocks.matrix, ops.join("; "))
            }
        }
    }
}

/// Describes steps of an output in the request's order.
fn ordered_text(
    ordered: &Ordered,
    s: impl Fn(SubmatrixId) -> String,
    command: impl Fn(Command) -> String,
) -> String {
    let (parts, input): (Vec<Command>, _) = match *ordered {
        Ordered::Propagate { affine, log_softmax, copy, input } => {
            let softmax = log_softmax.map(Command::Propagate);
            ([Command::Propagate(affine)].into_iter().chain(softmax).chain([copy]).collect(), Some(input))
        }
        Ordered::LogSoftmaxBackprop { copy, args, .. } => (vec![copy, Command::Backprop(args)], None),
        Ordered::AffineBackprop { copy, args, input, .. } => {
            (copy.into_iter().chain([Command::Backprop(args)]).collect(), Some(input))
        }
    };
    let parts: Vec<String> = parts.into_iter().map(command).collect();
    let input = input.map_or(String::new(), |input| format!(" with the input's rows at {}", s(input)));
    format!("in the order of the output{input}: {}", parts.join("; "))
}
