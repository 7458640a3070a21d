//! Non-temporal stores for large results. An ordinary store loads each cache line before it changes it, and a large
//! result is evicted from the caches before it is read.

use crate::cpu::access::{Rows, RowsMut, rows_at};
use crate::cpu::elementwise::{Combine, Function, combine_row};
use crate::cpu::lanes::cut;
use kaldi_simd::{self as simd, Kernel, Simd};
use std::marker::PhantomData;

/// Results of at least this many elements are written past the caches: several times the size of second-level caches.
const LARGE: usize = 1 << 21;
/// Number of elements that are computed before they are written.
const PART: usize = 256;

pub(in crate::cpu) fn is_large(dst: &RowsMut<'_>) -> bool {
    dst.rows() * dst.cols() >= LARGE
}

/// Ends a stretch of [`Simd::store_past`] when it is dropped. From then on other threads see the writes, with any kind
/// of synchronisation.
struct Finish<S: Simd>(PhantomData<S>);

impl<S: Simd> Drop for Finish<S> {
    #[inline(always)]
    fn drop(&mut self) {
        S::finish_stores();
    }
}

/// dst = f(sources), past the caches; f must not depend on old elements.
struct Fresh<'a, const N: usize, F>(Combine<'a, N, F>);

impl<const N: usize, F: Function<N>> Kernel for Fresh<'_, N, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let Combine { mut dst, sources, f } = self.0;
        let _finish = Finish::<S>(PhantomData);
        let mut part = [0.0; PART];
        for i in 0..dst.rows() {
            let (row, sources) = (dst.row(i), rows_at(&sources, i));
            for start in (0..row.len()).step_by(PART) {
                let range = start..row.len().min(start + PART);
                let part = &mut part[..range.len()];
                combine_row::<S, N, F>(part, cut(sources, range.clone()), f);
                S::store_past(&mut row[range], part);
            }
        }
    }
}

/// dst = f(sources), where f does not depend on old elements.
#[inline(always)]
pub(in crate::cpu) fn set<const N: usize, F: Function<N>>(dst: RowsMut<'_>, sources: [Rows<'_>; N], f: F) {
    let combine = Combine { dst, sources, f };
    if is_large(&combine.dst) { simd::run(Fresh(combine)) } else { simd::run(combine) }
}

/// dst.row(i) = src.row(from(i)), past the caches; zeros if that is `None`.
pub(in crate::cpu) struct CopyRows<'a, F> {
    pub dst: RowsMut<'a>,
    pub src: Rows<'a>,
    pub from: F,
}

impl<F: Fn(usize) -> Option<usize>> Kernel for CopyRows<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let _finish = Finish::<S>(PhantomData);
        for i in 0..self.dst.rows() {
            match (self.from)(i) {
                Some(row) => S::store_past(self.dst.row(i), self.src.row(row)),
                None => self.dst.row(i).fill(0.0),
            }
        }
    }
}
