//! Lists with faults, which the check must find.

use super::super::op::{InputDerivative, NormalizedSum, Ordered};
use super::super::tests::networks::{self, BYPASS, RECURRENT, SMALL, SPLICED};
use super::super::tests::{forward, training};
use super::super::{Lowered, Watch, lower, lower_picked};
use super::*;
use crate::graph::FrameContext;
use nnet3_base::config::parse_config;
use nnet3_base::random::Random;
use nnet3_matrix::RowLists;

/// Networks with all kinds of operations, lowered.
fn cases() -> Vec<(Nnet, Computation, Lowered)> {
    let recurrent = RECURRENT.replace("INPUT", "a, IfDefined(Offset(d, -1))");
    let cases = [
        training(SMALL, 2, 3),
        training(BYPASS, 4, 1100),
        training(&recurrent, 3, 7),
        forward(&recurrent, 3, 7),
        training(SPLICED, 7, 90),
        forward(SPLICED, 7, 90),
        training(POOLED, 3, 40),
        training(&networks::row_sums("Round(a, 5)"), 2, 20),
        training(&networks::normalized(networks::MASKED, "a"), 3, 40),
        training(&networks::stacked(networks::MASKED), 3, 40),
        training(&networks::output_rows(2, "b"), 3, 40),
        training(&networks::output_rows(2, "l"), 3, 40),
        training(&networks::step_updates(), 3, 4),
        training(&networks::common_derivative(), 3, 4),
    ];
    let lowered = |(nnet, computation): (Nnet, Computation)| {
        let host = nnet3_matrix::cpu();
        let lowered = lower(&nnet, &computation, &*host, &mut Watch::default()).unwrap();
        check(&nnet, &computation, &lowered).unwrap();
        (nnet, computation, lowered)
    };
    cases.into_iter().map(lowered).collect()
}

/// Statistics in windows that touch.
const POOLED: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=4
    component name=e type=StatisticsExtractionComponent input-dim=4
    component name=p type=StatisticsPoolingComponent input-dim=9 left-context=0 right-context=19
    component name=b type=AffineComponent input-dim=8 output-dim=4
    component-node name=a component=a input=input
    component-node name=e component=e input=a
    component-node name=p component=p input=e
    component-node name=b component=b input=Round(p, 20)
    output-node name=output input=b";

/// The first step of a recurrence has no predecessor, so it adds products with zeros.
fn may_add_zeros(op: &Op) -> bool {
    matches!(op, Op::Affine(Affine { adds: true, .. }))
}

#[test]
fn operations_that_are_missing_are_found() {
    let mut zeroings = 0;
    for (nnet, computation, lowered) in cases() {
        let mut needless = Vec::new();
        for (i, op) in lowered.ops.iter().enumerate() {
            if matches!(op, Op::Nothing | Op::Command(Command::Marker)) {
                continue;
            }
            let mut without = lowered.clone();
            without.ops[i] = Op::Nothing;
            match check(&nnet, &computation, &without) {
                Ok(()) => needless.push(op),
                Err(_) => zeroings += usize::from(matches!(op, Op::Command(Command::SetConst { .. }))),
            }
        }
        // Zeros are overwritten in matrices that hand their storage on, which the pass does not look through.
        needless.retain(|op| !matches!(op, Op::Command(Command::SetConst { value: 0.0, .. })));
        assert!(needless.len() <= 1 && needless.iter().all(|op| may_add_zeros(op)), "{needless:?}");
    }
    assert!(zeroings > 0);
}

/// Changes one operation in one way. Returns false if it has no such operation.
type Fault = fn(&mut Op) -> bool;

const FAULTS: [(&str, Fault); 23] = [
    ("other columns of a derivative", |op| match op {
        Op::InputDerivative(InputDerivative { columns, .. }) => {
            *columns = columns.start + 1..columns.end + 1;
            true
        }
        _ => false,
    }),
    ("adds to a derivative, or forgets what was there", |op| match op {
        Op::InputDerivative(InputDerivative { adds, .. }) => {
            *adds = !*adds;
            true
        }
        _ => false,
    }),
    ("another order of a derivative's rows", |op| match op {
        Op::InputDerivative(InputDerivative { rows, .. }) => rows.take().is_some(),
        _ => false,
    }),
    ("a step that does not collect its update", |op| match op {
        Op::Step(step) => std::mem::take(&mut step.collects),
        _ => false,
    }),
    ("adds to what is not there", |op| match op {
        Op::Propagate(Propagate { mode: mode @ Mode::Sets, .. })
        | Op::Backprop(Backprop { mode: mode @ Mode::Sets, .. }) => {
            *mode = Mode::Ordinary;
            true
        }
        _ => false,
    }),
    ("single frames for sums", |op| match op {
        Op::Propagate(Propagate { mode: mode @ Mode::Summed { .. }, .. })
        | Op::Backprop(Backprop { mode: mode @ Mode::Summed { .. }, .. }) => {
            *mode = Mode::Sets;
            true
        }
        _ => false,
    }),
    ("other columns", |op| match op {
        Op::Affine(Affine { columns, .. }) | Op::Share(Share { columns, .. }) => {
            *columns = columns.start + 1..columns.end + 1;
            true
        }
        _ => false,
    }),
    ("forgets or repeats the bias", |op| match op {
        Op::Affine(Affine { adds, .. }) => {
            *adds = !*adds;
            true
        }
        _ => false,
    }),
    ("taps in another order", |op| match op {
        Op::Filter(FilterProduct { sources, .. }) => {
            sources.reverse();
            true
        }
        _ => false,
    }),
    ("other taps", |op| match op {
        Op::Backprop(Backprop { taps: Some(taps), .. }) => {
            taps.step += 1;
            true
        }
        _ => false,
    }),
    ("other rows of a share", |op| match op {
        Op::CopyShare { rows, .. } if rows.start > 0 => {
            *rows = rows.start - 1..rows.end - 1;
            true
        }
        _ => false,
    }),
    ("adds to sums of rows, or forgets what was there", |op| match op {
        Op::SumRows(sum) => {
            sum.adds = !sum.adds;
            true
        }
        _ => false,
    }),
    ("another factor of sums of rows", |op| match op {
        Op::SumRows(sum) => {
            sum.alpha += 1.0;
            true
        }
        _ => false,
    }),
    ("no masks", |op| match op {
        Op::NormalizedSum(sum) => sum.masks.take().is_some(),
        _ => false,
    }),
    ("another factor of a bypass", |op| match op {
        Op::NormalizedSum(NormalizedSum { bypass: Some(bypass), .. }) => {
            if let Command::Copy { alpha, .. } | Command::CopyRows { alpha, .. } = &mut bypass.copy {
                *alpha += 1.0;
            }
            true
        }
        _ => false,
    }),
    ("no bypass", |op| match op {
        Op::NormalizedSum(sum) => sum.bypass.take().is_some(),
        _ => false,
    }),
    ("no rectification", |op| match op {
        Op::NormalizedSum(sum) => sum.relu.take().is_some(),
        _ => false,
    }),
    ("no masks on the way back", |op| match op {
        Op::NormalizedBackprop(back) => back.masks.take().is_some(),
        _ => false,
    }),
    ("no derivative of a bypass", |op| match op {
        Op::NormalizedBackprop(back) => back.copy.take().is_some(),
        _ => false,
    }),
    ("another order of an output's rows on the way back", |op| match op {
        Op::Ordered(Ordered::AffineBackprop { rows, back, .. }) => {
            std::mem::swap(rows, back);
            true
        }
        _ => false,
    }),
    ("no log-softmax", |op| match op {
        Op::Ordered(Ordered::Propagate { log_softmax, .. }) => log_softmax.take().is_some(),
        _ => false,
    }),
    ("another memo on the way back", |op| match op {
        Op::NormalizedBackprop(back) => {
            back.normalize.args.memo = None;
            true
        }
        _ => false,
    }),
    ("one operation less", |op| match op {
        Op::Blocks(blocks) => {
            blocks.commands.pop();
            true
        }
        _ => false,
    }),
];

#[test]
fn faults_are_found() {
    let cases = cases();
    for (what, fault) in FAULTS {
        let mut found = 0;
        for (nnet, computation, lowered) in &cases {
            let mut first_step = false;
            for i in 0..lowered.ops.len() {
                let mut wrong = lowered.clone();
                if fault(&mut wrong.ops[i]) {
                    let is_found = check(nnet, computation, &wrong).is_err();
                    let may_be_right = may_add_zeros(&lowered.ops[i]) && !first_step;
                    assert!(is_found || may_be_right, "{what}: {:?}", lowered.ops[i]);
                    first_step |= !is_found;
                    found += usize::from(is_found);
                }
            }
        }
        assert!(found > 0, "{what}");
    }
}

/// A shortcut that is valid for sums of derivatives is invalid if a command reads the derivatives themselves.
#[test]
fn derivatives_of_taps_matter_only_in_sums() {
    let elsewhere =
        SPLICED.replace("input=Append(Offset(c, -3), c)", "input=Append(Offset(c, -3), Scale(0.5, c))");
    assert_ne!(elsewhere, SPLICED);
    let (nnet, computation) = training(&elsewhere, 7, 90);
    let host = nnet3_matrix::cpu();
    let mut lowered = lower(&nnet, &computation, &*host, &mut Watch::default()).unwrap();
    let d = nnet.find_component("d").unwrap();
    let of_d = |op: &&mut Op| matches!(op, Op::Backprop(backprop) if backprop.args.component == d);
    let Some(Op::Backprop(backprop)) = lowered.ops.iter_mut().find(of_d) else { panic!() };
    backprop.taps = Some(Taps { count: 2, step: 21, summed: true });
    assert!(check(&nnet, &computation, &lowered).is_err());
}

/// Chance must be asked in the same order.
#[test]
fn random_components_keep_their_order() {
    let config = "
        input-node name=input dim=4
        component name=a type=DropoutComponent dim=4 dropout-proportion=0.5
        component name=b type=DropoutComponent dim=4 dropout-proportion=0.5
        component-node name=a component=a input=input
        component-node name=b component=b input=input
        output-node name=output input=Sum(a, b)";
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    let request = nnet.ordinary_request(2, 3, 1, false).unwrap();
    let computation = crate::compile::compile(&nnet, std::slice::from_ref(&request)).unwrap();
    let mut list = Lowered::literal(&computation);
    check(&nnet, &computation, &list).unwrap();
    let both: Vec<usize> = (0..list.ops.len()).filter(|&i| matches!(list.ops[i], Op::Propagate(_))).collect();
    let [first, second] = both[..] else { panic!("{both:?}") };
    let moved = list.ops.remove(first);
    list.ops.insert(second, moved);
    assert!(check(&nnet, &computation, &list).is_err());
}

/// Embeddings of words at two times, side by side.
const PICKED: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=8 output-dim=4
    component name=b type=TanhComponent dim=4
    component-node name=a component=a input=Append(IfDefined(Offset(input, -1)), input)
    component-node name=b component=b input=a
    output-node name=output input=b";

/// An input picked from a table: the operations are equal to the commands, and other rows of the input are noticed.
#[test]
fn other_rows_of_a_table() {
    let host = nnet3_matrix::cpu();
    for (nnet, computation) in [training(PICKED, 3, 5), forward(PICKED, 3, 5)] {
        let input = nnet.node_ids().find(|&id| nnet.node_name(id) == "input").unwrap();
        let mut watch = Watch { check: true, ..Watch::default() };
        let picked = lower_picked(&nnet, &computation, &*host, input, &mut watch).unwrap().unwrap();
        check(&nnet, &computation, &picked).unwrap();
        let places: Vec<usize> = (0..picked.ops.len())
            .filter(|&i| matches!(picked.ops[i], Op::PickedPropagate(_) | Op::PickedBackprop(_)))
            .collect();
        assert!(!places.is_empty());
        for place in places {
            let mut wrong = picked.clone();
            if let Op::PickedPropagate(PickedPropagate { terms, .. })
            | Op::PickedBackprop(PickedBackprop { terms, .. }) = &mut wrong.ops[place]
            {
                let mut other = terms.to_vec();
                other[0].rows.swap(0, 4);
                *terms = other.into();
            }
            assert!(check(&nnet, &computation, &wrong).is_err());
        }
    }
}

/// Lists are beside the operations.
#[test]
fn other_rows_in_sums_are_found() {
    let (nnet, computation) = training(&networks::row_sums("Round(a, 5)"), 2, 20);
    let host = nnet3_matrix::cpu();
    let lowered = lower(&nnet, &computation, &*host, &mut Watch::default()).unwrap();
    let wrong = |change: &dyn Fn(&mut Vec<Vec<i32>>)| {
        let mut wrong = lowered.clone();
        let mut lists: Vec<Vec<i32>> = wrong.row_lists[0].iter().map(<[i32]>::to_vec).collect();
        change(&mut lists);
        wrong.row_lists[0] = Arc::new(RowLists::new(&lists));
        check(&nnet, &computation, &wrong).is_err()
    };
    assert!(!wrong(&|lists| lists[0].reverse()));
    assert!(wrong(&|lists| lists[0].truncate(1)));
    assert!(wrong(&|lists| lists[0][0] = lists[1][0]));
    assert!(wrong(&|lists| lists.swap(0, 1)));
}

/// Masked values are not written, so that a later reader of them is a fault.
#[test]
fn readers_of_masked_values_are_found() {
    let config = networks::normalized(networks::MASKED, "a");
    let (nnet, computation) = training(&config, 3, 40);
    let host = nnet3_matrix::cpu();
    let mut lowered = lower(&nnet, &computation, &*host, &mut Watch::default()).unwrap();
    let place = lowered.ops.iter().position(|op| matches!(op, Op::NormalizedSum(_))).unwrap();
    let Op::NormalizedSum(sum) = lowered.ops[place] else { panic!() };
    lowered.ops.insert(place + 1, Op::Command(sum.bypass.unwrap().add));
    lowered.commands.insert(place + 1, lowered.commands[place]);
    let fault = check(&nnet, &computation, &lowered).unwrap_err();
    assert!(fault.contains("has not been written"), "{fault}");
}
