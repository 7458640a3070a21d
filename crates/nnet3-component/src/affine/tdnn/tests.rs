use super::*;
use crate::by_index::*;
use crate::testing::*;

#[test]
fn derivatives_and_files() {
    let indexes = |times: &[i32]| times.iter().map(|&t| Index::new(0, t, 0)).collect::<Vec<_>>();
    for config in
        ["use-bias=true", "use-bias=false orthonormal-constraint=-1 max-change=0.75 l2-regularize=0.01"]
    {
        let config = format!("type=TdnnComponent input-dim=4 output-dim=3 time-offsets=-1,0,2 {config}");
        Check::new(&config).indexes(indexes(&[-1, 0, 2, 3, 5]), indexes(&[0, 3])).run();
    }
    check_component_one_row("type=TdnnComponent input-dim=1 output-dim=2 time-offsets=5 rank-in=1");
}

fn check_component_one_row(config: &str) {
    Check::new(config).indexes(vec![Index::new(3, 8, 0)], vec![Index::new(3, 3, 0)]).run();
}

/// y, its derivative and the gradient as sums over offsets, index by index.
#[test]
fn agrees_with_the_formula() {
    let random = Random::new(4);
    for _ in 0..200 {
        let offsets = some_offsets(&random, -4, 4);
        let (input_dim, output_dim) = (random.int(1, 4), random.int(1, 3));
        let list: Vec<String> = offsets.iter().rev().map(i32::to_string).collect();
        let config = format!(
            "type=TdnnComponent input-dim={input_dim} output-dim={output_dim} time-offsets={} use-bias={}",
            list.join(","),
            random.int(0, 1) == 0
        );
        let new = component(&config);
        let times = some_times(&random, random.int(-5, 5), random.int(6, 20), random.int(1, 3));
        let missing = random.int(-20, 20);
        let wanted = images_at(&random, &times);
        let available = |index: Index| index.t != missing;
        let computable = |index: &&Index| offsets.iter().all(|o| index.t + o != missing);
        if wanted.iter().filter(computable).count() == 0 {
            continue;
        }
        let trial = run(&*new, &wanted, &available, read_precomputed, &random);
        assert!(
            trial
                .output
                .keys()
                .eq(wanted.iter().filter(computable).collect::<std::collections::BTreeSet<_>>())
        );
        compare(downcast(&*new), &trial);
    }
}

fn compare(tdnn: &Tdnn, trial: &Trial) {
    let (dim, rows, cols) = (tdnn.input_dim(), tdnn.linear.rows(), tdnn.linear.cols());
    let (weights, bias) = (tdnn.linear.to_vec(), tdnn.bias.to_vec());
    let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.input));
    let mut gradient = vec![0.0; rows * cols + bias.len()];
    for (&index, y) in &mut output {
        for o in 0..rows {
            let e = trial.out_deriv[&index][o];
            if !bias.is_empty() {
                y[o] += bias[o] as f64;
                gradient[rows * cols + o] += e;
            }
            for c in 0..cols {
                let at = Index { t: index.t + tdnn.time_offsets[c / dim], ..index };
                let (w, x) = (weights[o * cols + c] as f64, trial.input[&at][c % dim]);
                y[o] += w * x;
                in_deriv.get_mut(&at).unwrap()[c % dim] += w * e;
                gradient[o * cols + c] += x * e;
            }
        }
    }
    assert_rows_near(&trial.output, &output, "output");
    assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
    assert_values_near(&trial.gradient, &gradient, "gradient");
}

#[test]
fn wrong_configs_are_refused() {
    let base = "type=TdnnComponent input-dim=4 output-dim=3";
    refused(base, "'time-offsets' is missing");
    for (keys, part) in [
        ("time-offsets=1,2,1", "offset 1 occurs twice"),
        ("time-offsets=", "at least one offset"),
        ("time-offsets=1,,2", "separated by commas"),
        ("time-offsets=a", "separated by commas"),
        ("time-offsets=0 rank-in=0", "rank"),
        ("time-offsets=0 alpha-out=-1", "alpha"),
        ("time-offsets=0 num-samples-history=0", "num-samples-history"),
        ("time-offsets=0 update-period=3", "update-period"),
        ("time-offsets=0 learning-rate=-1", "learning-rate"),
    ] {
        refused(&format!("{base} {keys}"), part);
    }
    refused("type=TdnnComponent input-dim=0 output-dim=3 time-offsets=0", "input-dim=0");
    refused("type=TdnnComponent input-dim=2000000000 output-dim=2000000000 time-offsets=0", "too many");
}

const TEXT: &str = "<TdnnComponent> <LearningRate> 0.001 <TimeOffsets> [ -1 1 ]\n<LinearParams>  [\n  1 2 \n  3 4 ]\n\
                    <BiasParams>  [ 5 6 ]\n<OrthonormalConstraint> 0 <UseNaturalGradient> T <NumSamplesHistory> 2000 \
                    <AlphaInOut> 3 3 <RankInOut> 1 2 </TdnnComponent> ";

#[test]
fn older_and_broken_files() {
    let older = from_text(&TEXT.replace("<AlphaInOut> 3 3", "<Alpha> 3"));
    assert_eq!(written_text(&*older), TEXT);
    for (what, instead, part) in [
        ("[ -1 1 ]", "[ -1 1 0 ]", "2 columns for 3 time offsets"),
        ("[ -1 1 ]", "[ 1 1 ]", "occurs twice"),
        ("[ -1 1 ]", "[ ]", "at least one"),
        ("[ 5 6 ]", "[ 5 6 7 ]", "<BiasParams> 3 elements"),
        ("<RankInOut> 1 2", "<RankInOut> 1 -2", "greater than 0, found -2"),
        ("<NumSamplesHistory> 2000", "<NumSamplesHistory> 0", "num-samples-history"),
    ] {
        read_refused(&TEXT.replace(what, instead), part);
    }
}

#[test]
fn indexes_that_do_not_fit_are_errors() {
    let new = component("type=TdnnComponent input-dim=1 output-dim=1 time-offsets=-1,1");
    let list = |times: &[i32]| times.iter().map(|&t| Index::new(0, t, 0)).collect::<Vec<_>>();
    for (inputs, outputs) in
        [(&[0, 1][..], &[0, 1][..]), (&[], &[0]), (&[-1, 1], &[0, 1, 3]), (&[1], &[0, 2])]
    {
        let (inputs, outputs) = (list(inputs), list(outputs));
        assert!(new.precompute_indexes(&inputs, &outputs, true).is_err(), "{inputs:?} {outputs:?}");
    }
}
