//! Commands as files have them: a type number or name, alpha, and seven arguments.

use crate::computation::{
    Backprop, Command, Compression, IndexesId, MemoId, MultiIndexesId, PrecomputedId, Propagate, RangesId,
    SubmatrixId,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::text::format_g;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::{ComponentId, NodeId};

/// The names of commands, in the order of the reference's numbers.
const NAMES: [&str; 25] = [
    "kAllocMatrix",
    "kDeallocMatrix",
    "kSwapMatrix",
    "kSetConst",
    "kPropagate",
    "kBackprop",
    "kBackpropNoModelUpdate",
    "kMatrixCopy",
    "kMatrixAdd",
    "kCopyRows",
    "kAddRows",
    "kCopyRowsMulti",
    "kCopyToRowsMulti",
    "kAddRowsMulti",
    "kAddToRowsMulti",
    "kAddRowRanges",
    "kCompressMatrix",
    "kDecompressMatrix",
    "kAcceptInput",
    "kProvideOutput",
    "kNoOperation",
    "kNoOperationPermanent",
    "kNoOperationMarker",
    "kNoOperationLabel",
    "kGotoLabel",
];

const COMPRESSIONS: [Compression; 4] =
    [Compression::Int8, Compression::Uint8, Compression::Int16, Compression::Uint16];

pub(crate) struct StoredCommand {
    kind: usize,
    alpha: f32,
    /// Arguments that are absent are -1.
    args: [i32; 7],
}

type Message = String;

impl StoredCommand {
    pub fn read(r: &mut KaldiReader) -> Result<StoredCommand> {
        r.expect_token("<Cmd>")?;
        let mut out = StoredCommand { kind: 0, alpha: 1.0, args: [-1; 7] };
        if r.binary() {
            let kind = r.read_i32()?;
            let known = usize::try_from(kind).ok().filter(|&kind| kind < NAMES.len());
            out.kind = known.ok_or_else(|| r.error(format!("unknown command type {kind}")))?;
            out.alpha = r.read_f32()?;
            let args = r.read_i32_vector()?;
            let Some(slots) = out.args.get_mut(..args.len()) else {
                return Err(r.error(format!("a command with {} arguments", args.len())).into());
            };
            slots.copy_from_slice(&args);
        } else {
            let name = r.read_line()?.unwrap_or_default();
            let known = NAMES.iter().position(|&n| n == name.trim());
            out.kind = known.ok_or_else(|| r.error(format!("unknown command '{name}'")))?;
            r.expect_token("<Alpha>")?;
            out.alpha = r.read_f32()?;
            r.expect_token("<Args>")?;
            for arg in &mut out.args {
                *arg = r.read_i32()?;
            }
        }
        r.expect_token("</Cmd>")?;
        Ok(out)
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Cmd>")?;
        if w.binary() {
            w.write_i32(self.kind as i32)?;
            w.write_f32(self.alpha)?;
            let used = self.args.iter().rposition(|&a| a != -1).map_or(0, |last| last + 1);
            w.write_i32_vector(&self.args[..used])?;
        } else {
            let args: String = self.args.iter().map(|a| format!("{a} ")).collect();
            let alpha = format_g(self.alpha as f64, 6);
            w.write_str(&format!("{}\n<Alpha> {alpha} <Args> {args}", NAMES[self.kind]))?;
        }
        Ok(w.write_token("</Cmd>")?)
    }

    fn new(name: &str, alpha: f32, args: &[u32]) -> StoredCommand {
        let kind = NAMES.iter().position(|&n| n == name).expect("a name of the list");
        let mut out = StoredCommand { kind, alpha, args: [-1; 7] };
        out.args.iter_mut().zip(args).for_each(|(slot, &arg)| *slot = arg as i32);
        out
    }

    pub(crate) fn encode(command: &Command) -> StoredCommand {
        let new = StoredCommand::new;
        let or_zero = |id: Option<SubmatrixId>| id.map_or(0, |id| id.0);
        match *command {
            Command::Allocate { matrix } => new("kAllocMatrix", 1.0, &[matrix.0]),
            Command::Deallocate { matrix } => new("kDeallocMatrix", 1.0, &[matrix.0]),
            Command::Swap { first, second } => new("kSwapMatrix", 1.0, &[first.0, second.0]),
            Command::SetConst { dest, value } => new("kSetConst", value, &[dest.0]),
            Command::Propagate(Propagate { component, precomputed, input, output, memo, store_stats }) => {
                let (p, memo) = (precomputed.map_or(0, |p| p.0), memo.map_or(0, |m| m.0));
                let args = [component.0, p, or_zero(input), output.0, memo, store_stats as u32];
                new("kPropagate", 1.0, &args)
            }
            Command::Backprop(Backprop {
                component,
                precomputed,
                in_value,
                out_value,
                out_deriv,
                in_deriv,
                memo,
                update_model,
            }) => {
                let (p, memo) = (precomputed.map_or(0, |p| p.0), memo.map_or(0, |m| m.0));
                let (x, y, dx) = (or_zero(in_value), or_zero(out_value), or_zero(in_deriv));
                let name = if update_model { "kBackprop" } else { "kBackpropNoModelUpdate" };
                new(name, 1.0, &[component.0, p, x, y, out_deriv.0, dx, memo])
            }
            Command::Copy { dest, src, alpha } => new("kMatrixCopy", alpha, &[dest.0, src.0]),
            Command::Add { dest, src, alpha } => new("kMatrixAdd", alpha, &[dest.0, src.0]),
            Command::CopyRows { dest, src, rows, alpha } => new("kCopyRows", alpha, &[dest.0, src.0, rows.0]),
            Command::AddRows { dest, src, rows, alpha } => new("kAddRows", alpha, &[dest.0, src.0, rows.0]),
            Command::CopyRowsMulti { dest, rows, alpha } => new("kCopyRowsMulti", alpha, &[dest.0, rows.0]),
            Command::CopyToRowsMulti { src, rows } => new("kCopyToRowsMulti", 1.0, &[src.0, rows.0]),
            Command::AddRowsMulti { dest, rows, alpha } => new("kAddRowsMulti", alpha, &[dest.0, rows.0]),
            Command::AddToRowsMulti { src, rows, alpha } => new("kAddToRowsMulti", alpha, &[src.0, rows.0]),
            Command::AddRowRanges { dest, src, ranges, alpha } => {
                new("kAddRowRanges", alpha, &[dest.0, src.0, ranges.0])
            }
            Command::Compress { matrix, kind, truncate, range } => {
                let number = COMPRESSIONS.iter().position(|&k| k == kind).unwrap_or(0) as u32 + 1;
                new("kCompressMatrix", range, &[matrix.0, number, truncate as u32])
            }
            Command::Decompress { matrix } => new("kDecompressMatrix", 1.0, &[matrix.0]),
            Command::AcceptInput { matrix, node } => new("kAcceptInput", 1.0, &[matrix.0, node.0]),
            Command::ProvideOutput { matrix, node } => new("kProvideOutput", 1.0, &[matrix.0, node.0]),
            Command::NoOp => new("kNoOperation", 1.0, &[]),
            Command::NoOpPermanent => new("kNoOperationPermanent", 1.0, &[]),
            Command::Marker => new("kNoOperationMarker", 1.0, &[]),
            Command::Label => new("kNoOperationLabel", 1.0, &[]),
            Command::Goto { target } => new("kGotoLabel", 1.0, &[target as u32]),
        }
    }

    /// Argument `k`, counted from 1 as the reference does.
    fn arg(&self, k: usize) -> std::result::Result<u32, Message> {
        let value = self.args[k - 1];
        u32::try_from(value).map_err(|_| format!("{}: argument {k} is {value}", NAMES[self.kind]))
    }

    /// Argument `k`, if it is present: absent ones are written as 0 or as -1.
    fn optional(&self, k: usize) -> Option<u32> {
        u32::try_from(self.args[k - 1]).ok().filter(|&value| value != 0)
    }

    fn flag(&self, k: usize) -> std::result::Result<bool, Message> {
        match self.arg(k)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{}: argument {k} is {other}, not 0 or 1", NAMES[self.kind])),
        }
    }

    pub fn decode(&self) -> std::result::Result<Command, Message> {
        let sub = |k: usize| self.arg(k).map(SubmatrixId);
        let optional = |k: usize| self.optional(k).map(SubmatrixId);
        let node = |k: usize| self.arg(k).map(NodeId);
        let rows = |k: usize| self.arg(k).map(IndexesId);
        let multi = |k: usize| self.arg(k).map(MultiIndexesId);
        let alpha = self.alpha;
        Ok(match NAMES[self.kind] {
            "kAllocMatrix" => Command::Allocate { matrix: sub(1)? },
            "kDeallocMatrix" => Command::Deallocate { matrix: sub(1)? },
            "kSwapMatrix" => Command::Swap { first: sub(1)?, second: sub(2)? },
            "kSetConst" => Command::SetConst { dest: sub(1)?, value: alpha },
            "kPropagate" => Command::Propagate(Propagate {
                component: ComponentId(self.arg(1)?),
                precomputed: self.optional(2).map(PrecomputedId),
                input: optional(3),
                output: sub(4)?,
                memo: self.optional(5).map(MemoId),
                store_stats: self.flag(6)?,
            }),
            name @ ("kBackprop" | "kBackpropNoModelUpdate") => Command::Backprop(Backprop {
                component: ComponentId(self.arg(1)?),
                precomputed: self.optional(2).map(PrecomputedId),
                in_value: optional(3),
                out_value: optional(4),
                out_deriv: sub(5)?,
                in_deriv: optional(6),
                memo: self.optional(7).map(MemoId),
                update_model: name == "kBackprop",
            }),
            "kMatrixCopy" => Command::Copy { dest: sub(1)?, src: sub(2)?, alpha },
            "kMatrixAdd" => Command::Add { dest: sub(1)?, src: sub(2)?, alpha },
            "kCopyRows" => Command::CopyRows { dest: sub(1)?, src: sub(2)?, rows: rows(3)?, alpha },
            "kAddRows" => Command::AddRows { dest: sub(1)?, src: sub(2)?, rows: rows(3)?, alpha },
            "kCopyRowsMulti" => Command::CopyRowsMulti { dest: sub(1)?, rows: multi(2)?, alpha },
            "kCopyToRowsMulti" if alpha == 1.0 => Command::CopyToRowsMulti { src: sub(1)?, rows: multi(2)? },
            "kCopyToRowsMulti" => {
                return Err(format!("kCopyToRowsMulti with alpha {alpha}, which must be 1"));
            }
            "kAddRowsMulti" => Command::AddRowsMulti { dest: sub(1)?, rows: multi(2)?, alpha },
            "kAddToRowsMulti" => Command::AddToRowsMulti { src: sub(1)?, rows: multi(2)?, alpha },
            "kAddRowRanges" => {
                Command::AddRowRanges { dest: sub(1)?, src: sub(2)?, ranges: RangesId(self.arg(3)?), alpha }
            }
            "kCompressMatrix" => {
                let number = self.arg(2)?;
                let kind = (number as usize).checked_sub(1).and_then(|i| COMPRESSIONS.get(i));
                let kind = *kind.ok_or_else(|| format!("unknown compression {number}"))?;
                Command::Compress { matrix: sub(1)?, kind, truncate: self.flag(3)?, range: alpha }
            }
            "kDecompressMatrix" => Command::Decompress { matrix: sub(1)? },
            "kAcceptInput" => Command::AcceptInput { matrix: sub(1)?, node: node(2)? },
            "kProvideOutput" => Command::ProvideOutput { matrix: sub(1)?, node: node(2)? },
            "kNoOperationPermanent" => Command::NoOpPermanent,
            "kNoOperationMarker" => Command::Marker,
            "kNoOperationLabel" => Command::Label,
            "kGotoLabel" => Command::Goto { target: self.arg(1)? as usize },
            _ => Command::NoOp,
        })
    }
}
