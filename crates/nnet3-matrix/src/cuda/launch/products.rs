//! Matrix products.

use super::{GpuBackend, groups};
use crate::backend::{Gemm, GemmBlocks, GemmWithBias, Operand, Products, RowsWithVectors, WholeMatrices};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op, Product};
use crate::cuda::table::Block;
use crate::element::Element;
use crate::view::{Blocks, View};

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

impl<E: Engine> GpuBackend<E> {
    /// Computes the products. A bias is added to each row, and then beta is 0.
    fn products(&self, products: GemmBlocks<'_>, bias: Option<View<'_>>) {
        let count = products.count();
        let GemmBlocks { c: blocks, alpha, a, b, beta } = products;
        let steps = [blocks.step, a.matrix.step, b.matrix.step].map(|step| step as u64);
        let (transpose_a, transpose_b) = (a.transpose, b.transpose);
        let (c, a, b) = (blocks.first(), a.matrix.first(), b.matrix.first());
        let ((rows, inner), (inner_b, cols)) = (transpose_a.of(a).shape(), transpose_b.of(b).shape());
        assert!(
            inner == inner_b && rows == c.rows() && cols == c.cols(),
            "product of {rows} x {inner} and {inner_b} x {cols} into {} x {}",
            c.rows(),
            c.cols()
        );
        if let Some(bias) = bias {
            assert!((bias.rows(), bias.cols()) == (1, cols), "{bias:?} as the bias of {cols} columns");
        }
        if c.is_empty() || count == 0 {
            return;
        }
        if inner == 0 || alpha == 0.0 {
            for c in (0..count).map(|k| blocks.get(k)) {
                match (bias, beta) {
                    (Some(bias), _) => self.set_rows(c, bias),
                    (None, 0.0) => self.set(c, 0.0),
                    (None, _) => self.scale(c, beta),
                }
            }
            return;
        }
        let bias = bias.map(|bias| self.mat(bias));
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

/// A product as the only block.
fn only_block(Gemm { c, alpha, a, b, beta }: Gemm<'_>) -> GemmBlocks<'_> {
    fn one<'v>(Operand { matrix, transpose }: Operand<View<'v>>) -> Operand<Blocks<View<'v>>> {
        transpose.of(matrix.blocks((matrix.rows(), matrix.cols()), 1, (0, 0), 1))
    }
    let c = c.blocks((c.rows(), c.cols()), 1, (0, 0), 1);
    GemmBlocks { c, alpha, a: one(a), b: one(b), beta }
}

impl<E: Engine> Products for GpuBackend<E> {
    fn gemm(&self, product: Gemm<'_>) {
        self.products(only_block(product), None)
    }
    fn gemm_with_bias(&self, product: GemmWithBias<'_>) {
        let GemmWithBias { c, alpha, a, b, bias } = product;
        self.products(only_block(Gemm { c, alpha, a, b, beta: 0.0 }), Some(bias))
    }
    fn gemm_blocks(&self, products: GemmBlocks<'_>) {
        self.products(products, None)
    }
}
