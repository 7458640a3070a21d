//! Records of each stage of compiling: sizes before and after, time.

use crate::execute::cache::Stage;
use crate::{lower, optimize};
use std::fmt::Write;
use std::time::Duration;

/// The size of a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub commands: usize,
    pub matrices: usize,
    /// Most bytes of matrices allocated at one time.
    pub bytes: usize,
}

/// One stage.
#[derive(Clone, Debug)]
pub struct Pass {
    pub name: &'static str,
    /// The size before; zero for the first stage.
    pub before: Size,
    pub after: Size,
    pub time: Duration,
}

/// The stages in order; [`Passes::add`] is an observer of compiling.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    pub list: Vec<Pass>,
    pub lowering: Vec<lower::Stage>,
}

fn change(before: impl ToString, after: impl ToString) -> String {
    let (before, after) = (before.to_string(), after.to_string());
    if before == after { after } else { format!("{before} -> {after}") }
}

fn ms(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

impl Passes {
    pub fn add(&mut self, stage: Stage<'_>) {
        let optimize::Stage { name, computation, time } = match stage {
            Stage::Computation(stage) => stage,
            Stage::Lowering(pass) => return self.lowering.push(pass),
        };
        let after = Size {
            commands: computation.commands.len(),
            matrices: computation.matrices.len() - 1,
            bytes: computation.peak_bytes(),
        };
        let before = self.list.last().map_or(Size::default(), |last| last.after);
        self.list.push(Pass { name, before, after, time });
    }

    /// Tables with a row for each stage, a line of headings and the total time. First come the passes over
    /// computations, then the passes over operations with the cost of one run.
    pub fn table(&self) -> String {
        let mut out =
            format!("{:<26} {:>17} {:>17} {:>27} {:>10}\n", "# pass", "commands", "matrices", "bytes", "ms");
        let mut row = |name: &str, columns: [String; 3], time: Duration| {
            let [first, second, third] = columns;
            let _ = writeln!(out, "{name:<26} {first:>17} {second:>17} {third:>27} {:>10}", ms(time));
        };
        for Pass { name, before, after, time } in &self.list {
            let columns = [
                change(before.commands, after.commands),
                change(before.matrices, after.matrices),
                change(before.bytes, after.bytes),
            ];
            row(name, columns, *time);
        }
        let total: Duration = self.list.iter().map(|pass| pass.time).sum();
        let lowering = self.lowering.iter().map(|pass| pass.time).sum::<Duration>();
        row("total", Default::default(), total + lowering);
        out + &self.lowering_table()
    }

    fn lowering_table(&self) -> String {
        if self.lowering.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "{:<26} {:>17} {:>21} {:>23} {:>10}\n",
            "# lowering", "operations", "MB moved", "MFLOP", "ms"
        );
        let millions = |count: u64| format!("{:.2}", count as f64 / 1e6);
        for lower::Stage { name, before, after, time } in &self.lowering {
            let _ = writeln!(
                out,
                "{name:<26} {:>17} {:>21} {:>23} {:>10}",
                change(before.operations, after.operations),
                change(millions(before.bytes), millions(after.bytes)),
                change(millions(before.flops), millions(after.flops)),
                ms(*time)
            );
        }
        out
    }
}
