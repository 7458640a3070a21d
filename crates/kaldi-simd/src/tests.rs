//! Vectors of every level of this machine beside loops over their lanes.

use super::*;
use std::sync::{Mutex, PoisonError};

/// The level belongs to the process.
static ONE_TEST: Mutex<()> = Mutex::new(());

/// Runs a kernel at each level that this machine has.
fn at_all_levels<K: Kernel<Output = ()>>(kernel: impl Fn() -> K) {
    let _alone = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    for level in [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512] {
        if set_vector_level(level) == level {
            run(kernel());
        }
    }
    set_vector_level(VectorLevel::Avx512);
}

fn lanes<V: Vector>(vector: V) -> [f32; 16] {
    let mut out = [f32::NAN; 16];
    vector.store(&mut out);
    out
}

/// Numbers whose sums and products are exact.
fn numbers(seed: u64) -> [f32; 16] {
    let mut random = fastrand::Rng::with_seed(seed);
    std::array::from_fn(|_| random.i32(-64..64) as f32)
}

struct Arithmetic;

impl Kernel for Arithmetic {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let [a, b, c] = [1, 2, 3].map(numbers);
        let [x, y, z] = [a, b, c].map(|lanes| S::V::load(&lanes));
        let expect = |found: S::V, f: &dyn Fn(usize) -> f32| {
            assert_eq!(lanes(found), std::array::from_fn(f), "{:?}", S::LEVEL)
        };
        expect(S::V::splat(3.5), &|_| 3.5);
        expect(x.add(y), &|k| a[k] + b[k]);
        expect(x.sub(y), &|k| a[k] - b[k]);
        expect(x.mul(y), &|k| a[k] * b[k]);
        expect(x.mul_add(y, z), &|k| a[k] * b[k] + c[k]);
        expect(x.larger(y), &|k| a[k].max(b[k]));
        expect(x.zero_below(y, z), &|k| if b[k] < c[k] { 0.0 } else { a[k] });
        expect(x.add(S::V::splat(ROUNDER)).power_of_two(), &|k| 2f32.powi(a[k] as i32));
        assert_eq!(x.sum(), a.iter().sum::<f32>());
        assert_eq!(x.largest(), a.into_iter().fold(f32::MIN, f32::max));
        assert_eq!(S::V::sums([x, y, z, x]), [a, b, c, a].map(|lanes| lanes.iter().sum::<f32>()));
        assert_eq!(S::fma(3.0, 5.0, -1.0), 14.0);
    }
}

#[test]
fn arithmetic_is_that_of_lanes() {
    at_all_levels(|| Arithmetic);
}

/// `larger` keeps the first operand beside NaN, `zero_below` an element whose comparison has NaN.
struct NotNumbers;

impl Kernel for NotNumbers {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let [one, nan] = [1.0, f32::NAN].map(S::V::splat);
        assert_eq!(lanes(one.larger(nan)), [1.0; 16]);
        assert!(lanes(nan.larger(one)).iter().all(|x| x.is_nan()));
        assert_eq!(lanes(one.zero_below(nan, one)), [1.0; 16]);
    }
}

#[test]
fn comparisons_with_nan() {
    at_all_levels(|| NotNumbers);
}

/// Parts of a slice: other elements are neither read nor written.
struct Parts;

impl Kernel for Parts {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let a = numbers(4);
        for len in 0..=16 {
            let part = S::V::load_part(&a[..len], -7.0);
            let expected: [f32; 16] = std::array::from_fn(|k| if k < len { a[k] } else { -7.0 });
            assert_eq!(lanes(part), expected, "{len}");
            let mut to = [0.5; 16];
            S::V::load(&a).store_part(&mut to[..len]);
            let expected: [f32; 16] = std::array::from_fn(|k| if k < len { a[k] } else { 0.5 });
            assert_eq!(to, expected, "{len}");
        }
        let (from, mut to) = (vec![2.5; 77], vec![0.0; 77]);
        S::store_past(&mut to[3..], &from[3..]);
        S::finish_stores();
        assert_eq!((&to[..3], &to[3..]), (&[0.0; 3][..], &from[3..]));
    }
}

#[test]
fn parts_of_slices() {
    at_all_levels(|| Parts);
}

struct Transpose;

impl Kernel for Transpose {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let rows: [[f32; 16]; 16] = std::array::from_fn(|i| numbers(10 + i as u64));
        let columns = S::V::transposed(rows.map(|row| S::V::load(&row)));
        for (j, column) in columns.into_iter().enumerate() {
            assert_eq!(lanes(column), rows.map(|row| row[j]), "{:?}", S::LEVEL);
        }
    }
}

#[test]
fn rows_become_columns() {
    at_all_levels(|| Transpose);
}

struct Level;

impl Kernel for Level {
    type Output = (VectorLevel, f32);
    #[inline(always)]
    fn run<S: Simd>(self) -> (VectorLevel, f32) {
        // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, of which one rounding leaves the last term if -1 is added before.
        let x = 1.0 + 2f32.powi(-12);
        let rest = S::fma(x, x, -1.0);
        let twice = if S::HAS_FMA { 0.0 } else { 2f32.powi(-24) };
        (S::LEVEL, rest + twice)
    }
}

#[test]
fn the_copy_is_never_above_the_level() {
    let _alone = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
    let exact = 2f32.powi(-11) + 2f32.powi(-24);
    for most in [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512] {
        let (level, rest) = run_within(most, Level);
        assert!(level <= most && level <= vector_level());
        assert_eq!(rest, exact, "{level:?}");
    }
}
