//! The backward pass of such an end of a layer.

use super::networks::{MASKED, WITHOUT, normalized, stacked};
use super::normalized_sum::sums;
use super::{compare, compare_changed};
use nnet3_compiler::lower::{NormalizedBackprop, Op};
use nnet3_core::execute::Program;

fn backs(program: &Program) -> Vec<NormalizedBackprop> {
    let back = |op: &Op| if let Op::NormalizedBackprop(back) = op { Some(*back) } else { None };
    program.lowered().ops().iter().filter_map(back).collect()
}

#[test]
fn a_layer_is_passed_back_at_once() {
    for masks in [MASKED, &MASKED.replace("=0.3", "=0")] {
        compare(&normalized(masks, "a"), 3, 40, |program| {
            let backs = backs(program);
            backs.len() == 1 && backs[0].masks.is_some() && backs[0].copy.is_some()
        });
    }
    compare(&normalized(WITHOUT, "a"), 3, 40, |program| {
        backs(program).len() == 1 && backs(program)[0].masks.is_none()
    });
    // The derivative goes to other rows of the bypass.
    compare(&normalized(MASKED, "Offset(a, -1)"), 3, 40, |program| backs(program).len() == 1);
    compare(&stacked(MASKED), 3, 40, |program| {
        backs(program).len() == 2 && sums(program).iter().all(|sum| sum.relu.is_some())
    });
}

#[test]
fn few_rows_are_passed_back_step_by_step() {
    compare(&normalized(MASKED, "a"), 1, 40, |program| backs(program).is_empty());
}

/// In test mode the normalisation has fixed statistics.
#[test]
fn the_mode_may_change_after_compilation() {
    let is_fused = |program: &Program| backs(program).len() == 2;
    compare_changed(&stacked(MASKED), 3, 40, |nnet| nnet.set_batchnorm_test_mode(true), is_fused);
}

/// Statistics are summed by other primitives.
#[test]
fn wide_layers_have_the_same_statistics() {
    let wide = stacked(MASKED).replace("dim=8", "dim=72");
    assert!(wide.contains("output-dim=72"));
    compare(&wide, 5, 40, |program| backs(program).len() == 2);
}
