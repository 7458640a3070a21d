//! The suite of primitives on the CPU, and the CPU's refusals.

use nnet3_matrix::{Activation, Arena, Device, IndexTable, Matrix, OffsetTable, cpu};
use nnet3_primitives_suite::primitive_tests;

fn device() -> Option<Device> {
    Some(cpu())
}

nnet3_primitives_suite::each_primitive!(primitive_tests);

#[test]
#[should_panic(expected = "overlaps")]
fn partial_overlap_is_refused() {
    let arena = Arena::new(&cpu(), 100);
    let (a, b) = (arena.view(0, 3, 10, 10), arena.view(5, 3, 10, 10));
    cpu().activate(a, b.as_view(), Activation::Tanh);
}

#[test]
#[should_panic(expected = "overlaps")]
fn in_place_is_refused_where_not_promised() {
    let mut m = Matrix::zeros(&cpu(), 3, 3);
    let view = m.view_mut();
    cpu().multiply(view, view.as_view());
}

#[test]
#[should_panic(expected = "shapes differ")]
fn shapes_must_match() {
    let (mut a, b) = (Matrix::zeros(&cpu(), 3, 4), Matrix::zeros(&cpu(), 4, 3));
    cpu().add(a.view_mut(), 1.0, b.view());
}

#[test]
#[should_panic(expected = "index 7 of 3")]
fn row_numbers_are_checked() {
    let (mut a, b) = (Matrix::zeros(&cpu(), 1, 4), Matrix::zeros(&cpu(), 3, 4));
    cpu().copy_rows(a.view_mut(), 1.0, b.view(), &IndexTable::new(vec![7]));
}

#[test]
#[should_panic(expected = "column 4 of 4")]
fn column_numbers_are_checked() {
    let (mut a, b) = (Matrix::zeros(&cpu(), 1, 1), Matrix::zeros(&cpu(), 1, 4));
    cpu().copy_cols(a.view_mut(), b.view(), &IndexTable::new(vec![4]));
}

#[test]
#[should_panic(expected = "4 elements at 7 of an arena of 10")]
fn arena_offsets_are_checked() {
    let (arena, mut m) = (Arena::new(&cpu(), 10), Matrix::zeros(&cpu(), 1, 4));
    cpu().copy_rows_multi(m.view_mut(), 1.0, arena.whole().as_view(), &OffsetTable::new(vec![7]));
}

#[test]
#[should_panic(expected = "overlaps")]
fn arena_rows_must_not_overlap() {
    let arena = Arena::new(&cpu(), 10);
    cpu().add_rows_multi(arena.view(0, 1, 4, 4), 1.0, arena.whole().as_view(), &OffsetTable::new(vec![3]));
}
