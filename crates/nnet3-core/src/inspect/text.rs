//! The listing, with times; tables by kind of command.

use super::{Inspection, milliseconds};
use crate::computation::{Backprop, Command, Computation, Propagate, print};
use crate::flops;
use crate::nnet::Nnet;
use crate::optimize::analysis::{AccessKind, submatrix_accesses};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// What commands did, and in which time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub calls: usize,
    pub time: Duration,
    /// Of matrix products.
    pub flops: u64,
    /// Read and written.
    pub bytes: u64,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.calls += other.calls;
        self.time += other.time;
        self.flops += other.flops;
        self.bytes += other.bytes;
    }

    /// 10⁹ operations of matrix products a second, where there are any.
    pub fn gflops(&self) -> Option<f64> {
        (self.flops > 0).then(|| self.flops as f64 / self.time.as_secs_f64() / 1e9)
    }

    /// 10⁹ bytes a second, where any are touched.
    pub fn gigabytes(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.time.as_secs_f64() / 1e9)
    }

    fn rates(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{rate:.2}"));
        format!("{:>9.4} {:>8} {:>8}", milliseconds(self.time), rate(self.gflops()), rate(self.gigabytes()))
    }
}

impl Inspection<'_> {
    /// The listing in the reference's notation. With a profile each line that is executed begins with milliseconds,
    /// GFLOP/s of matrix products and GB/s of memory read and written, and ends with the nodes that it works for; tables
    /// follow.
    pub fn text(&self) -> String {
        let (computation, names) = (self.program.computation(), print::Names::of(self.nnet));
        if self.profile.is_none() {
            return print::print(computation, &names);
        }
        let mut out = print::preamble(computation, &names);
        let _ = writeln!(out, "# {:>7} {:>8} {:>8}  command", "ms", "GFLOP/s", "GB/s");
        for c in 0..computation.commands.len() {
            let columns = self.work(c).map_or(String::new(), |work| work.rates());
            let nodes = self.nodes_of(&computation.commands[c]).join(", ");
            let nodes = if nodes.is_empty() { nodes } else { format!("  # {nodes}") };
            let _ = writeln!(out, "{columns:27}  {}{nodes}", print::line(computation, &names, c));
        }
        out + &self.profile_tables()
    }

    /// Of the profile: a row for each kind of command, the slowest first, and the sums of the segments.
    pub fn profile_tables(&self) -> String {
        let computation = self.program.computation();
        let Some(profile) = self.profile else {
            return String::new();
        };
        let mut kinds: BTreeMap<String, Work> = BTreeMap::new();
        let mut segments = vec![Work::default()];
        for (c, command) in computation.commands.iter().enumerate() {
            if *command == Command::Marker {
                segments.push(Work::default());
            }
            if let Some(work) = self.work(c) {
                kinds.entry(kind(self.nnet, command)).or_default().add(work);
                segments.iter_mut().last().into_iter().for_each(|segment| segment.add(work));
            }
        }
        let mut total = Work::default();
        kinds.values().for_each(|work| total.add(*work));
        let mut rows: Vec<(String, Work)> = kinds.into_iter().collect();
        rows.sort_by_key(|(_, work)| std::cmp::Reverse(work.time));
        let mut out = format!(
            "# {:<46} {:>6} {:>7} {:>9} {:>8} {:>8}\n",
            "kind", "calls", "share", "ms", "GFLOP/s", "GB/s"
        );
        let mut row = |name: &str, work: &Work| {
            let share = 100.0 * work.time.as_secs_f64() / total.time.as_secs_f64();
            let _ = writeln!(out, "{name:<48} {:>6} {share:>6.1}% {}", work.calls, work.rates());
        };
        rows.iter().for_each(|(name, work)| row(name, work));
        segments.retain(|segment| segment.calls > 0);
        for (i, segment) in segments.iter().enumerate() {
            let backward = computation.commands.iter().any(|c| matches!(c, Command::Backprop(_)));
            row(&segment_name(i, segments.len(), backward), segment);
        }
        row(&format!("total, mean of {} runs", profile.runs), &total);
        out
    }

    /// What a command does in one run of the program; none if it is not executed or was not observed.
    pub(super) fn work(&self, c: usize) -> Option<Work> {
        let computation = self.program.computation();
        let command = &computation.commands[c];
        let does_nothing = matches!(
            command,
            Command::Allocate { .. }
                | Command::Deallocate { .. }
                | Command::Compress { .. }
                | Command::Decompress { .. }
                | Command::NoOp
                | Command::NoOpPermanent
                | Command::Marker
                | Command::Label
        );
        let time = self.profile?.mean(c).filter(|_| !does_nothing)?;
        let flops = flops::of_command(self.nnet, computation, command);
        Some(Work { calls: 1, time, flops, bytes: bytes_touched(self.nnet, computation, command) })
    }
}

fn segment_name(i: usize, count: usize, backward: bool) -> String {
    match (i, count) {
        (0, 1) | (0, 2) if backward || count == 1 => "forward".to_string(),
        (1, 2) if backward => "backward".to_string(),
        _ => format!("segment {}", i + 1),
    }
}

/// `AffineComponent.Propagate`, or what the listing calls the command.
fn kind(nnet: &Nnet, command: &Command) -> String {
    let name = match command {
        Command::Propagate(Propagate { component, .. }) => {
            return format!("{}.Propagate", nnet.component(*component).type_name());
        }
        Command::Backprop(Backprop { component, .. }) => {
            return format!("{}.Backprop", nnet.component(*component).type_name());
        }
        other => name(other),
    };
    name.to_string()
}

/// The kind of a command, in the reference's words where it has some.
pub(super) fn name(command: &Command) -> &'static str {
    match command {
        Command::Allocate { .. } => "Allocate",
        Command::Deallocate { .. } => "Deallocate",
        Command::Swap { .. } => "Swap",
        Command::SetConst { .. } => "SetConst",
        Command::Propagate(_) => "Propagate",
        Command::Backprop(_) => "Backprop",
        Command::Copy { .. } => "MatrixCopy",
        Command::Add { .. } => "MatrixAdd",
        Command::CopyRows { .. } => "CopyRows",
        Command::AddRows { .. } => "AddRows",
        Command::CopyRowsMulti { .. } => "CopyRowsMulti",
        Command::CopyToRowsMulti { .. } => "CopyToRowsMulti",
        Command::AddRowsMulti { .. } => "AddRowsMulti",
        Command::AddToRowsMulti { .. } => "AddToRowsMulti",
        Command::AddRowRanges { .. } => "AddRowRanges",
        Command::Compress { .. } => "CompressMatrix",
        Command::Decompress { .. } => "DecompressMatrix",
        Command::AcceptInput { .. } => "AcceptInput",
        Command::ProvideOutput { .. } => "ProvideOutput",
        Command::NoOp => "NoOperation",
        Command::NoOpPermanent => "NoOperationPermanent",
        Command::Marker => "NoOperationMarker",
        Command::Label => "NoOperationLabel",
        Command::Goto { .. } => "Goto",
    }
}

/// Of the matrices named: once what is read, once what is written. Of matrices in a list of rows the listed rows only.
fn bytes_touched(nnet: &Nnet, computation: &Computation, command: &Command) -> u64 {
    let row_bytes = |cols: usize| 4 * cols as u64;
    let listed = match *command {
        Command::CopyRowsMulti { dest: s, rows, .. }
        | Command::CopyToRowsMulti { src: s, rows }
        | Command::AddRowsMulti { dest: s, rows, .. }
        | Command::AddToRowsMulti { src: s, rows, .. } => Some((s, rows)),
        _ => None,
    };
    if let Some((s, rows)) = listed {
        let s = computation.submatrix(s);
        let present = computation.multi_indexes[rows.index()].iter().flatten().count() as u64;
        let added = matches!(command, Command::AddRowsMulti { .. } | Command::AddToRowsMulti { .. });
        return row_bytes(s.cols) * present * if added { 3 } else { 2 };
    }
    let mut accesses = Vec::new();
    submatrix_accesses(nnet, computation, command, &mut accesses);
    let times = |kind| if kind == AccessKind::ReadWrite { 2 } else { 1 };
    let bytes = |s| {
        let s = computation.submatrix(s);
        row_bytes(s.cols) * s.rows as u64
    };
    accesses.into_iter().map(|(s, kind)| times(kind) * bytes(s)).sum()
}
