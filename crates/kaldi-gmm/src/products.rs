//! Products of a row of a matrix with a vector, added up in the order of the reference.
//!
//! The reference multiplies matrices by vectors with OpenBLAS. Its order of additions depends on the number of rows:
//! it takes rows in groups of four, then two, then one. Each kind of group adds an element to a partial sum that
//! depends on its position. If the dimension is not a multiple of four, the last elements come last. All arithmetic is
//! in single precision. Groups of four rows use fused multiply-add.

use kaldi_simd::{Kernel, Simd, VectorLevel, run_within};

/// Partial sums, and rows that are multiplied together.
pub const LANES: usize = 8;
/// Rows with the order [`Order::OfFour`]. Elements that are added after the partial sums are those beyond a multiple of this.
pub const GROUP: usize = 4;

/// The order of additions of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One of four rows: eight partial sums, products that are not rounded.
    OfFour,
    /// One of two rows: four partial sums.
    OfTwo,
    /// A single row: eight partial sums.
    Single,
}

/// Runs a computation with the widest vectors that help it: a panel of Gaussians fills a register of AVX2.
#[inline]
pub fn vectorized<K: Kernel>(work: K) -> K::Output {
    run_within(VectorLevel::Avx2, work)
}

/// Computes a·b + c, rounded once. Without an instruction for that it takes double precision: products are exact, and
/// rounding their sum twice changes about one in 2²⁸.
#[inline(always)]
fn fused<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    if S::HAS_FMA { S::fma(a, b, c) } else { (f64::from(a) * f64::from(b) + f64::from(c)) as f32 }
}

#[inline(always)]
fn plain(a: f32, b: f32, c: f32) -> f32 {
    a * b + c
}

impl Order {
    /// Returns the order for a row of a matrix with `rows` rows.
    pub fn of_row(row: usize, rows: usize) -> Order {
        if row < rows / 4 * 4 {
            Order::OfFour
        } else if row < rows / 2 * 2 {
            Order::OfTwo
        } else {
            Order::Single
        }
    }

    /// Computes start + factor · (a·x).
    #[inline(always)]
    pub fn add<S: Simd>(self, start: f32, factor: f32, a: &[f32], x: &[f32]) -> f32 {
        let main = a.len() / GROUP * GROUP;
        let sum = match self {
            Order::OfFour => eight(&a[..main], &x[..main], fused::<S>),
            Order::OfTwo => four(&a[..main], &x[..main]),
            Order::Single => eight(&a[..main], &x[..main], plain),
        };
        let mut out = start + factor * sum;
        let mut rest = a[main..].iter().zip(&x[main..]).map(|(a, x)| a * (factor * x));
        if let Some(first) = rest.next() {
            out += rest.fold(first, |sum, product| sum + product);
        }
        out
    }
}

/// Computes start + factor · (a·x) for some rows a whose order is [`Order::OfFour`]. `columns` has the elements of these
/// rows: element d of each is in column d.
#[inline(always)]
pub fn add_columns<S: Simd, const ROWS: usize>(
    start: [f32; ROWS],
    factor: f32,
    columns: &[[f32; ROWS]],
    x: &[f32],
) -> [f32; ROWS] {
    let main = x.len() / GROUP * GROUP;
    let first = main % LANES;
    let mut sums = [[0.0; ROWS]; LANES];
    if first == GROUP {
        for lane in 0..GROUP {
            for row in 0..ROWS {
                sums[lane][row] = fused::<S>(columns[lane][row], x[lane], 0.0);
            }
        }
    }
    let (chunks, _) = columns[first..main].as_chunks::<LANES>();
    let (elements, _) = x[first..main].as_chunks::<LANES>();
    for (columns, x) in chunks.iter().zip(elements) {
        for lane in 0..LANES {
            for row in 0..ROWS {
                sums[lane][row] = fused::<S>(columns[lane][row], x[lane], sums[lane][row]);
            }
        }
    }
    let mut out = start;
    for row in 0..ROWS {
        let pair = |lane: usize| sums[lane][row] + sums[lane + GROUP][row];
        out[row] += factor * total([pair(0), pair(1), pair(2), pair(3)]);
    }
    let mut rest = columns[main..].iter().zip(&x[main..]);
    if let Some((column, x)) = rest.next() {
        let product = |column: &[f32; ROWS], x: f32| column.map(|a| a * (factor * x));
        let mut sum = product(column, *x);
        for (column, x) in rest {
            let products = product(column, *x);
            sum.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        }
        out.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum);
    }
    out
}

/// Adds up four sums.
#[inline(always)]
fn total(sums: [f32; 4]) -> f32 {
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// A scalar product with eight partial sums. The number of elements is a multiple of four. If it is not a multiple of eight,
/// the first four elements go to the first four sums before the others.
#[inline(always)]
fn eight(a: &[f32], x: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let first = a.len() % LANES;
    if first == GROUP {
        for lane in 0..GROUP {
            sums[lane] = step(a[lane], x[lane], sums[lane]);
        }
    }
    for (a, x) in a[first..].chunks_exact(LANES).zip(x[first..].chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] = step(a[lane], x[lane], sums[lane]);
        }
    }
    total([sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]])
}

/// A scalar product with four partial sums.
#[inline(always)]
fn four(a: &[f32], x: &[f32]) -> f32 {
    let mut sums = [0.0; GROUP];
    for (a, x) in a.chunks_exact(GROUP).zip(x.chunks_exact(GROUP)) {
        for lane in 0..GROUP {
            sums[lane] += a[lane] * x[lane];
        }
    }
    total(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_simd::Portable;

    struct Add<'a> {
        order: Order,
        a: &'a [f32],
        x: &'a [f32],
    }

    impl Kernel for Add<'_> {
        type Output = f32;
        fn run<S: Simd>(self) -> f32 {
            self.order.add::<S>(0.25, -0.5, self.a, self.x)
        }
    }

    struct AddColumns<'a, const ROWS: usize> {
        columns: &'a [[f32; ROWS]],
        x: &'a [f32],
    }

    impl<const ROWS: usize> Kernel for AddColumns<'_, ROWS> {
        type Output = [f32; ROWS];
        fn run<S: Simd>(self) -> [f32; ROWS] {
            add_columns::<S, ROWS>([0.25; ROWS], -0.5, self.columns, self.x)
        }
    }

    #[test]
    fn columns_are_as_rows() {
        let mut random = fastrand::Rng::with_seed(4);
        for dim in [0, 1, 3, 4, 7, 8, 13, 39, 40] {
            let x: Vec<f32> = (0..dim).map(|_| random.f32() - 0.5).collect();
            let eight: Vec<[f32; LANES]> = (0..dim).map(|_| std::array::from_fn(|_| random.f32())).collect();
            let four: Vec<[f32; GROUP]> =
                eight.iter().map(|column| std::array::from_fn(|row| column[GROUP + row])).collect();
            let of_eight = [
                AddColumns { columns: &eight, x: &x }.run::<Portable>(),
                vectorized(AddColumns { columns: &eight, x: &x }),
            ];
            let of_four = [
                AddColumns { columns: &four, x: &x }.run::<Portable>(),
                vectorized(AddColumns { columns: &four, x: &x }),
            ];
            for row in 0..LANES {
                let a: Vec<f32> = eight.iter().map(|column| column[row]).collect();
                let add = Order::OfFour.add::<Portable>(0.25, -0.5, &a, &x);
                let fused = vectorized(Add { order: Order::OfFour, a: &a, x: &x });
                assert_eq!(of_eight.map(|sums| sums[row]), [add, fused], "{dim}");
                if let Some(row) = row.checked_sub(GROUP) {
                    assert_eq!(of_four.map(|sums| sums[row]), [add, fused], "{dim}");
                }
            }
        }
    }

    #[test]
    fn all_orders_are_near_the_exact_product() {
        let mut random = fastrand::Rng::with_seed(5);
        for dim in [1, 3, 4, 7, 8, 13, 39, 40] {
            let a: Vec<f32> = (0..dim).map(|_| random.f32() - 0.5).collect();
            let x: Vec<f32> = (0..dim).map(|_| random.f32()).collect();
            let exact: f64 = a.iter().zip(&x).map(|(a, x)| f64::from(*a) * f64::from(*x)).sum();
            for order in [Order::OfFour, Order::OfTwo, Order::Single] {
                let vectorized = vectorized(Add { order, a: &a, x: &x });
                for found in [order.add::<Portable>(0.25, -0.5, &a, &x), vectorized] {
                    assert!((f64::from(found) - 0.25 + 0.5 * exact).abs() < 1e-6, "{order:?} {dim}");
                }
            }
        }
    }

    #[test]
    fn orders() {
        let orders: Vec<Order> = (0..7).map(|row| Order::of_row(row, 7)).collect();
        assert_eq!(orders[..4], [Order::OfFour; 4]);
        assert_eq!(orders[4..], [Order::OfTwo, Order::OfTwo, Order::Single]);
    }
}
