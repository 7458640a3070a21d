//! Grids and arguments of the kernels, one file a family of `kernels/*.cu`. Grids depend only on shapes, not on the
//! device. So results do not depend on the device either, and the twin on the CPU runs the same launches as a GPU.

mod banded;
mod broadcast;
mod columns;
mod decisions;
mod elements;
mod elementwise;
mod hmm;
mod learning;
mod low_rank;
mod lstm;
mod normalized;
mod products;
mod random;
mod rows;
mod rowwise;
mod scalars;
mod sums;
mod whole;

pub(super) use scalars::each_sum;

use super::GpuBackend;
use super::engine::Engine;
use super::kernels::BLOCK;
use super::op::{Arg, Launch, Mat, Op};
use crate::view::View;
pub(super) use crate::view::same_shape;

/// Largest number of blocks along an axis of a grid; kernels loop in steps of the grid.
const WIDE: u32 = 8192;
const HIGH: u32 = 32768;

/// Threads of a block of a `LARGE_KERNEL`, at most; `prelude.cu` has the same number.
const LARGE_BLOCK: u32 = 1024;

/// Elements that a thread of `FILL` takes; `prelude.cu` has the same number.
const GROUP: u32 = 4;
/// Number of elements above which a quarter as many threads still keep a device busy.
const MANY: u64 = 1 << 17;

/// A view as kernels take it (`struct Mat`).
#[track_caller]
pub(super) fn mat(view: View<'_>, device: u32) -> Mat {
    if view.is_empty() {
        return Mat { rows: 0, cols: 0, ..Mat::EMPTY };
    }
    assert_eq!(view.device, device, "a view of another device");
    let number =
        |n: usize| u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32 / 2).expect("a side below 2^30");
    Mat {
        address: view.pointer.addr() as u64,
        rows: number(view.rows()),
        cols: number(view.cols()),
        // One row may have any stride.
        stride: if view.rows() == 1 { 0 } else { number(view.stride()) },
        element: view.element,
    }
}

/// The matrices as one row each if none has gaps between its rows: long rows keep more threads busy.
fn flattened<const N: usize>(mats: [Mat; N]) -> [Mat; N] {
    let len = mats[0].rows as u64 * mats[0].cols as u64;
    let plain = |m: &Mat| m.rows <= 1 || m.stride == m.cols;
    if len >= 1 << 30 || !mats.iter().all(plain) {
        return mats;
    }
    mats.map(|m| Mat { rows: 1, cols: len as u32, stride: len as u32, ..m })
}

/// A block and a grid for threads that take one element each, of `rows` × `cols`.
fn elements(rows: u32, cols: u32) -> ([u32; 2], [u32; 2]) {
    let across = cols.next_power_of_two().clamp(1, BLOCK);
    let down = BLOCK / across;
    let grid = [cols.div_ceil(across).clamp(1, WIDE), rows.div_ceil(down).clamp(1, HIGH)];
    (grid, [across, down])
}

/// As [`elements`] for `FILL` of `prelude.cu`. Its threads take several elements each if the matrix has more than a
/// device can run at once.
fn groups(rows: u32, cols: u32) -> ([u32; 2], [u32; 2]) {
    let (mut grid, block) = elements(rows, cols);
    if rows as u64 * cols as u64 >= MANY {
        let axis = if rows == 1 { 0 } else { 1 };
        grid[axis] = grid[axis].div_ceil(GROUP);
    }
    (grid, block)
}

/// A block and a grid for `lines` sums of `len` terms each: threads along x share a sum.
fn line_sums(lines: u64, len: u32) -> ([u32; 2], [u32; 2]) {
    let across = len.next_power_of_two().clamp(1, BLOCK);
    let down = BLOCK / across;
    ([lines.div_ceil(down as u64).clamp(1, 1 << 20) as u32, 1], [across, down])
}

impl<E: Engine> GpuBackend<E> {
    pub(super) fn mat(&self, view: View<'_>) -> Mat {
        mat(view, self.id)
    }

    fn push(&self, launch: Launch) {
        self.queue.lock().push(Op::Launch(launch));
    }

    /// A kernel that sets the elements of `shape` by `FILL`.
    fn fill(&self, kernel: &'static str, shape: Mat, args: &[Arg]) {
        if shape.rows == 0 || shape.cols == 0 {
            return;
        }
        let (grid, block) = groups(shape.rows, shape.cols);
        self.push(Launch::new(kernel, grid, block, args));
    }

    /// A kernel with a thread for each element of `shape`.
    fn each(&self, kernel: &'static str, shape: Mat, args: &[Arg]) {
        if shape.rows == 0 || shape.cols == 0 {
            return;
        }
        let (grid, block) = elements(shape.rows, shape.cols);
        self.push(Launch::new(kernel, grid, block, args));
    }
}
