//! From frames to features.

use kaldi_io::DenseMatrix;

use super::fft::{self, Spectrum};
use super::frames::{EPSILON, FrameOptions, Framer, dot, log_energy};
use super::lifter::lifter_scale;
use super::mel::{MelBank, MelOptions};
use super::plp::{Plp, PlpOptions, equal_loudness};
use super::resample::Resampler;
use crate::error::{Error, Result};

/// The kind of features of a frame's spectrum.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Cepstra of the logarithms of mel energies.
    Mfcc {
        /// Number of cepstral coefficients; the zeroth one counts.
        num_ceps: usize,
        /// Scale of the higher ones; 0 for none.
        cepstral_lifter: f32,
    },
    /// Mel energies.
    Fbank {
        /// Their logarithms.
        log: bool,
        /// True if the filters are applied to powers, false if to magnitudes.
        power: bool,
    },
    /// Cepstra of linear prediction.
    Plp(PlpOptions),
    /// The spectrum itself, without mel filters.
    Spectrogram {
        /// True for the Fourier transform itself: both real values (at 0 and at half the sample rate), then real and
        /// imaginary parts. False for the logarithms of powers, with the logarithmic energy of the frame as the first
        /// value.
        raw_fft: bool,
    },
}

/// Use of the logarithmic energy of a frame: it replaces the zeroth cepstrum or the first power, or comes before mel
/// energies.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyOptions {
    pub used: bool,
    /// A lower limit of the energy, if above 0.
    pub floor: f32,
    /// True if the energy is computed before preemphasis and window.
    pub raw: bool,
    /// Energy or zeroth cepstrum (with a scale of √2) come last.
    pub htk_compat: bool,
}

impl Default for EnergyOptions {
    /// Not used. Its place and computation are Kaldi's.
    fn default() -> EnergyOptions {
        EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpectralOptions {
    pub frames: FrameOptions,
    pub mel: MelOptions,
    pub energy: EnergyOptions,
    pub kind: Kind,
}

impl SpectralOptions {
    /// The usual options of MFCC features of sound at this rate (in Hz): those of `compute-mfcc-feats`, 13 cepstra with the
    /// energy as the first one, and dither.
    pub fn mfcc(rate: f32) -> SpectralOptions {
        let energy = EnergyOptions { used: true, ..EnergyOptions::default() };
        let kind = Kind::Mfcc { num_ceps: 13, cepstral_lifter: 22.0 };
        SpectralOptions { frames: FrameOptions::at(rate), mel: MelOptions::default(), energy, kind }
    }

    /// The usual options of log mel energies of sound at this rate (in Hz): those of `compute-fbank-feats`, 23 filters, and
    /// dither.
    pub fn fbank(rate: f32) -> SpectralOptions {
        let kind = Kind::Fbank { log: true, power: true };
        let (mel, energy) = (MelOptions::default(), EnergyOptions::default());
        SpectralOptions { frames: FrameOptions::at(rate), mel, energy, kind }
    }

    /// Features of a frame.
    pub fn dim(&self) -> usize {
        match self.kind {
            Kind::Mfcc { num_ceps, .. } | Kind::Plp(PlpOptions { num_ceps, .. }) => num_ceps,
            Kind::Fbank { .. } => self.mel.bins + usize::from(self.energy.used),
            Kind::Spectrogram { raw_fft: false } => self.frames.padded_samples() / 2 + 1,
            Kind::Spectrogram { raw_fft: true } => self.frames.padded_samples(),
        }
    }

    fn check(&self) -> Result<()> {
        let (num_ceps, most, of) = match &self.kind {
            Kind::Mfcc { num_ceps, .. } => (*num_ceps, self.mel.bins, format!("{} mel bins", self.mel.bins)),
            Kind::Plp(PlpOptions { lpc_order: order @ (0 | MOST_LPC_ORDER..), .. }) => {
                return Err(Error::options(format!(
                    "linear prediction of order {order}: expected 1 to {}",
                    MOST_LPC_ORDER - 1
                )));
            }
            Kind::Plp(plp) => {
                (plp.num_ceps, plp.lpc_order + 1, format!("a prediction of order {}", plp.lpc_order))
            }
            Kind::Fbank { .. } | Kind::Spectrogram { .. } => return Ok(()),
        };
        match num_ceps {
            0 => Err(Error::options("the number of cepstra is 0: expected at least 1")),
            _ if num_ceps > most => {
                Err(Error::options(format!("{num_ceps} cepstra of {of}: there are at most {most}")))
            }
            _ => Ok(()),
        }
    }
}

/// A higher order of linear prediction than anybody can mean.
const MOST_LPC_ORDER: usize = 1000;

/// Mel filters, and the sensitivity of the ear at their centres if PLP needs it.
struct Filters {
    bank: MelBank,
    loudness: Vec<f32>,
}

impl Filters {
    fn new(options: &SpectralOptions, warp: f32) -> Result<Filters> {
        if matches!(options.kind, Kind::Spectrogram { .. }) {
            return Ok(Filters { bank: MelBank::default(), loudness: Vec::new() });
        }
        let bank = MelBank::new(&options.mel, &options.frames, warp)?;
        let loudness = match options.kind {
            Kind::Plp(_) => bank.centres().map(equal_loudness).collect(),
            _ => Vec::new(),
        };
        Ok(Filters { bank, loudness })
    }
}

/// Sees the mel energies of each frame, before logarithms.
type Observer = Box<dyn FnMut(&[f32]) + Send>;

/// Makes features of sound.
pub struct Extractor {
    options: SpectralOptions,
    framer: Framer,
    spectrum: Spectrum,
    filters: Filters,
    /// Filters for other warp factors than 1.
    warped: Vec<(f32, Filters)>,
    /// The cosine transform with the scales of the cepstra, a row a cepstrum.
    cosines: Vec<f32>,
    plp: Option<Plp>,
    observer: Option<Observer>,
    frame: Vec<f32>,
    power: Vec<f32>,
    energies: Vec<f32>,
}

fn cosine_transform(num_ceps: usize, bins: usize, lifter: f32) -> Vec<f32> {
    let b = bins as f64;
    let mut out = Vec::with_capacity(num_ceps * bins);
    for k in 0..num_ceps {
        let norm = if k == 0 { (1.0 / b).sqrt() } else { (2.0 / b).sqrt() };
        let lift = lifter_scale(lifter, k);
        let angle = std::f64::consts::PI / b * k as f64;
        out.extend((0..bins).map(|i| (norm * lift * (angle * (i as f64 + 0.5)).cos()) as f32));
    }
    out
}

impl Extractor {
    pub fn new(options: SpectralOptions) -> Result<Extractor> {
        options.check()?;
        let framer = Framer::new(options.frames.clone())?;
        let filters = Filters::new(&options, 1.0)?;
        let padded = options.frames.padded_samples();
        let (mut cosines, mut plp) = (Vec::new(), None);
        match &options.kind {
            Kind::Mfcc { num_ceps, cepstral_lifter } => {
                cosines = cosine_transform(*num_ceps, options.mel.bins, *cepstral_lifter);
            }
            Kind::Plp(options_of_plp) => plp = Some(Plp::new(options_of_plp, options.mel.bins)),
            Kind::Fbank { .. } | Kind::Spectrogram { .. } => {}
        }
        Ok(Extractor {
            spectrum: Spectrum::new(padded),
            frame: vec![0.0; padded],
            power: vec![0.0; padded / 2 + 1],
            energies: vec![0.0; filters.bank.len()],
            framer,
            filters,
            warped: Vec::new(),
            cosines,
            plp,
            observer: None,
            options,
        })
    }

    pub fn options(&self) -> &SpectralOptions {
        &self.options
    }

    /// Features of a frame.
    pub fn dim(&self) -> usize {
        self.options.dim()
    }

    /// The filters without warping; spectrograms have none.
    pub fn mel_bank(&self) -> &MelBank {
        &self.filters.bank
    }

    /// Shows the mel energies of each frame to `observer`, before logarithms are taken.
    pub fn observe(&mut self, observer: impl FnMut(&[f32]) + Send + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// The features of a recording, a row a frame; none if it is shorter than a frame. A signal of another rate (in Hz) is
    /// resampled where options allow it, and an error otherwise.
    pub fn features(&mut self, signal: &[f32], rate: f32, warp: f32) -> Result<DenseMatrix<f32>> {
        let resampled;
        let signal = match self.resampler(rate)? {
            None => signal,
            Some(cutoff) => {
                let mut resampler = Resampler::new(rate, self.options.frames.sample_rate, 0.99 * cutoff)?;
                resampled = resampler.finish(signal);
                &resampled
            }
        };
        let bank = self.prepare(warp)?;
        let (rows, cols) = (self.options.frames.count(signal.len() as u64, true), self.dim());
        if rows == 0 {
            return Ok(DenseMatrix::default());
        }
        let mut out = DenseMatrix { rows, cols, data: vec![0.0; rows * cols] };
        for t in 0..rows {
            self.frame(bank, (signal, 0), t, out.row_mut(t));
        }
        Ok(out)
    }

    /// The cutoff frequency (in Hz) of the filter that signals of this rate need; none if it is the right rate.
    pub(super) fn resampler(&self, rate: f32) -> Result<Option<f32>> {
        let FrameOptions { sample_rate, allow_downsample, allow_upsample, .. } = self.options.frames;
        let (allowed, option, to) = match rate.total_cmp(&sample_rate) {
            std::cmp::Ordering::Equal => return Ok(None),
            std::cmp::Ordering::Greater => (allow_downsample, "allow-downsample", "downsampling"),
            std::cmp::Ordering::Less => (allow_upsample, "allow-upsample", "upsampling"),
        };
        if !allowed {
            return Err(Error::data(format!(
                "Waveform and config sample Frequency mismatch: {rate} .vs {sample_rate} (--sample-frequency={rate} \
                 computes features of this rate; --{option}=true allows {to} the waveform; both are options of features, as in mfcc.conf)."
            )));
        }
        Ok(Some(0.5 * rate.min(sample_rate)))
    }

    /// Makes the filters for a warp factor, for [`Extractor::frame`].
    pub(super) fn prepare(&mut self, warp: f32) -> Result<Option<usize>> {
        if warp == 1.0 {
            return Ok(None);
        }
        let known = self.warped.iter().position(|(factor, _)| *factor == warp);
        Ok(Some(match known {
            Some(at) => at,
            None => {
                self.warped.push((warp, Filters::new(&self.options, warp)?));
                self.warped.len() - 1
            }
        }))
    }

    /// Makes the features of frame `t`, which must lie in the signal. `gone` samples at the signal's beginning have
    /// been dropped.
    pub(super) fn frame(
        &mut self,
        bank: Option<usize>,
        (signal, gone): (&[f32], u64),
        t: usize,
        out: &mut [f32],
    ) {
        let raw = self.framer.cut(signal, gone, t, &mut self.frame);
        let EnergyOptions { used, floor, raw: is_raw, htk_compat } = self.options.energy;
        let energy = if used && !is_raw { log_energy(&self.frame) } else { raw };
        let energy = if floor > 0.0 { energy.max(floor.ln()) } else { energy };
        let spectrum = self.spectrum.compute(&mut self.frame);
        if matches!(self.options.kind, Kind::Spectrogram { raw_fft: true }) {
            fft::write_packed(spectrum, out);
            return;
        }
        fft::write_power(spectrum, &mut self.power);
        if matches!(self.options.kind, Kind::Fbank { power: false, .. }) {
            self.power.iter_mut().for_each(|p| *p = p.sqrt());
        }
        let filters = bank.map_or(&self.filters, |at| &self.warped[at].1);
        filters.bank.apply(&self.power, &mut self.energies);
        if let Some(observer) = &mut self.observer {
            observer(&self.energies);
        }
        if matches!(self.options.kind, Kind::Mfcc { .. } | Kind::Fbank { log: true, .. }) {
            self.energies.iter_mut().for_each(|x| *x = x.max(EPSILON).ln());
        }
        match self.options.kind {
            Kind::Spectrogram { .. } => {
                out.iter_mut().zip(&self.power).for_each(|(x, power)| *x = power.max(EPSILON).ln());
                if used {
                    out[0] = energy;
                }
            }
            Kind::Plp(_) => {
                if let Some(plp) = &mut self.plp {
                    plp.cepstra(&self.energies, &filters.loudness, out);
                }
                if used {
                    out[0] = energy;
                }
                if htk_compat {
                    out.rotate_left(1);
                }
            }
            Kind::Fbank { .. } => {
                let bins = self.energies.len();
                let at = usize::from(used && !htk_compat);
                out[at..at + bins].copy_from_slice(&self.energies);
                if used {
                    out[if htk_compat { bins } else { 0 }] = energy;
                }
            }
            Kind::Mfcc { .. } => {
                let rows = self.cosines.chunks_exact(self.energies.len());
                out.iter_mut().zip(rows).for_each(|(x, row)| *x = dot(row, &self.energies));
                if used {
                    out[0] = energy;
                }
                if htk_compat {
                    out.rotate_left(1);
                    if let Some(last) = out.last_mut().filter(|_| !used) {
                        *last *= std::f32::consts::SQRT_2;
                    }
                }
            }
        }
    }
}
