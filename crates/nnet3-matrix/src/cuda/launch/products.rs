//! Matrix products.

use super::{GpuBackend, groups};
use crate::backend::{Products, RowsWithVectors, Transpose, WholeMatrices};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op, Product};
use crate::cuda::table::Block;
use crate::element::Element;
use crate::view::{Blocks, View, ViewMut};

impl Product {
    /// The same as a kernel that sets c's rows to the bias, and a product that adds to them, for libraries without biases.
    /// `None` if there is no bias.
    pub fn in_two_steps(&self) -> Option<(Launch, Product)> {
        let bias = self.bias?;
        let (grid, block) = groups(self.c.rows, self.c.cols);
        let rows = Launch::new("set_rows", grid, block, &[Arg::Mat(self.c), Arg::Mat(bias)]);
        Some((rows, Product { beta: 1.0, bias: None, ..*self }))
    }
}

/// Addends of a product.
#[derive(Clone, Copy)]
enum Plus<'v> {
    /// The old contents times a factor.
    Old(f32),
    /// A row for each row.
    Bias(View<'v>),
}

impl<E: Engine> GpuBackend<E> {
    fn product(
        &self,
        c: Blocks<ViewMut<'_>>,
        alpha: f32,
        (a, transpose_a): (Blocks<View<'_>>, Transpose),
        (b, transpose_b): (Blocks<View<'_>>, Transpose),
        plus: Plus<'_>,
    ) {
        let count = c.len();
        assert!(count == a.len() && count == b.len(), "{count}, {} and {} matrices", a.len(), b.len());
        let steps = [c.step, a.step, b.step].map(|step| step as u64);
        let (blocks, c, a, b) = (c, c.first(), a.first(), b.first());
        let shape =
            |m: View<'_>, t| if t == Transpose::No { (m.rows(), m.cols()) } else { (m.cols(), m.rows()) };
        let ((rows, inner), (inner_b, cols)) = (shape(a, transpose_a), shape(b, transpose_b));
        assert!(
            inner == inner_b && rows == c.rows() && cols == c.cols(),
            "product of {rows} x {inner} and {inner_b} x {cols} into {} x {}",
            c.rows(),
            c.cols()
        );
        if let Plus::Bias(bias) = plus {
            assert!((bias.rows(), bias.cols()) == (1, cols), "{bias:?} as the bias of {cols} columns");
        }
        if c.is_empty() || count == 0 {
            return;
        }
        if inner == 0 || alpha == 0.0 {
            for c in (0..count).map(|k| blocks.get(k)) {
                match plus {
                    Plus::Old(0.0) => self.set(c, 0.0),
                    Plus::Old(beta) => self.scale(c, beta),
                    Plus::Bias(bias) => self.set_rows(c, bias),
                }
            }
            return;
        }
        let (beta, bias) = match plus {
            Plus::Old(beta) => (beta, None),
            Plus::Bias(bias) => (0.0, Some(self.mat(bias))),
        };
        let (c, a, b) = (self.mat(c.as_view()), self.mat(a), self.mat(b));
        let count = u32::try_from(count).expect("products below 2^32");
        let product = Product { c, alpha, a, transpose_a, b, transpose_b, beta, bias, count, steps };
        self.push_product(product);
    }

    /// Libraries multiply factors of one form only. If one matrix is in halves, all factors must be; a bias has the form of the
    /// product. So floats are rounded first.
    fn push_product(&self, product: Product) {
        let Product { c, a, b, bias, count, .. } = product;
        let factors = if [a, b, c].map(|m| m.element).contains(&Element::Half) {
            Element::Half
        } else {
            Element::Float
        };
        let other = |m: Mat, element| (m.element != element).then_some(m);
        let found = [other(a, factors), other(b, factors), bias.and_then(|bias| other(bias, c.element))];
        if found == [None; 3] {
            return self.queue.lock().push(Op::Product(product));
        }
        if count > 1 {
            return (0..count).for_each(|k| self.push_product(product.single(k)));
        }
        // Another thread must not convert its factors before this product is in the queue.
        let mut memory = self.converted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let [new_a, new_b, new_bias] = self.convert(&mut memory, found, [factors, factors, c.element]);
        let (a, b, bias) = (new_a.unwrap_or(a), new_b.unwrap_or(b), new_bias.or(bias));
        self.queue.lock().push(Op::Product(Product { a, b, bias, ..product }));
    }

    /// Copies matrices to this scratch memory in these forms. The copies last until the next call.
    fn convert(
        &self,
        memory: &mut Option<Block<E>>,
        mats: [Option<Mat>; 3],
        forms: [Element; 3],
    ) -> [Option<Mat>; 3] {
        // Rows begin where libraries read fastest, and matrices do.
        const ALIGNMENT: u64 = 256;
        let stride = |m: &Mat| m.cols.next_multiple_of(8);
        let bytes = |m: &Mat, form: Element| {
            let elements = u64::from(m.rows) * u64::from(stride(m));
            (form.bytes() as u64 * elements).next_multiple_of(ALIGNMENT)
        };
        let pairs = [0, 1, 2].map(|k| mats[k].map(|m| (m, forms[k])));
        let needed: u64 = pairs.iter().flatten().map(|(m, form)| bytes(m, *form)).sum();
        let block = match memory.take().filter(|block| block.bytes >= needed) {
            Some(block) => memory.insert(block),
            None => memory.insert(Block::new(&self.queue, needed.next_power_of_two())),
        };
        let mut address = block.address;
        pairs.map(|pair| {
            let (m, element) = pair?;
            let copy = Mat { address, stride: stride(&m), element, ..m };
            address += bytes(&m, element);
            self.fill("copy_values", copy, &[Arg::Mat(copy), Arg::Mat(m)]);
            Some(copy)
        })
    }
}

/// A matrix as the only block.
fn one<'v>(view: View<'v>) -> Blocks<View<'v>> {
    view.blocks((view.rows(), view.cols()), 1, (0, 0), 1)
}

fn one_mut<'v>(view: ViewMut<'v>) -> Blocks<ViewMut<'v>> {
    view.blocks((view.rows(), view.cols()), 1, (0, 0), 1)
}

impl<E: Engine> Products for GpuBackend<E> {
    #[allow(clippy::too_many_arguments)]
    fn gemm(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        beta: f32,
    ) {
        self.product(one_mut(c), alpha, (one(a), transpose_a), (one(b), transpose_b), Plus::Old(beta))
    }
    #[allow(clippy::too_many_arguments)]
    fn gemm_with_bias(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        bias: View<'_>,
    ) {
        self.product(one_mut(c), alpha, (one(a), transpose_a), (one(b), transpose_b), Plus::Bias(bias))
    }
    #[allow(clippy::too_many_arguments)]
    fn gemm_blocks(
        &self,
        c: Blocks<ViewMut<'_>>,
        alpha: f32,
        a: Blocks<View<'_>>,
        transpose_a: Transpose,
        b: Blocks<View<'_>>,
        transpose_b: Transpose,
        beta: f32,
    ) {
        self.product(c, alpha, (a, transpose_a), (b, transpose_b), Plus::Old(beta))
    }
}
