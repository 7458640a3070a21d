//! The printed form of a computation, in the reference's notation.

use super::{
    Backprop, Command, Computation, IndexesId, MultiIndexesId, PrecomputedId, Propagate, RowOf, SubmatrixId,
};
use nnet3_base::index::{print_cindexes, print_integers, shorten};
use nnet3_base::text::number;
use nnet3_network::Nnet;
use std::fmt::Write;

const DEBUG_LEGEND: &str = "\
# The following show how matrices correspond to network-nodes and
# cindex-ids.  Format is: matrix = <node-id>.[value|deriv][ <list-of-cindex-ids> ]
# where a cindex-id is written as (n,t[,x]) but ranges of t values are compressed
# so we write (n, tfirst:tlast).
";

/// Names that commands refer to.
pub struct Names<'a> {
    pub nodes: &'a [String],
    pub components: &'a [String],
}

impl<'a> Names<'a> {
    pub fn of(nnet: &'a Nnet) -> Names<'a> {
        Names { nodes: nnet.node_names(), components: nnet.component_names() }
    }
}

/// Preamble and all commands, each line ending in a newline.
pub fn print(computation: &Computation, names: &Names<'_>) -> String {
    let mut out = preamble(computation, names);
    for c in 0..computation.commands.len() {
        out += &line(computation, names, c);
        out.push('\n');
    }
    out
}

/// The command at position `c` with its number, without newline; the middle of a long line is left out.
pub fn line(computation: &Computation, names: &Names<'_>, c: usize) -> String {
    let mut line = shorten(format!("c{c}: {}\n", command(computation, names, &computation.commands[c])));
    line.pop();
    line
}

/// Returns the text before the commands: the matrices and the meaning of their rows.
pub fn preamble(computation: &Computation, names: &Names<'_>) -> String {
    let sizes: Vec<String> = computation.matrices[1..]
        .iter()
        .enumerate()
        .map(|(i, m)| format!("m{}({}, {})", i + 1, m.rows, m.cols))
        .collect();
    let mut out = format!("matrix {}\n", sizes.join(", "));
    if !computation.debug_info.is_empty() {
        out += DEBUG_LEGEND;
        for (m, info) in computation.debug_info.iter().enumerate().skip(1) {
            let what = if info.is_deriv { "deriv" } else { "value" };
            let _ = writeln!(out, "m{m} == {what}: {}", print_cindexes(&info.cindexes, names.nodes));
        }
    }
    out + "# begin forward commands\n"
}

/// `m1`, or `m1(r0:r1, c0:c1)` for a part, or `[]`.
pub fn submatrix(computation: &Computation, id: SubmatrixId) -> String {
    if id.0 == 0 {
        return "[]".to_string();
    }
    let s = computation.submatrix(id);
    if computation.is_whole(id) {
        return format!("m{}", s.matrix);
    }
    let (last_row, last_col) = (s.row_offset + s.rows - 1, s.col_offset + s.cols - 1);
    format!("m{}({}:{last_row}, {}:{last_col})", s.matrix, s.row_offset, s.col_offset)
}

fn row_list(computation: &Computation, list: &[RowOf]) -> String {
    let item = |row: &RowOf| match row {
        None => "NULL".to_string(),
        Some((id, row)) => {
            let s = computation.submatrix(*id);
            let row = s.row_offset + *row as usize;
            if s.col_offset == 0 && s.cols == computation.matrix(s.matrix).cols {
                format!("m{}({row},:)", s.matrix)
            } else {
                format!("m{}({row},{}:{})", s.matrix, s.col_offset, s.col_offset + s.cols - 1)
            }
        }
    };
    format!("[{}]", list.iter().map(item).collect::<Vec<_>>().join(","))
}

/// One command, without its number and newline.
pub fn command(computation: &Computation, names: &Names<'_>, command: &Command) -> String {
    let s = |id: SubmatrixId| submatrix(computation, id);
    let optional = |id: Option<SubmatrixId>| id.map_or("[]".to_string(), s);
    let size = |id: SubmatrixId| (computation.submatrix(id).rows, computation.submatrix(id).cols);
    let indexes_argument = |p: Option<PrecomputedId>| match p {
        Some(p) => format!("precomputed_indexes[{p}], "),
        None => "NULL, ".to_string(),
    };
    let a = |alpha: f32| number(alpha as f64);
    let scaled = |alpha: f32| if alpha == 1.0 { String::new() } else { format!("{} * ", a(alpha)) };
    let integers = |id: IndexesId| print_integers(&computation.indexes[id.index()]);
    let multi = |id: MultiIndexesId| row_list(computation, &computation.multi_indexes[id.index()]);
    match *command {
        Command::Allocate { matrix } => {
            let (r, c) = size(matrix);
            format!("{} = undefined({r},{c})", s(matrix))
        }
        Command::Deallocate { matrix } => format!("{} = []", s(matrix)),
        Command::Swap { first, second } => {
            let (r, c) = size(first);
            format!("{}.swap({}) [dim = {r} x {c}]", s(first), s(second))
        }
        Command::SetConst { dest, value } => {
            let (r, c) = size(dest);
            format!("{}.set({}) [dim = {r} x {c}];", s(dest), a(value))
        }
        Command::Propagate(Propagate { component, precomputed, input, output, .. }) => {
            let name = &names.components[component.index()];
            format!("{name}.Propagate({}{}, &{})", indexes_argument(precomputed), optional(input), s(output))
        }
        Command::Backprop(Backprop {
            component,
            precomputed,
            in_value,
            out_value,
            out_deriv,
            in_deriv,
            update_model,
            ..
        }) => {
            let name = &names.components[component.index()];
            let updates = computation.need_model_derivative && update_model;
            let pointer = if updates { "[component-pointer]" } else { "NULL" };
            let target = in_deriv.map_or("NULL".to_string(), |d| format!("&{}", s(d)));
            let (x, y, e) = (optional(in_value), optional(out_value), s(out_deriv));
            format!("{name}.Backprop({}{x}, {y}, {e}, {pointer}, {target})", indexes_argument(precomputed))
        }
        Command::Copy { dest, src, alpha } => format!("{} = {}{}", s(dest), scaled(alpha), s(src)),
        Command::Add { dest, src, alpha } => format!("{} += {}{}", s(dest), scaled(alpha), s(src)),
        Command::CopyRows { dest, src, rows, alpha } => {
            format!("{}.CopyRows({}, {}{})", s(dest), a(alpha), s(src), integers(rows))
        }
        Command::AddRows { dest, src, rows, alpha } => {
            format!("{}.AddRows({}, {}{})", s(dest), a(alpha), s(src), integers(rows))
        }
        Command::CopyRowsMulti { dest, rows, alpha } => {
            format!("{}.CopyRowsMulti({}, {})", s(dest), a(alpha), multi(rows))
        }
        Command::CopyToRowsMulti { src, rows } => format!("{}.CopyToRowsMulti(1, {})", s(src), multi(rows)),
        Command::AddRowsMulti { dest, rows, alpha } => {
            format!("{}.AddRowsMulti({}, {})", s(dest), a(alpha), multi(rows))
        }
        Command::AddToRowsMulti { src, rows, alpha } => {
            format!("{}.AddToRowsMulti({}, {})", s(src), a(alpha), multi(rows))
        }
        Command::AddRowRanges { dest, src, ranges, alpha } => {
            let item = |&(begin, end): &(i32, i32)| match begin {
                -1 => "null".to_string(),
                _ => format!("{begin}:{}", end - 1),
            };
            let items: Vec<String> = computation.ranges[ranges.index()].iter().map(item).collect();
            format!("{}.AddRowRanges({}, {}, [{}])", s(dest), a(alpha), s(src), items.join(","))
        }
        Command::Compress { matrix, kind, truncate, range } => {
            format!("CompressMatrix({}, {}, {}, {truncate})", s(matrix), a(range), kind.name())
        }
        Command::Decompress { matrix } => format!("DecompressMatrix({})", s(matrix)),
        Command::AcceptInput { matrix, node } => {
            format!("{} = user input [for node: '{}']", s(matrix), names.nodes[node.index()])
        }
        Command::ProvideOutput { matrix, node } => {
            format!("output {} to user [for node: '{}']", s(matrix), names.nodes[node.index()])
        }
        Command::NoOp => "[no-op]".to_string(),
        Command::NoOpPermanent => "[no-op-permanent]".to_string(),
        Command::Marker => "# computation segment separator [e.g., begin backward commands]".to_string(),
        Command::Label => "[label for goto statement]".to_string(),
        Command::Goto { target } => format!("goto c{target}"),
    }
}
