//! Updates that are collected in the steps of a recurrence.

use super::networks::{step_layer, step_network, step_updates};
use super::{compare, count};
use nnet3_compiler::lower::{Op, Step};
use nnet3_core::execute::Program;

fn steps(program: &Program) -> (usize, usize) {
    let lowered = program.lowered();
    let begins = |op: &Op| matches!(op, Op::Step(Step { begins: Some(_), .. }));
    let updates = count(lowered, |op| matches!(op, Op::StepsUpdate(_)));
    assert_eq!(count(lowered, begins), updates);
    (count(lowered, |op| matches!(op, Op::Step(_))), updates)
}

#[test]
fn an_update_is_collected_in_the_steps() {
    compare(&step_updates(), 3, 7, |program| steps(program) == (7, 1));
    let both = step_layer("a", "input") + &step_layer("b", "ar");
    compare(&step_network(&both, "br"), 2, 5, |program| steps(program) == (10, 2));
}

/// One step needs no second run of anything.
#[test]
fn a_single_step_stays_as_it_is() {
    compare(&step_updates(), 3, 1, |program| steps(program) == (0, 0));
}
