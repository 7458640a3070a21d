//! Scratch matrices that are returned to a pool, so that a program's second run allocates nothing.

use crate::memory::{Buffer, Device, Matrix};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// A pool of scratch memory on one device, used from one thread.
pub struct Workspace {
    device: Device,
    free: RefCell<Vec<Buffer>>,
}

impl Workspace {
    pub fn new(device: &Device) -> Workspace {
        Workspace { device: device.clone(), free: RefCell::new(Vec::new()) }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A `rows × cols` matrix with unspecified contents.
    pub fn take(&self, rows: usize, cols: usize) -> Scratch<'_> {
        let wanted = rows * cols;
        let mut free = self.free.borrow_mut();
        let best = (0..free.len()).filter(|&i| free[i].len >= wanted).min_by_key(|&i| free[i].len);
        let buffer = match best {
            Some(i) => free.swap_remove(i),
            None => Buffer::new(&self.device, wanted),
        };
        Scratch { matrix: Some(Matrix::from_buffer(buffer, rows, cols)), workspace: self }
    }

    /// As [`Workspace::take`], all elements zero.
    pub fn zeros(&self, rows: usize, cols: usize) -> Scratch<'_> {
        let mut scratch = self.take(rows, cols);
        self.device.set(scratch.view_mut(), 0.0);
        scratch
    }
}

/// A matrix on loan from a [`Workspace`].
pub struct Scratch<'w> {
    matrix: Option<Matrix>,
    workspace: &'w Workspace,
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
            self.workspace.free.borrow_mut().push(matrix.into_buffer());
        }
    }
}
