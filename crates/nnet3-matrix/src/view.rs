//! A view: rows × columns of elements with a row stride, on some device. Elements are `f32`, on some devices also shorter
//! ([`Element`]).
//!
//! Views behave like `&[Cell<f32>]`: several may name the same memory, writable ones too. They are accessed only
//! through the primitives of one [`crate::Backend`], on one thread (raw pointers make them neither `Send` nor `Sync`).
//! No reference to an element is ever handed out, so overlapping views cannot break aliasing rules.

#![allow(unsafe_code)]

use crate::backend::{Operand, Transpose};
use crate::element::Element;
use std::marker::PhantomData;
use std::ops::Range;

/// A read-only view. `'a` is the borrow of the memory's owner.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(crate) shape: Shape,
    pub(crate) pointer: *const f32,
    pub(crate) device: u32,
    pub(crate) element: Element,
    owner: PhantomData<&'a f32>,
}

/// A view that primitives may write through.
#[derive(Clone, Copy, Debug)]
pub struct ViewMut<'a> {
    pub(crate) shape: Shape,
    pub(crate) pointer: *mut f32,
    pub(crate) device: u32,
    pub(crate) element: Element,
    owner: PhantomData<&'a f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub stride: usize,
}

impl Shape {
    fn contiguous(&self) -> bool {
        self.stride == self.cols || self.rows <= 1
    }

    /// Offset of the sub-range's first element, and its shape.
    fn sub(&self, rows: Range<usize>, cols: Range<usize>) -> (usize, Shape) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {self:?}");
        assert!(cols.start <= cols.end && cols.end <= self.cols, "columns {cols:?} of {self:?}");
        let shape = Shape { rows: rows.len(), cols: cols.len(), stride: self.stride };
        let offset =
            if shape.rows == 0 || shape.cols == 0 { 0 } else { rows.start * self.stride + cols.start };
        (offset, shape)
    }

    fn reshape(&self, rows: usize, cols: usize) -> Shape {
        assert!(self.contiguous() && rows * cols == self.rows * self.cols, "{self:?} as {rows} x {cols}");
        Shape { rows, cols, stride: cols }
    }

    /// Rows `first`, `first + step`, …: `count` of them.
    fn every(&self, first: usize, step: usize, count: usize) -> (usize, Shape) {
        assert!(
            step > 0 && (count == 0 || first + (count - 1) * step < self.rows),
            "{count} rows from {first} by {step} of {self:?}"
        );
        (
            if count == 0 { 0 } else { first * self.stride },
            Shape { rows: count, cols: self.cols, stride: self.stride * step },
        )
    }
}

/// Views of one shape inside of another view, a constant number of elements apart; 0 apart is the same view each time.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<V> {
    first: V,
    /// Elements from the start of one view to the start of the next.
    pub(crate) step: usize,
    count: usize,
}

impl Blocks<View<'_>> {
    /// The transposes of the views, as factors of products.
    pub fn transposed(self) -> Operand<Self> {
        Transpose::Yes.of(self)
    }
}

impl<V: Copy> Blocks<V> {
    pub fn len(&self) -> usize {
        self.count
    }
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// View number 0, whether it counts or not.
    pub fn first(&self) -> V {
        self.first
    }
}

macro_rules! common_methods {
    ($view:ident) => {
        /// `count` views of `rows` × `cols`: number k begins at row k · `down` and column k · `right` and has every
        /// `every`-th row from there on. Panics if that is out of range.
        pub fn blocks(
            &self,
            (rows, cols): (usize, usize),
            every: usize,
            (down, right): (usize, usize),
            count: usize,
        ) -> Blocks<Self> {
            let last = count.saturating_sub(1);
            let (bottom, side) = (last * down, last * right);
            self.every(bottom, every, rows).col_range(side..side + cols);
            let first = self.every(0, every, rows).col_range(0..cols);
            Blocks { first, step: down * self.shape.stride + right, count }
        }

        pub fn rows(&self) -> usize {
            self.shape.rows
        }
        pub fn cols(&self) -> usize {
            self.shape.cols
        }
        /// Elements from one row's start to the next.
        pub fn stride(&self) -> usize {
            self.shape.stride
        }
        pub fn is_empty(&self) -> bool {
            self.shape.rows == 0 || self.shape.cols == 0
        }
        /// The form of the elements.
        pub fn element(&self) -> Element {
            self.element
        }
        /// True if rows follow each other without gaps.
        pub fn is_contiguous(&self) -> bool {
            self.shape.contiguous()
        }
        /// The part with these rows and columns. Panics if out of range.
        pub fn sub(&self, rows: Range<usize>, cols: Range<usize>) -> Self {
            let (offset, shape) = self.shape.sub(rows, cols);
            Self { shape, pointer: self.pointer.wrapping_byte_add(offset * self.element.bytes()), ..*self }
        }
        pub fn row_range(&self, rows: Range<usize>) -> Self {
            self.sub(rows, 0..self.shape.cols)
        }
        pub fn col_range(&self, cols: Range<usize>) -> Self {
            self.sub(0..self.shape.rows, cols)
        }
        /// Row `i` as a 1 × cols view.
        pub fn row(&self, i: usize) -> Self {
            self.row_range(i..i + 1)
        }
        /// `count` rows starting at `first`, every `step`-th one.
        pub fn every(&self, first: usize, step: usize, count: usize) -> Self {
            let (offset, shape) = self.shape.every(first, step, count);
            Self { shape, pointer: self.pointer.wrapping_byte_add(offset * self.element.bytes()), ..*self }
        }
        /// The same elements in another shape; the view must be contiguous.
        pub fn reshape(&self, rows: usize, cols: usize) -> Self {
            Self { shape: self.shape.reshape(rows, cols), ..*self }
        }
        /// The same memory as a matrix of elements of another form. Panics if they do not fit, or if the view has gaps or other
        /// elements than floats.
        pub(crate) fn as_matrix_of(&self, element: Element, rows: usize, cols: usize) -> Self {
            let floats = self.shape.rows * self.shape.cols;
            assert!(
                self.shape.contiguous()
                    && self.element == Element::Float
                    && element.floats(rows * cols) <= floats
            );
            Self { shape: Shape { rows, cols, stride: cols }, element, ..*self }
        }
        /// True if both views start at the same element and have the same stride (an in-place operation).
        pub fn same_start(&self, other: &View<'_>) -> bool {
            std::ptr::eq(self.pointer as *const f32, other.pointer)
                && self.shape.stride == other.shape.stride
                && self.element == other.element
        }
    };
}

impl<'a> View<'a> {
    common_methods!(View);

    /// The transpose, as a factor of a product.
    pub fn transposed(self) -> Operand<View<'a>> {
        Transpose::Yes.of(self)
    }

    /// # Safety
    ///
    /// The elements from `pointer` to the end of the last row must stay allocated on `device` for `'a`. While a
    /// primitive reads the view, no writable Rust reference to one of them may exist.
    pub(crate) unsafe fn new(
        pointer: *const f32,
        rows: usize,
        cols: usize,
        stride: usize,
        device: u32,
    ) -> Self {
        let shape = Shape { rows, cols, stride };
        View { shape, pointer, device, element: Element::Float, owner: PhantomData }
    }

    /// An empty view (0 × 0), for absent arguments.
    pub fn empty() -> View<'static> {
        // SAFETY: there are no elements.
        unsafe { View::new(std::ptr::NonNull::dangling().as_ptr(), 0, 0, 0, 0) }
    }
}

impl<'a> ViewMut<'a> {
    common_methods!(ViewMut);

    /// The transpose, as a factor of a product.
    pub fn transposed(self) -> Operand<View<'a>> {
        self.as_view().transposed()
    }

    /// # Safety
    ///
    /// As for [`View::new`], and no Rust reference to one of the elements may exist during `'a`.
    pub(crate) unsafe fn new(
        pointer: *mut f32,
        rows: usize,
        cols: usize,
        stride: usize,
        device: u32,
    ) -> Self {
        let shape = Shape { rows, cols, stride };
        ViewMut { shape, pointer, device, element: Element::Float, owner: PhantomData }
    }

    /// The same place with elements of another form: the shape counts them.
    ///
    /// # Safety
    ///
    /// As for [`ViewMut::new`], for the elements in this form.
    pub(crate) unsafe fn in_form(self, element: Element) -> Self {
        ViewMut { element, ..self }
    }

    pub fn as_view(&self) -> View<'a> {
        let ViewMut { shape, pointer, device, element, owner } = *self;
        View { shape, pointer, device, element, owner }
    }
}

macro_rules! block {
    ($view:ident) => {
        impl<'a> Blocks<$view<'a>> {
            pub fn get(&self, k: usize) -> $view<'a> {
                assert!(k < self.count, "view {k} of {}", self.count);
                let offset = k * self.step * self.first.element.bytes();
                $view { pointer: self.first.pointer.wrapping_byte_add(offset), ..self.first }
            }
        }
    };
}
block!(View);
block!(ViewMut);

impl<'a> From<ViewMut<'a>> for View<'a> {
    fn from(view: ViewMut<'a>) -> View<'a> {
        view.as_view()
    }
}

/// Checks that both have the same numbers of rows and columns.
#[track_caller]
pub(crate) fn same_shape(a: &View<'_>, b: &View<'_>) {
    assert!(
        a.rows() == b.rows() && a.cols() == b.cols(),
        "shapes differ: {} x {} and {} x {}",
        a.rows(),
        a.cols(),
        b.rows(),
        b.cols()
    );
}
