//! Frames for a network: base features and, after them, pitch features, normalised.

use std::collections::VecDeque;

use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::{OnlineCmvnOptions, OnlineCmvnState, OnlineCmvnStream};
use kaldi_feat::pitch::{PitchOptions, PitchProcessOptions, PitchStream};
use kaldi_feat::spectral::{Extractor, FeatureStream, SpectralOptions};

use crate::error::{Error, Result};

/// The features that a network reads: features of each frame's spectrum, then pitch, and the normalisation of both.
#[derive(Debug, Clone)]
pub struct NetworkFeatures {
    /// Base features, which i-vectors are estimated of, too.
    pub base: SpectralOptions,
    /// Pitch and its features, if there are any.
    pub pitch: Option<(PitchOptions, PitchProcessOptions)>,
    /// Normalisation with these global statistics, if there is any.
    pub cmvn: Option<(OnlineCmvnOptions, CmvnStats)>,
}

impl From<SpectralOptions> for NetworkFeatures {
    fn from(base: SpectralOptions) -> Self {
        NetworkFeatures { base, pitch: None, cmvn: None }
    }
}

impl NetworkFeatures {
    /// Features of a frame.
    pub fn dim(&self) -> usize {
        self.base.dim() + self.pitch.as_ref().map_or(0, |(_, process)| process.dim())
    }

    pub(crate) fn check(&self) -> Result<()> {
        FeatureStream::new(Extractor::new(self.base.clone())?)?;
        if let Some((pitch, process)) = &self.pitch {
            PitchStream::new(pitch, process)?;
            let frames = &self.base.frames;
            if (pitch.sample_rate, pitch.frame_shift) != (frames.sample_rate, frames.shift) {
                return Err(Error::options(format!(
                    "pitch at {} Hz every {} ms does not fit the other features at {} Hz every {} ms: expected the same \
                     sample frequency and frame shift",
                    pitch.sample_rate, pitch.frame_shift, frames.sample_rate, frames.shift
                )));
            }
        }
        if let Some((options, global)) = &self.cmvn {
            options.check(global)?;
            if global.dim() != self.dim() {
                return Err(Error::data(format!(
                    "the features of sound have dimension {}, the global statistics of their normalisation {}",
                    self.dim(),
                    global.dim()
                )));
            }
        }
        Ok(())
    }
}

/// The frames of one utterance, up to the samples that have arrived.
///
/// Pitch arrives later than base features and may change, so a frame is assembled at the first request.
pub(crate) struct NetworkFrames {
    pitch: Option<PitchStream>,
    cmvn: Option<OnlineCmvnStream>,
    /// Frames that are kept at least; all if `None`.
    kept: Option<usize>,
    /// Base features of frames that have not been requested, after `dropped` and `made`.
    waiting: VecDeque<Vec<f32>>,
    /// Whole frames; `dropped` were before them.
    made: VecDeque<Vec<f32>>,
    dropped: usize,
}

impl NetworkFrames {
    /// Begins an utterance of a speaker with the normalisation in `state`, if there is one.
    pub fn new(features: &NetworkFeatures, state: Option<OnlineCmvnState>) -> Result<NetworkFrames> {
        let pitch = features.pitch.as_ref().map(|(pitch, process)| PitchStream::new(pitch, process));
        let cmvn = features.cmvn.as_ref().map(|(options, global)| {
            let state = state.unwrap_or_else(|| OnlineCmvnState::new(global.clone()));
            if state.global.dim() != features.dim() {
                return Err(Error::data(format!(
                    "the state of the speaker has features of dimension {}, expected {}",
                    state.global.dim(),
                    features.dim()
                )));
            }
            Ok(OnlineCmvnStream::new(options.clone(), state)?)
        });
        Ok(NetworkFrames {
            pitch: pitch.transpose()?,
            cmvn: cmvn.transpose()?,
            kept: features.base.frames.max_feature_vectors,
            waiting: VecDeque::new(),
            made: VecDeque::new(),
            dropped: 0,
        })
    }

    /// Takes the next samples, at this rate (in Hz), for pitch.
    pub fn accept(&mut self, rate: f32, samples: &[f32]) -> Result<()> {
        self.pitch.as_mut().map_or(Ok(()), |pitch| Ok(pitch.accept(rate, samples)?))
    }

    /// Takes the base features of the next frame.
    pub fn push(&mut self, base: &[f32]) -> Result<()> {
        self.waiting.push_back(base.to_vec());
        while let Some(kept) = self.kept
            && self.waiting.len() + self.made.len() > 2 * kept
        {
            if self.made.is_empty() && !self.make()? {
                break;
            }
            self.made.pop_front();
            self.dropped += 1;
        }
        Ok(())
    }

    /// Announces the end of the samples. Pitch of the last frames becomes ready.
    pub fn finish(&mut self) {
        if let Some(pitch) = &mut self.pitch {
            pitch.finish();
        }
    }

    /// Frames so far.
    pub fn ready(&self) -> usize {
        let base = self.dropped + self.made.len() + self.waiting.len();
        self.pitch.as_ref().map_or(base, |pitch| pitch.ready().min(base))
    }

    /// Returns frame `t`, or `None` if it is not ready yet, or has been dropped.
    pub fn frame(&mut self, t: usize) -> Result<Option<&[f32]>> {
        let Some(at) = t.checked_sub(self.dropped) else { return Ok(None) };
        while self.made.len() <= at {
            if !self.make()? {
                return Ok(None);
            }
        }
        Ok(self.made.get(at).map(Vec::as_slice))
    }

    /// State of the normalisation after all frames so far.
    pub fn state(&mut self) -> Result<Option<OnlineCmvnState>> {
        if self.cmvn.is_some() {
            while self.make()? {}
        }
        Ok(self.cmvn.as_ref().map(OnlineCmvnStream::state))
    }

    /// Puts the next frame together. False if it is not ready.
    fn make(&mut self) -> Result<bool> {
        let t = self.dropped + self.made.len();
        if t >= self.ready() {
            return Ok(false);
        }
        let Some(mut frame) = self.waiting.pop_front() else { return Ok(false) };
        if let Some(pitch) = &mut self.pitch {
            pitch.append(t, &mut frame);
        }
        if let Some(cmvn) = &mut self.cmvn {
            cmvn.normalize(&mut frame)?;
        }
        self.made.push_back(frame);
        Ok(true)
    }
}
