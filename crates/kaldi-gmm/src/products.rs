//! Products of a row of a matrix with a vector, added up in the order of the reference.
//!
//! The reference multiplies matrices by vectors with OpenBLAS, whose order of additions depends on the number of rows:
//! it takes rows in groups of four, then two, then one. Each kind of group adds an element to a partial sum that
//! depends on its position. If the dimension is not a multiple of four, the last elements come last. All arithmetic is
//! in single precision. Groups of four rows use fused multiply-add.

/// Frames that are multiplied together.
pub const BLOCK: usize = 8;
/// Partial sums.
const LANES: usize = 8;
/// Elements that are added after the partial sums are those beyond a multiple of this.
const GROUP: usize = 4;

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

/// A way to compute a·b + c, rounded once.
pub trait Fused {
    fn fused(a: f32, b: f32, c: f32) -> f32;
}

/// The instruction of the processor.
pub struct Instruction;

/// Double precision: products are exact, and rounding their sum twice changes about one in 2²⁸.
pub struct Emulated;

impl Fused for Instruction {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Fused for Emulated {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        (f64::from(a) * f64::from(b) + f64::from(c)) as f32
    }
}

/// A computation with products. `run` and all that it calls must be inlined, to be compiled for the processor.
pub trait Work {
    type Output;
    fn run<F: Fused>(self) -> Self::Output;
}

/// Runs a computation with the widest vectors of the processor, and its fused multiply-add if it has one.
#[inline]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    match pulp::Arch::new() {
        pulp::Arch::Scalar => work.run::<Emulated>(),
        arch => arch.dispatch(
            #[inline(always)]
            || work.run::<Instruction>(),
        ),
    }
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
    pub fn add<F: Fused>(self, start: f32, factor: f32, a: &[f32], x: &[f32]) -> f32 {
        let main = a.len() / GROUP * GROUP;
        let sum = match self {
            Order::OfFour => eight(&a[..main], &x[..main], F::fused),
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

    /// Does the same as [`add`](Self::add) for several vectors; `x` returns one element of each.
    #[inline(always)]
    pub fn add_block<'x, F: Fused>(
        self,
        start: [f32; BLOCK],
        factor: f32,
        a: &[f32],
        x: impl Fn(usize) -> &'x [f32; BLOCK],
    ) -> [f32; BLOCK] {
        let main = a.len() / GROUP * GROUP;
        let sums = match self {
            Order::OfFour => eight_of_block(&a[..main], &x, F::fused),
            Order::OfTwo => four_of_block(&a[..main], &x),
            Order::Single => eight_of_block(&a[..main], &x, plain),
        };
        let mut out = start;
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += factor * sum;
        }
        let rest = a.len() - main;
        if rest > 0 {
            let product = |d: usize, frame: usize| a[d] * (factor * x(d)[frame]);
            for (frame, out) in out.iter_mut().enumerate() {
                let first = product(main, frame);
                *out += (main + 1..a.len()).fold(first, |sum, d| sum + product(d, frame));
            }
        }
        out
    }
}

/// Adds up four sums.
#[inline(always)]
fn total(sums: [f32; 4]) -> f32 {
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// A scalar product with eight partial sums. If the number of elements is no multiple of eight, the first four elements go
/// to the first four sums before the others.
#[inline(always)]
fn eight(a: &[f32], x: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let first = a.len() % LANES;
    for lane in 0..first {
        sums[lane] = step(a[lane], x[lane], sums[lane]);
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

/// Does the same as [`eight`] for each vector of a block.
#[inline(always)]
fn eight_of_block<'x>(
    a: &[f32],
    x: &impl Fn(usize) -> &'x [f32; BLOCK],
    step: impl Fn(f32, f32, f32) -> f32,
) -> [f32; BLOCK] {
    let mut sums = [[0.0; BLOCK]; LANES];
    let first = a.len() % LANES;
    for (d, sums) in sums.iter_mut().enumerate().take(first) {
        let x = x(d);
        for frame in 0..BLOCK {
            sums[frame] = step(a[d], x[frame], sums[frame]);
        }
    }
    // (Constant numbers of lanes: sums stay in registers.)
    for (chunk, a) in a[first..].chunks_exact(LANES).enumerate() {
        for lane in 0..LANES {
            let x = x(first + LANES * chunk + lane);
            for frame in 0..BLOCK {
                sums[lane][frame] = step(a[lane], x[frame], sums[lane][frame]);
            }
        }
    }
    std::array::from_fn(|t| {
        let pair = |lane: usize| sums[lane][t] + sums[lane + GROUP][t];
        total([pair(0), pair(1), pair(2), pair(3)])
    })
}

/// Does the same as [`four`] for each vector of a block.
#[inline(always)]
fn four_of_block<'x>(a: &[f32], x: &impl Fn(usize) -> &'x [f32; BLOCK]) -> [f32; BLOCK] {
    let mut sums = [[0.0; BLOCK]; GROUP];
    for (chunk, a) in a.chunks_exact(GROUP).enumerate() {
        for lane in 0..GROUP {
            let x = x(GROUP * chunk + lane);
            for frame in 0..BLOCK {
                sums[lane][frame] += a[lane] * x[frame];
            }
        }
    }
    std::array::from_fn(|t| total([sums[0][t], sums[1][t], sums[2][t], sums[3][t]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Add<'a> {
        order: Order,
        a: &'a [f32],
        x: &'a [f32],
    }

    impl Work for Add<'_> {
        type Output = f32;
        fn run<F: Fused>(self) -> f32 {
            self.order.add::<F>(0.25, -0.5, self.a, self.x)
        }
    }

    #[test]
    fn blocks_are_as_single_vectors() {
        let mut random = fastrand::Rng::with_seed(4);
        for dim in [1, 3, 4, 7, 8, 13, 39, 40] {
            let a: Vec<f32> = (0..dim).map(|_| random.f32() - 0.5).collect();
            let columns: Vec<[f32; BLOCK]> =
                (0..dim).map(|_| std::array::from_fn(|_| random.f32())).collect();
            for order in [Order::OfFour, Order::OfTwo, Order::Single] {
                let block = order.add_block::<Emulated>([0.25; BLOCK], -0.5, &a, |d| &columns[d]);
                for t in 0..BLOCK {
                    let x: Vec<f32> = columns.iter().map(|column| column[t]).collect();
                    assert_eq!(order.add::<Emulated>(0.25, -0.5, &a, &x), block[t], "{order:?} {dim}");
                    let vectorized = vectorized(Add { order, a: &a, x: &x });
                    assert!((vectorized - block[t]).abs() <= 1e-6, "{order:?} {dim}");
                    let exact: f64 = a.iter().zip(&x).map(|(a, x)| f64::from(*a) * f64::from(*x)).sum();
                    assert!((f64::from(block[t]) - 0.25 + 0.5 * exact).abs() < 1e-6);
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
