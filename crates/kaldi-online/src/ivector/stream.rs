//! The i-vectors of one utterance while its features arrive (`OnlineIvectorFeature` of
//! `online2/online-ivector-feature.cc`).

use std::collections::BTreeMap;
use std::sync::Arc;

use kaldi_feat::online_cmvn::OnlineCmvnStream;
use kaldi_ivector::{OnlineStats, Solution};

use super::model::IvectorModel;
use super::splice::SplicedFrames;
use super::state::AdaptationState;
use crate::error::{Error, Result};

/// Steps of conjugate gradients for an estimate.
const STEPS: usize = 15;

/// Estimates i-vectors of the frames so far. Posteriors come from normalised features, statistics from features that are
/// not.
#[derive(Debug)]
pub struct IvectorStream {
    model: Arc<IvectorModel>,
    cmvn: OnlineCmvnStream,
    normalized: SplicedFrames,
    plain: SplicedFrames,
    stats: OnlineStats,
    /// The latest estimate.
    current: Vec<f64>,
    /// The estimates at every so many frames, if not the latest is wanted.
    history: Vec<Vec<f32>>,
    /// Frames before this one are part of the statistics.
    counted: usize,
    weights: Weights,
    likelihood: f64,
    exact_solutions: usize,
}

/// The weight of each frame.
#[derive(Debug)]
enum Weights {
    /// All frames weigh one: nothing was said of weights. Frames may have been counted.
    Ones,
    /// Changes of weights, by frame, that are not yet part of the statistics.
    Changes(BTreeMap<usize, f32>),
}

/// The course of the estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnostics {
    /// The sum of the posteriors, as frames.
    pub frames: f64,
    /// The log-likelihood by the mixture, for each frame.
    pub likelihood: f64,
    /// The log-likelihood with the latest i-vector over that without, divided by the sum of the posteriors.
    pub improvement: f64,
    /// Estimates for which steps of conjugate gradients had led away from the solution.
    pub exact_solutions: usize,
}

impl IvectorStream {
    /// Begins an utterance of a speaker of whom `state` is known.
    pub fn new(model: Arc<IvectorModel>, state: AdaptationState) -> Result<Self> {
        if state.stats.ivector_dim() != model.ivector_dim() || state.cmvn.global.dim() != model.feature_dim()
        {
            return Err(Error::data(format!(
                "the state of the speaker has i-vectors of dimension {} and features of {}, expected {} and {}",
                state.stats.ivector_dim(),
                state.cmvn.global.dim(),
                model.ivector_dim(),
                model.feature_dim()
            )));
        }
        let mut current = vec![0.0; model.ivector_dim()];
        current[0] = model.terms.prior_offset();
        Ok(IvectorStream {
            cmvn: OnlineCmvnStream::new(model.cmvn.clone(), state.cmvn)?,
            normalized: SplicedFrames::default(),
            plain: SplicedFrames::default(),
            stats: state.stats,
            current,
            history: Vec::new(),
            counted: 0,
            weights: Weights::Ones,
            likelihood: 0.0,
            exact_solutions: 0,
            model,
        })
    }

    /// Takes the next frame of features.
    pub fn accept(&mut self, frame: &[f32]) -> Result<()> {
        let mut normalized = frame.to_vec();
        self.cmvn.normalize(&mut normalized)?;
        self.normalized.accept(&self.model.transform, &normalized);
        self.plain.accept(&self.model.transform, frame);
        Ok(())
    }

    /// Says that no more frames come: those at the end become ready.
    pub fn finish(&mut self) {
        self.normalized.finish(&self.model.transform);
        self.plain.finish(&self.model.transform);
    }

    /// Frames for which an i-vector can be asked for.
    pub fn ready(&self) -> usize {
        self.plain.ready()
    }

    /// Adds to the weights of frames, which are 0 from the first call on; frames may be still to come. The first call must
    /// be before the first i-vector is asked for.
    pub fn change_weights(&mut self, changes: impl IntoIterator<Item = (usize, f32)>) -> Result<()> {
        if matches!(self.weights, Weights::Ones) {
            if self.counted > 0 {
                return Err(Error::data(
                    "the utterance has i-vectors without frame weights and then frame weights",
                ));
            }
            self.weights = Weights::Changes(BTreeMap::new());
        }
        if let Weights::Changes(known) = &mut self.weights {
            changes.into_iter().for_each(|(frame, change)| *known.entry(frame).or_default() += change);
        }
        Ok(())
    }

    /// The i-vector for frame `t`, which must be ready; it is 0 where nothing is known.
    pub fn ivector(&mut self, t: usize) -> Result<Vec<f32>> {
        let ready = self.ready();
        if t >= ready {
            return Err(Error::data(format!(
                "the i-vector of frame {t} was requested, but only {ready} frames are ready"
            )));
        }
        self.count_until(if self.model.options.greedy { ready - 1 } else { t })?;
        if self.model.options.most_recent {
            return Ok(self.centered());
        }
        Ok(self.history[t / self.model.options.period].clone())
    }

    /// Makes frames up to this one part of the statistics, with estimates where they are due.
    fn count_until(&mut self, last: usize) -> Result<()> {
        let mut frames: BTreeMap<usize, f32> = BTreeMap::new();
        while self.counted <= last {
            let t = self.counted;
            match &mut self.weights {
                Weights::Ones => {
                    frames.insert(t, 1.0);
                }
                Weights::Changes(changes) => {
                    while let Some(change) = changes.first_entry()
                        && *change.key() <= t
                    {
                        let (frame, change) = change.remove_entry();
                        *frames.entry(frame).or_default() += change;
                    }
                }
            }
            let most_recent = self.model.options.most_recent;
            let due = if most_recent { t == last } else { t.is_multiple_of(self.model.options.period) };
            if due {
                self.count(&std::mem::take(&mut frames))?;
                self.exact_solutions +=
                    usize::from(self.stats.estimate(STEPS, &mut self.current) == Solution::Exact);
                if !most_recent {
                    self.history.push(self.centered());
                }
            }
            self.counted += 1;
        }
        self.count(&frames)?;
        if matches!(self.weights, Weights::Ones) {
            // No frame can be taken back, so none is needed any more.
            self.normalized.drop_before(self.counted);
            self.plain.drop_before(self.counted);
        }
        Ok(())
    }

    /// Adds frames with their weights, or changes of them, to the statistics.
    fn count(&mut self, weights: &BTreeMap<usize, f32>) -> Result<()> {
        let options = &self.model.options;
        let mut frames = Vec::with_capacity(weights.len());
        for (&t, &weight) in weights.iter().filter(|(_, weight)| **weight != 0.0) {
            let (Some(normalized), Some(plain)) = (self.normalized.frame(t), self.plain.frame(t)) else {
                return Err(Error::data(format!("frame {t} is no longer available")));
            };
            // What counts little needs fewer Gaussians.
            let least = (options.min_post / weight.abs()).min(0.99);
            let (mut posteriors, likelihood) =
                self.model.selector.posteriors(normalized, options.num_gselect, least)?;
            self.likelihood += f64::from(weight * likelihood);
            let scale = options.posterior_scale * weight;
            posteriors.iter_mut().for_each(|(_, posterior)| *posterior *= scale);
            frames.push((if options.normalized_statistics { normalized } else { plain }, posteriors));
        }
        self.stats.accumulate(&self.model.terms, &frames);
        Ok(())
    }

    /// The latest estimate, with an expectation of about 0.
    fn centered(&self) -> Vec<f32> {
        let mut out: Vec<f32> = self.current.iter().map(|&x| x as f32).collect();
        out[0] = (f64::from(out[0]) - self.model.terms.prior_offset()) as f32;
        out
    }

    /// Returns the speaker's state after the frames so far, for the next utterance.
    pub fn adaptation_state(&self) -> AdaptationState {
        let options = &self.model.options;
        let mut state = AdaptationState { cmvn: self.cmvn.state(), stats: self.stats.clone() };
        state.limit(options.max_remembered_frames.into(), options.posterior_scale.into());
        state
    }

    pub fn diagnostics(&self) -> Diagnostics {
        let frames = self.stats.count() / f64::from(self.model.options.posterior_scale);
        Diagnostics {
            frames,
            likelihood: if frames == 0.0 { 0.0 } else { self.likelihood / frames },
            improvement: self.stats.improvement(&self.current),
            exact_solutions: self.exact_solutions,
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
pub(super) mod tests;
