//! Sums of rows.

use super::networks::row_sums;
use super::{compare, count};
use nnet3_compiler::computation::Command;
use nnet3_compiler::lower::{Op, SumRows};
use nnet3_core::execute::Program;

fn additions(program: &Program) -> usize {
    count(program.lowered(), |op| {
        matches!(op, Op::Command(Command::AddRowRanges { .. } | Command::AddRows { .. }))
    })
}

fn sums(program: &Program) -> Vec<SumRows> {
    let sum = |op: &Op| if let Op::SumRows(sum) = op { Some(*sum) } else { None };
    program.lowered().ops().iter().filter_map(sum).collect()
}

#[test]
fn many_additions_become_one() {
    // Each of some times is read by five others.
    compare(&row_sums("Round(a, 5)"), 2, 20, |program| {
        let lists = program.lowered().row_lists();
        additions(program) == 0
            && sums(program).len() == 1
            && lists.len() == 1
            && lists[0].iter().any(|list| list.len() == 5)
    });
}

#[test]
fn single_ones_stay() {
    compare(&row_sums("a"), 3, 9, |program| sums(program).is_empty());
}
