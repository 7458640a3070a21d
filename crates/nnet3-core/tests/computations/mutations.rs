//! The checker finds what is broken: valid computations, each changed in one way.

use crate::support::*;
use nnet3_core::compile::compile;
use nnet3_core::computation::check::{CheckOptions, check};
use nnet3_core::computation::{
    Command, Compression, Computation, IndexesId, MemoId, MultiIndexesId, PrecomputedId, RangesId, Submatrix,
    SubmatrixId,
};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::{ComponentId, NodeId};

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

/// The mutated computation must be refused with a message that contains `message`, and name a command unless the
/// fault belongs to none.
fn refused(nnet: &Nnet, computation: &Computation, options: CheckOptions, message: &str) {
    match check(nnet, computation, options) {
        Ok(()) => panic!("accepted, though: {message}\n{}", print_short(nnet, computation)),
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains(message), "expected '{message}', found: {text}");
        }
    }
}

#[test]
fn the_computations_are_valid() {
    let Fixture { nnet, plain, optimized } = fixture();
    let rewrite = CheckOptions { rewrite: true, ..CheckOptions::default() };
    check(&nnet, &plain, rewrite).unwrap();
    check(&nnet, &optimized, CheckOptions::default()).unwrap();
    refused(&nnet, &optimized, rewrite, "changed after it was read");
}

type Mutation = fn(&mut Computation);

/// Changes fields of the first command of a kind.
macro_rules! change {
    ($pattern:pat => $($change:tt)*) => {
        |c| {
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

/// Faults that show in one command, tried on the unoptimised computation.
const COMMANDS: &[(&str, Mutation)] = &[
    ("no such sub-matrix", change!(Command::SetConst { dest, .. } => *dest = SubmatrixId(100_000))),
    ("no such sub-matrix", change!(Command::Allocate { matrix } => *matrix = SubmatrixId(0))),
    ("needs a whole matrix", |c| {
        let at = find!(c, Command::Allocate { .. });
        let Command::Allocate { matrix } = c.commands[at] else { unreachable!() };
        let cols = c.submatrix(matrix).cols;
        c.commands[at] = Command::Allocate { matrix: c.new_submatrix(matrix, 0..1, 0..cols) };
    }),
    ("no such component", change!(Command::Propagate { component, .. } => *component = ComponentId(99))),
    ("no such component", change!(Command::Backprop { component, .. } => *component = ComponentId(99))),
    ("a simple component has no precomputed indexes", |c| {
        c.precomputed.push(Default::default());
        let at = find!(c, Command::Propagate { .. });
        if let Command::Propagate { precomputed, .. } = &mut c.commands[at] {
            *precomputed = Some(PrecomputedId(1));
        }
    }),
    (
        "no such precomputed indexes",
        change!(Command::Backprop { precomputed, .. } => *precomputed = Some(PrecomputedId(7))),
    ),
    ("needs an input", change!(Command::Propagate { input, .. } => *input = None)),
    (
        "cannot propagate in place",
        change!(Command::Propagate { component: component @ ComponentId(1), input: Some(input), output, .. } => {
            *component = ComponentId(7);
            *output = *input;
        }),
    ),
    ("input has dimension", |c| {
        let wide = c.new_matrix(15, 99, false);
        let at = find!(c, Command::Propagate { .. });
        if let Command::Propagate { input, .. } = &mut c.commands[at] {
            *input = Some(wide);
        }
    }),
    ("output has dimension", |c| {
        let wide = c.new_matrix(15, 99, false);
        let at = find!(c, Command::Propagate { .. });
        if let Command::Propagate { output, .. } = &mut c.commands[at] {
            *output = wide;
        }
    }),
    ("different numbers of rows", |c| {
        let at = find!(c, Command::Propagate { .. });
        let Command::Propagate { output, .. } = c.commands[at] else { unreachable!() };
        let long = c.new_matrix(99, c.submatrix(output).cols, false);
        if let Command::Propagate { output, .. } = &mut c.commands[at] {
            *output = long;
        }
    }),
    ("waits for its backprop", |c| {
        let at = find!(c, Command::Propagate { memo: Some(_), .. });
        c.commands.insert(at, c.commands[at]);
    }),
    ("no propagate has made", change!(Command::Backprop { memo: Some(memo), .. } => *memo = MemoId(77))),
    ("no backprop uses the memo", change!(Command::Backprop { memo: memo @ Some(_), .. } => *memo = None)),
    ("uses no memo", |c| {
        let forward = find!(c, Command::Propagate { component: ComponentId(0), .. });
        let backward = find!(c, Command::Backprop { component: ComponentId(0), .. });
        for at in [forward, backward] {
            if let Command::Propagate { memo, .. } | Command::Backprop { memo, .. } = &mut c.commands[at] {
                *memo = Some(MemoId(50));
            }
        }
    }),
    ("the memo is another component's", |c| {
        let forward = find!(c, Command::Propagate { component: ComponentId(0), .. });
        let backward = find!(c, Command::Backprop { memo: Some(_), .. });
        for at in [forward, backward] {
            if let Command::Propagate { memo, .. } | Command::Backprop { memo, .. } = &mut c.commands[at] {
                *memo = Some(MemoId(50));
            }
        }
    }),
    ("needs its input value", change!(Command::Backprop { in_value: value @ Some(_), .. } => *value = None)),
    (
        "needs its output value",
        change!(Command::Backprop { out_value: value @ Some(_), .. } => *value = None),
    ),
    ("has no effect", |c| {
        let at = find!(c, Command::Backprop { component: ComponentId(1), .. });
        if let Command::Backprop { in_deriv, .. } = &mut c.commands[at] {
            *in_deriv = None;
        }
    }),
    ("shapes differ", |c| {
        let small = c.new_matrix(1, 1, false);
        let at = find!(c, Command::Add { .. });
        if let Command::Add { src, .. } = &mut c.commands[at] {
            *src = small;
        }
    }),
    ("source and destination overlap", change!(Command::Add { dest, src, .. } => *src = *dest)),
    ("no such list of rows", change!(Command::AddRows { rows, .. } => *rows = IndexesId(1000))),
    ("no such list of rows", |c| {
        let at = find!(c, Command::AddRows { .. });
        let Command::AddRows { dest, .. } = c.commands[at] else { unreachable!() };
        c.commands[at] = Command::AddRowsMulti { dest, rows: MultiIndexesId(1000), alpha: 1.0 };
    }),
    ("a row number is out of range", |c| c.indexes[0][0] = 10_000),
    ("a row number is out of range", |c| c.indexes[0][0] = -2),
    ("a list of", |c| c.indexes[0].truncate(1)),
    ("numbers of columns differ", |c| {
        let at = find!(c, Command::AddRows { .. });
        let Command::AddRows { src, .. } = c.commands[at] else { unreachable!() };
        let wide = c.new_matrix(c.submatrix(src).rows, 77, false);
        if let Command::AddRows { src, .. } = &mut c.commands[at] {
            *src = wide;
        }
    }),
    ("no such list of ranges", change!(Command::AddRowRanges { ranges, .. } => *ranges = RangesId(1000))),
    ("a range of rows is empty or out of range", |c| c.ranges[0][0] = (0, 1000)),
    ("a range of rows is empty or out of range", |c| c.ranges[0][0] = (2, 2)),
    ("a list of", |c| c.ranges[0].push((-1, -1))),
    ("only input and output nodes", change!(Command::AcceptInput { node, .. } => *node = NodeId(3))),
    ("only input and output nodes", change!(Command::ProvideOutput { node, .. } => *node = NodeId(999))),
    ("a goto needs a label", |c| c.commands.push(Command::Goto { target: 0 })),
    ("a goto must be the last command", |c| {
        c.commands.insert(0, Command::Label);
        c.commands.insert(1, Command::Goto { target: 0 });
    }),
    ("the range of a compression", |c| {
        let at = find!(c, Command::ProvideOutput { .. });
        let Command::ProvideOutput { matrix, .. } = c.commands[at] else { unreachable!() };
        let kind = Compression::Int16;
        c.commands.insert(at, Command::Compress { matrix, kind, truncate: true, range: 2000.0 });
    }),
];

#[test]
fn faults_of_commands_are_found() {
    let Fixture { nnet, plain, .. } = fixture();
    assert_eq!(nnet.component_name(ComponentId(7)), "unused");
    for (message, mutate) in COMMANDS {
        let mut mutated = plain.clone();
        mutate(&mut mutated);
        refused(&nnet, &mutated, CheckOptions::default(), message);
    }
}

#[test]
fn faults_of_lists_of_several_matrices_are_found() {
    let nnet = crate::support::nnet(CONFIG);
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
        // A part of a matrix that nothing touches.
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
        let at = find!(c, Command::Backprop { component: ComponentId(1), .. });
        if let Command::Backprop { update_model, .. } = &mut c.commands[at] {
            *update_model = false;
        }
    }),
];

#[test]
fn faults_of_lives_are_found() {
    // Tanh keeps its output for backprop; a ReLU whose output nothing else reads later is compressed.
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

/// Whatever single command is deleted, moved or repeated: the checker refuses it or it computes the same.
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
