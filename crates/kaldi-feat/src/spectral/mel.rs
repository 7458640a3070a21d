//! Filters with centres at equal distances on the mel scale.

use super::frames::{FrameOptions, dot};
use crate::error::{Error, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct MelOptions {
    /// The number of filters, at least 3.
    pub bins: usize,
    /// In Hz.
    pub low: f32,
    /// In Hz; if not above 0, an offset from half the sample rate.
    pub high: f32,
    /// First bend of the warping for vocal tract length normalisation, in Hz.
    pub vtln_low: f32,
    /// Second bend, in Hz; a value below 0 is an offset from half the sample rate.
    pub vtln_high: f32,
}

impl Default for MelOptions {
    fn default() -> Self {
        MelOptions { bins: 23, low: 20.0, high: 0.0, vtln_low: 100.0, vtln_high: -500.0 }
    }
}

impl MelOptions {
    /// The lowest and the highest frequency, in Hz.
    fn range(&self, nyquist: f32) -> Result<(f32, f32)> {
        if self.bins < 3 {
            return Err(Error::options(format!("{} mel bins: expected at least 3", self.bins)));
        }
        let low = self.low;
        let high = if self.high > 0.0 { self.high } else { nyquist + self.high };
        if !(low >= 0.0 && low < nyquist && high > low && high <= nyquist) {
            return Err(Error::options(format!(
                "mel bins from {low} to {high} Hz: expected a range between 0 and half the sample frequency, {nyquist}"
            )));
        }
        Ok((low, high))
    }
}

/// The centres of the filters, without warping.
#[derive(Debug, Clone)]
pub(crate) struct MelScale {
    bins: usize,
    low: f64,
    /// The distance of neighbours.
    step: f64,
}

impl MelScale {
    pub fn new(options: &MelOptions, sample_rate: f32) -> Result<MelScale> {
        let (low, high) = options.range(0.5 * sample_rate)?;
        let (low, high) = (f64::from(mel(low)), f64::from(mel(high)));
        Ok(MelScale { bins: options.bins, low, step: (high - low) / (options.bins + 1) as f64 })
    }

    pub fn bins(&self) -> usize {
        self.bins
    }

    /// The centre of a filter, in Hz.
    pub fn centre(&self, bin: usize) -> f64 {
        f64::from(frequency((self.low + (bin + 1) as f64 * self.step) as f32))
    }

    /// The place of a frequency (in Hz) among the filters: 0 at the centre of the first.
    pub fn bin_of(&self, hertz: f64) -> f64 {
        (f64::from(mel(hertz as f32)) - self.low) / self.step - 1.0
    }
}

fn mel(frequency: f32) -> f32 {
    1127.0 * (1.0 + frequency / 700.0).ln()
}

fn frequency(mel: f32) -> f32 {
    700.0 * ((mel / 1127.0).exp() - 1.0)
}

/// A triangular filter: its weights, and the bin of the spectrum that the first one is for.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    /// In Hz, after warping.
    centre: f32,
    first: usize,
    weights: Vec<f32>,
}

/// The filters for one warp factor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MelBank {
    filters: Vec<Filter>,
}

/// The piecewise linear warping of frequencies (not HTK's): `low` and `high` stay, the middle part is divided by `factor`.
struct Warp {
    low: f32,
    high: f32,
    bends: (f32, f32),
    factor: f32,
}

impl Warp {
    fn apply(&self, f: f32) -> f32 {
        if f < self.low || f > self.high {
            return f;
        }
        let l = self.bends.0 * self.factor.max(1.0);
        let h = self.bends.1 * self.factor.min(1.0);
        let scale = 1.0 / self.factor;
        if f < l {
            self.low + (scale * l - self.low) / (l - self.low) * (f - self.low)
        } else if f < h {
            scale * f
        } else {
            self.high + (self.high - scale * h) / (self.high - h) * (f - self.high)
        }
    }
}

impl MelBank {
    /// Makes the filters for the spectrum of a padded frame. A warp factor of 1 does not warp.
    pub fn new(options: &MelOptions, frames: &FrameOptions, factor: f32) -> Result<MelBank> {
        let nyquist = 0.5 * frames.sample_rate;
        let (low, high) = options.range(nyquist)?;
        let warp = Self::warp(options, (low, high), nyquist, factor)?;
        let warped = |m: f32| warp.as_ref().map_or(m, |warp| mel(warp.apply(frequency(m))));
        let padded = frames.padded_samples();
        if options.bins > padded {
            return Err(Self::too_many(options.bins, 0));
        }
        let width = frames.sample_rate / padded as f32;
        let mels: Vec<f32> = (0..padded / 2).map(|i| mel(width * i as f32)).collect();
        let (mel_low, mel_high) = (mel(low), mel(high));
        let delta = (mel_high - mel_low) / (options.bins + 1) as f32;
        let filter = |bin: usize| {
            let edge = |i: usize| warped(mel_low + (bin + i) as f32 * delta);
            let (left, centre, right) = (edge(0), edge(1), edge(2));
            let inside = |&m: &f32| m > left && m < right;
            let first = mels.iter().position(inside).ok_or_else(|| Self::too_many(options.bins, bin))?;
            let weight = |&m: &f32| {
                if m <= centre { (m - left) / (centre - left) } else { (right - m) / (right - centre) }
            };
            let weights = mels[first..].iter().take_while(|m| inside(m)).map(weight).collect();
            Ok(Filter { centre: frequency(centre), first, weights })
        };
        Ok(MelBank { filters: (0..options.bins).map(filter).collect::<Result<_>>()? })
    }

    fn too_many(bins: usize, bin: usize) -> Error {
        Error::options(format!(
            "{bins} mel bins are too many: no frequency of the Fourier transform lies in bin {bin}"
        ))
    }

    fn warp(
        options: &MelOptions,
        (low, high): (f32, f32),
        nyquist: f32,
        factor: f32,
    ) -> Result<Option<Warp>> {
        if factor == 1.0 {
            return Ok(None);
        }
        let bends = (
            options.vtln_low,
            if options.vtln_high < 0.0 { options.vtln_high + nyquist } else { options.vtln_high },
        );
        if !(bends.0 > low && bends.0 < high && bends.1 > bends.0 && bends.1 < high) {
            return Err(Error::options(format!(
                "bends of the warping at {} and {} Hz: expected two frequencies between those of the mel bins, {low} and \
                 {high} Hz",
                bends.0, bends.1
            )));
        }
        let warp = Warp { low, high, bends, factor };
        // Outside, the function would not rise everywhere.
        if !(factor > 0.0 && bends.0 * factor.max(1.0) < bends.1 * factor.min(1.0)) {
            return Err(Error::options(format!(
                "a warp factor of {factor}: the bends of the warping would lie at {} and {} Hz",
                bends.0 * factor.max(1.0),
                bends.1 * factor.min(1.0)
            )));
        }
        Ok(Some(warp))
    }

    /// Filtered sums of a spectrum.
    pub(super) fn apply(&self, spectrum: &[f32], energies: &mut [f32]) {
        for (filter, energy) in self.filters.iter().zip(energies) {
            let part = &spectrum[filter.first..filter.first + filter.weights.len()];
            *energy = dot(&filter.weights, part);
        }
    }

    /// The number of filters.
    pub fn len(&self) -> usize {
        self.filters.len()
    }

    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Returns the frequencies of the filters' centres in Hz, after warping.
    pub fn centres(&self) -> impl Iterator<Item = f32> {
        self.filters.iter().map(|filter| filter.centre)
    }

    /// Returns for each filter the number of its first frequency in the Fourier transform, and its weights.
    pub fn filters(&self) -> impl Iterator<Item = (usize, &[f32])> {
        self.filters.iter().map(|filter| (filter.first, &filter.weights[..]))
    }
}
