//! Features of pitch of sound that arrives in pieces.

use super::options::{PitchOptions, PitchProcessOptions};
use super::process::PitchProcessor;
use super::tracker::PitchTracker;
use crate::error::{Error, Result};
use crate::spectral::noise::Noise;

/// The features of one recording, up to the samples that have arrived.
///
/// A frame becomes ready `normalization_right_context` frames late (minus `delay`). The last frames become ready when
/// the recording is finished. A request computes features from the pitch at that moment.
pub struct PitchStream {
    options: PitchOptions,
    /// The rate of the input in Hz, once it is known, and the tracker for it.
    tracker: Option<(f32, PitchTracker)>,
    processor: PitchProcessor<Box<dyn FnMut() -> f32 + Send>>,
    finished: bool,
}

impl PitchStream {
    /// Prepares for a recording. Every stream has the same noise.
    pub fn new(options: &PitchOptions, process: &PitchProcessOptions) -> Result<PitchStream> {
        options.check()?;
        let mut noise = Noise::new();
        let noise: Box<dyn FnMut() -> f32 + Send> = Box::new(move || noise.next());
        let processor = PitchProcessor::new(process.clone(), noise)?;
        Ok(PitchStream { options: options.clone(), tracker: None, processor, finished: false })
    }

    /// Features of a frame.
    pub fn dim(&self) -> usize {
        self.processor.dim()
    }

    /// Takes the next samples, at this rate (in Hz), which must not change. It may differ from the rate in the options,
    /// because pitch is computed from resampled sound.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        if samples.is_empty() {
            return Ok(());
        }
        if self.finished {
            return Err(Error::data("samples after the end of the recording"));
        }
        let (known, tracker) = match &mut self.tracker {
            Some(tracker) => tracker,
            none => none.insert((rate, PitchTracker::for_rate(&self.options, rate)?)),
        };
        if *known != rate {
            return Err(Error::data(format!(
                "one recording has samples at {known} Hz and then at {rate} Hz"
            )));
        }
        tracker.accept(samples);
        Ok(())
    }

    /// Announces the end of the samples. The last frames become ready.
    pub fn finish(&mut self) {
        self.finished = true;
        if let Some((_, tracker)) = &mut self.tracker {
            tracker.finish();
        }
    }

    /// Frames so far.
    pub fn ready(&self) -> usize {
        self.tracker.as_ref().map_or(0, |(_, tracker)| self.processor.ready(tracker))
    }

    /// Appends the present features of frame `t`; no effect if it is not ready.
    pub fn append(&mut self, t: usize, out: &mut Vec<f32>) {
        if let Some((_, tracker)) = &self.tracker
            && t < self.processor.ready(tracker)
        {
            self.processor.append(tracker, t, out);
        }
    }
}
