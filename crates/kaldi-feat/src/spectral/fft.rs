//! Spectra of frames.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

/// The Fourier transform of frames of one length.
pub(super) struct Spectrum {
    fft: Arc<dyn RealToComplex<f32>>,
    output: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl Spectrum {
    /// Prepares the transform of frames of `length` samples, which must be an even number.
    pub fn new(length: usize) -> Spectrum {
        let fft = RealFftPlanner::<f32>::new().plan_fft_forward(length);
        let (output, scratch) = (fft.make_output_vec(), fft.make_scratch_vec());
        Spectrum { fft, output, scratch }
    }

    /// The values at frequencies 0 to half the sample rate, one more than half the samples. Overwrites `frame`.
    pub fn compute(&mut self, frame: &mut [f32]) -> &[Complex<f32>] {
        let done = self.fft.process_with_scratch(frame, &mut self.output, &mut self.scratch);
        debug_assert!(done.is_ok(), "all buffers were made for this length");
        &self.output
    }
}

/// Writes the squares of absolute values.
pub(super) fn write_power(spectrum: &[Complex<f32>], power: &mut [f32]) {
    power.iter_mut().zip(spectrum).for_each(|(p, z)| *p = z.norm_sqr());
}

/// Writes a packed spectrum, of the frame's length. The first and the last value are real and come first; the real
/// and imaginary parts of the values between follow.
pub(super) fn write_packed(spectrum: &[Complex<f32>], out: &mut [f32]) {
    let [first, between @ .., last] = spectrum else { return };
    out[0] = first.re;
    out[1] = last.re;
    let (pairs, _) = out[2..].as_chunks_mut::<2>();
    pairs.iter_mut().zip(between).for_each(|(pair, z)| *pair = [z.re, z.im]);
}
