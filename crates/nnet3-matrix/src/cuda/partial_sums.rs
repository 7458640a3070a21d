//! The products that may be summed in parts.
//!
//! A library for products gives each multiprocessor a tile of the result. If there are few tiles, it can cut the sums into
//! parts: more multiprocessors have work, each writes its part, and a second kernel adds the parts up (split-K). That pays
//! for gradients of parameters, which are small and have a term for each row of a minibatch. Elsewhere it only costs
//! traffic and a kernel. `docs/gpu.md` has the arithmetic.

use super::op::Product;

/// Rows and columns of the smallest tile with which a library is near its full speed in `f32`.
const TILE: u32 = 64;

/// Terms of a sum below which the second kernel takes longer than it saves.
const FEWEST_TERMS: u32 = 1024;

/// True if the product may be summed in parts on a device with so many multiprocessors. Then its tiles leave at least half of
/// them idle, and its sums are long. Depends on shapes only, so that the same product is summed in the same way each time.
pub fn may_add_partial_sums(product: &Product, multiprocessors: u32) -> bool {
    let tiles = |side: u32| u64::from(side.div_ceil(TILE));
    let all = tiles(product.c.rows) * tiles(product.c.cols) * u64::from(product.count);
    product.inner() >= FEWEST_TERMS && 2 * all <= u64::from(multiprocessors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Transpose;
    use crate::cuda::op::Mat;

    /// True for a product of these rows, columns and terms, so many times, on an H100.
    fn may(rows: u32, cols: u32, terms: u32, count: u32) -> bool {
        on(132, rows, cols, terms, count)
    }

    fn on(multiprocessors: u32, rows: u32, cols: u32, terms: u32, count: u32) -> bool {
        let mat = |rows, cols| Mat::plain(256, rows, cols);
        let product = Product {
            c: mat(rows, cols),
            alpha: 1.0,
            a: mat(terms, rows),
            transpose_a: Transpose::Yes,
            b: mat(terms, cols),
            transpose_b: Transpose::No,
            beta: 1.0,
            bias: None,
            count,
            steps: [0; 3],
        };
        let plain = Product { a: mat(rows, terms), transpose_a: Transpose::No, ..product };
        let answers = [product, plain].map(|product| may_add_partial_sums(&product, multiprocessors));
        assert_eq!(answers[0], answers[1]);
        answers[0]
    }

    #[test]
    fn layers_of_a_tdnnf() {
        // Forward and derivatives of inputs: 1600 tiles of few terms, 200 tiles, and 50 with a quarter of the rows.
        assert!(!may(6400, 1024, 128, 1));
        assert!(!may(6400, 128, 1024, 1));
        assert!(may(1600, 128, 1024, 1));
        // Gradients of a bottleneck's parameters: 32 tiles, also of two offsets in one call.
        assert!(may(1024, 128, 6400, 1));
        assert!(may(128, 1024, 6400, 2));
        assert!(!may(128, 1024, 6400, 3));
        // Gradients of a wide layer: 256 tiles.
        assert!(!may(1024, 1024, 6400, 1));
    }

    #[test]
    fn a_step_of_a_recurrence_has_short_sums() {
        assert!(!may(32, 1024, 256, 1));
        assert!(!may(128, 2048, 1023, 1));
        assert!(may(32, 1024, 1024, 1));
    }

    #[test]
    fn small_products_of_natural_gradient() {
        assert!(may(20, 1025, 6400, 1));
        assert!(may(80, 80, 1025, 1));
        assert!(!may(80, 80, 128, 1));
    }

    #[test]
    fn tiles_fill_a_smaller_device_sooner() {
        assert!(on(64, 1024, 128, 6400, 1));
        assert!(!on(63, 1024, 128, 6400, 1));
        assert!(!on(1, 1, 1, 6400, 1));
    }
}
