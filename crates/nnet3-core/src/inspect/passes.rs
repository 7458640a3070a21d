//! What each stage of compiling did: sizes before and after, time.

use crate::optimize::Stage;
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
    /// Zero for the first.
    pub before: Size,
    pub after: Size,
    pub time: Duration,
}

/// The stages in order; [`Passes::add`] is an observer of compiling.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    pub list: Vec<Pass>,
}

impl Passes {
    pub fn add(&mut self, stage: Stage<'_>) {
        let Stage { name, computation, time } = stage;
        let after = Size {
            commands: computation.commands.len(),
            matrices: computation.matrices.len() - 1,
            bytes: computation.peak_bytes(),
        };
        let before = self.list.last().map_or(Size::default(), |last| last.after);
        self.list.push(Pass { name, before, after, time });
    }

    /// A table, a row a stage, with a line of headings and the total time.
    pub fn table(&self) -> String {
        let mut out =
            format!("{:<26} {:>17} {:>17} {:>27} {:>10}\n", "# pass", "commands", "matrices", "bytes", "ms");
        let change = |before: usize, after: usize| match before == after {
            true => after.to_string(),
            false => format!("{before} -> {after}"),
        };
        let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
        for Pass { name, before, after, time } in &self.list {
            let _ = writeln!(
                out,
                "{name:<26} {:>17} {:>17} {:>27} {:>10}",
                change(before.commands, after.commands),
                change(before.matrices, after.matrices),
                change(before.bytes, after.bytes),
                ms(*time)
            );
        }
        let total = ms(self.list.iter().map(|pass| pass.time).sum());
        let _ = writeln!(out, "{:<26} {:>17} {:>17} {:>27} {total:>10}", "total", "", "", "");
        out
    }
}
