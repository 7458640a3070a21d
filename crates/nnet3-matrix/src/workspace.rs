//! Scratch memory that is returned to a pool, so that a program's second run allocates no memory.
//!
//! Lengths are rounded up to classes, and a loan takes a buffer of exactly its class. So a class has as many buffers as
//! were ever on loan at once. A run that borrows no more at a time than an earlier one finds all its buffers, in any
//! order. A loan takes the free buffer with the lowest address. That depends only on the present loans, not on history,
//! so that a device gets the same work again, with the same addresses.

use crate::element::Element;
use crate::memory::{Buffer, Device, Matrix};
use crate::view::{View, ViewMut};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// A pool of scratch memory on one device and on the host, used from one thread.
pub struct Workspace {
    device: Device,
    matrices: Pool<Buffer>,
    floats: Pool<Box<[f32]>>,
    doubles: Pool<Box<[f64]>>,
}

impl Workspace {
    pub fn new(device: &Device) -> Workspace {
        let (matrices, floats, doubles) = (Pool::default(), Pool::default(), Pool::default());
        Workspace { device: device.clone(), matrices, floats, doubles }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A `rows × cols` matrix on the device with unspecified contents.
    pub fn take(&self, rows: usize, cols: usize) -> Scratch<'_> {
        Scratch { matrix: Some(self.hand_out(rows, cols)), workspace: self }
    }

    /// As [`Workspace::take`], of elements in this form, which is one that the device keeps.
    pub fn take_in(&self, form: Element, rows: usize, cols: usize) -> FormedScratch<'_> {
        FormedScratch { memory: self.take(1, form.floats(rows * cols)), form, rows, cols }
    }

    /// As [`Workspace::take`]; the receiver returns it by [`Workspace::take_back`].
    pub fn hand_out(&self, rows: usize, cols: usize) -> Matrix {
        let buffer = self.matrices.take(rows * cols, |len| Buffer::new(&self.device, len));
        Matrix::from_buffer(buffer, rows, cols)
    }

    /// Keeps a matrix of [`Workspace::hand_out`] for others.
    pub fn take_back(&self, matrix: Matrix) {
        self.matrices.give_back(matrix.into_buffer());
    }

    /// As [`Workspace::take`], all elements zero.
    pub fn zeros(&self, rows: usize, cols: usize) -> Scratch<'_> {
        let mut scratch = self.take(rows, cols);
        self.device.set(scratch.view_mut(), 0.0);
        scratch
    }

    /// `len` numbers on the host with unspecified contents.
    pub fn floats(&self, len: usize) -> HostScratch<'_, f32> {
        self.floats.host(len)
    }

    /// `len` numbers on the host with unspecified contents.
    pub fn doubles(&self, len: usize) -> HostScratch<'_, f64> {
        self.doubles.host(len)
    }
}

/// Buffers that are not on loan.
struct Pool<B> {
    free: RefCell<Vec<B>>,
}

trait Place {
    fn length(&self) -> usize;
    fn address(&self) -> usize;
}

impl Place for Buffer {
    fn length(&self) -> usize {
        self.len
    }
    fn address(&self) -> usize {
        self.pointer.addr()
    }
}

impl<T> Place for Box<[T]> {
    fn length(&self) -> usize {
        self.len()
    }
    fn address(&self) -> usize {
        self.as_ptr().addr()
    }
}

impl<B> Default for Pool<B> {
    fn default() -> Pool<B> {
        Pool { free: RefCell::default() }
    }
}

impl<B: Place> Pool<B> {
    fn take(&self, wanted: usize, new: impl FnOnce(usize) -> B) -> B {
        let class = class(wanted);
        let mut free = self.free.borrow_mut();
        let fitting = free.iter().enumerate().filter(|(_, buffer)| buffer.length() == class);
        match fitting.min_by_key(|(_, buffer)| buffer.address()) {
            Some((i, _)) => free.swap_remove(i),
            None => new(class),
        }
    }

    fn give_back(&self, buffer: B) {
        self.free.borrow_mut().push(buffer);
    }
}

impl<T: Clone + Default> Pool<Box<[T]>> {
    fn host(&self, len: usize) -> HostScratch<'_, T> {
        let values = self.take(len, |len| vec![T::default(); len].into_boxed_slice());
        HostScratch { values, len, pool: self }
    }
}

/// The smallest number ≥ `len` with at most three significant bits: at most a quarter more.
fn class(len: usize) -> usize {
    let bits = usize::BITS - len.leading_zeros();
    len.next_multiple_of(1 << bits.saturating_sub(3))
}

/// A matrix on loan from a [`Workspace`].
pub struct Scratch<'w> {
    matrix: Option<Matrix>,
    workspace: &'w Workspace,
}

impl Scratch<'_> {
    /// Returns the matrix; the receiver returns it by [`Workspace::take_back`].
    pub fn into_matrix(mut self) -> Matrix {
        self.matrix.take().expect("present until dropped")
    }
}

/// A matrix of elements in some form, on loan from a [`Workspace`].
pub struct FormedScratch<'w> {
    memory: Scratch<'w>,
    form: Element,
    rows: usize,
    cols: usize,
}

impl FormedScratch<'_> {
    pub fn view(&self) -> View<'_> {
        self.memory.view().as_matrix_of(self.form, self.rows, self.cols)
    }
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        self.memory.view_mut().as_matrix_of(self.form, self.rows, self.cols)
    }
}

impl Deref for Scratch<'_> {
    type Target = Matrix;
    fn deref(&self) -> &Matrix {
        self.matrix.as_ref().expect("present until dropped")
    }
}

impl DerefMut for Scratch<'_> {
    fn deref_mut(&mut self) -> &mut Matrix {
        self.matrix.as_mut().expect("present until dropped")
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(matrix) = self.matrix.take() {
            self.workspace.take_back(matrix);
        }
    }
}

/// Numbers on the host, on loan from a [`Workspace`].
pub struct HostScratch<'w, T: Clone + Default> {
    values: Box<[T]>,
    len: usize,
    pool: &'w Pool<Box<[T]>>,
}

impl<T: Clone + Default> Deref for HostScratch<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values[..self.len]
    }
}

impl<T: Clone + Default> DerefMut for HostScratch<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.len]
    }
}

impl<T: Clone + Default> Drop for HostScratch<'_, T> {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_coarse_and_close() {
        for len in 0..5000 {
            let class = class(len);
            assert!(len <= class && 4 * class <= 5 * len, "{len} {class}");
            assert_eq!(super::class(class), class);
        }
        let classes: std::collections::BTreeSet<usize> = (1024..2048).map(class).collect();
        assert_eq!(classes, [1024, 1280, 1536, 1792, 2048].into());
    }

    /// The order and the choice of loans may change from run to run.
    #[test]
    fn what_was_enough_once_is_enough() {
        let device = crate::cpu();
        let workspace = Workspace::new(&device);
        let all: Vec<usize> = (0..40).map(|i| 1 + (i * i * 37) % 300).collect();
        let held = |lens: &mut dyn Iterator<Item = &usize>| {
            let scratch: Vec<_> = lens
                .map(|&len| (workspace.take(1, len), workspace.floats(len), workspace.doubles(len)))
                .collect();
            scratch.len()
        };
        held(&mut all.iter());
        let count = |w: &Workspace| {
            (w.matrices.free.borrow().len(), w.floats.free.borrow().len(), w.doubles.free.borrow().len())
        };
        assert_eq!(count(&workspace), (40, 40, 40));
        for step in 1..7 {
            held(&mut all.iter().rev().step_by(step));
        }
        assert_eq!(count(&workspace), (40, 40, 40));
        assert_eq!(workspace.take(3, 50).rows(), 3);
        assert_eq!(workspace.doubles(7).len(), 7);
    }
}
