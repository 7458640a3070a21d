//! A device: its name, its memory, transfers, and its order of work.
//!
//! Work is done in the order of the calls. Only methods that return numbers to the host wait for all earlier work.

use crate::fault::DeviceFault;
use crate::view::{View, ViewMut};
use std::ops::Range;

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub free: u64,
    pub total: u64,
}

/// Splits the rows of matrices of `cols` columns, for several primitives in turn, into blocks that fit a cache of this many
/// elements ([`Storage::cached_elements`]). One block if there is no cache.
pub fn cached_rows(
    elements: Option<usize>,
    rows: usize,
    cols: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    // Sums over rows are formed 64 at a time.
    let step = match elements {
        Some(elements) => (elements / 4 / cols.max(1)).next_multiple_of(64).max(64),
        None => rows.max(1),
    };
    (0..rows).step_by(step).map(move |first| first..rows.min(first + step))
}

/// The identity and the memory of a device. See the conventions of [`crate::backend`].
pub trait Storage {
    /// `cpu`, or the device's own name.
    fn name(&self) -> &str;
    /// 0 is the host; other devices count from 1.
    fn id(&self) -> u32;
    /// True for the host.
    fn is_host(&self) -> bool {
        self.id() == 0
    }
    /// Returns the memory of a device with its own; `None` for the host.
    fn memory(&self) -> Option<Memory> {
        None
    }
    /// Largest number of elements that several consecutive primitives should process at once, so that they stay in a
    /// cache. `None` if a whole matrix at once is better. Results differ in roundings only.
    fn cached_elements(&self) -> Option<usize> {
        None
    }
    /// Says that the work up to here comes again in the same order the next time. A device that collects work ends a
    /// segment; results are the same without it.
    fn mark(&self) {}
    /// Waits until all work so far is done; for measuring times. The host's is done when a method returns.
    fn synchronize(&self) {}
    /// Returns the first failure of the device. After a failure the device does no work, and values read from it are
    /// zero. So callers ask after reading, by way of [`crate::check`].
    fn fault(&self) -> Option<DeviceFault> {
        None
    }
    /// Returns `len` zeroed elements, aligned to at least 64 bytes; a dangling pointer for `len` 0. If the device has
    /// too little memory, that is its [fault](Self::fault), and the pointer is invalid. (Callers that can handle this
    /// ask the plan first.)
    fn allocate(&self, len: usize) -> *mut f32;
    /// # Safety
    /// `pointer` came from [`Storage::allocate`] of this device with the same `len` and is not used afterwards.
    #[allow(unsafe_code)]
    unsafe fn free(&self, pointer: *mut f32, len: usize);
    /// Copies row-major host data into `dst`.
    fn upload(&self, dst: ViewMut<'_>, data: &[f32]);
    /// Row-major copy on the host.
    fn download(&self, src: View<'_>) -> Vec<f32>;
    /// Row-major copy into `out` (`rows × cols` elements).
    fn download_into(&self, src: View<'_>, out: &mut [f32]);
}
