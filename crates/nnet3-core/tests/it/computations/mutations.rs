//! Checks that the checker finds faults: valid computations, each changed in one way.

mod commands;
mod precomputed;
mod random;

use crate::computations::support::*;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::compile;
use nnet3_core::computation::{
    Backprop, Command, Compression, Computation, IndexesId, MemoId, MultiIndexesId, PrecomputedId, RangesId,
    Submatrix, SubmatrixId,
};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::{ComponentId, Error, NodeId};

/// Affine, batch norm (memo), ReLU in place, appended rows, rows of several matrices, ranges of rows.
const CONFIG: &str = "\
component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=4
component name=relu type=RectifiedLinearComponent dim=4
component name=bn type=BatchNormComponent dim=4
component name=b type=AffineComponent input-dim=8 output-dim=3
component name=r type=AffineComponent input-dim=7 output-dim=4
component name=tanh type=TanhComponent dim=4
input-node name=input dim=2
input-node name=extra dim=4
component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 1))
component-node name=relu component=relu input=a
component-node name=bn component=bn input=relu
component-node name=b component=b input=Append(Sum(bn, ReplaceIndex(extra, t, 0)), tanh)
component-node name=r component=r input=Append(b2, IfDefined(Offset(tanh, -1)))
component-node name=tanh component=tanh input=r
component-node name=b2 component=b2 input=bn
component name=b2 type=AffineComponent input-dim=4 output-dim=3
component name=unused type=AffineComponent input-dim=4 output-dim=4
output-node name=output input=b";

struct Fixture {
    nnet: Nnet,
    plain: Computation,
    optimized: Computation,
}

fn fixture() -> Fixture {
    let nnet = nnet(CONFIG);
    let request = ComputationRequest {
        inputs: vec![
            IoSpecification::new("input", 3, -1..6, true),
            IoSpecification::new("extra", 3, 0..1, true),
        ],
        outputs: vec![IoSpecification::new("output", 3, 0..5, true)],
        need_model_derivative: true,
        store_component_stats: true,
    };
    let plain = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    let mut optimized = plain.clone();
    optimize(&OptimizeOptions::default(), &nnet, 4, &mut optimized).unwrap();
    Fixture { nnet, plain, optimized }
}

/// The first command that `pick` accepts.
fn position(computation: &Computation, pick: impl Fn(&Command) -> bool) -> usize {
    computation.commands.iter().position(pick).expect("such a command")
}

macro_rules! find {
    ($computation:expr, $pattern:pat) => {
        position($computation, |c| matches!(c, $pattern))
    };
}
pub(crate) use find;

/// Faults that belong to no command.
const OF_NO_COMMAND: [&str; 4] =
    ["is never allocated", "debug info", "is not a part of", "sub-matrix 0 must be the empty one"];

/// The mutated computation must be refused with a message that contains `message`, and name the command at fault unless
/// the fault belongs to none.
fn refused(nnet: &Nnet, computation: &Computation, options: CheckOptions, message: &str) {
    match check(nnet, computation, options) {
        Ok(()) => panic!("accepted, though: {message}\n{}", print_short(nnet, computation)),
        Err(Error::Computation { message: found, command }) => {
            assert!(found.contains(message), "expected '{message}', found: {found} {command}");
            let names = command.starts_with('c') && command.contains(": ");
            assert!(names || OF_NO_COMMAND.iter().any(|m| found.contains(m)), "{found}: no command is named");
        }
        Err(other) => panic!("expected '{message}', found: {other}"),
    }
}

#[test]
fn the_computations_are_valid() {
    let Fixture { nnet, plain, optimized } = fixture();
    let rewrite = CheckOptions { rewrite: true, ..CheckOptions::default() };
    check(&nnet, &plain, rewrite).unwrap();
    check(&nnet, &optimized, CheckOptions::default()).unwrap();
    refused(&nnet, &optimized, rewrite, "changed after it was read");
    let mut unused = plain;
    let matrix = unused.new_matrix(4, 4, false);
    let part = unused.new_submatrix(matrix, 0..2, 0..4);
    unused.debug_info.clear();
    let zero = [Command::Allocate { matrix }, Command::SetConst { dest: part, value: 0.0 }];
    unused.commands.extend(zero);
    let lenient = CheckOptions { unused_variables: false, rewrite: false };
    check(&nnet, &unused, lenient).unwrap();
    refused(&nnet, &unused, CheckOptions { rewrite: true, ..lenient }, "is never used");
}

type Mutation = fn(&mut Computation);

/// A matrix that is allocated and freed, and a new one of its shape.
fn swap_in(c: &mut Computation, change: fn(&mut Computation, SubmatrixId, SubmatrixId)) {
    let allocated = |c: &Computation, m: SubmatrixId| c.commands.contains(&Command::Allocate { matrix: m });
    let freed = c.commands.iter().find_map(|command| match *command {
        Command::Deallocate { matrix } if allocated(c, matrix) => Some(matrix),
        _ => None,
    });
    let matrix = freed.expect("a matrix with a whole life");
    let (rows, cols) = (c.submatrix(matrix).rows, c.submatrix(matrix).cols);
    let empty = c.new_matrix(rows, cols, false);
    c.debug_info.clear();
    change(c, matrix, empty);
}

/// Faults in the lives of matrices, tried on the optimised computation.
const LIVES: &[(&str, Mutation)] = &[
    ("is never allocated", |c| {
        c.new_matrix(3, 3, false);
        c.debug_info.clear();
    }),
    ("is never used", |c| {
        let matrix = c.new_matrix(3, 3, false);
        c.debug_info.clear();
        c.commands.push(Command::Allocate { matrix });
    }),
    ("is used but never allocated", |c| {
        let at = find!(c, Command::Allocate { .. });
        c.commands.remove(at);
    }),
    ("is freed before it exists", |c| {
        let at = find!(c, Command::Deallocate { .. });
        let command = c.commands.remove(at);
        c.commands.insert(0, command);
    }),
    ("allocated already", |c| {
        swap_in(c, |c, matrix, empty| {
            let at =
                position(c, |command| matches!(command, Command::Deallocate { matrix: m } if *m == matrix));
            c.commands.insert(at, Command::Swap { first: matrix, second: empty });
        })
    }),
    ("freed already", |c| {
        swap_in(c, |c, matrix, empty| {
            let at =
                position(c, |command| matches!(command, Command::Deallocate { matrix: m } if *m == matrix));
            c.commands.insert(at, Command::Swap { first: empty, second: matrix });
        })
    }),
    ("allocated already", |c| {
        let at = find!(c, Command::Allocate { .. });
        c.commands.insert(at, c.commands[at]);
    }),
    ("freed already", |c| {
        let at = find!(c, Command::Deallocate { .. });
        c.commands.insert(at, c.commands[at]);
    }),
    ("used before it is allocated", |c| {
        let at = find!(c, Command::Allocate { .. });
        let command = c.commands.remove(at);
        c.commands.push(command);
    }),
    ("used after", |c| {
        let at = c.commands.iter().rposition(|c| matches!(c, Command::Deallocate { .. })).unwrap();
        let command = c.commands.remove(at);
        let Command::Deallocate { matrix } = command else { unreachable!() };
        let m = c.matrix_of(matrix);
        let uses = |command: &Command| command.submatrices().iter().any(|&s| c.matrix_of(s) == m);
        let first = c.commands.iter().rposition(uses).unwrap();
        c.commands.insert(first, command);
    }),
    ("read before it is written", |c| {
        let at = find!(c, Command::CopyRows { .. });
        c.commands.remove(at);
    }),
    ("debug info for", |c| {
        c.debug_info.pop();
    }),
    ("debug info of matrix m1 names node 99", |c| c.debug_info[1].cindexes[0].node = NodeId(99)),
    ("sub-matrix 0 must be the empty one", |c| c.submatrices.clear()),
    ("debug info for", |c| {
        c.debug_info[1].cindexes.pop();
    }),
    ("negative n", |c| c.debug_info[1].cindexes[0].index.n = -1),
    ("is not a part of matrix", |c| c.submatrices[1].rows += 1),
    ("is not a part of matrix", |c| {
        c.submatrices.push(Submatrix { rows: 0, ..c.submatrices[1] });
    }),
    ("is not a part of matrix", |c| c.submatrices[1].matrix = nnet3_core::computation::MatrixId(999)),
    ("is never used", |c| {
        // A part of a matrix that no command touches.
        let matrix = c.new_matrix(4, 4, false);
        let part = c.new_submatrix(matrix, 0..2, 0..4);
        c.debug_info.clear();
        c.commands.push(Command::Allocate { matrix });
        c.commands.push(Command::SetConst { dest: part, value: 0.0 });
    }),
    ("has not been compressed", |c| {
        let at = find!(c, Command::Compress { .. });
        c.commands.remove(at);
    }),
    ("must be decompressed next", |c| {
        let at = find!(c, Command::Decompress { .. });
        c.commands.remove(at);
    }),
    ("must be decompressed next", |c| {
        let compress = find!(c, Command::Compress { .. });
        let decompress = find!(c, Command::Decompress { .. });
        let command = c.commands.remove(decompress);
        c.commands.insert(compress + 1, command);
    }),
    ("keeping only signs", |c| {
        // Another command reads the decompressed matrix.
        let at = find!(c, Command::Decompress { .. });
        let Command::Decompress { matrix } = c.commands[at] else { unreachable!() };
        c.commands.insert(at + 1, Command::Copy { dest: matrix, src: matrix, alpha: 2.0 });
    }),
    ("keeping only signs", |c| {
        let at = find!(c, Command::Backprop(Backprop { component: ComponentId(1), .. }));
        if let Command::Backprop(Backprop { update_model, .. }) = &mut c.commands[at] {
            *update_model = false;
        }
    }),
];

#[test]
fn faults_of_lives_are_found() {
    // Tanh keeps its output for backprop. A ReLU's output is compressed if no later command reads it otherwise.
    let nnet = nnet(
        "component name=a type=AffineComponent input-dim=2 output-dim=4
         component name=relu type=RectifiedLinearComponent dim=4
         component name=bn type=BatchNormComponent dim=4
         component name=b type=AffineComponent input-dim=4 output-dim=3
         input-node name=input dim=2
         component-node name=a component=a input=input
         component-node name=relu component=relu input=a
         component-node name=bn component=bn input=relu
         component-node name=b component=b input=bn
         output-node name=output input=b",
    );
    let request = training_request(2, 0..4, 0..4);
    let mut optimized = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, 3, &mut optimized).unwrap();
    check(&nnet, &optimized, CheckOptions::default()).unwrap();
    for (message, mutate) in LIVES {
        let mut mutated = optimized.clone();
        mutate(&mut mutated);
        refused(&nnet, &mutated, CheckOptions::default(), message);
    }
}

/// For every single command that is deleted, moved or repeated, the checker must refuse the result, or it must compute
/// the same.
#[test]
fn deleted_commands_are_found() {
    let Fixture { nnet, plain, optimized } = fixture();
    for computation in [plain, optimized] {
        for c in 0..computation.commands.len() {
            let mut mutated = computation.clone();
            let removed = mutated.commands.remove(c);
            let essential = matches!(
                removed,
                Command::Allocate { .. } | Command::Swap { .. } | Command::AcceptInput { .. }
            );
            if essential {
                assert!(check(&nnet, &mutated, CheckOptions::default()).is_err(), "without {removed:?}");
            }
        }
    }
}

/// Unwritten elements have no signs to keep.
#[test]
fn something_comes_before_a_compression() {
    let nnet = nnet(CONFIG);
    let relu = nnet.find_component("relu").unwrap();
    let mut computation = Computation { need_model_derivative: true, ..Computation::new() };
    let [value, deriv, result] = [0; 3].map(|_| computation.new_matrix(2, 4, false));
    let backprop = Command::Backprop(Backprop {
        component: relu,
        precomputed: None,
        in_value: None,
        out_value: Some(value),
        out_deriv: deriv,
        in_deriv: Some(result),
        memo: None,
        update_model: true,
    });
    let mut commands = vec![
        Command::Allocate { matrix: value },
        Command::SetConst { dest: value, value: 1.0 },
        Command::Compress { matrix: value, kind: Compression::Uint8, truncate: true, range: 0.0 },
        Command::Marker,
        Command::Decompress { matrix: value },
        Command::Allocate { matrix: deriv },
        Command::SetConst { dest: deriv, value: 1.0 },
        Command::Allocate { matrix: result },
        backprop,
    ];
    computation.commands = commands.clone();
    check(&nnet, &computation, CheckOptions::default()).unwrap();
    commands.remove(1);
    computation.commands = commands;
    refused(&nnet, &computation, CheckOptions::default(), "keeping only signs");
}
