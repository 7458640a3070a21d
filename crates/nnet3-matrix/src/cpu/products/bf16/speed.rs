//! Choice of the kernel: AVX512-BF16 may be faster or slower than floats. One of AMD's processors (Zen 4) multiplies
//! twice as fast with it, one of Intel's (Sapphire Rapids) half as fast.

#![allow(unsafe_code)]

use super::Kernel;
use crate::cpu::arithmetic::NoBf16;

/// Products in bf16 must be this many times as fast as those in floats: rounding the factors takes time as well. The
/// processors above are far from it on either side, so that the choice does not depend on chance.
const LEAST_RATE: f64 = 1.4;

/// Returns the kernel for this processor, if it is faster than products in floats.
pub(in crate::cpu) fn fastest() -> Result<Kernel, NoBf16> {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = Kernel::avx512() {
        let rate = x86::rate(kernel);
        return if rate >= LEAST_RATE { Ok(kernel) } else { Err(NoBf16::Slow { rate }) };
    }
    Err(NoBf16::Missing)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::Kernel;
    use super::super::pairs::{PairSums, x86::Avx512};
    use crate::bf16::{LANES, Line};
    use std::arch::x86_64::*;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    /// Sums that do not wait for each other: more than an instruction takes cycles.
    const CHAINS: usize = 12;
    /// Instructions of each chain in a measurement, a microsecond. Other programs disturb some measurements; the least
    /// times of all count.
    const STEPS: usize = 250;
    const MEASUREMENTS: usize = 25;

    /// Products in bf16 for each product in floats, in the same time.
    pub(super) fn rate(kernel: Kernel) -> f64 {
        assert!(matches!(kernel, Kernel::Avx512(_)));
        let mut least = [Duration::MAX; 2];
        for _ in 0..MEASUREMENTS {
            let start = Instant::now();
            // SAFETY: the kernel is the proof that the processor has the instructions.
            black_box(unsafe { floats(black_box(1.0)) });
            let middle = Instant::now();
            // SAFETY: as above.
            black_box(unsafe { halves(black_box(1.0)) });
            least = [least[0].min(middle - start), least[1].min(middle.elapsed())];
        }
        // An instruction for bf16 multiplies two terms.
        2.0 * least[0].as_secs_f64() / least[1].as_secs_f64().max(1e-9)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn floats(x: f32) -> [f32; LANES] {
        let (factor, mut sums) = (_mm512_set1_ps(x), [_mm512_setzero_ps(); CHAINS]);
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(factor, factor, *sum);
            }
        }
        let mut all = _mm512_setzero_ps();
        for sum in sums {
            all = _mm512_add_ps(all, sum);
        }
        let mut out = [0.0; LANES];
        // SAFETY: the array has as many elements as a register.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), all) };
        out
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    fn halves(x: f32) -> [f32; LANES] {
        let pair = x.to_bits() | x.to_bits() >> 16;
        let (factor, mut sums) = (Avx512::load(&Line([pair; LANES])), [Avx512::zero(); CHAINS]);
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = sum.add(pair, factor);
            }
        }
        let mut out = [0.0; LANES];
        for sum in sums {
            out.iter_mut().zip(sum.store()).for_each(|(out, sum)| *out += sum);
        }
        out
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn rates_hardly_vary() {
            let Some(kernel) = Kernel::avx512() else { return };
            let start = Instant::now();
            let first = rate(kernel);
            let time = start.elapsed();
            let second = rate(kernel);
            println!("{first} {second}, {time:?}");
            assert!((first / second - 1.0).abs() < 0.3, "{first} {second}");
        }
    }
}
