//! Pairs of terms in bf16, and sums of their products: by AVX512-BF16, or in plain Rust with the same rounding.

#![allow(unsafe_code)]

use crate::bf16::{LANES, Line};

/// Sixteen sums of products of pairs, in `f32`.
pub(in crate::cpu) trait PairSums: Copy {
    /// A line, in the form that products read.
    type Pairs: Copy;
    fn zero() -> Self;
    fn load(line: &Line) -> Self::Pairs;
    /// Adds the products of one pair with sixteen others.
    fn add(self, pair: u32, pairs: Self::Pairs) -> Self;
    fn store(self) -> [f32; LANES];
    /// Rounds two rows to pairs: element i of both is pair i.
    fn interleaved(first: &[f32; LANES], second: &[f32; LANES]) -> Self::Pairs;
    /// Rounds neighbours to pairs.
    fn adjacent(terms: &[f32; 2 * LANES]) -> Self::Pairs;
    /// Pair j of line i becomes pair i of line j.
    fn transposed(lines: [Self::Pairs; LANES]) -> [Self::Pairs; LANES];
    fn save(pairs: Self::Pairs, to: &mut Line);
    /// Says that this element's cache line is written soon.
    #[inline(always)]
    fn prefetch(soon: &f32) {
        let _ = soon;
    }
    /// Says that this line is read soon, if there is one at this address.
    #[inline(always)]
    fn prefetch_line(soon: *const Line) {
        let _ = soon;
    }
}

/// The upper half of a float, rounded to the nearest; a tie goes to the even one. Subnormal numbers become zeros, as in
/// AVX512-BF16.
fn half(x: f32) -> u32 {
    let bits = x.to_bits();
    let bits = match x {
        x if x.is_nan() => bits | 1 << 22,
        x if x.is_subnormal() => bits & 1 << 31,
        _ => bits.wrapping_add(0x7fff + (bits >> 16 & 1)),
    };
    bits >> 16
}

/// The two numbers of a pair.
fn numbers(pair: u32) -> [f32; 2] {
    [f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000)]
}

/// The instructions of every processor.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Plain([f32; LANES]);

impl PairSums for Plain {
    type Pairs = Line;
    fn zero() -> Self {
        Plain([0.0; LANES])
    }
    fn load(line: &Line) -> Line {
        *line
    }
    fn add(mut self, pair: u32, pairs: Line) -> Self {
        let [first, second] = numbers(pair);
        for (sum, pair) in self.0.iter_mut().zip(pairs.0) {
            let [x, y] = numbers(pair);
            *sum += first * x + second * y;
        }
        self
    }
    fn store(self) -> [f32; LANES] {
        self.0
    }
    fn interleaved(first: &[f32; LANES], second: &[f32; LANES]) -> Line {
        Line(std::array::from_fn(|i| half(first[i]) | half(second[i]) << 16))
    }
    fn adjacent(terms: &[f32; 2 * LANES]) -> Line {
        Line(std::array::from_fn(|i| half(terms[2 * i]) | half(terms[2 * i + 1]) << 16))
    }
    fn transposed(lines: [Line; LANES]) -> [Line; LANES] {
        std::array::from_fn(|j| Line(std::array::from_fn(|i| lines[i].0[j])))
    }
    fn save(pairs: Line, to: &mut Line) {
        *to = pairs;
    }
}

#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) mod x86 {
    use super::PairSums;
    use crate::bf16::{LANES, Line};
    use std::arch::x86_64::*;

    /// True if the processor has the instructions of [`Avx512`].
    pub(in crate::cpu) fn has_avx512_bf16() -> bool {
        use std::arch::is_x86_feature_detected as has;
        has!("avx512f")
            && has!("avx512bw")
            && has!("avx512dq")
            && has!("avx512vl")
            && has!("avx512bf16")
            && has!("avx2")
            && has!("fma")
    }

    /// Sums in an AVX-512 register. Only functions compiled for AVX512-BF16 use the type, after
    /// [`has_avx512_bf16`]; this makes each instruction below sound.
    #[derive(Clone, Copy)]
    pub(in crate::cpu) struct Avx512(__m512);

    // SAFETY of all unsafe blocks: the processor has the instruction (see the type); pointers come from arrays of the
    // length that the instruction reads or writes, and a line begins at a multiple of 64 bytes.
    impl PairSums for Avx512 {
        type Pairs = __m512i;
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: see above.
            Avx512(unsafe { _mm512_setzero_ps() })
        }
        #[inline(always)]
        fn load(line: &Line) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
        }
        #[inline(always)]
        fn add(self, pair: u32, pairs: __m512i) -> Self {
            // SAFETY: see above. All bits are valid halves.
            Avx512(unsafe {
                let pair = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(pair as i32));
                _mm512_dpbf16_ps(self.0, pair, std::mem::transmute::<__m512i, __m512bh>(pairs))
            })
        }
        #[inline(always)]
        fn store(self) -> [f32; LANES] {
            let mut out = [0.0; LANES];
            // SAFETY: see above.
            unsafe { _mm512_storeu_ps(out.as_mut_ptr(), self.0) }
            out
        }
        #[inline(always)]
        fn interleaved(first: &[f32; LANES], second: &[f32; LANES]) -> __m512i {
            // SAFETY: see above.
            unsafe {
                let places = _mm512_set_epi16(
                    31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                    19, 3, 18, 2, 17, 1, 16, 0,
                );
                _mm512_permutexvar_epi16(places, rounded(first, second))
            }
        }
        #[inline(always)]
        fn adjacent(terms: &[f32; 2 * LANES]) -> __m512i {
            let (halves, _) = terms.as_chunks::<LANES>();
            // SAFETY: see above.
            unsafe { rounded(&halves[0], &halves[1]) }
        }
        #[inline(always)]
        fn transposed(lines: [__m512i; LANES]) -> [__m512i; LANES] {
            let mut out = lines;
            // SAFETY: see above. The floats are only moved.
            unsafe {
                let mut rows = [_mm512_setzero_ps(); LANES];
                for i in 0..LANES {
                    rows[i] = _mm512_castsi512_ps(lines[i]);
                }
                let rows = kaldi_simd::transposed(rows);
                for i in 0..LANES {
                    out[i] = _mm512_castps_si512(rows[i]);
                }
            }
            out
        }
        #[inline(always)]
        fn save(pairs: __m512i, to: &mut Line) {
            // SAFETY: see above.
            unsafe { _mm512_store_si512(to.0.as_mut_ptr().cast(), pairs) }
        }
        #[inline(always)]
        fn prefetch(soon: &f32) {
            // SAFETY: every processor of x86-64 has the instruction, which changes no values and never fails.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) }
        }
        #[inline(always)]
        fn prefetch_line(soon: *const Line) {
            // SAFETY: as above, for any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(soon.cast()) }
        }
    }

    /// The halves of `first`, then those of `second`.
    ///
    /// # Safety
    /// The processor has AVX512-BF16.
    #[inline(always)]
    unsafe fn rounded(first: &[f32; LANES], second: &[f32; LANES]) -> __m512i {
        // SAFETY: see above; the arrays have as many elements as a register.
        unsafe {
            let (first, second) = (_mm512_loadu_ps(first.as_ptr()), _mm512_loadu_ps(second.as_ptr()));
            std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(second, first))
        }
    }
}
