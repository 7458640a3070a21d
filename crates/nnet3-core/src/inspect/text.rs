//! The listing, with times; tables by kind of command.

use super::{Inspection, milliseconds};
use nnet3_base::index::ComponentId;
use nnet3_compiler::computation::{Command, Computation, print};
use nnet3_compiler::lower::{Cost, Op, Ordered};
use nnet3_network::Nnet;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Number of calls, time and work of some commands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub calls: usize,
    pub time: Duration,
    /// The floating-point operations of matrix products.
    pub flops: u64,
    /// Bytes that were read and written.
    pub bytes: u64,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.calls += other.calls;
        self.time += other.time;
        self.flops += other.flops;
        self.bytes += other.bytes;
    }

    /// 10⁹ operations of matrix products a second, if there are any.
    pub fn gflops(&self) -> Option<f64> {
        (self.flops > 0).then(|| self.flops as f64 / self.time.as_secs_f64() / 1e9)
    }

    /// 10⁹ bytes a second, where any are touched.
    pub(crate) fn gigabytes(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.time.as_secs_f64() / 1e9)
    }

    fn rates(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{rate:.2}"));
        format!("{:>9.4} {:>8} {:>8}", milliseconds(self.time), rate(self.gflops()), rate(self.gigabytes()))
    }
}

impl Inspection<'_> {
    /// The listing in the reference's notation. With a profile, the listing of the operations that run instead. Each
    /// line begins with milliseconds, GFLOP/s of matrix products and GB/s of memory read and written, and ends with the
    /// nodes of the operation. Tables follow.
    pub fn text(&self) -> String {
        let names = print::Names::of(self.nnet);
        if self.profile.is_none() {
            return print::print(self.program.compiled(), &names);
        }
        let computation = self.program.computation();
        let lowered = self.program.lowered();
        let extended = lowered.extended(computation);
        let mut out = print::preamble(computation, &names);
        let _ = writeln!(out, "# {:>7} {:>8} {:>8}  operation", "ms", "GFLOP/s", "GB/s");
        for (i, op) in lowered.ops().iter().enumerate() {
            let columns = self.work(&extended, i).map_or(String::new(), |work| work.rates());
            let nodes = self.nodes_of_op(&extended, op).join(", ");
            let nodes = if nodes.is_empty() { nodes } else { format!("  # {nodes}") };
            let _ = writeln!(out, "{columns:27}  {}{nodes}", lowered.line(&extended, &names, i));
        }
        out + &self.profile_tables()
    }

    /// The operations that run.
    pub fn lowered(&self) -> String {
        self.program.lowered().text(self.nnet, self.program.computation())
    }

    /// Prints the profile: a row for each kind of operation, the slowest first, and the sums of the segments.
    pub fn profile_tables(&self) -> String {
        let Some(profile) = self.profile else {
            return String::new();
        };
        let extended = self.program.lowered().extended(self.program.computation());
        let mut kinds: BTreeMap<String, Work> = BTreeMap::new();
        let mut segments = vec![Work::default()];
        for (i, op) in self.program.lowered().ops().iter().enumerate() {
            if *op == Op::Command(Command::Marker) {
                segments.push(Work::default());
            }
            if let Some(work) = self.work(&extended, i) {
                kinds.entry(op_kind(self.nnet, op)).or_default().add(work);
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
        let backward = extended.commands.iter().any(|c| matches!(c, Command::Backprop(_)));
        for (i, segment) in segments.iter().enumerate() {
            row(&segment_name(i, segments.len(), backward), segment);
        }
        row(&format!("total, mean of {} runs", profile.runs), &total);
        out
    }

    /// Returns the work of an operation in one run of the program; `None` if it was not observed. `computation` is
    /// [`nnet3_compiler::lower::Lowered::extended`].
    pub(super) fn work(&self, computation: &Computation, i: usize) -> Option<Work> {
        let op = &self.program.lowered().ops()[i];
        let time =
            self.profile?.mean(i).filter(|_| !matches!(op, Op::Nothing | Op::Command(Command::Marker)))?;
        let Cost { bytes, flops, .. } = Cost::of_op(self.nnet, computation, self.program.lowered(), op);
        Some(Work { calls: 1, time, flops, bytes })
    }

    /// Returns the work done for one command; `None` if it has no operations, or if they were not observed.
    pub(super) fn work_at(&self, computation: &Computation, c: usize) -> Option<Work> {
        let turn = self.program.lowered().at_turn(c);
        turn.filter_map(|i| self.work(computation, i)).reduce(|mut sum, work| {
            sum.add(work);
            sum
        })
    }
}

fn segment_name(i: usize, count: usize, backward: bool) -> String {
    match (i, count) {
        (0, 1) | (0, 2) if backward || count == 1 => "forward".to_string(),
        (1, 2) if backward => "backward".to_string(),
        _ => format!("segment {}", i + 1),
    }
}

/// Returns `AffineComponent.Propagate`, or the listing's name for the equivalent command.
pub fn op_kind(nnet: &Nnet, op: &Op) -> String {
    let of = |component: ComponentId, what: &str| format!("{}.{what}", nnet.component(component).type_name());
    match op {
        Op::Propagate(propagate) => of(propagate.args.component, "Propagate"),
        Op::Backprop(backprop) => of(backprop.args.component, "Backprop"),
        Op::Affine(affine) => of(affine.component, "Affine"),
        Op::InputDerivative(product) => of(product.component, "InputDerivative"),
        Op::Filter(filter) => of(filter.component, "Filter"),
        Op::PickedPropagate(picked) => of(picked.component, "Propagate (table)"),
        Op::PickedBackprop(picked) => of(picked.args.component, "Backprop (table)"),
        Op::Step(step) => of(step.args.component, "Backprop (step)"),
        Op::StepsUpdate(update) => of(update.args.component, "Backprop (steps)"),
        Op::Share(share) => of(share.component, "Share"),
        Op::CopyShare { .. } => "CopyShare".to_string(),
        Op::Blocks(_) => "Blocks".to_string(),
        Op::SumRows(_) => "SumRows".to_string(),
        Op::NormalizedSum(_) => "NormalizedSum".to_string(),
        Op::NormalizedBackprop(_) => "NormalizedBackprop".to_string(),
        Op::Ordered(Ordered::Propagate { .. }) => "OrderedOutput.Propagate".to_string(),
        Op::Ordered(_) => "OrderedOutput.Backprop".to_string(),
        Op::Nothing => "Nothing".to_string(),
        Op::Goto { .. } => "Goto".to_string(),
        Op::Command(command) => name(command).to_string(),
    }
}

/// The kind of a command, in the reference's words if it has some.
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
