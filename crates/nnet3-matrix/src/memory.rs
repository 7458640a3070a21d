//! Owners of device memory: [`Matrix`], [`Arena`], [`Accumulator`] and index tables.

#![allow(unsafe_code)]

use crate::backend::{Backend, Factor};
use crate::element::Element;
use crate::view::{View, ViewMut};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A shared handle to a backend.
pub type Device = Arc<dyn Backend>;

/// `f32` memory on a device, freed when dropped. Shared references to it may cross threads, because they allow no
/// writes ([`Matrix`] hands out writable views from `&mut` only; [`Arena`] is not `Sync`).
pub(crate) struct Buffer {
    pub device: Device,
    pub pointer: *mut f32,
    pub len: usize,
}

// SAFETY: the pointer is owned by this value alone and is only read through `&`, written through `&mut` (`Matrix`).
unsafe impl Send for Buffer {}
// SAFETY: as above; `Arena`, which writes through `&`, opts out of `Sync` itself.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub fn new(device: &Device, len: usize) -> Buffer {
        Buffer { device: device.clone(), pointer: device.allocate(len), len }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by the same device with the same length, and no view outlives the owner.
        unsafe { self.device.free(self.pointer, self.len) }
    }
}

/// A row-major matrix that owns its memory on one device; a vector is a matrix with one row.
pub struct Matrix {
    buffer: Buffer,
    rows: usize,
    cols: usize,
}

impl Matrix {
    /// Makes a matrix of zeros.
    pub fn zeros(device: &Device, rows: usize, cols: usize) -> Matrix {
        Matrix { buffer: Buffer::new(device, rows * cols), rows, cols }
    }

    /// Copies `data` (rows × cols, row-major) to the device.
    pub fn from_slice(device: &Device, rows: usize, cols: usize, data: &[f32]) -> Matrix {
        assert_eq!(data.len(), rows * cols);
        let mut matrix = Matrix::zeros(device, rows, cols);
        device.upload(matrix.view_mut(), data);
        matrix
    }

    /// A host matrix from row-major data.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f32>) -> Matrix {
        Matrix::from_slice(&crate::cpu(), rows, cols, &data)
    }

    /// A 0 × 0 host matrix.
    pub fn empty() -> Matrix {
        Matrix::zeros(&crate::cpu(), 0, 0)
    }

    pub(crate) fn from_buffer(buffer: Buffer, rows: usize, cols: usize) -> Matrix {
        assert!(rows * cols <= buffer.len);
        Matrix { buffer, rows, cols }
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn device(&self) -> &Device {
        &self.buffer.device
    }

    pub fn view(&self) -> View<'_> {
        // SAFETY: the buffer holds rows · cols elements and lives as long as the borrow; the matrix hands out no references.
        unsafe { View::new(self.buffer.pointer, self.rows, self.cols, self.cols, self.buffer.device.id()) }
    }

    pub fn view_mut(&mut self) -> ViewMut<'_> {
        // SAFETY: as for `view`.
        unsafe { ViewMut::new(self.buffer.pointer, self.rows, self.cols, self.cols, self.buffer.device.id()) }
    }

    /// The elements, row-major, copied to the host.
    pub fn to_vec(&self) -> Vec<f32> {
        self.buffer.device.download(self.view())
    }

    /// The elements, row-major: borrowed if they are on the host, otherwise copied to it.
    pub fn values(&self) -> Cow<'_, [f32]> {
        if !self.buffer.device.is_host() {
            return Cow::Owned(self.to_vec());
        }
        // SAFETY: the buffer holds at least as many initialised elements, in the memory of this process. They do not
        // change while the matrix is borrowed, because writable views borrow it mutably.
        Cow::Borrowed(unsafe { std::slice::from_raw_parts(self.buffer.pointer, self.len()) })
    }

    /// A copy on `device`.
    pub fn to_device(&self, device: &Device) -> Matrix {
        Matrix::from_slice(device, self.rows, self.cols, &self.to_vec())
    }

    // The few whole-matrix operations that parameters and statistics need, on the matrix's own device.

    pub fn set(&mut self, value: f32) {
        self.device().clone().set(self.view_mut(), value)
    }
    /// `self *= factor`; a factor of 0 sets to exactly zero (it clears NaN and infinities).
    pub fn scale(&mut self, factor: f32) {
        let device = self.device().clone();
        if factor == 0.0 { device.set(self.view_mut(), 0.0) } else { device.scale(self.view_mut(), factor) }
    }
    /// `self += alpha * other`, same shape.
    pub fn add(&mut self, alpha: f32, other: &Matrix) {
        self.device().clone().add(self.view_mut(), alpha, other.view())
    }
    /// `self *= factor`; a factor of 0 sets to exactly zero.
    pub fn scale_by(&mut self, factor: Factor<'_>) {
        self.device().clone().scale_by(self.view_mut(), factor)
    }
    /// `self += alpha * other`, same shape; no effect if alpha is 0.
    pub fn add_by(&mut self, alpha: Factor<'_>, other: &Matrix) {
        self.device().clone().add_by(self.view_mut(), alpha, other.view())
    }
    /// Sum of products of corresponding elements.
    pub fn dot(&self, other: &Matrix) -> f64 {
        self.device().dot(self.view(), other.view())
    }
    /// Adds the sum of squares of the elements to `sums[index]`.
    pub fn accumulate_square(&self, sums: &mut Accumulator, index: usize) {
        self.device().accumulate_dot(sums, index, 1.0, self.view(), self.view())
    }
    /// The transpose, same device.
    pub fn transposed(&self) -> Matrix {
        let data = self.to_vec();
        let mut out = vec![0.0; data.len()];
        for r in 0..self.rows {
            for c in 0..self.cols {
                out[c * self.rows + r] = data[r * self.cols + c];
            }
        }
        Matrix::from_slice(self.device(), self.cols, self.rows, &out)
    }
}

impl Clone for Matrix {
    fn clone(&self) -> Matrix {
        let mut copy = Matrix::zeros(self.device(), self.rows, self.cols);
        self.device().copy(copy.view_mut(), self.view());
        copy
    }
}

impl Default for Matrix {
    fn default() -> Matrix {
        Matrix::empty()
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({} x {} on {})", self.rows, self.cols, self.device().name())
    }
}

/// One block of device memory in which a planned computation places all its matrices.
///
/// Views are made from `&self` with fixed offsets and may overlap; see [`crate::view`] for why that is sound.
pub struct Arena {
    buffer: Buffer,
    /// Opts out of `Sync`: views of one arena must stay on one thread.
    not_sync: std::marker::PhantomData<std::cell::Cell<f32>>,
}

impl Arena {
    /// `len` elements, zeroed.
    pub fn new(device: &Device, len: usize) -> Arena {
        Arena { buffer: Buffer::new(device, len), not_sync: std::marker::PhantomData }
    }

    pub fn len(&self) -> usize {
        self.buffer.len
    }
    pub fn is_empty(&self) -> bool {
        self.buffer.len == 0
    }
    pub fn device(&self) -> &Device {
        &self.buffer.device
    }

    /// `rows × cols` elements at `offset`, with `stride` elements between row starts. Panics if out of range.
    pub fn view(&self, offset: usize, rows: usize, cols: usize, stride: usize) -> ViewMut<'_> {
        self.view_of(Element::Float, offset, rows, cols, stride)
    }

    /// As [`Arena::view`], of elements in this form; the offset counts such elements, too. Panics on the host if they are not
    /// floats.
    pub fn view_of(
        &self,
        element: Element,
        offset: usize,
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> ViewMut<'_> {
        let end = if rows == 0 || cols == 0 { 0 } else { offset + (rows - 1) * stride + cols };
        let inside = element.floats(end) <= self.buffer.len;
        assert!(inside && (cols <= stride || rows <= 1), "view past the arena's end");
        assert!(element == Element::Float || !self.buffer.device.is_host(), "the host keeps floats only");
        let offset = if end == 0 { 0 } else { offset };
        let pointer = self.buffer.pointer.wrapping_byte_add(offset * element.bytes());
        // SAFETY: the last row ends inside of the buffer, as just checked; the buffer lives as long as the borrow, and the
        // arena hands out no references.
        unsafe { ViewMut::new(pointer, rows, cols, stride, self.buffer.device.id()).in_form(element) }
    }

    /// The whole arena as one row: the base that [`OffsetTable`]s refer to.
    pub fn whole(&self) -> ViewMut<'_> {
        self.view(0, 1, self.buffer.len, self.buffer.len)
    }
}

/// Sums that a device has formed and the host has not fetched.
pub(crate) trait RemoteSums: Send + Sync {
    fn device(&self) -> u32;
    fn address(&self) -> u64;
    fn len(&self) -> usize;
    /// The first `len` of them.
    fn read(&self, len: usize) -> Vec<f64>;
    fn write(&self, values: &[f64]);
    /// Multiplies; a factor of 0 sets to exactly zero.
    fn scale(&self, factor: f64);
    /// Adds `alpha` times the numbers at another address of the same device, of the same length.
    fn add(&self, alpha: f64, address: u64);
    /// Makes zeros of the same length on the same device.
    fn zeros(&self) -> Box<dyn RemoteSums>;
}

/// Sums in `f64`: activation statistics. A device with its own memory adds to sums that stay there until they are read.
#[derive(Default)]
pub struct Accumulator {
    values: Vec<f64>,
    /// Numbers on a device that belong to the same sums and are added to `values` on reading; of the same length.
    remote: Option<Box<dyn RemoteSums>>,
}

impl Accumulator {
    pub fn zeros(len: usize) -> Accumulator {
        Accumulator::from_vec(vec![0.0; len])
    }
    pub fn from_vec(values: Vec<f64>) -> Accumulator {
        Accumulator { values, remote: None }
    }
    pub fn len(&self) -> usize {
        self.values.len()
    }
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// The sums, fetched from the device if they are on one.
    pub fn values(&self) -> Cow<'_, [f64]> {
        match &self.remote {
            None => Cow::Borrowed(&self.values),
            Some(remote) => {
                Cow::Owned(self.values.iter().zip(remote.read(self.len())).map(|(a, b)| a + b).collect())
            }
        }
    }
    /// The first `len` sums; all of them are zero afterwards.
    pub fn take(&mut self, len: usize) -> Vec<f64> {
        let mut taken = self.values[..len].to_vec();
        self.values.fill(0.0);
        if let Some(remote) = &self.remote {
            taken.iter_mut().zip(remote.read(len)).for_each(|(v, r)| *v += r);
            remote.scale(0.0);
        }
        taken
    }
    /// As [`Accumulator::values`], and the sums are on the host afterwards.
    pub fn values_mut(&mut self) -> &mut [f64] {
        self.fetch();
        &mut self.values
    }
    /// Scales; a factor of 0 sets to exactly zero.
    pub fn scale(&mut self, factor: f64) {
        for v in &mut self.values {
            *v = if factor == 0.0 { 0.0 } else { *v * factor };
        }
        if let Some(remote) = self.remote.as_ref().filter(|_| factor != 1.0) {
            remote.scale(factor);
        }
    }
    /// `self += alpha * other`. An empty accumulator counts as zeros of the other's size.
    pub fn add(&mut self, alpha: f64, other: &Accumulator) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            (self.values, self.remote) = (vec![0.0; other.len()], None);
        }
        assert_eq!(self.len(), other.len());
        let Some(more) = &other.remote else {
            self.values.iter_mut().zip(&other.values).for_each(|(v, o)| *v += alpha * o);
            return;
        };
        if self.remote.as_ref().is_some_and(|own| own.device() != more.device() || own.len() != more.len()) {
            self.fetch();
            self.remote = None;
        }
        self.remote.get_or_insert_with(|| more.zeros()).add(alpha, more.address());
        self.values.iter_mut().zip(&other.values).for_each(|(v, o)| *v += alpha * o);
    }

    /// True if these are zeros and no device has a part of them.
    pub(crate) fn is_nothing(&self) -> bool {
        self.remote.is_none() && self.values.iter().all(|&v| v == 0.0)
    }

    /// Address of the sums on this device, if it has all of them.
    pub(crate) fn only_on(&self, device: u32) -> Option<u64> {
        let remote = self.remote.as_ref()?;
        let here = remote.device() == device && remote.len() == self.len();
        (here && self.values.iter().all(|&v| v == 0.0)).then(|| remote.address())
    }

    fn fetch(&mut self) {
        if let Some(remote) = &self.remote {
            self.values.iter_mut().zip(remote.read(remote.len())).for_each(|(v, r)| *v += r);
            remote.scale(0.0);
        }
    }

    /// Address of the sums on this device; `new` makes them (zeros of a length) if there are none.
    pub(crate) fn on_device(&mut self, device: u32, new: impl FnOnce(usize) -> Box<dyn RemoteSums>) -> u64 {
        let len = self.values.len();
        if self.remote.as_ref().is_some_and(|remote| remote.device() != device || remote.len() != len) {
            self.fetch();
            self.remote = None;
        }
        self.remote.get_or_insert_with(|| new(len)).address()
    }

    /// As [`Accumulator::on_device`]; moves all sums to the device, so that the host has none.
    pub(crate) fn whole_on_device(
        &mut self,
        device: u32,
        new: impl FnOnce(usize) -> Box<dyn RemoteSums>,
    ) -> u64 {
        if self.values.iter().any(|&v| v != 0.0) {
            self.fetch();
        }
        let address = self.on_device(device, new);
        if let Some(remote) = self.remote.as_ref().filter(|_| self.values.iter().any(|&v| v != 0.0)) {
            remote.write(&self.values);
            self.values.fill(0.0);
        }
        address
    }
}

impl Clone for Accumulator {
    fn clone(&self) -> Accumulator {
        Accumulator::from_vec(self.values().into_owned())
    }
}

impl PartialEq for Accumulator {
    fn eq(&self, other: &Accumulator) -> bool {
        self.values() == other.values()
    }
}

impl fmt::Debug for Accumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Accumulator").field(&self.values()).finish()
    }
}

/// Device copies of a table, each made at its first use there.
#[derive(Default)]
pub(crate) struct Remote {
    copies: Mutex<Vec<(u32, Arc<dyn Any + Send + Sync>)>>,
}

impl Remote {
    /// The copy of this type on this device; `new` makes it if there is none.
    pub fn get<T: Any + Send + Sync>(&self, device: u32, new: impl FnOnce() -> T) -> Arc<T> {
        let mut copies = self.copies.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut here = copies.iter().filter(|(id, _)| *id == device).map(|(_, copy)| copy.clone());
        if let Some(known) = here.find_map(|copy| copy.downcast().ok()) {
            return known;
        }
        let copy = Arc::new(new());
        copies.push((device, copy.clone()));
        copy
    }
}

macro_rules! table {
    ($(#[$doc:meta])* $name:ident, $number:ty) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $name {
            values: Arc<Vec<$number>>,
            remote: Remote,
        }

        impl $name {
            pub fn new(values: Vec<$number>) -> $name {
                $name::shared(Arc::new(values))
            }
            /// Of values that others hold, too.
            pub fn shared(values: Arc<Vec<$number>>) -> $name {
                $name { values, ..Default::default() }
            }
            pub fn values(&self) -> &[$number] {
                &self.values
            }
            pub fn len(&self) -> usize {
                self.values.len()
            }
            pub fn is_empty(&self) -> bool {
                self.values.is_empty()
            }
            pub(crate) fn remote(&self) -> &Remote {
                &self.remote
            }
        }

        impl Clone for $name {
            fn clone(&self) -> $name {
                $name::shared(self.values.clone())
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.values == other.values
            }
        }

        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.values).finish()
            }
        }
    };
}

table! {
    /// Row or column numbers for gathers and scatters; -1 means "none".
    IndexTable, i32
}

/// For each row of a destination a list of rows of a source.
#[derive(Debug)]
pub struct RowLists {
    /// The first of each list in `rows`, and at the end the length of `rows`.
    starts: IndexTable,
    rows: IndexTable,
}

impl RowLists {
    pub fn new(lists: &[Vec<i32>]) -> RowLists {
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as i32;
            Some(*end)
        });
        RowLists {
            starts: IndexTable::new(std::iter::once(0).chain(ends).collect()),
            rows: IndexTable::new(lists.concat()),
        }
    }
    /// Number of lists.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The list of row `i`.
    pub fn list(&self, i: usize) -> &[i32] {
        let starts = self.starts.values();
        &self.rows.values()[starts[i] as usize..starts[i + 1] as usize]
    }
    pub fn iter(&self) -> impl Iterator<Item = &[i32]> {
        (0..self.len()).map(|i| self.list(i))
    }
    pub(crate) fn starts(&self) -> &IndexTable {
        &self.starts
    }
    pub(crate) fn rows(&self) -> &IndexTable {
        &self.rows
    }
}

table! {
    /// For each row the element offset from the start of an [`Arena`]; -1 means "none".
    OffsetTable, i64
}
