//! From samples to pitch, while they arrive (`OnlinePitchFeatureImpl` of `feat/pitch-functions.cc`).

use super::COLUMNS;
use super::correlation::Correlation;
use super::interpolation::{Interpolation, LANES, Lanes};
use super::options::PitchOptions;
use super::signal::{Layout, Signal};
use super::viterbi::{State, Viterbi};
use crate::error::Result;
use crate::spectral::Resampler;

/// Frames between searches for pitch that cannot change any more.
const FRAMES_TO_SETTLE: usize = 64;
/// Relative change of the signal's energy above which the search is done again.
const CHANGE: f64 = 0.01;

/// Finds the pitch of one recording.
///
/// The pitch of a frame belongs to the best sequence of lags for all samples so far, so later samples change it. A
/// frame whose pitch cannot change any more needs only the memory of its pitch.
pub struct PitchTracker {
    options: PitchOptions,
    layout: Layout,
    resampler: Resampler,
    signal: Signal,
    correlation: Correlation,
    interpolation: Interpolation,
    viterbi: Viterbi,
    /// Lags of the search in seconds, and their products with `soft_min_f0`.
    lags: Vec<f32>,
    soft: Vec<f32>,
    /// Frames that cannot change any more.
    settled: Vec<[f32; COLUMNS]>,
    /// Search results of the frames after them: the NCCF at whole lags, the best previous lags, and the best sequence
    /// of lags.
    nccf: Vec<f32>,
    back: Vec<State>,
    path: Vec<State>,
    /// All frames so far, if the search may have to be done again.
    first: Option<Vec<FirstFrame>>,
    latency: usize,
    finished: bool,
    /// Scratch memory of the frames that are computed side by side.
    measured: Vec<Lanes>,
    searched: Vec<Lanes>,
    local: Vec<f32>,
}

/// A frame of the beginning.
struct FirstFrame {
    /// Variance of the signal from which the NCCF was computed.
    energy: f64,
    mean_norm: f64,
    /// The NCCF at the lags of the search.
    nccf: Vec<f32>,
}

/// True if the beginning has to be kept, for a second search.
fn searches_again(options: &PitchOptions) -> bool {
    !options.nccf_ballast_online && options.recompute_frame > 0
}

impl PitchTracker {
    /// Prepares for a recording at the sample rate of the options.
    pub fn new(options: &PitchOptions) -> Result<PitchTracker> {
        PitchTracker::for_rate(options, options.sample_rate)
    }

    /// Prepares for a recording at another sample rate (in Hz).
    pub fn for_rate(options: &PitchOptions, rate: f32) -> Result<PitchTracker> {
        let options = PitchOptions { sample_rate: rate, ..options.clone() };
        options.check()?;
        let PitchOptions { resample_rate, lowpass_cutoff, .. } = options;
        let resampler =
            Resampler::with_zeros(rate, resample_rate, lowpass_cutoff, options.lowpass_filter_width)?;
        let (first_lag, last_lag) = (options.first_lag() as usize, options.last_lag() as usize);
        let layout = Layout::new(&options);
        let correlation = Correlation::new(layout.window, first_lag, last_lag);
        let lags = options.lags();
        let interpolation = Interpolation::new(
            resample_rate,
            first_lag,
            correlation.lags(),
            &lags,
            options.upsample_filter_width,
        );
        let step = (1.0 + f64::from(options.delta_pitch)).ln().powi(2) as f32;
        Ok(PitchTracker {
            layout,
            resampler,
            signal: Signal::default(),
            interpolation,
            viterbi: Viterbi::new(lags.len(), step * options.penalty_factor),
            soft: lags.iter().map(|lag| options.soft_min_f0 * lag).collect(),
            settled: Vec::new(),
            nccf: Vec::new(),
            back: Vec::new(),
            path: Vec::new(),
            first: searches_again(&options).then(Vec::new),
            latency: 0,
            finished: false,
            measured: vec![[0.0; LANES]; correlation.lags()],
            searched: vec![[0.0; LANES]; lags.len()],
            local: vec![0.0; lags.len()],
            correlation,
            lags,
            options,
        })
    }

    /// Forgets the recording, for the next one.
    pub fn restart(&mut self) {
        self.resampler.restart();
        self.signal.restart();
        self.viterbi.restart();
        self.settled.clear();
        self.nccf.clear();
        self.back.clear();
        self.path.clear();
        self.first = searches_again(&self.options).then(Vec::new);
        (self.latency, self.finished) = (0, false);
    }

    pub fn options(&self) -> &PitchOptions {
        &self.options
    }

    /// Takes the next samples.
    pub fn accept(&mut self, samples: &[f32]) {
        let resampled = self.resampler.accept(samples);
        self.take(&resampled);
    }

    /// Marks the end of the samples: the last frames become ready, and the results are final.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        self.finished = true;
        let resampled = self.resampler.finish(&[]);
        self.take(&resampled);
        if self.first.is_some() {
            self.search_again();
            self.trace();
        }
        self.latency = 0;
    }

    /// Frames so far, whether they are ready or not.
    fn frames(&self) -> usize {
        self.settled.len() + self.back.len() / self.viterbi.states()
    }

    /// Returns the number of frames so far, without the frames that are held back.
    pub fn ready(&self) -> usize {
        self.frames() - self.latency
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the current NCCF and pitch (in Hz) of frame `t`, which must be ready.
    pub fn frame(&self, t: usize) -> [f32; COLUMNS] {
        match t.checked_sub(self.settled.len()) {
            None => self.settled[t],
            Some(open) => self.value(open, self.path[open]),
        }
    }

    /// The cost of the best sequence of lags, divided by the number of frames. `None` if there are no frames.
    pub fn cost_per_frame(&self) -> Option<f64> {
        let frames = self.frames();
        (frames > 0).then(|| self.viterbi.cost() / frames as f64)
    }

    /// NCCF and pitch of a frame (from the first one that is not settled) at a lag.
    fn value(&self, open: usize, lag: State) -> [f32; COLUMNS] {
        let (lag, measured) = (usize::from(lag), self.correlation.lags());
        let nccf = &self.nccf[open * measured..][..measured];
        [self.interpolation.one(nccf, lag), 1.0 / self.lags[lag]]
    }

    fn take(&mut self, resampled: &[f32]) {
        self.signal.extend(resampled);
        let (old, energy) = (self.frames(), self.signal.energy());
        let new = self.layout.count(self.signal.len(), self.finished);
        for t in (old..new).step_by(LANES) {
            self.compute(t, LANES.min(new - t), energy);
            if self.back.len() / self.viterbi.states() >= FRAMES_TO_SETTLE {
                self.settle();
            }
        }
        self.signal.forget(self.layout.start(new.max(old)));
        self.settle();
        self.trace();
    }

    /// Computes up to [`LANES`] frames together, from `t` on, and continues the search.
    fn compute(&mut self, t: usize, frames: usize, energy: f64) {
        let (mut energies, mut norms) = ([energy; LANES], [0.0; LANES]);
        for k in 0..frames {
            let start = self.layout.start(t + k);
            self.signal.cut(start, self.options.preemphasis, self.correlation.samples());
            self.correlation.compute();
            if self.options.nccf_ballast_online {
                energies[k] = self.signal.energy_up_to(start + self.layout.span as i64);
            }
            norms[k] = self.correlation.mean_norm();
            let ballast = self.ballast(energies[k]) as f32;
            let values = self.correlation.normalized(ballast);
            self.measured.iter_mut().zip(values).for_each(|(lanes, nccf)| lanes[k] = nccf);
            self.nccf.extend(self.correlation.normalized(0.0));
        }
        self.interpolation.all(&self.measured, &mut self.searched);
        for k in 0..frames {
            self.local.iter_mut().zip(&self.searched).for_each(|(cost, lanes)| *cost = lanes[k]);
            if let Some(first) = &mut self.first {
                let nccf = self.local.clone();
                first.push(FirstFrame { energy: energies[k], mean_norm: norms[k], nccf });
            }
            self.step(self.back.len());
            if self.first.as_ref().is_some_and(|first| first.len() == self.options.recompute_frame) {
                self.search_again();
            }
        }
    }

    /// Advances the search by the frame with its NCCF in `local`: the cost of a lag is 1 − NCCF · (1 − soft_min_f0 ·
    /// lag). Stores the best previous lags from place `at`.
    fn step(&mut self, at: usize) {
        self.local.iter_mut().zip(&self.soft).for_each(|(cost, soft)| *cost = (1.0 - *cost) + soft * *cost);
        let states = self.viterbi.states();
        self.back.resize(self.back.len().max(at + states), 0);
        self.viterbi.step(&self.local, &mut self.back[at..at + states]);
    }

    /// Addition to the squared denominator of the NCCF, for a signal of this variance.
    fn ballast(&self, energy: f64) -> f64 {
        (energy * self.layout.window as f64).powi(2) * f64::from(self.options.nccf_ballast)
    }

    /// Does the search again with the energy of all samples so far, if that differs. The frames of the beginning are
    /// not needed afterwards.
    fn search_again(&mut self) {
        let Some(first) = self.first.take() else { return };
        let energy = self.signal.energy();
        let differs = |old: f64| (old - energy).abs() > CHANGE * (old.abs() + energy.abs());
        if !first.iter().any(|frame| differs(frame.energy)) {
            return;
        }
        let ballast = self.ballast(energy);
        let states = self.viterbi.states();
        self.viterbi.restart();
        for (t, frame) in first.iter().enumerate() {
            let (old, new) = (self.ballast(frame.energy) + frame.mean_norm, ballast + frame.mean_norm);
            let scale = if new > 0.0 { (old / new).sqrt() as f32 } else { 1.0 };
            self.local.iter_mut().zip(&frame.nccf).for_each(|(x, nccf)| *x = scale * nccf);
            self.step(t * states);
        }
    }

    /// Moves frames that all sequences of lags share to `settled`.
    fn settle(&mut self) {
        if self.first.is_some() {
            return;
        }
        let states = self.viterbi.states();
        let (mut low, mut high) = (0, states - 1);
        // The last frame at which all sequences are at one lag.
        let mut shared = None;
        for t in (1..self.back.len() / states).rev() {
            let back = &self.back[t * states..][..states];
            (low, high) = (usize::from(back[low]), usize::from(back[high]));
            if low == high {
                shared = Some((t - 1, low as State));
                break;
            }
        }
        let Some((last, mut lag)) = shared else { return };
        let begin = self.settled.len();
        for t in (0..=last).rev() {
            self.settled.push(self.value(t, lag));
            lag = self.back[t * states + usize::from(lag)];
        }
        self.settled[begin..].reverse();
        self.back.drain(..(last + 1) * states);
        self.nccf.drain(..(last + 1) * self.correlation.lags());
        self.path.drain(..self.path.len().min(last + 1));
    }

    /// Finds the best sequence of lags, and the frames to hold back.
    fn trace(&mut self) {
        let states = self.viterbi.states();
        let frames = self.back.len() / states;
        self.path.resize(frames, 0);
        let mut lag = self.viterbi.best();
        for t in (0..frames).rev() {
            self.path[t] = lag;
            lag = self.back[t * states + usize::from(lag)];
        }
        let (mut low, mut high) = (0, states - 1);
        self.latency = 0;
        for t in (0..frames).rev().take(self.options.max_frames_latency) {
            let back = &self.back[t * states..][..states];
            (low, high) = (usize::from(back[low]), usize::from(back[high]));
            if low == high {
                return;
            }
            self.latency += 1;
        }
    }
}
