//! Features of sound that arrives in pieces (`OnlineGenericBaseFeature` of `feat/online-feature.cc`).

use super::extractor::Extractor;
use super::resample::Resampler;
use crate::error::{Error, Result};

/// The smallest number of frames to keep, if old frames are dropped. Users of the features read a part of the past
/// again.
const FEWEST_KEPT: usize = 200;

/// The frames of one recording, as far as its samples have come.
pub struct FeatureStream {
    extractor: Extractor,
    /// The rate of the input (in Hz), and the resampler to the rate of the extractor.
    source: Option<(f32, Option<Resampler>)>,
    /// Samples that frames to come need; `gone` were before them.
    samples: Vec<f32>,
    gone: u64,
    /// The last frames, a row each; `dropped` were before them.
    frames: Vec<f32>,
    dropped: usize,
    finished: bool,
}

impl FeatureStream {
    pub fn new(extractor: Extractor) -> Result<FeatureStream> {
        if let Some(kept) = extractor.options().frames.max_feature_vectors
            && kept <= FEWEST_KEPT
        {
            return Err(Error::options(format!(
                "`max-feature-vectors`={kept}: expected a number above {FEWEST_KEPT}, or -1 for all"
            )));
        }
        Ok(FeatureStream {
            extractor,
            source: None,
            samples: Vec::new(),
            gone: 0,
            frames: Vec::new(),
            dropped: 0,
            finished: false,
        })
    }

    /// Forgets the recording, for the next one.
    pub fn restart(&mut self) {
        self.source = None;
        self.samples.clear();
        self.gone = 0;
        self.frames.clear();
        self.dropped = 0;
        self.finished = false;
    }

    /// Features of a frame.
    pub fn dim(&self) -> usize {
        self.extractor.dim()
    }

    /// In seconds.
    pub fn frame_shift(&self) -> f32 {
        self.extractor.options().frames.shift / 1000.0
    }

    /// Takes the next samples, at this rate (in Hz), which must stay the same.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        if samples.is_empty() {
            return Ok(());
        }
        if self.finished {
            return Err(Error::data("samples after the end of the recording"));
        }
        let (known, resampler) = match &mut self.source {
            Some(source) => source,
            none => {
                let cutoff = self.extractor.resampler(rate)?;
                let to = self.extractor.options().frames.sample_rate;
                let resampler = cutoff.map(|cutoff| Resampler::new(rate, to, cutoff)).transpose()?;
                none.insert((rate, resampler))
            }
        };
        if *known != rate {
            return Err(Error::data(format!(
                "one recording has samples at {known} Hz and then at {rate} Hz"
            )));
        }
        match resampler {
            Some(resampler) => self.samples.extend(resampler.accept(samples)),
            None => self.samples.extend(samples),
        }
        self.compute();
        Ok(())
    }

    /// Announces the end of the samples. The last frames become ready.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        if let Some((_, Some(resampler))) = &mut self.source {
            self.samples.extend(resampler.finish(&[]));
        }
        self.finished = true;
        self.compute();
    }

    /// True if no further frames will come.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Frames so far.
    pub fn ready(&self) -> usize {
        self.dropped + self.frames.len() / self.dim()
    }

    /// Returns frame `t`, or `None` if it is not ready yet, or has been dropped.
    pub fn frame(&self, t: usize) -> Option<&[f32]> {
        let start = t.checked_sub(self.dropped)? * self.dim();
        self.frames.get(start..start + self.dim())
    }

    /// Drops the frames before `t`.
    pub fn forget_before(&mut self, t: usize) {
        let surplus = t.min(self.ready()).saturating_sub(self.dropped);
        self.frames.drain(..surplus * self.dim());
        self.dropped += surplus;
    }

    fn compute(&mut self) {
        let options = &self.extractor.options().frames;
        let (kept, total) = (options.max_feature_vectors, self.gone + self.samples.len() as u64);
        let (old, new) = (self.ready(), options.count(total, self.finished));
        let next_sample = options.first_sample(new.max(old));
        let dim = self.dim();
        for t in old..new {
            let start = self.frames.len();
            self.frames.resize(start + dim, 0.0);
            self.extractor.frame(None, (&self.samples, self.gone), t, &mut self.frames[start..]);
        }
        let useless = (next_sample - self.gone as i64).clamp(0, self.samples.len() as i64) as usize;
        self.samples.drain(..useless);
        self.gone += useless as u64;
        // The buffer has twice the kept size, so frames are moved seldom.
        if let Some(kept) = kept.filter(|kept| self.frames.len() / dim >= 2 * kept) {
            let surplus = self.frames.len() / dim - kept;
            self.frames.drain(..surplus * dim);
            self.dropped += surplus;
        }
    }
}
