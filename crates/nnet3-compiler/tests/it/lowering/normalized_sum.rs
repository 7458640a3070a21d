//! The end of a layer with normalisation, masks and a bypass in one pass.

use super::networks::{MASKED, WITHOUT, normalized};
use super::{compare, compare_changed, count};
use nnet3_compiler::computation::Command;
use nnet3_compiler::lower::{NormalizedSum, Op};
use nnet3_core::execute::Program;

pub fn sums(program: &Program) -> Vec<NormalizedSum> {
    let sum = |op: &Op| if let Op::NormalizedSum(sum) = op { Some(*sum) } else { None };
    program.lowered().ops().iter().filter_map(sum).collect()
}

#[test]
fn a_layer_ends_in_one_pass() {
    let without = WITHOUT;
    let off = MASKED.replace("=0.3", "=0");
    for masks in [MASKED, &off] {
        compare(&normalized(masks, "a"), 3, 40, |program| {
            let rest = count(program.lowered(), |op| matches!(op, Op::Command(Command::Add { .. })));
            sums(program).len() == 1 && sums(program)[0].masks.is_some() && rest + 1 >= sums(program).len()
        });
    }
    compare(&normalized(without, "a"), 3, 40, |program| {
        sums(program).len() == 1 && sums(program)[0].masks.is_none()
    });
    // Other rows of the bypass.
    compare(&normalized(MASKED, "Offset(a, -1)"), 3, 40, |program| sums(program).len() == 1);
}

/// In test mode the normalisation has fixed statistics.
#[test]
fn the_mode_may_change_after_compilation() {
    let network = normalized(MASKED, "a");
    let is_fused = |program: &Program| sums(program).len() == 1;
    compare_changed(&network, 3, 40, |nnet| nnet.set_batchnorm_test_mode(true), is_fused);
}

#[test]
fn masked_values_that_are_read_elsewhere_are_written() {
    let twice = normalized(MASKED, "a").replace("input=s\n", "input=Sum(s, Offset(d, 1))\n");
    compare(&twice, 3, 40, |program| {
        sums(program).len() == 1 && sums(program)[0].bypass.is_none() && sums(program)[0].masks.is_some()
    });
}

/// Only the result is written, unless another operation reads values before it.
#[test]
fn values_that_nothing_reads_are_not_written() {
    let flags = |program: &Program| {
        let sums = sums(program);
        (sums.len() == 1).then(|| (sums[0].relu.is_some(), sums[0].keeps_values))
    };
    compare(&normalized(MASKED, "a"), 3, 40, |program| flags(program) == Some((true, false)));
    let elsewhere = normalized(MASKED, "a").replace("input=s\n", "input=Sum(s, Offset(r, 1))\n");
    compare(&elsewhere, 3, 40, |program| flags(program) == Some((false, true)));
    let elsewhere = normalized(MASKED, "a").replace("input=s\n", "input=Sum(s, n)\n");
    compare(&elsewhere, 3, 40, |program| flags(program) == Some((true, true)));
    // Sums over few rows stay as they are.
    compare(&normalized(MASKED, "a"), 1, 40, |program| flags(program) == Some((false, true)));
}

#[test]
fn parts_of_it_are_enough() {
    let plain = normalized(WITHOUT, "a").replace("Sum(Scale(0.66, a), d)", "d");
    compare(&plain, 3, 40, |program| {
        let sums = sums(program);
        sums.len() == 1 && sums[0].relu.is_some() && sums[0].masks.is_none() && sums[0].bypass.is_none()
    });
    let masked = normalized(MASKED, "a").replace("Sum(Scale(0.66, a), d)", "d");
    compare(&masked, 3, 40, |program| {
        let sums = sums(program);
        sums.len() == 1 && sums[0].relu.is_some() && sums[0].masks.is_some() && sums[0].bypass.is_none()
    });
}
