//! The computation as JSON, for programs. `docs/compiler.md` describes the fields.

use super::text::{name, op_kind};
use super::{Inspection, milliseconds};
use crate::computation::{Computation, MatrixId, print};
use crate::flops;
use crate::index::print_cindexes;
use crate::lower::{Cost, Op};
use crate::optimize::analysis::submatrix_accesses;

/// A value, as it is written.
pub(super) enum Json {
    Number(String),
    String(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    pub(super) fn integer(value: impl Into<u64>) -> Json {
        Json::Number(value.into().to_string())
    }
    pub(super) fn size(value: usize) -> Json {
        Json::Number(value.to_string())
    }
    pub(super) fn real(value: f64) -> Json {
        // Infinities and NaN have no form in JSON.
        Json::Number(if value.is_finite() { format!("{value:.6}") } else { "null".to_string() })
    }
    pub(super) fn text(value: impl Into<String>) -> Json {
        Json::String(value.into())
    }
    pub(super) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Json {
        Json::List(values.into_iter().map(Json::text).collect())
    }

    /// Lists and objects at a depth below `lines` have a line for each item.
    pub(super) fn write(&self, depth: usize, lines: usize, out: &mut String) {
        let (open, close, count) = match self {
            Json::Number(number) => return out.push_str(number),
            Json::String(text) => return write_string(text, out),
            Json::List(items) => ('[', ']', items.len()),
            Json::Object(items) => ('{', '}', items.len()),
        };
        let newline = |depth: usize, out: &mut String| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        let broken = depth < lines && count > 0;
        out.push(open);
        for i in 0..count {
            if i > 0 {
                out.push(',');
            }
            match broken {
                true => newline(depth + 1, out),
                false if i > 0 => out.push(' '),
                false => {}
            }
            match self {
                Json::List(items) => items[i].write(depth + 1, lines, out),
                Json::Object(items) => {
                    write_string(items[i].0, out);
                    out.push_str(": ");
                    items[i].1.write(depth + 1, lines, out);
                }
                _ => {}
            }
        }
        if broken {
            newline(depth, out);
        }
        out.push(close);
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

impl Inspection<'_> {
    /// One object: `summary`, `matrices`, `commands`, and `passes` if they were observed. Ends in a newline.
    pub fn json(&self) -> String {
        let computation = self.program.computation();
        let extended = self.program.lowered().extended(computation);
        let number = |(key, value): (&'static str, String)| (key, Json::Number(value));
        let mut items = vec![
            ("summary", Json::Object(self.summary_items().into_iter().map(number).collect())),
            ("matrices", Json::List((1..computation.matrices.len()).map(|m| self.matrix_json(m)).collect())),
            (
                "commands",
                Json::List(
                    (0..computation.commands.len()).map(|c| self.command_json(&extended, c)).collect(),
                ),
            ),
        ];
        if self.profile.is_some() {
            let names = print::Names::of(self.nnet);
            let ops = self.program.lowered().ops().iter().enumerate();
            let rows = ops.filter_map(|(i, op)| self.operation_json(&extended, &names, i, op));
            items.push(("operations", Json::List(rows.collect())));
        }
        if let Some(passes) = self.passes {
            let rows = passes.list.iter().map(|pass| {
                Json::Object(vec![
                    ("name", Json::text(pass.name)),
                    ("commands", Json::size(pass.after.commands)),
                    ("matrices", Json::size(pass.after.matrices)),
                    ("bytes", Json::size(pass.after.bytes)),
                    ("ms", Json::real(milliseconds(pass.time))),
                ])
            });
            items.push(("passes", Json::List(rows.collect())));
            let cost = |cost: &Cost| {
                Json::Object(vec![
                    ("operations", Json::size(cost.operations)),
                    ("bytes", Json::integer(cost.bytes)),
                    ("gemm-flops", Json::integer(cost.flops)),
                ])
            };
            let rows = passes.lowering.iter().map(|pass| {
                Json::Object(vec![
                    ("name", Json::text(pass.name)),
                    ("before", cost(&pass.before)),
                    ("after", cost(&pass.after)),
                    ("ms", Json::real(milliseconds(pass.time))),
                ])
            });
            items.push(("lowering", Json::List(rows.collect())));
        }
        let mut out = String::new();
        Json::Object(items).write(0, 2, &mut out);
        out.push('\n');
        out
    }

    /// An operation that has run.
    fn operation_json(
        &self,
        extended: &Computation,
        names: &print::Names<'_>,
        i: usize,
        op: &Op,
    ) -> Option<Json> {
        let work = self.work(extended, i)?;
        let mut items = vec![
            ("command", Json::size(self.program.lowered().command(i))),
            ("kind", Json::text(op_kind(self.nnet, op))),
            ("text", Json::text(op.text(extended, names))),
            ("nodes", Json::texts(self.nodes_of_op(extended, op))),
            ("bytes", Json::integer(work.bytes)),
        ];
        if work.flops > 0 {
            items.push(("gemm-flops", Json::integer(work.flops)));
        }
        items.push(("ms", Json::real(milliseconds(work.time))));
        if let Some(rate) = work.gflops() {
            items.push(("gflops", Json::real(rate)));
        }
        Some(Json::Object(items))
    }

    fn matrix_json(&self, m: usize) -> Json {
        let (computation, plan) = (self.program.computation(), self.program.plan());
        let matrix = &computation.matrices[m];
        let mut items = vec![
            ("name", Json::text(format!("m{m}"))),
            ("rows", Json::size(matrix.rows)),
            ("cols", Json::size(matrix.cols)),
            ("offset-bytes", Json::size(4 * plan.matrix_offsets[m])),
        ];
        if let Some((first, last)) = self.life(MatrixId::from(m)) {
            items.push(("life", Json::List(vec![Json::size(first), Json::size(last)])));
        }
        if let Some(info) = computation.debug_info.get(m) {
            items.push(("what", Json::text(if info.is_deriv { "deriv" } else { "value" })));
            items.push(("indexes", Json::text(print_cindexes(&info.cindexes, self.nnet.node_names()))));
        }
        Json::Object(items)
    }

    fn command_json(&self, extended: &Computation, c: usize) -> Json {
        let computation = self.program.computation();
        let command = &computation.commands[c];
        let names = print::Names::of(self.nnet);
        let mut accesses = Vec::new();
        submatrix_accesses(self.nnet, computation, command, &mut accesses);
        let list = |wanted: fn(bool, bool) -> bool| {
            use crate::optimize::analysis::AccessKind;
            let accesses = accesses.iter();
            let those = accesses.filter(|(_, kind)| wanted(*kind != AccessKind::Write, kind.writes()));
            Json::List(those.map(|&(s, _)| Json::text(print::submatrix(computation, s))).collect())
        };
        let mut items = vec![
            ("kind", Json::text(name(command))),
            ("text", Json::text(print::command(computation, &names, command))),
            ("nodes", Json::texts(self.nodes_of(computation, command))),
            ("reads", list(|reads, _| reads)),
            ("writes", list(|_, writes| writes)),
        ];
        let flops = flops::of_command(self.nnet, computation, command);
        if flops > 0 {
            items.push(("gemm-flops", Json::integer(flops)));
        }
        if let Some(work) = self.work_at(extended, c) {
            items.push(("ms", Json::real(milliseconds(work.time))));
            work.gflops().into_iter().for_each(|rate| items.push(("gflops", Json::real(rate))));
        }
        Json::Object(items)
    }
}
