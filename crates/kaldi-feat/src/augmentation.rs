//! Copies of features as other voices, microphones and rooms would give them: for training data of more kinds.
//!
//! All changes are made to the logarithms of mel energies: cepstra go there and back. None of them moves a frame, so alignments of the
//! original hold for its copies. An utterance's changes depend on its key, the number of the copy and the seed only.

use kaldi_io::DenseMatrix;
use kaldi_numerics::log_sums::{log_add, log_sum};

use crate::error::{Error, Result};
use crate::spectral::noise::Noise;
use crate::spectral::{Kind, MelScale, SpectralOptions, lifter_scale};

/// A decibel as a logarithm of energy.
pub(crate) const DECIBEL: f64 = std::f64::consts::LN_10 / 10.0;
/// The logarithm of the least energy: of samples that are zero.
pub(crate) const FLOOR: f64 = -15.942385152878742;
/// The spectral colour of a microphone or a room is a sum of cosines over all bands, with 1, 2, … half waves. These are the standard
/// deviations of their heights, relative to `channel`. Slopes are larger than bumps.
const COLOUR: [f64; 5] = [1.0, 0.5, 0.33, 0.33, 0.17];
/// Deviations of the colour of noise, in decibels.
pub(crate) const COLOUR_OF_NOISE: [f64; 3] = [6.0, 3.0, 2.0];
/// The energy of noise in one frame and band is the mean of so many exponential numbers, one for each point of the spectrum.
const POINTS_OF_NOISE: i32 = 4;
/// The lowest frequency of a cut, in Hz, and its highest place, as a part of all bands: telephones and codecs of few bits leave out what
/// lies above.
const CUT: (f64, f64) = (2800.0, 0.98);
/// The lowest and the highest ratio of the loud frames to what is left in a band above a cut, in decibels: the rounding of samples.
const REST: (f64, f64) = (60.0, 110.0);
/// The loudness of an utterance: so large a part of its frames is softer.
const LOUD: f64 = 0.9;

/// Ranges of the random changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// Frequencies are multiplied by factors from `exp(-warp)` to `exp(warp)`, uniform on the logarithmic scale.
    pub warp: f64,
    /// Standard deviation of the slope of the channel over all bands, in decibels.
    pub channel: f64,
    /// Levels rise or fall by at most so many decibels, uniformly.
    pub level: f64,
    /// Part of the copies that have noise.
    pub noise: f64,
    /// The lowest and the highest ratio of the loud frames of the speech to the noise, in decibels; uniform between.
    pub snr: (f64, f64),
    /// Part of the copies whose upper bands are nearly empty.
    pub cut: f64,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { warp: 0.18, channel: 6.0, level: 12.0, noise: 0.7, snr: (5.0, 35.0), cut: 0.25 }
    }
}

impl Ranges {
    fn check(&self) -> Result<()> {
        let within = |name: &str, value: f64, low: f64, high: f64| match value >= low && value <= high {
            true => Ok(()),
            false => Err(Error::options(format!("{name} of {value}: expected {low} to {high}"))),
        };
        within("a warp", self.warp, 0.0, 0.7)?;
        within("a deviation of the channel", self.channel, 0.0, 60.0)?;
        within("a change of level", self.level, 0.0, 100.0)?;
        within("a part of copies with noise", self.noise, 0.0, 1.0)?;
        within("a part of copies without upper bands", self.cut, 0.0, 1.0)?;
        within("a ratio of speech to noise", self.snr.0, -60.0, 100.0)?;
        within("the highest ratio of speech to noise", self.snr.1, self.snr.0, 100.0)
    }
}

/// Makes copies of features that were made with the same options.
pub struct Augmentation {
    ranges: Ranges,
    scale: MelScale,
    /// For cepstra: row `k` is the `k`-th cosine, with its lifter's scale. Empty for mel energies.
    cosines: Vec<f64>,
    lifters: Vec<f64>,
}

impl Augmentation {
    /// Fails if not all of the mel energies can be had from the features: with fewer cepstra than bins, with the frame's energy among
    /// them, or if they are no logarithms.
    pub fn new(options: &SpectralOptions, ranges: Ranges) -> Result<Augmentation> {
        ranges.check()?;
        let bins = options.mel.bins;
        if options.energy.used || options.energy.htk_compat {
            return Err(Error::options(
                "expected features without the energy of the frame (--use-energy=false) and in Kaldi's order (--htk-compat=false)",
            ));
        }
        let (mut cosines, mut lifters) = (Vec::new(), Vec::new());
        match options.kind {
            Kind::Mfcc { num_ceps, cepstral_lifter } => {
                if num_ceps != bins {
                    return Err(Error::options(format!(
                        "{num_ceps} cepstra of {bins} mel bins: expected as many, so that energies can be had back"
                    )));
                }
                lifters = (0..bins).map(|k| lifter_scale(cepstral_lifter, k)).collect();
                let angle = std::f64::consts::PI / bins as f64;
                cosines = (0..bins * bins)
                    .map(|i| {
                        let (k, n) = (i / bins, (i % bins) as f64);
                        let norm = if k == 0 { 1.0 } else { 2.0 };
                        (norm / bins as f64).sqrt() * (angle * (n + 0.5) * k as f64).cos()
                    })
                    .collect();
            }
            Kind::Fbank { log: true, power: true } => (),
            _ => return Err(Error::options("expected cepstra (MFCC) or logarithms of mel powers")),
        }
        Ok(Augmentation {
            ranges,
            scale: MelScale::new(&options.mel, options.frames.sample_rate)?,
            cosines,
            lifters,
        })
    }

    /// The columns of features.
    pub fn dim(&self) -> usize {
        self.scale.bins()
    }

    /// Makes a copy of an utterance's features, `[frames, dim]`.
    ///
    /// # Errors
    /// If there are not [`dim`](Self::dim) columns.
    pub fn apply(
        &self,
        features: &DenseMatrix<f32>,
        key: &str,
        copy: usize,
        seed: u64,
    ) -> Result<DenseMatrix<f32>> {
        let bins = self.dim();
        if features.cols != bins {
            return Err(Error::data(format!("there are {} columns: expected {bins}", features.cols)));
        }
        let mut draw = Draw::new(key, copy, seed);
        let change = self.draw(&mut draw);
        let mut energies: Vec<f64> = features.data.iter().map(|&x| f64::from(x)).collect();
        let mut row = vec![0.0; bins];
        for frame in energies.chunks_exact_mut(bins) {
            self.to_energies(frame, &mut row);
            if is_digital_silence(&row) {
                frame.copy_from_slice(&row);
                continue;
            }
            change.warp.apply(&row, frame);
            for (x, offset) in frame.iter_mut().zip(&change.offsets) {
                *x += offset;
            }
        }
        if let Some((snr, colour)) = &change.noise {
            let level = loudness(&energies, bins) - snr;
            let whole = log_sum(colour);
            for frame in energies.chunks_exact_mut(bins) {
                for (x, &colour) in frame.iter_mut().zip(colour) {
                    *x = log_add(*x, level + colour - whole + draw.energy_of_noise());
                }
            }
        }
        if let Some(cut) = &change.cut {
            let level = loudness(&energies, bins) - cut.depth;
            for frame in energies.chunks_exact_mut(bins).filter(|frame| !is_digital_silence(frame)) {
                cut.apply(frame, || level + draw.energy_of_noise());
            }
        }
        for frame in energies.chunks_exact_mut(bins) {
            if !is_digital_silence(frame) {
                frame.iter_mut().for_each(|x| *x += change.level);
            }
            self.to_features(frame, &mut row);
        }
        let data = energies.into_iter().map(|x| x as f32).collect();
        Ok(DenseMatrix { data, rows: features.rows, cols: bins })
    }

    fn draw(&self, draw: &mut Draw) -> Change {
        let ranges = &self.ranges;
        let bins = self.dim();
        let warp = Warp::new(&self.scale, draw.between(-ranges.warp, ranges.warp).exp());
        let deviations = COLOUR.map(|part| part * ranges.channel);
        let offsets = draw.colour(&deviations, bins);
        let level = draw.between(-ranges.level, ranges.level) * DECIBEL;
        let with_noise = draw.between(0.0, 1.0) < ranges.noise;
        let snr = draw.between(ranges.snr.0, ranges.snr.1) * DECIBEL;
        let noise = with_noise.then(|| (snr, draw.colour(&COLOUR_OF_NOISE, bins)));
        let is_cut = draw.between(0.0, 1.0) < ranges.cut;
        let (lowest, highest) = (self.scale.bin_of(CUT.0), CUT.1 * bins as f64);
        let place = draw.between(lowest.max(0.0), highest);
        let depth = draw.between(REST.0, REST.1) * DECIBEL;
        // (Bands that end below the lowest frequency stay.)
        let cut = (is_cut && lowest < highest).then_some(Cut { place, depth });
        Change { warp, offsets, level, noise, cut }
    }

    /// Energies of a frame into `energies`.
    pub(crate) fn to_energies(&self, frame: &[f64], energies: &mut [f64]) {
        if self.cosines.is_empty() {
            energies.copy_from_slice(frame);
            return;
        }
        energies.fill(0.0);
        for ((cosines, lifter), x) in self.cosines.chunks_exact(frame.len()).zip(&self.lifters).zip(frame) {
            let weight = x / lifter;
            for (energy, cosine) in energies.iter_mut().zip(cosines) {
                *energy += weight * cosine;
            }
        }
    }

    /// Replaces energies of a frame by its features; `row` is room for them.
    pub(crate) fn to_features(&self, frame: &mut [f64], row: &mut [f64]) {
        if self.cosines.is_empty() {
            return;
        }
        row.copy_from_slice(frame);
        for ((cosines, lifter), x) in self.cosines.chunks_exact(row.len()).zip(&self.lifters).zip(frame) {
            *x = lifter * cosines.iter().zip(&*row).map(|(cosine, energy)| cosine * energy).sum::<f64>();
        }
    }
}

/// The bands of a warped frame: each lies between two of the original, or a little beyond the ends.
struct Warp(Vec<(usize, f64)>);

impl Warp {
    fn new(scale: &MelScale, factor: f64) -> Warp {
        let last = scale.bins() - 2;
        let place = |bin| {
            let place = scale.bin_of(scale.centre(bin) * factor);
            let below = place.floor().clamp(0.0, last as f64);
            (below as usize, (place - below).clamp(-0.5, 1.5))
        };
        Warp((0..scale.bins()).map(place).collect())
    }

    fn apply(&self, from: &[f64], to: &mut [f64]) {
        for (x, &(below, part)) in to.iter_mut().zip(&self.0) {
            *x = from[below] * (1.0 - part) + from[below + 1] * part;
        }
    }
}

/// True for a frame of zeros, which no microphone changes: its energies are the floor of the logarithm, as far as compression keeps them.
fn is_digital_silence(energies: &[f64]) -> bool {
    energies.iter().sum::<f64>() < (FLOOR + 1.5) * energies.len() as f64
}

/// The changes of one copy, in logarithms of energy.
struct Change {
    warp: Warp,
    offsets: Vec<f64>,
    level: f64,
    /// The ratio of speech to noise, and the colour of the noise.
    noise: Option<(f64, Vec<f64>)>,
    cut: Option<Cut>,
}

/// Upper bands that a codec or a telephone has left out.
struct Cut {
    /// The first band that is empty; a part of one is a slope.
    place: f64,
    /// The ratio of the loud frames to what is left in a band, a logarithm of energy.
    depth: f64,
}

impl Cut {
    /// Replaces the bands of a frame above the cut, where they are louder than what is left.
    fn apply(&self, frame: &mut [f64], mut rest: impl FnMut() -> f64) {
        let first = self.place as usize;
        for (band, x) in frame.iter_mut().enumerate().skip(first) {
            let empty = rest().max(FLOOR).min(*x);
            let part = if band == first { self.place.fract() } else { 0.0 };
            *x = part * *x + (1.0 - part) * empty;
        }
    }
}

/// Random numbers for one utterance or copy.
pub(crate) struct Draw(Noise);

impl Draw {
    pub(crate) fn new(key: &str, copy: usize, seed: u64) -> Draw {
        // FNV-1a, so that similar keys have unlike numbers.
        let bytes = key.bytes().chain(copy.to_le_bytes()).chain(seed.to_le_bytes());
        Draw(Noise::with_seed(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })))
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    fn normal(&mut self) -> f64 {
        f64::from(self.0.next())
    }

    /// Cosines over the bands, with deviations in decibels.
    pub(crate) fn colour(&mut self, deviations: &[f64], bins: usize) -> Vec<f64> {
        let mut colour = vec![0.0; bins];
        for (i, deviation) in deviations.iter().enumerate() {
            let height = self.normal() * deviation * DECIBEL;
            let angle = std::f64::consts::PI * (i + 1) as f64 / bins as f64;
            for (bin, x) in colour.iter_mut().enumerate() {
                *x += height * (angle * (bin as f64 + 0.5)).cos();
            }
        }
        colour
    }

    /// The logarithm of noise's energy in a frame and band, where its mean is 1.
    pub(crate) fn energy_of_noise(&mut self) -> f64 {
        let product: f64 = (0..POINTS_OF_NOISE).map(|_| self.0.uniform()).product();
        (-product.ln() / f64::from(POINTS_OF_NOISE)).max(1e-5).ln()
    }
}

/// The logarithm of the energy of all bands that so much of the frames has at most.
pub(crate) fn loudness(energies: &[f64], bins: usize) -> f64 {
    let mut frames: Vec<f64> = energies.chunks_exact(bins).map(log_sum).collect();
    if frames.is_empty() {
        return 0.0;
    }
    let place = ((frames.len() - 1) as f64 * LOUD).round() as usize;
    *frames.select_nth_unstable_by(place, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectral::{EnergyOptions, Extractor, FrameOptions, MelOptions};

    const STILL: Ranges =
        Ranges { warp: 0.0, channel: 0.0, level: 0.0, noise: 0.0, snr: (20.0, 20.0), cut: 0.0 };

    fn options(kind: Kind) -> SpectralOptions {
        SpectralOptions {
            frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
            mel: MelOptions { bins: 40, high: -400.0, ..MelOptions::default() },
            energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
            kind,
        }
    }

    fn cepstra() -> SpectralOptions {
        options(Kind::Mfcc { num_ceps: 40, cepstral_lifter: 22.0 })
    }

    fn bands() -> SpectralOptions {
        options(Kind::Fbank { log: true, power: true })
    }

    /// A tone with overtones up to 7 kHz, half a second long, over a little noise.
    fn tone(hertz: f32) -> Vec<f32> {
        let mut samples: Vec<f32> = (0..8000)
            .map(|i| {
                let t = i as f32 / 16000.0;
                let waves = 1..=(7000.0 / hertz) as i32;
                waves.map(|k| 1000.0 / k as f32 * (std::f32::consts::TAU * hertz * k as f32 * t).sin()).sum()
            })
            .collect();
        Noise::with_seed(5).add_to(&mut samples, 30.0);
        samples
    }

    fn features(options: SpectralOptions, samples: &[f32]) -> DenseMatrix<f32> {
        Extractor::new(options).unwrap().features(samples, 16000.0, 1.0).unwrap()
    }

    fn most_apart(a: &DenseMatrix<f32>, b: &DenseMatrix<f32>) -> f32 {
        a.data.iter().zip(&b.data).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn no_change_gives_the_same_features() {
        for options in [cepstra(), bands()] {
            let original = features(options.clone(), &tone(200.0));
            let copy = Augmentation::new(&options, STILL).unwrap().apply(&original, "a", 1, 0).unwrap();
            assert!(most_apart(&original, &copy) < 1e-3);
        }
    }

    #[test]
    fn cepstra_change_as_the_energies_that_they_come_from() {
        let ranges = Ranges { noise: 1.0, ..Ranges::default() };
        let of_bands = features(bands(), &tone(150.0));
        let of_cepstra = features(cepstra(), &tone(150.0));
        let by_bands = Augmentation::new(&bands(), ranges).unwrap().apply(&of_bands, "key", 3, 7).unwrap();
        let by_cepstra =
            Augmentation::new(&cepstra(), ranges).unwrap().apply(&of_cepstra, "key", 3, 7).unwrap();
        // Back to energies, by an augmentation that changes nothing.
        let back = Augmentation::new(&cepstra(), STILL).unwrap();
        let mut energies = vec![0.0; 40];
        for (cepstra, bands) in by_cepstra.data.chunks(40).zip(by_bands.data.chunks(40)) {
            let cepstra: Vec<f64> = cepstra.iter().map(|&x| f64::from(x)).collect();
            back.to_energies(&cepstra, &mut energies);
            assert!(energies.iter().zip(bands).all(|(a, b)| (a - f64::from(*b)).abs() < 1e-3));
        }
    }

    #[test]
    fn a_change_of_level_is_that_of_louder_samples() {
        let augmentation = Augmentation::new(&bands(), Ranges { level: 20.0, ..STILL }).unwrap();
        let quiet = tone(200.0);
        let copy = augmentation.apply(&features(bands(), &quiet), "a", 1, 0).unwrap();
        let factor = ((copy.data[0] - features(bands(), &quiet).data[0]) / 2.0).exp();
        assert!((factor - 1.0).abs() > 0.01 && factor > 0.1 && factor < 10.0, "{factor}");
        let loud: Vec<f32> = quiet.iter().map(|x| x * factor).collect();
        assert!(most_apart(&features(bands(), &loud), &copy) < 0.02);
    }

    #[test]
    fn noise_has_the_ratio_to_speech_that_was_asked_for() {
        let ranges = Ranges { noise: 1.0, snr: (10.0, 10.0), ..STILL };
        let silent = DenseMatrix { data: vec![-60.0; 40 * 400], rows: 400, cols: 40 };
        let mut half = silent.clone();
        half.data[..40 * 200].fill(10.0);
        let noisy = Augmentation::new(&bands(), ranges).unwrap().apply(&half, "a", 1, 0).unwrap();
        let speech = 10.0 + 40f64.ln();
        let sum = |frame: &[f32]| frame.iter().map(|&x| f64::from(x).exp()).sum::<f64>();
        let mean = noisy.data[40 * 200..].chunks(40).map(sum).sum::<f64>() / 200.0;
        assert!(((speech - mean.ln()) / DECIBEL - 10.0).abs() < 0.5, "{}", (speech - mean.ln()) / DECIBEL);
    }

    /// Samples without frequencies above a limit, as a telephone leaves them, have empty bands; those of a copy are as empty.
    #[test]
    fn a_cut_empties_upper_bands_alone() {
        let ranges = Ranges { cut: 1.0, ..STILL };
        let original = features(bands(), &tone(150.0));
        let augmentation = Augmentation::new(&bands(), ranges).unwrap();
        let loud = loudness(&original.data.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), 40);
        // Telephone speech keeps what lies below 2.8 kHz.
        let telephone = MelScale::new(&MelOptions { bins: 40, ..MelOptions::default() }, 8000.0).unwrap();
        let lowest = telephone.bin_of(CUT.0);
        assert!(
            (2800.0 - telephone.centre(lowest.round() as usize)).abs() < 150.0 && lowest > 30.0,
            "{lowest}"
        );
        for copy in 1..50 {
            let cut = augmentation.apply(&original, "a", copy, 0).unwrap();
            let mean = |band: usize| {
                let sum: f64 = cut.data.iter().skip(band).step_by(40).map(|&x| f64::from(x)).sum();
                (loud - sum / cut.rows as f64) / DECIBEL
            };
            let first = (0..40).find(|&band| {
                original.data.iter().zip(&cut.data).skip(band).step_by(40).any(|(a, b)| (a - b).abs() > 1e-3)
            });
            let first = first.unwrap_or_else(|| panic!("copy {copy} has all bands"));
            assert!((26..40).contains(&first), "{first}");
            // (The mean of the logarithm of noise is lower than the logarithm of its mean.)
            let depths: Vec<f64> = (first + 1..40).map(mean).collect();
            assert!(depths.iter().all(|depth| (58.0..115.0).contains(depth)), "{first}: {depths:?}");
            let (least, most) =
                depths.iter().fold((1e9_f64, 0.0_f64), |(low, high), &d| (low.min(d), high.max(d)));
            assert!(depths.is_empty() || most - least < 4.0, "{depths:?}");
        }
    }

    #[test]
    fn a_warp_moves_a_peak_by_its_factor() {
        let scale = MelScale::new(&bands().mel, 16000.0).unwrap();
        for factor in [0.85, 1.18] {
            let peak: Vec<f64> =
                (0..40).map(|bin| -(scale.centre(bin).ln() - 1000f64.ln()).powi(2) * 50.0).collect();
            let mut warped = vec![0.0; 40];
            Warp::new(&scale, factor).apply(&peak, &mut warped);
            let highest = (0..40).max_by(|&a, &b| warped[a].total_cmp(&warped[b])).unwrap();
            let expected = scale.bin_of(1000.0 / factor);
            assert!((highest as f64 - expected).abs() <= 1.0, "{factor}: {highest} for {expected}");
        }
    }

    #[test]
    fn digital_silence_stays_digital_in_copies_without_noise() {
        let mut samples = tone(200.0);
        samples[..3000].fill(0.0);
        let original = features(cepstra(), &samples);
        let changes = Ranges { noise: 0.0, ..Ranges::default() };
        let copy = Augmentation::new(&cepstra(), changes).unwrap().apply(&original, "a", 1, 0).unwrap();
        let (silent, rest) = (10 * 40, 30 * 40);
        let apart = |range: std::ops::Range<usize>| {
            let pairs = original.data[range.clone()].iter().zip(&copy.data[range]);
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        assert!(apart(0..silent) < 1e-3 && apart(rest..original.data.len()) > 1.0);
    }

    #[test]
    fn a_copy_depends_on_key_number_and_seed() {
        let original = features(cepstra(), &tone(120.0));
        let augmentation = Augmentation::new(&cepstra(), Ranges::default()).unwrap();
        let copy = |key, number, seed| augmentation.apply(&original, key, number, seed).unwrap();
        let first = copy("a", 1, 0);
        assert_eq!(first, copy("a", 1, 0));
        for other in [copy("b", 1, 0), copy("a", 2, 0), copy("a", 1, 1), original.clone()] {
            assert!(most_apart(&first, &other) > 0.1);
        }
    }

    #[test]
    fn features_without_all_energies_are_refused() {
        for kind in [
            Kind::Mfcc { num_ceps: 13, cepstral_lifter: 22.0 },
            Kind::Fbank { log: false, power: true },
            Kind::Spectrogram { raw_fft: false },
        ] {
            assert!(Augmentation::new(&options(kind), Ranges::default()).is_err());
        }
        let mut with_energy = cepstra();
        with_energy.energy.used = true;
        assert!(Augmentation::new(&with_energy, Ranges::default()).is_err());
        assert!(Augmentation::new(&cepstra(), Ranges { warp: -0.1, ..STILL }).is_err());
    }
}
