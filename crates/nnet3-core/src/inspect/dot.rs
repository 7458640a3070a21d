//! The computation as a graph for Graphviz: commands and matrices with their lives.

use super::{Inspection, milliseconds};
use nnet3_compiler::analysis::{AccessKind, submatrix_accesses};
use nnet3_compiler::computation::{Command, MatrixId, SubmatrixId, print};
use std::fmt::Write;

/// Longest line in a box.
const WIDTH: usize = 60;

impl Inspection<'_> {
    /// Draws the computation in the language of Graphviz. Ellipses are commands, framed by segment. Boxes are matrices
    /// with size, contents, life and place. Arrows lead from a command's sources to the command, and on to its
    /// destinations. Dashed arrows lead from a matrix to the one that takes over its memory. Commands that only size
    /// matrices, and no-ops, are left out.
    pub fn dot(&self) -> String {
        let mut out = String::from(
            "digraph computation {\n  // Large ones are to be drawn in seconds, not minutes.\n  nslimit=1; nslimit1=1; mclimit=0.2;\n  \
             node [fontname=\"monospace\", fontsize=10];\n",
        );
        self.matrix_boxes(&mut out);
        let shown = self.command_ellipses(&mut out);
        for &c in &shown {
            self.arrows(c, &mut out);
        }
        self.swaps(&mut out);
        out + "}\n"
    }

    fn matrix_boxes(&self, out: &mut String) {
        let (computation, plan) = (self.program.computation(), self.program.plan());
        for (m, matrix) in computation.matrices.iter().enumerate().skip(1) {
            let mut lines = vec![format!("m{m}: {} x {}", matrix.rows, matrix.cols)];
            if let Some(info) = computation.debug_info.get(m) {
                let what = if info.is_deriv { "deriv" } else { "value" };
                let indexes = nnet3_base::index::print_cindexes(&info.cindexes, self.nnet.node_names());
                lines.push(cut(&format!("{what}: {indexes}")));
            }
            if let Some((first, last)) = self.life(MatrixId::from(m)) {
                let (bytes, offset) = (matrix.bytes(), 4 * plan.matrix_offsets[m]);
                lines.push(format!("lives c{first} to c{last}: {bytes} bytes at {offset}"));
            }
            let _ = writeln!(out, "  m{m} [shape=box, label={}];", label(&lines));
        }
    }

    /// Writes a cluster for each segment. Returns the numbers of the commands that are shown.
    fn command_ellipses(&self, out: &mut String) -> Vec<usize> {
        let computation = self.program.computation();
        let extended = self.program.lowered().extended(computation);
        let names = print::Names::of(self.nnet);
        let mut shown = Vec::new();
        let mut segment = 0;
        let _ = writeln!(out, "  subgraph cluster_{segment} {{\n    label=\"segment 1\";");
        for (c, command) in computation.commands.iter().enumerate() {
            match command {
                Command::Marker if c + 1 < computation.commands.len() => {
                    segment += 1;
                    let title = segment + 1;
                    let _ = writeln!(
                        out,
                        "  }}\n  subgraph cluster_{segment} {{\n    label=\"segment {title}\";"
                    );
                }
                Command::Marker
                | Command::Allocate { .. }
                | Command::Deallocate { .. }
                | Command::Swap { .. }
                | Command::NoOp
                | Command::NoOpPermanent => {}
                _ => {
                    let mut lines =
                        vec![format!("c{c}: {}", cut(&print::command(computation, &names, command)))];
                    let nodes = self.nodes_of(computation, command).join(", ");
                    if !nodes.is_empty() {
                        lines.push(cut(&nodes));
                    }
                    if let Some(work) = self.work_at(&extended, c) {
                        let rate = work.gflops().map_or(String::new(), |rate| format!(", {rate:.1} GFLOP/s"));
                        lines.push(format!("{:.4} ms{rate}", milliseconds(work.time)));
                    }
                    let _ = writeln!(out, "    c{c} [label={}];", label(&lines));
                    shown.push(c);
                }
            }
        }
        out.push_str("  }\n");
        shown
    }

    /// Writes arrows from the command's sources and to its destinations: one for each matrix, labelled with the parts.
    fn arrows(&self, c: usize, out: &mut String) {
        let computation = self.program.computation();
        if let Command::Goto { target } = computation.commands[c] {
            let _ = writeln!(out, "  c{c} -> c{target} [style=bold, constraint=false];");
        }
        let mut accesses = Vec::new();
        submatrix_accesses(self.nnet, computation, &computation.commands[c], &mut accesses);
        let mut arrows: Vec<(MatrixId, bool, Vec<SubmatrixId>)> = Vec::new();
        for (s, kind) in accesses {
            let m = computation.matrix_of(s);
            let directions = [(false, kind != AccessKind::Write), (true, kind.writes())];
            for (writes, _) in directions.into_iter().filter(|(_, does)| *does) {
                match arrows.iter_mut().find(|arrow| (arrow.0, arrow.1) == (m, writes)) {
                    Some(arrow) => arrow.2.push(s),
                    None => arrows.push((m, writes, vec![s])),
                }
            }
        }
        for (m, writes, mut parts) in arrows {
            parts.sort_unstable();
            parts.dedup();
            parts.retain(|&s| !computation.is_whole(s));
            let text: Vec<String> = parts.iter().map(|&s| print::submatrix(computation, s)).collect();
            let (from, to) =
                if writes { (format!("c{c}"), format!("m{m}")) } else { (format!("m{m}"), format!("c{c}")) };
            let style = match text.is_empty() {
                true => String::new(),
                false => format!(" [fontsize=8, label={}]", label(&[cut(&text.join(" "))])),
            };
            let _ = writeln!(out, "  {from} -> {to}{style};");
        }
    }

    fn swaps(&self, out: &mut String) {
        let computation = self.program.computation();
        for (c, command) in computation.commands.iter().enumerate() {
            if let Command::Swap { first, second } = *command {
                let (to, from) = (computation.matrix_of(first), computation.matrix_of(second));
                let _ = writeln!(out, "  m{from} -> m{to} [style=dashed, label=\"c{c}\"];");
            }
        }
    }
}

fn cut(text: &str) -> String {
    match text.chars().count() > WIDTH {
        true => text.chars().take(WIDTH - 3).chain("...".chars()).collect(),
        false => text.to_string(),
    }
}

/// A quoted label of some lines.
fn label(lines: &[String]) -> String {
    let escaped = lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", escaped.collect::<Vec<_>>().join("\\n"))
}
