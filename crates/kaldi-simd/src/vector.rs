//! Sixteen numbers side by side, for the few loops that LLVM does not vectorise: reductions along a row.

#![allow(unsafe_code)]

/// Added to |x| < 2^22 and taken off again it rounds x to an integer, which is then in the low bits of the sum.
pub const ROUNDER: f32 = 12_582_912.0;

/// n of n + [`ROUNDER`].
#[inline(always)]
pub fn rounded_integer(x: f32) -> i32 {
    (x.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32)
}

/// 2^n for -126 ≤ n ≤ 127.
#[inline(always)]
pub fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// 16 lanes of `f32`.
pub trait Vector: Copy {
    fn splat(x: f32) -> Self;
    /// The first 16 elements.
    fn load(from: &[f32]) -> Self;
    /// The elements of a slice of at most 16, and `fill` in the lanes beyond its end.
    fn load_part(from: &[f32], fill: f32) -> Self;
    /// Writes the first 16 elements of `to`.
    fn store(self, to: &mut [f32]);
    /// The first lanes, to a slice of at most 16.
    fn store_part(self, to: &mut [f32]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// self · b + c.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The larger one, or `self` if one is NaN.
    fn larger(self, other: Self) -> Self;
    /// `self` where `x >= limit` or x is NaN, else 0.
    fn zero_below(self, x: Self, limit: Self) -> Self;
    /// 2^n where `self` is n + [`ROUNDER`], -126 ≤ n ≤ 127.
    fn power_of_two(self) -> Self;
    /// The sum of the lanes.
    fn sum(self) -> f32;
    /// The sums of the lanes of each; with AVX2 and AVX-512 of neighbours, then of neighbouring sums, and so on.
    #[inline(always)]
    fn sums(of: [Self; 4]) -> [f32; 4] {
        [of[0].sum(), of[1].sum(), of[2].sum(), of[3].sum()]
    }
    /// The largest lane; there must be no NaN.
    fn largest(self) -> f32;
    /// Lane j of vector i becomes lane i of vector j.
    #[inline(always)]
    fn transposed(rows: [Self; 16]) -> [Self; 16] {
        let (mut values, mut column) = ([[0.0; 16]; 16], [0.0; 16]);
        for (row, to) in rows.into_iter().zip(&mut values) {
            row.store(to);
        }
        let mut out = rows;
        for (j, out) in out.iter_mut().enumerate() {
            for (i, row) in values.iter().enumerate() {
                column[i] = row[j];
            }
            *out = Self::load(&column);
        }
        out
    }
}

/// The instructions of every target.
#[derive(Clone, Copy)]
pub struct Lanes([f32; 16]);

impl Lanes {
    #[inline(always)]
    fn each(self, b: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = self;
        for k in 0..16 {
            out.0[k] = f(self.0[k], b.0[k]);
        }
        out
    }

    #[inline(always)]
    fn folded(self, f: impl Fn(f32, f32) -> f32) -> f32 {
        let mut lanes = self.0;
        for half in [8, 4, 2, 1] {
            for k in 0..half {
                lanes[k] = f(lanes[k], lanes[k + half]);
            }
        }
        lanes[0]
    }
}

impl Vector for Lanes {
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Lanes([x; 16])
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Lanes(*from.first_chunk().expect("16 elements"))
    }
    #[inline(always)]
    fn load_part(from: &[f32], fill: f32) -> Self {
        let mut out = [fill; 16];
        for (to, from) in out.iter_mut().zip(from) {
            *to = *from;
        }
        Lanes(out)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        *to.first_chunk_mut().expect("16 elements") = self.0;
    }
    #[inline(always)]
    fn store_part(self, to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(self.0) {
            *to = from;
        }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.each(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.each(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.each(other, |a, b| a * b)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.each(other, |a, b| if b > a { b } else { a })
    }
    #[inline(always)]
    fn zero_below(self, x: Self, limit: Self) -> Self {
        let mut out = self;
        for k in 0..16 {
            out.0[k] = if x.0[k] < limit.0[k] { 0.0 } else { self.0[k] };
        }
        out
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        self.each(self, |x, _| power_of_two(rounded_integer(x)))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        self.folded(|a, b| a + b)
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        self.folded(|a, b| if b > a { b } else { a })
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::{ROUNDER, Vector};
    use std::arch::x86_64::*;

    /// Sixteen numbers in an AVX-512 register. Only kernels at that level (see `run_within`) name the type; this
    /// makes each instruction below sound.
    #[derive(Clone, Copy)]
    pub struct Wide(__m512);

    /// Transposes sixteen registers: lane j of register i becomes lane i of register j.
    ///
    /// # Safety
    /// The processor has AVX-512 F and DQ.
    #[inline(always)]
    pub unsafe fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
        // `array::map` is not always inlined, and then goes through memory.
        let (mut vectors, mut out) = ([Wide(rows[0]); 16], rows);
        for i in 0..16 {
            vectors[i] = Wide(rows[i]);
        }
        let vectors = Wide::transposed(vectors);
        for i in 0..16 {
            out[i] = vectors[i].0;
        }
        out
    }

    /// The lanes of a slice's elements.
    #[inline(always)]
    fn mask(len: usize) -> __mmask16 {
        if len >= 16 { !0 } else { (1 << len) - 1 }
    }

    // The many unsafe blocks are alike: SAFETY (all of them): the processor has the instruction (see the type);
    // pointers come from slices that are long enough, by an assertion or because masked lanes are not touched.
    impl Vector for Wide {
        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_set1_ps(x) })
        }
        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            assert!(from.len() >= 16);
            // SAFETY: see above.
            Wide(unsafe { _mm512_loadu_ps(from.as_ptr()) })
        }
        #[inline(always)]
        fn load_part(from: &[f32], fill: f32) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask(from.len()), from.as_ptr()) })
        }
        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            assert!(to.len() >= 16);
            // SAFETY: see above.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn store_part(self, to: &mut [f32]) {
            // SAFETY: see above.
            unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), mask(to.len()), self.0) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_sub_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn larger(self, other: Self) -> Self {
            // SAFETY: see above. The instruction returns its second operand if one is NaN.
            Wide(unsafe { _mm512_max_ps(other.0, self.0) })
        }
        #[inline(always)]
        fn zero_below(self, x: Self, limit: Self) -> Self {
            // SAFETY: see above.
            Wide(unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x.0, limit.0), self.0) })
        }
        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: see above.
            unsafe {
                let bias = _mm512_set1_epi32(127 - ROUNDER.to_bits() as i32);
                let exponent = _mm512_add_epi32(_mm512_castps_si512(self.0), bias);
                Wide(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent)))
            }
        }
        #[inline(always)]
        fn sum(self) -> f32 {
            // SAFETY: see above.
            unsafe { _mm512_reduce_add_ps(self.0) }
        }
        #[inline(always)]
        fn sums(of: [Self; 4]) -> [f32; 4] {
            // SAFETY: see above.
            unsafe {
                // Sums of neighbours, those of a before those of b.
                let neighbours = |a, b| {
                    let (even, odd) = (_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xdd>(a, b));
                    _mm512_add_ps(even, odd)
                };
                let (ab, cd) = (neighbours(of[0].0, of[1].0), neighbours(of[2].0, of[3].0));
                // Sums of a, b, c, d in each quarter.
                let quarters = neighbours(ab, cd);
                let halves = |two| _mm_add_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps::<1>(two));
                let first = halves(_mm512_castps512_ps256(quarters));
                let second = halves(_mm512_extractf32x8_ps::<1>(quarters));
                let mut out = [0.0; 4];
                _mm_storeu_ps(out.as_mut_ptr(), _mm_add_ps(first, second));
                out
            }
        }
        #[inline(always)]
        fn largest(self) -> f32 {
            // SAFETY: see above.
            unsafe { _mm512_reduce_max_ps(self.0) }
        }
        #[inline(always)]
        fn transposed(rows: [Self; 16]) -> [Self; 16] {
            // `array::map` is not always inlined, and then goes through memory.
            let mut a = [rows[0].0; 16];
            for i in 0..16 {
                a[i] = rows[i].0;
            }
            let mut b = a;
            // SAFETY: see above.
            unsafe {
                // Pairs of lanes, then fours, in each quarter of a vector; then the quarters.
                for i in (0..16).step_by(2) {
                    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
                    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
                }
                let pd = |x| _mm512_castps_pd(x);
                let ps = |x| _mm512_castpd_ps(x);
                for i in (0..16).step_by(4) {
                    a[i] = ps(_mm512_unpacklo_pd(pd(b[i]), pd(b[i + 2])));
                    a[i + 1] = ps(_mm512_unpackhi_pd(pd(b[i]), pd(b[i + 2])));
                    a[i + 2] = ps(_mm512_unpacklo_pd(pd(b[i + 1]), pd(b[i + 3])));
                    a[i + 3] = ps(_mm512_unpackhi_pd(pd(b[i + 1]), pd(b[i + 3])));
                }
                for i in 0..4 {
                    b[i] = _mm512_shuffle_f32x4::<0x88>(a[i], a[i + 4]);
                    b[i + 4] = _mm512_shuffle_f32x4::<0xdd>(a[i], a[i + 4]);
                    b[i + 8] = _mm512_shuffle_f32x4::<0x88>(a[i + 8], a[i + 12]);
                    b[i + 12] = _mm512_shuffle_f32x4::<0xdd>(a[i + 8], a[i + 12]);
                }
                for i in 0..4 {
                    a[i] = _mm512_shuffle_f32x4::<0x88>(b[i], b[i + 8]);
                    a[i + 8] = _mm512_shuffle_f32x4::<0xdd>(b[i], b[i + 8]);
                    a[i + 4] = _mm512_shuffle_f32x4::<0x88>(b[i + 4], b[i + 12]);
                    a[i + 12] = _mm512_shuffle_f32x4::<0xdd>(b[i + 4], b[i + 12]);
                }
            }
            let mut out = rows;
            for i in 0..16 {
                out[i] = Wide(a[i]);
            }
            out
        }
    }

    /// Sixteen numbers in two AVX2 registers, with FMA. The safety argument of [`Wide`] holds here as well.
    #[derive(Clone, Copy)]
    pub struct Pair(__m256, __m256);

    impl Pair {
        /// All bits set in the lanes below `len`.
        #[inline(always)]
        fn mask(len: usize) -> (__m256i, __m256i) {
            // SAFETY: as for `Wide`.
            unsafe {
                let len = _mm256_set1_epi32(len.min(16) as i32);
                let low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                let high = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
                (_mm256_cmpgt_epi32(len, low), _mm256_cmpgt_epi32(len, high))
            }
        }

        /// Lane j of vector i becomes lane i of vector j.
        #[inline(always)]
        fn transposed_quarter(mut a: [__m256; 8]) -> [__m256; 8] {
            let mut b = a;
            // SAFETY: as for `Wide`.
            unsafe {
                // Pairs of lanes, then fours, in each half of a vector; then the halves.
                for i in (0..8).step_by(2) {
                    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
                    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
                }
                for i in (0..8).step_by(4) {
                    a[i] = _mm256_shuffle_ps::<0x44>(b[i], b[i + 2]);
                    a[i + 1] = _mm256_shuffle_ps::<0xee>(b[i], b[i + 2]);
                    a[i + 2] = _mm256_shuffle_ps::<0x44>(b[i + 1], b[i + 3]);
                    a[i + 3] = _mm256_shuffle_ps::<0xee>(b[i + 1], b[i + 3]);
                }
                for i in 0..4 {
                    b[i] = _mm256_permute2f128_ps::<0x20>(a[i], a[i + 4]);
                    b[i + 4] = _mm256_permute2f128_ps::<0x31>(a[i], a[i + 4]);
                }
            }
            b
        }

        /// Folds 8 lanes to the first one.
        #[inline(always)]
        fn fold(eight: __m256, f: impl Fn(__m128, __m128) -> __m128) -> f32 {
            // SAFETY: as for `Wide`.
            unsafe {
                let four = f(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
                let two = f(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(f(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }

    // SAFETY (all blocks): as for `Wide`.
    impl Vector for Pair {
        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: see above.
            let half = unsafe { _mm256_set1_ps(x) };
            Pair(half, half)
        }
        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            assert!(from.len() >= 16);
            // SAFETY: see above.
            unsafe { Pair(_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))) }
        }
        #[inline(always)]
        fn load_part(from: &[f32], fill: f32) -> Self {
            let (low, high) = Pair::mask(from.len());
            // SAFETY: see above; the second pointer may lie outside, but is then not followed.
            unsafe {
                let fill = _mm256_set1_ps(fill);
                let (a, b) = (from.as_ptr(), from.as_ptr().wrapping_add(8));
                let (a, b) = (_mm256_maskload_ps(a, low), _mm256_maskload_ps(b, high));
                let blend = |x, mask| _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(mask));
                Pair(blend(a, low), blend(b, high))
            }
        }
        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            assert!(to.len() >= 16);
            // SAFETY: see above.
            unsafe {
                _mm256_storeu_ps(to.as_mut_ptr(), self.0);
                _mm256_storeu_ps(to.as_mut_ptr().add(8), self.1)
            }
        }
        #[inline(always)]
        fn store_part(self, to: &mut [f32]) {
            let (low, high) = Pair::mask(to.len());
            // SAFETY: see above.
            unsafe {
                _mm256_maskstore_ps(to.as_mut_ptr(), low, self.0);
                _mm256_maskstore_ps(to.as_mut_ptr().wrapping_add(8), high, self.1)
            }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { Pair(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { Pair(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { Pair(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            // SAFETY: see above.
            unsafe { Pair(_mm256_fmadd_ps(self.0, b.0, c.0), _mm256_fmadd_ps(self.1, b.1, c.1)) }
        }
        #[inline(always)]
        fn larger(self, other: Self) -> Self {
            // SAFETY: see above. The instruction returns its second operand if one is NaN.
            unsafe { Pair(_mm256_max_ps(other.0, self.0), _mm256_max_ps(other.1, self.1)) }
        }
        #[inline(always)]
        fn zero_below(self, x: Self, limit: Self) -> Self {
            // SAFETY: see above.
            unsafe {
                let keep = |x, limit| _mm256_cmp_ps::<_CMP_NLT_UQ>(x, limit);
                Pair(_mm256_and_ps(self.0, keep(x.0, limit.0)), _mm256_and_ps(self.1, keep(x.1, limit.1)))
            }
        }
        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: see above.
            unsafe {
                let bias = _mm256_set1_epi32(127 - ROUNDER.to_bits() as i32);
                let half = |x| _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_castps_si256(x), bias));
                Pair(_mm256_castsi256_ps(half(self.0)), _mm256_castsi256_ps(half(self.1)))
            }
        }
        #[inline(always)]
        fn sum(self) -> f32 {
            // SAFETY: see above.
            unsafe { Pair::fold(_mm256_add_ps(self.0, self.1), |a, b| _mm_add_ps(a, b)) }
        }
        #[inline(always)]
        fn sums(of: [Self; 4]) -> [f32; 4] {
            // SAFETY: see above.
            unsafe {
                // Sums of neighbours, those of a before those of b in each half, then of neighbouring sums of a, b, c,
                // d.
                let fours = |half: [__m256; 4]| {
                    let (ab, cd) = (_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
                    let four = _mm256_hadd_ps(ab, cd);
                    _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps::<1>(four))
                };
                let sum = _mm_add_ps(fours(of.map(|pair| pair.0)), fours(of.map(|pair| pair.1)));
                let mut out = [0.0; 4];
                _mm_storeu_ps(out.as_mut_ptr(), sum);
                out
            }
        }
        #[inline(always)]
        fn transposed(rows: [Self; 16]) -> [Self; 16] {
            let mut out = rows;
            for half in 0..2 {
                let quarter = |k: usize| if half == 0 { rows[k].0 } else { rows[k].1 };
                let left = Pair::transposed_quarter(std::array::from_fn(quarter));
                let right = Pair::transposed_quarter(std::array::from_fn(|k| quarter(8 + k)));
                for k in 0..8 {
                    out[8 * half + k] = Pair(left[k], right[k]);
                }
            }
            out
        }
        #[inline(always)]
        fn largest(self) -> f32 {
            // SAFETY: see above.
            unsafe { Pair::fold(_mm256_max_ps(self.0, self.1), |a, b| _mm_max_ps(a, b)) }
        }
    }
}
