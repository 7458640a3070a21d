//! Options for making features from sound.

use clap::Args;
use kaldi_feat::spectral::{EnergyOptions, FrameOptions, Kind, MelOptions, PlpOptions, SpectralOptions};

use super::{Error, Result};

// Options for cutting sound into frames, and for their energy.
#[derive(Args, Clone, Debug)]
pub struct WindowArgs {
    /// Waveform data sample frequency (must match the waveform file, if specified there)
    #[arg(long, default_value_t = 16000.0)]
    pub sample_frequency: f32,
    /// Frame length in milliseconds
    #[arg(long, default_value_t = 25.0)]
    pub frame_length: f32,
    /// Frame shift in milliseconds
    #[arg(long, default_value_t = 10.0)]
    pub frame_shift: f32,
    /// Coefficient for use in signal preemphasis
    #[arg(long, default_value_t = 0.97)]
    pub preemphasis_coefficient: f32,
    /// Subtract mean from waveform on each frame
    #[arg(long, default_value_t = true)]
    pub remove_dc_offset: bool,
    /// Dithering constant (0.0 means no dither). If you turn this off, you should set the --energy-floor option, e.g. to 1.0
    /// or 0.1
    #[arg(long, default_value_t = 1.0)]
    pub dither: f32,
    /// Type of window ("hamming"|"hanning"|"povey"|"rectangular"|"sine"|"blackman")
    #[arg(long, default_value = "povey")]
    pub window_type: String,
    /// Constant coefficient for generalized Blackman window.
    #[arg(long, default_value_t = 0.42)]
    pub blackman_coeff: f32,
    /// If true, round window size to power of two by zero-padding input to FFT.
    #[arg(long, default_value_t = true)]
    pub round_to_power_of_two: bool,
    /// If true, only frames that completely fit in the file are output, and their number depends on the frame-length. If
    /// false, their number depends only on the frame-shift, and the data are reflected at the ends.
    #[arg(long, default_value_t = true)]
    pub snip_edges: bool,
    /// If true, allow the input waveform to have a higher frequency than the specified --sample-frequency (it is
    /// downsampled).
    #[arg(long)]
    pub allow_downsample: bool,
    /// If true, allow the input waveform to have a lower frequency than the specified --sample-frequency (it is upsampled).
    #[arg(long)]
    pub allow_upsample: bool,
    /// Memory optimization. If larger than 0, periodically remove feature vectors so that only this number of the latest
    /// feature vectors is retained. Only where sound arrives in pieces.
    #[arg(long, default_value_t = -1)]
    pub max_feature_vectors: i32,
    /// Floor on energy (absolute, not relative). Only makes a difference if energy is among the features
    /// (--use-energy=true); only necessary if --dither=0.0. Suggested values: 0.1 or 1.0
    #[arg(long, default_value_t = 0.0)]
    pub energy_floor: f32,
    /// If true, compute energy before preemphasis and windowing
    #[arg(long, default_value_t = true)]
    pub raw_energy: bool,
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

// Options shared by cepstra and mel energies.
#[derive(Args, Clone, Debug)]
pub struct FrameArgs {
    #[command(flatten)]
    pub window: WindowArgs,
    /// Number of triangular mel-frequency bins
    #[arg(long, default_value_t = 23)]
    pub num_mel_bins: i32,
    /// Low cutoff frequency for mel bins
    #[arg(long, default_value_t = 20.0)]
    pub low_freq: f32,
    /// High cutoff frequency for mel bins (if <= 0, offset from Nyquist)
    #[arg(long, default_value_t = 0.0)]
    pub high_freq: f32,
    /// Low inflection point in piecewise linear VTLN warping function
    #[arg(long, default_value_t = 100.0)]
    pub vtln_low: f32,
    /// High inflection point in piecewise linear VTLN warping function (if negative, offset from Nyquist)
    #[arg(long, default_value_t = -500.0)]
    pub vtln_high: f32,
    /// Print out debugging information for mel bin computation
    #[arg(long)]
    pub debug_mel: bool,
    /// If true, put energy or C0 last and use a factor of sqrt(2) on C0. Warning: not sufficient to get HTK compatible
    /// features (need to change other parameters).
    #[arg(long)]
    pub htk_compat: bool,
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

// Options of cepstra, as on command lines and in mfcc.conf.
#[derive(Args, Clone, Debug)]
pub struct MfccArgs {
    #[command(flatten)]
    pub frames: FrameArgs,
    /// Number of cepstra in MFCC computation (including C0)
    #[arg(long, default_value_t = 13)]
    pub num_ceps: i32,
    /// Use energy (not C0) in MFCC computation
    #[arg(long, default_value_t = true)]
    pub use_energy: bool,
    /// Constant that controls scaling of MFCCs
    #[arg(long, default_value_t = 22.0)]
    pub cepstral_lifter: f32,
}

impl SpectralArgs for MfccArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions> {
        let num_ceps = positive("--num-ceps", self.num_ceps)?;
        self.frames.options(self.use_energy, Kind::Mfcc { num_ceps, cepstral_lifter: self.cepstral_lifter })
    }
}

// Options of mel energies, as on command lines and in fbank.conf.
#[derive(Args, Clone, Debug)]
pub struct FbankArgs {
    #[command(flatten)]
    pub frames: FrameArgs,
    /// Add an extra dimension with energy to the FBANK output.
    #[arg(long)]
    pub use_energy: bool,
    /// If true, produce log-filterbank, else produce linear.
    #[arg(long, default_value_t = true)]
    pub use_log_fbank: bool,
    /// If true, use power, else use magnitude.
    #[arg(long, default_value_t = true)]
    pub use_power: bool,
}

impl SpectralArgs for FbankArgs {
    /// # Errors
    /// Numbers out of range, an unknown window.
    fn options(&self) -> Result<SpectralOptions> {
        self.frames.options(self.use_energy, Kind::Fbank { log: self.use_log_fbank, power: self.use_power })
    }
}

// Options of PLP cepstra, as on command lines and in plp.conf.
#[derive(Args, Clone, Debug)]
pub struct PlpArgs {
    #[command(flatten)]
    pub frames: FrameArgs,
    /// Number of cepstra in PLP computation (including C0)
    #[arg(long, default_value_t = 13)]
    pub num_ceps: i32,
    /// Order of LPC analysis in PLP computation
    #[arg(long, default_value_t = 12)]
    pub lpc_order: i32,
    /// Use energy (not C0) for zeroth PLP feature
    #[arg(long, default_value_t = true)]
    pub use_energy: bool,
    /// Compression factor in PLP computation
    #[arg(long, default_value_t = 0.33333)]
    pub compress_factor: f32,
    /// Constant that controls scaling of PLPs
    #[arg(long, default_value_t = 22.0)]
    pub cepstral_lifter: f32,
    /// Scaling constant in PLP computation
    #[arg(long, default_value_t = 1.0)]
    pub cepstral_scale: f32,
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

// Options of spectrograms.
#[derive(Args, Clone, Debug)]
pub struct SpectrogramArgs {
    #[command(flatten)]
    pub window: WindowArgs,
    /// If true, return raw FFT complex numbers instead of log magnitudes
    #[arg(long)]
    pub return_raw_fft: bool,
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
pub fn read<A: Args + SpectralArgs>(name: &str, config: &str) -> Result<SpectralOptions> {
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
