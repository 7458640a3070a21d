//! Power spectra.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

/// The Fourier transform of frames of one length.
pub(super) struct PowerSpectrum {
    fft: Arc<dyn RealToComplex<f32>>,
    output: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl PowerSpectrum {
    /// Prepares the transform of frames of `length` samples, which must be an even number.
    pub fn new(length: usize) -> PowerSpectrum {
        let fft = RealFftPlanner::<f32>::new().plan_fft_forward(length);
        let (output, scratch) = (fft.make_output_vec(), fft.make_scratch_vec());
        PowerSpectrum { fft, output, scratch }
    }

    /// The power at frequencies 0 to half the sample rate, one more than half the samples. What is in `frame` is lost.
    pub fn compute(&mut self, frame: &mut [f32], power: &mut [f32]) {
        let done = self.fft.process_with_scratch(frame, &mut self.output, &mut self.scratch);
        debug_assert!(done.is_ok(), "all buffers were made for this length");
        power.iter_mut().zip(&self.output).for_each(|(p, z)| *p = z.norm_sqr());
    }
}
