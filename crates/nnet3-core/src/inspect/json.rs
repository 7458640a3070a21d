//! The computation as JSON, for programs. `docs/dev/compiler.md` describes the fields.

use super::text::{name, op_kind};
use super::{Inspection, milliseconds};
use nnet3_base::index::print_cindexes;
use nnet3_compiler::analysis::{AccessKind, submatrix_accesses};
use nnet3_compiler::computation::{Computation, MatrixId, print};
use nnet3_compiler::flops;
use nnet3_compiler::lower::{Cost, Op};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Number, Value, json};
use std::io::{self, Write};

/// A number with six digits after the point; null for infinities and NaN, which have no form in JSON.
pub(super) fn real(value: f64) -> Value {
    Value::from((1e6 * value).round() / 1e6)
}

/// The text of a value. Lists and objects at a depth below `lines` have a line for each item.
pub(super) fn to_text(value: &Value, lines: usize) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Lines { lines, depth: 0, empty: true });
    value.serialize(&mut serializer).expect("a value can be written to memory");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

struct Lines {
    lines: usize,
    depth: usize,
    /// True if the innermost open list or object is still empty.
    empty: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, w: &mut W, open: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        w.write_all(open)
    }

    fn item<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        w.write_all(if first { b"" } else { b"," })?;
        match self.depth <= self.lines {
            true => self.line(w),
            false => w.write_all(if first { b"" } else { b" " }),
        }
    }

    fn end<W: ?Sized + Write>(&mut self, w: &mut W, close: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth < self.lines && !self.empty {
            self.line(w)?;
        }
        w.write_all(close)
    }

    fn line<W: ?Sized + Write>(&self, w: &mut W) -> io::Result<()> {
        write!(w, "\n{:1$}", "", 2 * self.depth)
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.begin(w, b"[")
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.item(w, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }
    fn end_array<W: ?Sized + Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.end(w, b"]")
    }
    fn begin_object<W: ?Sized + Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.begin(w, b"{")
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.item(w, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }
    fn end_object<W: ?Sized + Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.end(w, b"}")
    }
}

impl Inspection<'_> {
    /// One object with `summary`, `matrices`, `commands`, and `passes` if they were observed. It ends in a newline.
    pub fn json(&self) -> String {
        let computation = self.program.computation();
        let extended = self.program.lowered().extended(computation);
        let number = |text: String| text.parse::<Number>().map_or(Value::Null, Value::Number);
        let summary = self.summary_items().into_iter().map(|(key, text)| (key.to_owned(), number(text)));
        let mut out = json!({
            "summary": summary.collect::<Map<_, _>>(),
            "matrices": list((1..computation.matrices.len()).map(|m| self.matrix_json(m))),
            "commands": list((0..computation.commands.len()).map(|c| self.command_json(&extended, c))),
        });
        if self.profile.is_some() {
            let names = print::Names::of(self.nnet);
            let ops = self.program.lowered().ops().iter().enumerate();
            out["operations"] = list(ops.filter_map(|(i, op)| self.operation_json(&extended, &names, i, op)));
        }
        if let Some(passes) = self.passes {
            out["passes"] = list(passes.list.iter().map(|pass| {
                json!({
                    "name": pass.name,
                    "commands": pass.after.commands,
                    "matrices": pass.after.matrices,
                    "bytes": pass.after.bytes,
                    "ms": real(milliseconds(pass.time)),
                })
            }));
            let cost = |cost: &Cost| json!({ "operations": cost.operations, "bytes": cost.bytes, "gemm-flops": cost.flops });
            out["lowering"] = list(passes.lowering.iter().map(|pass| {
                json!({
                    "name": pass.name,
                    "before": cost(&pass.before),
                    "after": cost(&pass.after),
                    "ms": real(milliseconds(pass.time)),
                })
            }));
        }
        to_text(&out, 2)
    }

    /// An operation that has run.
    fn operation_json(
        &self,
        extended: &Computation,
        names: &print::Names<'_>,
        i: usize,
        op: &Op,
    ) -> Option<Value> {
        let work = self.work(extended, i)?;
        let mut out = json!({
            "command": self.program.lowered().command(i),
            "kind": op_kind(self.nnet, op),
            "text": op.text(extended, names),
            "nodes": self.nodes_of_op(extended, op),
            "bytes": work.bytes,
        });
        if work.flops > 0 {
            out["gemm-flops"] = work.flops.into();
        }
        out["ms"] = real(milliseconds(work.time));
        if let Some(rate) = work.gflops() {
            out["gflops"] = real(rate);
        }
        Some(out)
    }

    fn matrix_json(&self, m: usize) -> Value {
        let (computation, plan) = (self.program.computation(), self.program.plan());
        let matrix = &computation.matrices[m];
        let mut out = json!({
            "name": format!("m{m}"),
            "rows": matrix.rows,
            "cols": matrix.cols,
            "offset-bytes": 4 * plan.matrix_offsets[m],
        });
        if let Some((first, last)) = self.life(MatrixId::from(m)) {
            out["life"] = json!([first, last]);
        }
        if let Some(info) = computation.debug_info.get(m) {
            out["what"] = if info.is_deriv { "deriv" } else { "value" }.into();
            out["indexes"] = print_cindexes(&info.cindexes, self.nnet.node_names()).into();
        }
        out
    }

    fn command_json(&self, extended: &Computation, c: usize) -> Value {
        let computation = self.program.computation();
        let command = &computation.commands[c];
        let names = print::Names::of(self.nnet);
        let mut accesses = Vec::new();
        submatrix_accesses(self.nnet, computation, command, &mut accesses);
        let those = |wanted: fn(AccessKind) -> bool| {
            let accesses = accesses.iter().filter(|&&(_, kind)| wanted(kind));
            list(accesses.map(|&(s, _)| print::submatrix(computation, s).into()))
        };
        let mut out = json!({
            "kind": name(command),
            "text": print::command(computation, &names, command),
            "nodes": self.nodes_of(computation, command),
            "reads": those(|kind| kind != AccessKind::Write),
            "writes": those(AccessKind::writes),
        });
        let flops = flops::of_command(self.nnet, computation, command);
        if flops > 0 {
            out["gemm-flops"] = flops.into();
        }
        if let Some(work) = self.work_at(extended, c) {
            out["ms"] = real(milliseconds(work.time));
            if let Some(rate) = work.gflops() {
                out["gflops"] = real(rate);
            }
        }
        out
    }
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::Array(values.collect())
}
