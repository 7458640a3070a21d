//! Options for making features from sound.

use kaldi_feat::spectral::{EnergyOptions, FrameOptions, Kind, MelOptions, PlpOptions, SpectralOptions};
use kaldi_io::options::Options;

use super::{Error, Result};

kaldi_io::options! {
    /// Options for cutting sound into frames, and for their energy.
    #[derive(Clone, Debug)]
    pub struct WindowArgs {
        /// Waveform data sample frequency (must match the waveform file, if specified there)
        pub sample_frequency: f32 = 16000.0,
        /// Frame length in milliseconds
        pub frame_length: f32 = 25.0,
        /// Frame shift in milliseconds
        pub frame_shift: f32 = 10.0,
        /// Coefficient for use in signal preemphasis
        pub preemphasis_coefficient: f32 = 0.97,
        /// Subtract mean from waveform on each frame
        pub remove_dc_offset: bool = true,
        /// Dithering constant (0.0 means no dither). If you turn this off, you should set the --energy-floor option, e.g. to 1.0
        /// or 0.1
        pub dither: f32 = 1.0,
        /// Type of window ("hamming"|"hanning"|"povey"|"rectangular"|"sine"|"blackman")
        pub window_type: String = "povey",
        /// Constant coefficient for generalized Blackman window.
        pub blackman_coeff: f32 = 0.42,
        /// If true, round window size to power of two by zero-padding input to FFT.
        pub round_to_power_of_two: bool = true,
        /// If true, only frames that completely fit in the file are output, and their number depends on the frame-length. If
        /// false, their number depends only on the frame-shift, and the data are reflected at the ends.
        pub snip_edges: bool = true,
        /// If true, allow the input waveform to have a higher frequency than the specified --sample-frequency (it is
        /// downsampled).
        pub allow_downsample: bool = false,
        /// If true, allow the input waveform to have a lower frequency than the specified --sample-frequency (it is upsampled).
        pub allow_upsample: bool = false,
        /// Memory optimization. If larger than 0, periodically remove feature vectors so that only this number of the latest
        /// feature vectors is retained. Only where sound arrives in pieces.
        pub max_feature_vectors: i32 = -1,
        /// Floor on energy (absolute, not relative). Only makes a difference if energy is among the features
        /// (--use-energy=true); only necessary if --dither=0.0. Suggested values: 0.1 or 1.0
        pub energy_floor: f32 = 0.0,
        /// If true, compute energy before preemphasis and windowing
        pub raw_energy: bool = true,
    }
}

impl WindowArgs {
    fn frames(&self) -> Result<FrameOptions> {
        let kept = usize::try_from(self.max_feature_vectors).ok().filter(|&kept| kept > 0);
        Ok(FrameOptions {
            sample_rate: self.sample_frequency,
            length: self.frame_length,
            shift: self.frame_shift,
            dither: self.dither,
            preemphasis: self.preemphasis_coefficient,
            remove_dc_offset: self.remove_dc_offset,
            window: self.window_type.parse().map_err(Error::of("--window-type"))?,
            blackman_coefficient: self.blackman_coeff,
            round_to_power_of_two: self.round_to_power_of_two,
            snip_edges: self.snip_edges,
            allow_downsample: self.allow_downsample,
            allow_upsample: self.allow_upsample,
            max_feature_vectors: kept,
        })
    }

    fn energy(&self, used: bool, htk_compat: bool) -> EnergyOptions {
        EnergyOptions { used, floor: self.energy_floor, raw: self.raw_energy, htk_compat }
    }
}

kaldi_io::options! {
    /// Options shared by cepstra and mel energies.
    #[derive(Clone, Debug)]
    pub struct FrameArgs {
        pub window: WindowArgs,
        /// Number of triangular mel-frequency bins
        pub num_mel_bins: i32 = 23,
        /// Low cutoff frequency for mel bins
        pub low_freq: f32 = 20.0,
        /// High cutoff frequency for mel bins (if <= 0, offset from Nyquist)
        pub high_freq: f32 = 0.0,
        /// Low inflection point in piecewise linear VTLN warping function
        pub vtln_low: f32 = 100.0,
        /// High inflection point in piecewise linear VTLN warping function (if negative, offset from Nyquist)
        pub vtln_high: f32 = -500.0,
        /// Print out debugging information for mel bin computation
        pub debug_mel: bool = false,
        /// If true, put energy or C0 last and use a factor of sqrt(2) on C0. Warning: not sufficient to get HTK compatible
        /// features (need to change other parameters).
        pub htk_compat: bool = false,
    }
}

impl FrameArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self, use_energy: bool, kind: Kind) -> Result<SpectralOptions> {
        let Ok(bins) = usize::try_from(self.num_mel_bins) else {
            refuse!("--num-mel-bins={}: expected a number of at least 3", self.num_mel_bins);
        };
        let mel = MelOptions {
            bins,
            low: self.low_freq,
            high: self.high_freq,
            vtln_low: self.vtln_low,
            vtln_high: self.vtln_high,
        };
        let (frames, energy) = (self.window.frames()?, self.window.energy(use_energy, self.htk_compat));
        Ok(SpectralOptions { frames, mel, energy, kind })
    }
}

/// Options of features with mel filters.
pub trait SpectralArgs {
    /// Returns the options as the library takes them.
    ///
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions>;
}

fn positive(option: &str, number: i32) -> Result<usize> {
    match usize::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => refuse!("{option}={number}: expected a number of at least 1"),
    }
}

kaldi_io::options! {
    /// Options of cepstra, as on command lines and in mfcc.conf.
    #[derive(Clone, Debug)]
    pub struct MfccArgs {
        pub frames: FrameArgs,
        /// Number of cepstra in MFCC computation (including C0)
        pub num_ceps: i32 = 13,
        /// Use energy (not C0) in MFCC computation
        pub use_energy: bool = true,
        /// Constant that controls scaling of MFCCs
        pub cepstral_lifter: f32 = 22.0,
    }
}

impl SpectralArgs for MfccArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions> {
        let num_ceps = positive("--num-ceps", self.num_ceps)?;
        self.frames.options(self.use_energy, Kind::Mfcc { num_ceps, cepstral_lifter: self.cepstral_lifter })
    }
}

kaldi_io::options! {
    /// Options of mel energies, as on command lines and in fbank.conf.
    #[derive(Clone, Debug)]
    pub struct FbankArgs {
        pub frames: FrameArgs,
        /// Add an extra dimension with energy to the FBANK output.
        pub use_energy: bool = false,
        /// If true, produce log-filterbank, else produce linear.
        pub use_log_fbank: bool = true,
        /// If true, use power, else use magnitude.
        pub use_power: bool = true,
    }
}

impl SpectralArgs for FbankArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions> {
        self.frames.options(self.use_energy, Kind::Fbank { log: self.use_log_fbank, power: self.use_power })
    }
}

kaldi_io::options! {
    /// Options of PLP cepstra, as on command lines and in plp.conf.
    #[derive(Clone, Debug)]
    pub struct PlpArgs {
        pub frames: FrameArgs,
        /// Number of cepstra in PLP computation (including C0)
        pub num_ceps: i32 = 13,
        /// Order of LPC analysis in PLP computation
        pub lpc_order: i32 = 12,
        /// Use energy (not C0) for zeroth PLP feature
        pub use_energy: bool = true,
        /// Compression factor in PLP computation
        pub compress_factor: f32 = 0.33333,
        /// Constant that controls scaling of PLPs
        pub cepstral_lifter: f32 = 22.0,
        /// Scaling constant in PLP computation
        pub cepstral_scale: f32 = 1.0,
    }
}

impl SpectralArgs for PlpArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions> {
        let kind = Kind::Plp(PlpOptions {
            num_ceps: positive("--num-ceps", self.num_ceps)?,
            lpc_order: positive("--lpc-order", self.lpc_order)?,
            compress_factor: self.compress_factor,
            cepstral_lifter: self.cepstral_lifter,
            cepstral_scale: self.cepstral_scale,
        });
        self.frames.options(self.use_energy, kind)
    }
}

kaldi_io::options! {
    /// Options of spectrograms.
    #[derive(Clone, Debug)]
    pub struct SpectrogramArgs {
        pub window: WindowArgs,
        /// If true, return raw FFT complex numbers instead of log magnitudes
        pub return_raw_fft: bool = false,
    }
}

impl SpectrogramArgs {
    /// Returns the options as the library takes them.
    ///
    /// # Errors
    /// Numbers out of range, an unknown window.
    pub fn options(&self) -> Result<SpectralOptions> {
        let (frames, energy) = (self.window.frames()?, self.window.energy(true, false));
        let kind = Kind::Spectrogram { raw_fft: self.return_raw_fft };
        Ok(SpectralOptions { frames, mel: MelOptions::default(), energy, kind })
    }
}

/// Reads the options of features from a file; without a name, returns the usual ones. Errors begin with `name`.
///
/// # Errors
/// The file cannot be read, or has a line that is no option.
pub fn read<A: Options + SpectralArgs>(name: &str, config: &str) -> Result<SpectralOptions> {
    super::read::<A>(name, config)?.options().map_err(Error::of(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_options_are_those_of_programs() {
        assert_eq!(read::<MfccArgs>("mfcc.conf", "").unwrap(), SpectralOptions::mfcc(16000.0));
        assert_eq!(read::<FbankArgs>("fbank.conf", "").unwrap(), SpectralOptions::fbank(16000.0));
    }
}
