//! Converts views to slices. Only this file turns raw pointers of this backend into references.
//!
//! A primitive takes all its slices by one call of [`source`], [`destination`], [`split`] or [`pair`] and drops them
//! before it returns. All views of one memory live on one thread, so no other slices of it can exist meanwhile. Each
//! call checks that the destination lies apart from all sources.

#![allow(unsafe_code)]

use super::lanes::RowSet;
pub(super) use crate::view::same_shape;
use crate::view::{Shape, View, ViewMut};
use std::marker::PhantomData;

/// Rows to read. A stride of 0 repeats one row.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    shape: Shape,
    pointer: *const f32,
    life: PhantomData<&'a [f32]>,
}

/// Rows to write.
pub(super) struct RowsMut<'a> {
    shape: Shape,
    pointer: *mut f32,
    life: PhantomData<&'a mut [f32]>,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.shape.rows
    }
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.shape.cols
    }
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        check_row(i, self.shape.rows);
        // SAFETY: the view's rows lie in memory that lives for 'a (see `View::new`), and by this module's rule no write
        // reaches it while slices exist.
        unsafe { std::slice::from_raw_parts(self.pointer.add(i * self.shape.stride), self.shape.cols) }
    }
    /// Row `i` and, if there are no gaps between rows, all rows after it.
    #[inline(always)]
    pub(crate) fn rows_from(&self, i: usize) -> &'a [f32] {
        check_row(i, self.shape.rows);
        let rows = if self.shape.stride == self.shape.cols { self.shape.rows - i } else { 1 };
        // SAFETY: as for `row`; the rows lie side by side.
        unsafe { std::slice::from_raw_parts(self.pointer.add(i * self.shape.stride), rows * self.shape.cols) }
    }
    /// The element in row `i`, column 0.
    #[inline(always)]
    pub fn first(&self, i: usize) -> f32 {
        self.row(i)[0]
    }
    /// Row `i` alone.
    pub(crate) fn only(self, i: usize) -> Self {
        check_row(i, self.shape.rows);
        let pointer = self.pointer.wrapping_add(i * self.shape.stride);
        Rows { shape: Shape { rows: 1, ..self.shape }, pointer, ..self }
    }
    /// The one row that this has, repeated: `rows` rows that are all the same memory.
    pub fn repeated(self, rows: usize) -> Self {
        assert!(self.shape.rows == 1);
        Rows { shape: Shape { rows, stride: 0, ..self.shape }, ..self }
    }
}

/// Panics unless there is a row `i`. A message that is made here would want its numbers in memory, and with them all of
/// the view.
#[inline(always)]
fn check_row(i: usize, rows: usize) {
    #[cold]
    #[inline(never)]
    fn outside(i: usize, rows: usize) -> ! {
        panic!("row {i} of {rows}")
    }
    if i >= rows {
        outside(i, rows)
    }
}

/// Row `i` of each.
#[inline(always)]
pub(super) fn rows_at<'a, const N: usize>(sources: &[Rows<'a>; N], i: usize) -> RowSet<'a, N> {
    let mut out: RowSet<'a, N> = [&[]; N];
    for k in 0..N {
        out[k] = sources[k].row(i);
    }
    out
}

impl RowsMut<'_> {
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.shape.rows
    }
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.shape.cols
    }
    #[inline(always)]
    pub fn row(&mut self, i: usize) -> &mut [f32] {
        check_row(i, self.shape.rows);
        // SAFETY: as for `Rows::row`; `&mut self` makes this the only slice made from here, and this module has
        // checked that no readable rows overlap.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.add(i * self.shape.stride), self.shape.cols) }
    }
    /// The rows as a source, until the next write to them.
    #[inline(always)]
    pub fn read(&self) -> Rows<'_> {
        Rows { shape: self.shape, pointer: self.pointer, life: PhantomData }
    }
}

pub(super) fn on_host(view: &View<'_>) {
    assert!(view.device == 0 || view.is_empty(), "a view of device {} given to the CPU", view.device);
}

/// The view's rows for a primitive without a destination (or with Rust slices as destination).
pub(super) fn source<'a>(view: View<'a>) -> Rows<'a> {
    on_host(&view);
    Rows { shape: view.shape, pointer: view.pointer, life: PhantomData }
}

/// The view's rows for a primitive without a source.
pub(super) fn destination<'a>(view: ViewMut<'a>) -> RowsMut<'a> {
    on_host(&view.as_view());
    RowsMut { shape: view.shape, pointer: view.pointer, life: PhantomData }
}

/// A destination and sources that must not overlap it; sources may overlap each other.
#[track_caller]
pub(super) fn split<'a, const N: usize>(
    dst: ViewMut<'a>,
    sources: [View<'a>; N],
) -> (RowsMut<'a>, [Rows<'a>; N]) {
    for src in &sources {
        assert!(!overlap(&dst.as_view(), src), "destination overlaps a source: {dst:?}, {src:?}");
    }
    (destination(dst), sources.map(source))
}

/// Several destinations and sources. Destinations must overlap neither each other nor sources; sources may overlap each
/// other.
#[track_caller]
pub(super) fn split_all<'a, const D: usize, const N: usize>(
    destinations: [ViewMut<'a>; D],
    sources: [View<'a>; N],
) -> ([RowsMut<'a>; D], [Rows<'a>; N]) {
    for (k, dst) in destinations.iter().enumerate() {
        for other in destinations[..k].iter().map(ViewMut::as_view).chain(sources) {
            assert!(!overlap(&dst.as_view(), &other), "destination overlaps {other:?}: {dst:?}");
        }
    }
    (destinations.map(destination), sources.map(source))
}

/// A destination and a source that is either the same elements or does not overlap.
pub(super) enum Pair<'a> {
    Same(RowsMut<'a>),
    Apart(RowsMut<'a>, Rows<'a>),
}

#[track_caller]
pub(super) fn pair<'a>(dst: ViewMut<'a>, src: View<'a>) -> Pair<'a> {
    same_shape(&dst.as_view(), &src);
    if same(&dst, &src) {
        return Pair::Same(destination(dst));
    }
    let (dst, [src]) = split(dst, [src]);
    Pair::Apart(dst, src)
}

/// True if the two, of one shape, are the same elements.
pub(super) fn same(dst: &ViewMut<'_>, src: &View<'_>) -> bool {
    dst.same_start(src) || (dst.rows() == 1 && std::ptr::eq(dst.pointer, src.pointer))
}

/// All views as one row each if none has gaps between rows, so that loops are as long as possible.
pub(super) fn flattened<'a, const N: usize>(
    dst: ViewMut<'a>,
    sources: [View<'a>; N],
) -> (ViewMut<'a>, [View<'a>; N]) {
    if dst.rows() > 1 && dst.is_contiguous() && sources.iter().all(|s| s.is_contiguous()) {
        let len = dst.rows() * dst.cols();
        (dst.reshape(1, len), sources.map(|s| s.reshape(1, len)))
    } else {
        (dst, sources)
    }
}

/// [`flattened`] without a destination.
pub(super) fn flattened_sources<const N: usize>(sources: [View<'_>; N]) -> [View<'_>; N] {
    if sources.iter().all(|s| s.is_contiguous()) {
        sources.map(|s| s.reshape(1, s.rows() * s.cols()))
    } else {
        sources
    }
}

/// Calls `f` with each row of dst and the `cols` elements of the arena (a 1 × n view) at that row's offset. The
/// second argument is `None` if the offset is -1. The arena may contain dst itself, but a row must not overlap its
/// source.
#[inline(always)]
pub(super) fn gather(
    dst: ViewMut<'_>,
    arena: View<'_>,
    offsets: &[i64],
    f: impl Fn(&mut [f32], Option<&[f32]>),
) {
    assert_eq!(offsets.len(), dst.rows(), "offsets for a matrix of {} rows", dst.rows());
    let arena_len = arena_len(&arena);
    let cols = dst.cols();
    if cols == 0 {
        return;
    }
    let mut dst = destination(dst);
    for (i, &offset) in offsets.iter().enumerate() {
        let row = dst.row(i);
        if offset == -1 {
            f(row, None);
            continue;
        }
        let from = arena.pointer.wrapping_add(piece(offset, cols, arena_len));
        apart(row.as_ptr(), from, cols);
        // SAFETY: the elements are inside the arena and, as just checked, apart from the only other slice, `row`.
        f(row, Some(unsafe { std::slice::from_raw_parts(from, cols) }));
    }
}

/// Calls `f` with the elements of the arena at each row's offset, and the row of src; not for offsets of -1.
/// The arena may contain src itself, as for [`gather`].
#[inline(always)]
pub(super) fn scatter(arena: ViewMut<'_>, src: View<'_>, offsets: &[i64], f: impl Fn(&mut [f32], &[f32])) {
    assert_eq!(offsets.len(), src.rows(), "offsets for a matrix of {} rows", src.rows());
    let arena_len = arena_len(&arena.as_view());
    let cols = src.cols();
    if cols == 0 {
        return;
    }
    let src = source(src);
    for (i, &offset) in offsets.iter().enumerate() {
        if offset == -1 {
            continue;
        }
        let row = src.row(i);
        let to = arena.pointer.wrapping_add(piece(offset, cols, arena_len));
        apart(row.as_ptr(), to, cols);
        // SAFETY: the elements are inside the arena and, as just checked, apart from the only other slice, `row`.
        f(unsafe { std::slice::from_raw_parts_mut(to, cols) }, row);
    }
}

fn arena_len(arena: &View<'_>) -> usize {
    on_host(arena);
    assert!(arena.rows() <= 1, "an arena is one row, not {}", arena.rows());
    arena.rows() * arena.cols()
}

fn piece(offset: i64, cols: usize, len: usize) -> usize {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    assert!(start <= len && cols <= len - start, "{cols} elements at {offset} of an arena of {len}");
    start
}

fn apart(a: *const f32, b: *const f32, len: usize) {
    assert!(a.addr().abs_diff(b.addr()) >= len * 4, "a row overlaps what it is copied from or to");
}

/// True if some element belongs to both views.
pub(super) fn overlap(a: &View<'_>, b: &View<'_>) -> bool {
    if a.is_empty() || b.is_empty() || a.device != b.device {
        return false;
    }
    let (a_start, b_start) = (a.pointer.addr(), b.pointer.addr());
    if a_start + bytes(a) <= b_start || b_start + bytes(b) <= a_start {
        return false;
    }
    let stride = a.stride();
    if stride != b.stride() || stride < a.cols().max(b.cols()) || !b_start.abs_diff(a_start).is_multiple_of(4)
    {
        return rows_overlap(a, b);
    }
    // Equal strides: b's columns begin in column `shift` of a's grid, `down` rows below, and may run over a row's end.
    let stride = stride as isize;
    let delta = (b_start as isize - a_start as isize) / 4;
    let (down, shift) = (delta.div_euclid(stride), delta.rem_euclid(stride));
    let rows_meet = |down: isize| down < a.rows() as isize && down + b.rows() as isize > 0;
    (shift < a.cols() as isize && rows_meet(down))
        || (shift + b.cols() as isize > stride && rows_meet(down + 1))
}

/// Bytes from the first element to behind the last one.
fn bytes(view: &View<'_>) -> usize {
    ((view.rows() - 1) * view.stride() + view.cols()) * 4
}

/// [`overlap`] by walking over the rows of both in the order of their addresses.
fn rows_overlap(a: &View<'_>, b: &View<'_>) -> bool {
    let range = |view: &View<'_>, row: usize| {
        let start = view.pointer.addr() + row * view.stride() * 4;
        start..start + view.cols() * 4
    };
    let (mut i, mut j) = (0, 0);
    while i < a.rows() && j < b.rows() {
        let (x, y) = (range(a, i), range(b, j));
        if x.end <= y.start {
            i += 1;
        } else if y.end <= x.start {
            j += 1;
        } else {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, cpu};

    #[test]
    fn overlap_agrees_with_sets_of_addresses() {
        let arena = Arena::new(&cpu(), 400);
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let mut seen = [0; 2];
        for round in 0..20000 {
            let mut stride = 1 + random(9);
            let mut make = || {
                if round % 3 == 0 {
                    stride = 1 + random(9);
                }
                let (rows, cols) = (random(5), random(stride + 1));
                let (rows, cols) = if random(6) == 0 { (1, random(30)) } else { (rows, cols) };
                arena.view(random(60), rows, cols, stride)
            };
            let (a, b) = (make(), make().as_view());
            let set = |v: View<'_>| -> std::collections::HashSet<usize> {
                let (rows, cols) = (v.rows(), v.cols());
                let at = |i: usize, j: usize| v.pointer.addr() + (i * v.stride() + j) * 4;
                (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| at(i, j)).collect()
            };
            let expected = set(a.as_view()).intersection(&set(b)).next().is_some();
            assert_eq!(overlap(&a.as_view(), &b), expected, "{a:?} {b:?}");
            seen[expected as usize] += 1;
        }
        assert!(seen[0] > 1000 && seen[1] > 1000, "{seen:?}");
    }
}
