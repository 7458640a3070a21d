//! Rules about single commands, and about memos.

use super::*;
use nnet3_core::computation::{Backprop, Propagate};
use std::sync::Arc;

const RELU: ComponentId = ComponentId(1);
const BN: ComponentId = ComponentId(2);
const TANH: ComponentId = ComponentId(5);
const UNUSED: ComponentId = ComponentId(7);

/// Changes fields of the first command of a kind.
macro_rules! change {
    ($pattern:pat => $($change:tt)*) => {
        |c: &mut Computation| {
            for command in &mut c.commands {
                if let $pattern = command {
                    $($change)*;
                    return;
                }
            }
            panic!("no such command");
        }
    };
}

/// The first row of a sub-matrix.
fn part(c: &mut Computation, s: SubmatrixId) -> SubmatrixId {
    let cols = c.submatrix(s).cols;
    c.new_submatrix(s, 0..1, 0..cols)
}

/// Puts a sub-matrix of another shape into the field `$field` of the first command of a kind: rows and columns more.
macro_rules! resize {
    (Propagate.$field:ident, $($rest:tt)*) => { resize!(@ Command::Propagate(Propagate { $field, .. }), $field, $($rest)*) };
    (Backprop.$field:ident, $($rest:tt)*) => { resize!(@ Command::Backprop(Backprop { $field, .. }), $field, $($rest)*) };
    (Add.$field:ident, $($rest:tt)*) => { resize!(@ Command::Add { $field, .. }, $field, $($rest)*) };
    (AddRows.$field:ident, $($rest:tt)*) => { resize!(@ Command::AddRows { $field, .. }, $field, $($rest)*) };
    (AddRowRanges.$field:ident, $($rest:tt)*) => { resize!(@ Command::AddRowRanges { $field, .. }, $field, $($rest)*) };
    (@ $pattern:pat, $field:ident, $rows:expr, $cols:expr) => {
        resize!(@ $pattern, $field, $rows, $cols, |_| true)
    };
    (@ $pattern:pat, $field:ident, $rows:expr, $cols:expr, $which:expr) => {
        |c: &mut Computation| {
            let which: fn(&Command) -> bool = $which;
            let at = position(c, |command| {
                matches!(command, $pattern if given(*$field).is_some()) && which(command)
            });
            let $pattern = c.commands[at] else { unreachable!() };
            let old = *c.submatrix(given($field).unwrap());
            let new = c.new_matrix(old.rows + $rows, old.cols + $cols, false);
            if let $pattern = &mut c.commands[at] {
                *$field = new.into();
            }
        }
    };
}

/// A field that may be absent, or not.
fn given(field: impl Into<Option<SubmatrixId>>) -> Option<SubmatrixId> {
    field.into()
}

/// Puts a command on the first matrix that the user gets.
fn insert(c: &mut Computation, command: fn(SubmatrixId) -> Command) {
    let at = find!(c, Command::ProvideOutput { .. });
    let Command::ProvideOutput { matrix, .. } = c.commands[at] else { unreachable!() };
    c.commands.insert(at, command(matrix));
}

fn compress(matrix: SubmatrixId, kind: Compression, range: f32) -> Command {
    Command::Compress { matrix, kind, truncate: true, range }
}

/// Gives a part of a matrix to a command that needs the whole.
fn on_a_part(c: &mut Computation, command: fn(SubmatrixId) -> Command) {
    let at = find!(c, Command::Allocate { .. });
    let Command::Allocate { matrix } = c.commands[at] else { unreachable!() };
    let part = part(c, matrix);
    c.commands.insert(at + 2, command(part));
}

fn backprop_of(command: &Command, wanted: ComponentId) -> bool {
    matches!(command, Command::Backprop(Backprop { component, .. }) if *component == wanted)
}

/// Faults that show in one command, tried on the unoptimised computation.
const COMMANDS: &[(&str, Mutation)] = &[
    // Sub-matrices must exist; 0 is not one.
    ("no such sub-matrix", change!(Command::SetConst { dest, .. } => *dest = SubmatrixId(100_000))),
    ("no such sub-matrix", change!(Command::Allocate { matrix } => *matrix = SubmatrixId(0))),
    ("no such sub-matrix", change!(Command::Propagate(Propagate { output, .. }) => *output = SubmatrixId(0))),
    (
        "no such sub-matrix",
        change!(Command::Backprop(Backprop { out_deriv, .. }) => *out_deriv = SubmatrixId(0)),
    ),
    // Sizing, compression and exchange need whole matrices.
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::Allocate { matrix })),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::Deallocate { matrix })),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::Swap { first: matrix, second: matrix })),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| compress(matrix, Compression::Int8, 1.0))),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::Decompress { matrix })),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::AcceptInput { matrix, node: NodeId(0) })),
    ("needs a whole matrix", |c| on_a_part(c, |matrix| Command::ProvideOutput { matrix, node: NodeId(0) })),
    ("shapes differ", |c| {
        let (first, second) = (c.new_matrix(2, 3, false), c.new_matrix(3, 2, false));
        c.commands.push(Command::Swap { first, second });
    }),
    // Propagate.
    (
        "no such component",
        change!(Command::Propagate(Propagate { component, .. }) => *component = ComponentId(99)),
    ),
    (
        "no such precomputed indexes",
        change!(Command::Propagate(Propagate { precomputed, .. }) => *precomputed = Some(PrecomputedId(7))),
    ),
    ("a simple component has no precomputed indexes", |c| {
        c.precomputed.push(Default::default());
        let at = find!(c, Command::Propagate(_));
        if let Command::Propagate(Propagate { precomputed, .. }) = &mut c.commands[at] {
            *precomputed = Some(PrecomputedId(1));
        }
    }),
    ("needs an input", change!(Command::Propagate(Propagate { input, .. }) => *input = None)),
    ("input has dimension", resize!(Propagate.input, 0, 1)),
    ("output has dimension", resize!(Propagate.output, 0, 1)),
    ("different numbers of rows", resize!(Propagate.output, 1, 0)),
    (
        "cannot propagate in place",
        change!(Command::Propagate(Propagate { component: component @ RELU, input: Some(input), output, .. }) => {
            *component = UNUSED;
            *output = *input;
        }),
    ),
    ("source and destination overlap", |c| {
        let at = find!(c, Command::Propagate(Propagate { component: RELU, .. }));
        let Command::Propagate(Propagate { output, .. }) = c.commands[at] else { unreachable!() };
        let (rows, cols) = (c.submatrix(output).rows, c.submatrix(output).cols);
        let long = c.new_matrix(rows + 1, cols, false);
        let (first, second) =
            (c.new_submatrix(long, 0..rows, 0..cols), c.new_submatrix(long, 1..rows + 1, 0..cols));
        if let Command::Propagate(Propagate { input, output, .. }) = &mut c.commands[at] {
            (*input, *output) = (Some(first), second);
        }
    }),
    // Memos.
    ("waits for its backprop", |c| {
        let at = find!(c, Command::Propagate(Propagate { memo: Some(_), .. }));
        c.commands.insert(at, c.commands[at]);
    }),
    (
        "no propagate has made",
        change!(Command::Backprop(Backprop { memo: Some(memo), .. }) => *memo = MemoId(77)),
    ),
    ("no propagate has made", |c| {
        let at = find!(c, Command::Backprop(Backprop { memo: Some(_), .. }));
        c.commands.insert(at, c.commands[at]);
    }),
    ("no backprop uses the memo", |c| {
        let at = find!(c, Command::Backprop(Backprop { memo: Some(_), .. }));
        c.commands.remove(at);
    }),
    ("needs the memo", change!(Command::Backprop(Backprop { memo: memo @ Some(_), .. }) => *memo = None)),
    ("uses no memo", |c| set_memo(c, ComponentId(0), ComponentId(0))),
    ("the memo is another component's", |c| set_memo(c, ComponentId(0), BN)),
    // Backprop.
    (
        "no such component",
        change!(Command::Backprop(Backprop { component, .. }) => *component = ComponentId(99)),
    ),
    (
        "no such precomputed indexes",
        change!(Command::Backprop(Backprop { precomputed, .. }) => *precomputed = Some(PrecomputedId(7))),
    ),
    (
        "needs its input value",
        change!(Command::Backprop(Backprop { in_value: value @ Some(_), .. }) => *value = None),
    ),
    (
        "needs its output value",
        change!(Command::Backprop(Backprop { out_value: value @ Some(_), .. }) => *value = None),
    ),
    (
        "has no effect",
        change!(Command::Backprop(Backprop { component: RELU, in_deriv, .. }) => *in_deriv = None),
    ),
    ("input has dimension", resize!(Backprop.in_value, 0, 1)),
    ("input has dimension", resize!(Backprop.in_deriv, 0, 1)),
    ("output has dimension", resize!(Backprop.out_value, 0, 1)),
    ("output has dimension", resize!(Backprop.out_deriv, 0, 1)),
    ("input value and input derivative have different", resize!(Backprop.in_value, 1, 0)),
    ("output value and output derivative have different", resize!(Backprop.out_value, 1, 0)),
    ("input and output derivative of a simple", resize!(Backprop.in_deriv, 1, 0, |c| backprop_of(c, TANH))),
    ("input value and output derivative of a simple", |c| {
        resize!(Backprop.in_value, 1, 0)(c);
        let at = find!(c, Command::Backprop(Backprop { in_value: Some(_), .. }));
        if let Command::Backprop(Backprop { in_deriv, .. }) = &mut c.commands[at] {
            *in_deriv = None;
        }
    }),
    (
        "cannot backprop in place",
        change!(Command::Backprop(Backprop { component: TANH, out_deriv, in_deriv: Some(in_deriv), .. }) => {
            *in_deriv = *out_deriv;
        }),
    ),
    (
        "source and destination overlap",
        change!(Command::Backprop(Backprop { component: TANH, out_value: Some(value), in_deriv: Some(in_deriv), .. }) => {
            *in_deriv = *value;
        }),
    ),
    // Copies and sums of matrices.
    ("shapes differ", resize!(Add.src, 1, 0)),
    ("shapes differ", resize!(Add.src, 0, 1)),
    ("source and destination overlap", change!(Command::Add { dest, src, .. } => *src = *dest)),
    ("shapes differ", |c| {
        let at = find!(c, Command::Add { .. });
        let Command::Add { dest, .. } = c.commands[at] else { unreachable!() };
        let src = part(c, dest);
        c.commands[at] = Command::Copy { dest, src, alpha: 2.0 };
    }),
    ("source and destination overlap", |c| {
        let at = find!(c, Command::Add { .. });
        let Command::Add { dest, .. } = c.commands[at] else { unreachable!() };
        c.commands[at] = Command::Copy { dest, src: dest, alpha: 1.0 };
    }),
    // Rows of one matrix.
    ("no such list of rows", change!(Command::AddRows { rows, .. } => *rows = IndexesId(1000))),
    ("a row number is out of range", |c| Arc::make_mut(&mut c.indexes[0])[0] = 10_000),
    ("a row number is out of range", |c| Arc::make_mut(&mut c.indexes[0])[0] = -2),
    ("a list of", |c| Arc::make_mut(&mut c.indexes[0]).truncate(1)),
    ("numbers of columns differ", resize!(AddRows.src, 0, 1)),
    ("source and destination overlap", change!(Command::AddRows { dest, src, .. } => *src = *dest)),
    ("numbers of columns differ", |c| {
        let at = find!(c, Command::AddRows { .. });
        let Command::AddRows { dest, src, rows, alpha } = c.commands[at] else { unreachable!() };
        let wide = c.new_matrix(c.submatrix(src).rows, 77, false);
        c.commands[at] = Command::CopyRows { dest, src: wide, rows, alpha };
    }),
    // Rows of several matrices; more of them below.
    ("no such list of rows", |c| {
        let at = find!(c, Command::AddRows { .. });
        let Command::AddRows { dest, .. } = c.commands[at] else { unreachable!() };
        c.commands[at] = Command::AddRowsMulti { dest, rows: MultiIndexesId(1000), alpha: 1.0 };
    }),
    // Ranges of rows.
    ("no such list of ranges", change!(Command::AddRowRanges { ranges, .. } => *ranges = RangesId(1000))),
    ("a range of rows is empty or out of range", |c| c.ranges[0][0] = (0, 1000)),
    ("a range of rows is empty or out of range", |c| c.ranges[0][0] = (2, 2)),
    ("a range of rows is empty or out of range", |c| c.ranges[0][0] = (-1, 2)),
    ("a list of", |c| c.ranges[0].push((-1, -1))),
    ("numbers of columns differ", resize!(AddRowRanges.src, 0, 1)),
    ("source and destination overlap", change!(Command::AddRowRanges { dest, src, .. } => *src = *dest)),
    // Exchange with the user.
    ("only input and output nodes", change!(Command::AcceptInput { node, .. } => *node = NodeId(3))),
    ("only input and output nodes", change!(Command::ProvideOutput { node, .. } => *node = NodeId(999))),
    (
        "not as many columns as the node",
        change!(Command::AcceptInput { node: node @ NodeId(0), .. } => *node = NodeId(1)),
    ),
    // Jumps.
    ("a goto needs a label", |c| c.commands.push(Command::Goto { target: 0 })),
    ("a goto needs a label", |c| {
        let target = c.commands.len() + 1;
        c.commands.extend([Command::Goto { target }, Command::Label]);
    }),
    ("a goto must be the last command", |c| {
        c.commands.insert(0, Command::Label);
        c.commands.insert(1, Command::Goto { target: 0 });
    }),
    // Compression.
    ("the range of a compression", |c| insert(c, |m| compress(m, Compression::Int16, 2000.0))),
    ("the range of a compression", |c| insert(c, |m| compress(m, Compression::Int16, -1.0))),
    ("the range of a compression", |c| insert(c, |m| compress(m, Compression::Int16, f32::NAN))),
    ("the range of a compression", |c| insert(c, |m| compress(m, Compression::Int8, 0.0))),
];

/// The first propagate of one component and the first backprop of another share a memo.
fn set_memo(c: &mut Computation, forward: ComponentId, backward: ComponentId) {
    let forward = position(
        c,
        |c| matches!(c, Command::Propagate(Propagate { component, .. }) if *component == forward),
    );
    let backward = position(c, |c| backprop_of(c, backward));
    for at in [forward, backward] {
        if let Command::Propagate(Propagate { memo, .. }) | Command::Backprop(Backprop { memo, .. }) =
            &mut c.commands[at]
        {
            *memo = Some(MemoId(50));
        }
    }
}

#[test]
fn faults_of_commands_are_found() {
    let Fixture { nnet, plain, .. } = fixture();
    let name = |component| nnet.component_name(component);
    assert_eq!([RELU, BN, TANH, UNUSED].map(name), ["relu", "bn", "tanh", "unused"]);
    for (message, mutate) in COMMANDS {
        let mut mutated = plain.clone();
        mutate(&mut mutated);
        refused(&nnet, &mutated, CheckOptions::default(), message);
    }
}

/// Changes that resemble some of the faults but are valid.
#[test]
fn what_is_allowed_passes() {
    let Fixture { nnet, plain, .. } = fixture();
    let scaled = |c: &mut Computation| {
        let at = find!(c, Command::Add { .. });
        let Command::Add { dest, .. } = c.commands[at] else { unreachable!() };
        c.commands.insert(at + 1, Command::Copy { dest, src: dest, alpha: 2.0 });
    };
    let in_place = |c: &mut Computation| {
        let at = find!(c, Command::Propagate(Propagate { component: RELU, .. }));
        let Command::Propagate(Propagate { input: Some(matrix), .. }) = c.commands[at] else {
            unreachable!()
        };
        let Command::Propagate(Propagate { component, precomputed, memo, store_stats, .. }) = c.commands[at]
        else {
            unreachable!()
        };
        let again = Command::Propagate(Propagate {
            component,
            precomputed,
            input: Some(matrix),
            output: matrix,
            memo,
            store_stats,
        });
        c.commands.insert(at, again);
    };
    let changes: [fn(&mut Computation); 2] = [scaled, in_place];
    for change in changes {
        let mut changed = plain.clone();
        change(&mut changed);
        check(&nnet, &changed, CheckOptions::default()).unwrap();
    }
}

/// A max-pooling-like reshape of columns needs rows that follow each other.
#[test]
fn components_that_need_all_columns_get_them() {
    let nnet = nnet(
        "component name=norm type=NormalizeComponent input-dim=6 block-dim=3
         input-node name=input dim=6
         component-node name=norm component=norm input=input
         output-node name=output input=norm",
    );
    let request = training_request(1, 0..4, 0..4);
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    check(&nnet, &computation, CheckOptions::default()).unwrap();
    let wide = computation.new_matrix(4, 8, false);
    let inner = computation.new_submatrix(wide, 0..4, 1..7);
    computation.debug_info.clear();
    let at = find!(&computation, Command::Propagate(_));
    if let Command::Propagate(Propagate { input, .. }) = &mut computation.commands[at] {
        *input = Some(inner);
    }
    refused(&nnet, &computation, CheckOptions::default(), "needs all columns");
}

#[test]
fn faults_of_lists_of_several_matrices_are_found() {
    let nnet = crate::computations::support::nnet(CONFIG);
    let mut computation = Computation::new();
    let a = computation.new_matrix(2, 3, false);
    let b = computation.new_matrix(2, 3, false);
    let dest = computation.new_matrix(2, 3, false);
    let wide = computation.new_matrix(2, 4, false);
    let rows = computation.new_multi_indexes(vec![Some((a, 1)), Some((b, 0))]);
    let zero = |dest| [Command::Allocate { matrix: dest }, Command::SetConst { dest, value: 0.0 }];
    computation.commands = [a, b, dest, wide].into_iter().flat_map(zero).collect();
    computation.commands.push(Command::AddToRowsMulti { src: dest, rows, alpha: 1.0 });
    check(&nnet, &computation, CheckOptions::default()).unwrap();
    let faults: [(&str, [(SubmatrixId, u32); 2]); 6] = [
        ("row number is out of range", [(a, 1), (b, 2)]),
        ("no such sub-matrix", [(a, 1), (SubmatrixId(90), 0)]),
        ("no such sub-matrix", [(a, 1), (SubmatrixId(0), 0)]),
        ("overlap", [(a, 1), (dest, 0)]),
        ("numbers of columns differ", [(a, 1), (wide, 0)]),
        ("written twice", [(a, 1), (a, 1)]),
    ];
    for (message, list) in faults {
        let mut mutated = computation.clone();
        mutated.multi_indexes[0] = list.map(Some).to_vec();
        refused(&nnet, &mutated, CheckOptions::default(), message);
    }
    computation.multi_indexes[0].push(None);
    refused(&nnet, &computation, CheckOptions::default(), "a list of 3");
}
