//! The levels of vector instructions, and the choice of a kernel's copy.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use crate::vector::x86;
use crate::vector::{Lanes, Vector};
use std::sync::atomic::{AtomicU8, Ordering};

/// Vector instructions that the loops may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorLevel {
    /// The instructions of every processor of the compilation target.
    Portable = 1,
    /// x86-64 with AVX2 and FMA.
    Avx2 = 2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

/// The instructions that a kernel is compiled with.
pub trait Simd: Copy {
    /// For loops that are vectorised by hand.
    type V: Vector;
    const LEVEL: VectorLevel;
    /// True if [`Simd::fma`] is one instruction, and so rounds once.
    const HAS_FMA: bool;
    /// a · b + c, with one rounding if that is one instruction, else with two.
    fn fma(a: f32, b: f32, c: f32) -> f32;
    /// Says that this element's cache line is read soon: it is brought into the second-level cache.
    #[inline(always)]
    fn prefetch(soon: &f32) {
        let _ = soon;
    }
    /// As [`Simd::prefetch`], into the first-level cache.
    #[inline(always)]
    fn prefetch_first(soon: &f32) {
        let _ = soon;
    }
    /// to = from, past the caches if possible; [`Simd::finish_stores`] must come before other threads read it.
    #[inline(always)]
    fn store_past(to: &mut [f32], from: &[f32]) {
        to.copy_from_slice(from);
    }
    #[inline(always)]
    fn finish_stores() {}
}

/// The instructions of every processor of the compilation target.
#[derive(Clone, Copy)]
pub struct Portable;
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2;
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx512;

impl Simd for Portable {
    type V = Lanes;
    const LEVEL: VectorLevel = VectorLevel::Portable;
    const HAS_FMA: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        if Self::HAS_FMA { a.mul_add(b, c) } else { a * b + c }
    }
}

/// to = from: `store` copies LANES elements to aligned places; single elements go before and after.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_lines<const LANES: usize>(
    to: &mut [f32],
    from: &[f32],
    store: impl Fn(&mut [f32; LANES], &[f32; LANES]),
) {
    let head = to.as_ptr().align_offset(size_of::<[f32; LANES]>()).min(to.len());
    let (first, lines) = to.split_at_mut(head);
    let (first_from, lines_from) = from.split_at(head);
    first.copy_from_slice(first_from);
    let (lines, last) = lines.as_chunks_mut::<LANES>();
    let (lines_from, last_from) = lines_from.as_chunks::<LANES>();
    lines.iter_mut().zip(lines_from).for_each(|(to, from)| store(to, from));
    last.copy_from_slice(last_from);
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx2 {
    type V = x86::Pair;
    const LEVEL: VectorLevel = VectorLevel::Avx2;
    const HAS_FMA: bool = true;
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn store_past(to: &mut [f32], from: &[f32]) {
        use std::arch::x86_64::{_mm256_loadu_ps, _mm256_stream_ps};
        // SAFETY: only code that was compiled for these instructions runs with this type, see `run_within`. The places are as
        // `in_lines` has them.
        in_lines::<8>(to, from, |to, from| unsafe {
            _mm256_stream_ps(to.as_mut_ptr(), _mm256_loadu_ps(from.as_ptr()))
        })
    }
    #[inline(always)]
    fn finish_stores() {
        // SAFETY: every processor of x86-64 has the instruction, which changes no values.
        unsafe { std::arch::x86_64::_mm_sfence() }
    }
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx512 {
    type V = x86::Wide;
    const LEVEL: VectorLevel = VectorLevel::Avx512;
    const HAS_FMA: bool = true;
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn prefetch(soon: &f32) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every processor of x86-64 has the instruction, which changes no values and never fails.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(soon).cast()) }
    }
    #[inline(always)]
    fn prefetch_first(soon: &f32) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) }
    }
    #[inline(always)]
    fn store_past(to: &mut [f32], from: &[f32]) {
        use std::arch::x86_64::{_mm512_loadu_ps, _mm512_stream_ps};
        // SAFETY: only code that was compiled for these instructions runs with this type, see `run_within`. The places are as
        // `in_lines` has them.
        in_lines::<16>(to, from, |to, from| unsafe {
            _mm512_stream_ps(to.as_mut_ptr(), _mm512_loadu_ps(from.as_ptr()))
        })
    }
    #[inline(always)]
    fn finish_stores() {
        // SAFETY: every processor of x86-64 has the instruction, which changes no values.
        unsafe { std::arch::x86_64::_mm_sfence() }
    }
}

/// A loop to compile for each level. Implementations of `run` must be `#[inline(always)]`.
pub trait Kernel {
    type Output;
    fn run<S: Simd>(self) -> Self::Output;
}

struct Plain<A, F>(A, F);

impl<A, R, F: Fn(A) -> R> Kernel for Plain<A, F> {
    type Output = R;
    #[inline(always)]
    fn run<S: Simd>(self) -> R {
        (self.1)(self.0)
    }
}

/// [`run`] for a loop that needs no fused products, as an `#[inline(always)]` closure. Pass all mutable state as its
/// argument. Only a closure without mutable captures is called directly, and thus certainly inlined.
#[inline]
pub fn run_plain<A, R>(argument: A, f: impl Fn(A) -> R) -> R {
    run(Plain(argument, f))
}

/// 0 until the processor has been asked.
static LEVEL: AtomicU8 = AtomicU8::new(0);

fn detected() -> VectorLevel {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            return if avx512 { VectorLevel::Avx512 } else { VectorLevel::Avx2 };
        }
    }
    VectorLevel::Portable
}

/// The level in use.
#[inline]
pub fn vector_level() -> VectorLevel {
    match LEVEL.load(Ordering::Relaxed) {
        0 => set_vector_level(VectorLevel::Avx512),
        1 => VectorLevel::Portable,
        2 => VectorLevel::Avx2,
        _ => VectorLevel::Avx512,
    }
}

/// Limits the vector instructions to this level, in the whole process; for tests and measurements. Returns the level in
/// use, which is never above that of the processor.
pub fn set_vector_level(most: VectorLevel) -> VectorLevel {
    let level = most.min(detected());
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

/// Runs the kernel's copy for the level in use.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    run_within(VectorLevel::Avx512, kernel)
}

/// Runs the kernel's copy for the level in use, or for `most` if that is lower: for kernels that wider registers do not
/// help.
#[inline(always)]
pub fn run_within<K: Kernel>(most: VectorLevel, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match vector_level().min(most) {
        // SAFETY: `set_vector_level`, which alone stores levels, has asked the processor for these features.
        VectorLevel::Avx512 => return unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        VectorLevel::Avx2 => return unsafe { run_avx2(kernel) },
        VectorLevel::Portable => {}
    }
    kernel.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}
