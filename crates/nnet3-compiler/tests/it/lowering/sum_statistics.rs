//! Statistics of windows as sums.

use super::{compare, count};
use nnet3_compiler::lower::{Backprop, Mode, Op, Propagate};
use nnet3_core::execute::Program;

/// Statistics of 4 columns, pooled in a window that starts at each multiple of 20.
fn config(extraction: &str, pooling: &str, pooled: usize, more: &str) -> String {
    format!(
        "input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim=4
        component name=e type=StatisticsExtractionComponent input-dim=4 {extraction}
        component name=p type=StatisticsPoolingComponent left-context=0 {pooling}
        component name=b type=AffineComponent input-dim={pooled} output-dim=4
        component-node name=a component=a input=input
        component-node name=e component=e input=a
        component-node name=p component=p input=e
        component-node name=b component=b input=Round(p, 20)
        {more}"
    )
}

const OUTPUT: &str = "output-node name=output input=b";

/// Number of operations that write or read summed matrices.
fn summing(program: &Program) -> usize {
    count(program.lowered(), |op| {
        matches!(
            op,
            Op::Propagate(Propagate { mode: Mode::Summed { .. }, .. })
                | Op::Backprop(Backprop { mode: Mode::Summed { .. }, .. })
        )
    })
}

/// Windows that touch, of more frames than are summed at a time, and with frames between them that are in none.
#[test]
fn sums_are_those_of_single_frames() {
    let touching = config("", "input-dim=9 right-context=19 output-stddevs=true", 8, OUTPUT);
    compare(&touching, 3, 40, |program| summing(program) == 4);
    let (pooling, half) = ("input-dim=9 right-context=11 num-log-count-features=2", "Sum(b, Scale(0.5, a))");
    let apart = config("", pooling, 10, &format!("output-node name=output input={half}"));
    compare(&apart, 2, 80, |program| summing(program) == 4);
    let means = config("include-variance=false", "input-dim=5 right-context=14", 4, OUTPUT);
    compare(&means, 2, 70, |program| summing(program) == 4);
    let long = config("", "input-dim=9 right-context=199 output-stddevs=true", 8, OUTPUT);
    compare(&long.replace("Round(p, 20)", "Round(p, 200)"), 2, 200, |program| summing(program) == 4);
}

/// Windows with common frames, groups of frames, and other readers.
#[test]
fn others_stay_as_they_are() {
    let overlapping = config("", "input-dim=9 right-context=29", 8, OUTPUT);
    compare(&overlapping, 2, 80, |program| summing(program) == 0);
    let groups = config("output-period=2", "input-dim=9 input-period=2 right-context=18", 8, OUTPUT);
    compare(&groups, 2, 80, |program| summing(program) == 0);
    let more = "component name=c type=AffineComponent input-dim=9 output-dim=4
        component-node name=c component=c input=e
        output-node name=output input=Sum(b, c)";
    let read_elsewhere = config("", "input-dim=9 right-context=19", 8, more);
    compare(&read_elsewhere, 2, 80, |program| summing(program) == 0);
}
