//! Wide outputs whose rows are not copied.

use super::networks::output_rows;
use super::{compare, count};
use nnet3_compiler::computation::Command;
use nnet3_compiler::lower::{Op, Ordered};
use nnet3_core::execute::Program;

fn ordered(program: &Program) -> Vec<Ordered> {
    let ordered = |op: &Op| if let Op::Ordered(ordered) = op { Some(*ordered) } else { None };
    program.lowered().ops().iter().filter_map(ordered).collect()
}

/// Copies of rows of this width, of operations and of commands.
fn copies(program: &Program, width: usize) -> [usize; 2] {
    let is_wide = |op: &Op| match *op {
        Op::Command(Command::CopyRows { dest, .. }) => {
            program.lowered().submatrix(program.computation(), dest).cols == width
        }
        _ => false,
    };
    [program.lowered(), program.literal()].map(|lowered| count(lowered, is_wide))
}

#[test]
fn wide_matrices_are_not_copied() {
    compare(&output_rows(2, "b"), 3, 40, |program| {
        let [own, literal] = copies(program, 4);
        ordered(program).len() == 2 && own + 2 == literal
    });
    compare(&output_rows(2, "l"), 3, 40, |program| {
        let [own, literal] = copies(program, 4);
        ordered(program).len() == 3 && own + 2 == literal
    });
}

#[test]
fn wide_inputs_and_other_readers_keep_the_order() {
    compare(&output_rows(4, "b"), 3, 40, |program| ordered(program).is_empty());
    compare(&output_rows(2, "Sum(b, Offset(b, 1))"), 3, 40, |program| ordered(program).is_empty());
    // One sequence needs no other order.
    compare(&output_rows(2, "b"), 1, 40, |program| ordered(program).is_empty());
}
