//! The loop of the programs that make features of sound.

use anyhow::{Result, bail};
use kaldi_cli::log::{self, Site, num};
use kaldi_feat::htk::{HtkFeatures, HtkFeaturesHolder};
use kaldi_feat::spectral::{Extractor, Kind, SpectralOptions};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::holder::{DoubleHolder, FloatHolder, Holder, MatrixHolder};
use kaldi_io::{DenseMatrix, MappedRandomReader};

use nnet3::messages;
use nnet3::tables::{Input, Output};

// Options of the programs, without the options of the features.
#[derive(clap::Args, Clone, Debug)]
pub struct FeatureOptions {
    /// Format of the output files [kaldi, htk]
    #[arg(long, default_value = "kaldi")]
    pub output_format: String,
    /// Subtract mean of each feature file [CMS]; not recommended to do it this way.
    #[arg(long)]
    pub subtract_mean: bool,
    /// Channel to extract (-1 -> expect mono, 0 -> left, 1 -> right)
    #[arg(long, default_value_t = -1)]
    pub channel: i32,
    /// Minimum duration of segments to process (in seconds).
    #[arg(long, default_value_t = 0.0)]
    pub min_duration: f32,
    /// Wspecifier to write duration of each utterance in seconds, e.g. 'ark,t:utt2dur'.
    #[arg(long, default_value = "")]
    pub write_utt2dur: String,
    pub wav_rspecifier: String,
    pub feats_wspecifier: String,
}

// Warping of vocal tract length normalisation.
#[derive(clap::Args, Clone, Debug)]
pub struct WarpOptions {
    /// Vtln warp factor (only applicable if vtln-map not specified)
    #[arg(long, default_value_t = 1.0)]
    pub vtln_warp: f32,
    /// Map from utterance or speaker-id to vtln warp factor (rspecifier)
    #[arg(long, default_value = "")]
    pub vtln_map: String,
    /// Utterance to speaker-id map rspecifier (if doing VTLN and you have warps per speaker)
    #[arg(long, default_value = "")]
    pub utt2spk: String,
}

impl WarpOptions {
    /// No warping, for features without mel filters.
    pub const NONE: WarpOptions =
        WarpOptions { vtln_warp: 1.0, vtln_map: String::new(), utt2spk: String::new() };
}

/// Makes features of all waves of a table.
pub fn compute(
    options: &FeatureOptions,
    warping: &WarpOptions,
    spectral: SpectralOptions,
    debug_mel: bool,
) -> Result<u8> {
    if !warping.utt2spk.is_empty() && warping.vtln_map.is_empty() {
        bail!("The --utt2spk option is only needed if the --vtln-map option is used.");
    }
    check_channel(options.channel)?;
    // HTK's flags for energy and for the zeroth cepstrum.
    let flags = if spectral.energy.used { 0o100 } else { 0o20000 };
    let kind = match spectral.kind {
        Kind::Mfcc { .. } => 6 | flags,
        Kind::Fbank { .. } => 7 | flags,
        // The reference calls spectra FBANK. For PLP it always says that the zeroth cepstrum is present.
        Kind::Plp(_) => 11 | 0o20000,
        Kind::Spectrogram { .. } => 7 | 0o20000,
    };
    // In units of 100 ns.
    let period = (spectral.frames.shift * 1e4).round() as i32;
    let mut extractor = Extractor::new(spectral)?;
    if debug_mel {
        show_mel_bins(&mut extractor);
    }
    match options.output_format.as_str() {
        "kaldi" => write_table::<MatrixHolder>(options, warping, &mut extractor, |features| features),
        "htk" => write_table::<HtkFeaturesHolder>(options, warping, &mut extractor, |features| HtkFeatures {
            features,
            period,
            kind,
        }),
        other => bail!("--output-format={other}: expected kaldi or htk"),
    }
}

fn write_table<H: Holder>(
    options: &FeatureOptions,
    warping: &WarpOptions,
    extractor: &mut Extractor,
    form: impl Fn(DenseMatrix<f32>) -> H::T,
) -> Result<u8> {
    let mut warps = match warping.vtln_map.as_str() {
        "" => None,
        map => Some(MappedRandomReader::<FloatHolder>::open(map, &warping.utt2spk)?),
    };
    let durations = &options.write_utt2dur;
    let mut durations =
        (!durations.is_empty()).then(|| Output::<DoubleHolder>::open(durations)).transpose()?;
    let input = Input::<WaveHolder>::open(&options.wav_rspecifier)?;
    let mut output = Output::<H>::open(&options.feats_wspecifier)?;
    let mut utterances = 0;
    input.for_each(|key, wave| {
        utterances += 1;
        if let Some(complaint) = &wave.complaint {
            messages::warn(&format!("{key}: {complaint}"));
        }
        let warp = match &mut warps {
            None => Some(warping.vtln_warp),
            Some(warps) => warps.get(key)?.copied(),
        };
        if let Some(features) = features(options, extractor, warp, key, &wave) {
            output.write(key, &form(features))?;
            messages::detail(2, format_args!("Processed features for key {key}"));
            if let Some(durations) = &mut durations {
                durations.write(key, &f64::from(wave.duration()))?;
            }
            if utterances % 10 == 0 {
                messages::log(&format!("Processed {utterances} utterances"));
            }
        }
        Ok(())
    })?;
    if let Some(warps) = warps {
        warps.close()?;
    }
    messages::log(&format!(" Done {} out of {utterances} utterances.", output.done));
    if let Some(durations) = durations.filter(|durations| durations.done > 0) {
        durations.finish()?;
    }
    output.finish()
}

/// The features of one wave; none, with a warning, if it is not fit for that.
fn features(
    options: &FeatureOptions,
    extractor: &mut Extractor,
    warp: Option<f32>,
    key: &str,
    wave: &Wave,
) -> Option<DenseMatrix<f32>> {
    if wave.duration() < options.min_duration {
        let seconds = num(wave.duration().into());
        messages::warn(&format!("File: {key} is too short ({seconds} sec): producing no output."));
        return None;
    }
    let samples = samples(options.channel, key, wave)?;
    let Some(warp) = warp else {
        messages::warn(&format!("No vtln-map entry for utterance-id (or speaker-id) {key}"));
        return None;
    };
    let mut features = match extractor.features(&samples, wave.sample_rate as f32, warp) {
        Ok(features) => features,
        Err(error) => {
            messages::warn(&format!("Failed to compute features for utterance {key}: {error}"));
            return None;
        }
    };
    if features.rows == 0 {
        messages::warn(&format!(
            "{key}: {} samples are not a whole frame, so there are no features",
            wave.len()
        ));
    }
    let silent = (0..features.rows).filter(|&t| features.row(t).iter().any(|x| x.is_nan())).count();
    if silent > 0 {
        messages::warn(&format!(
            "{key}: {silent} of {} frames have features that are not numbers, since all their samples are equal (dither avoids \
             that)",
            features.rows
        ));
    }
    if options.subtract_mean {
        subtract_mean(&mut features);
    }
    Some(features)
}

/// Checks the value of an option `--channel`.
pub fn check_channel(channel: i32) -> Result<()> {
    if channel < -1 {
        bail!("--channel={channel}: expected -1 or the number of a channel from 0");
    }
    Ok(())
}

/// Returns the samples of a channel, or of the first one for -1. `None`, with a warning, if there is no such channel.
pub fn samples(channel: i32, key: &str, wave: &Wave) -> Option<Vec<f32>> {
    if channel == -1 && wave.channels != 1 {
        messages::warn(&format!(
            "Channel not specified but you have data with {} channels; defaulting to zero",
            wave.channels
        ));
        log::vlog(1, &Site::PROGRAM, &format!("{key}: the first channel is taken"));
    }
    let channel = usize::try_from(channel).unwrap_or(0);
    if channel >= wave.channels {
        messages::warn(&format!(
            "File with id {key} has {} channels but you specified channel {channel}, producing no output.",
            wave.channels
        ));
        return None;
    }
    Some(wave.channel(channel))
}

fn subtract_mean(features: &mut DenseMatrix<f32>) {
    for d in 0..features.cols {
        let sum: f64 = features.data.iter().skip(d).step_by(features.cols).map(|&x| f64::from(x)).sum();
        let mean = (sum / features.rows as f64) as f32;
        features.data.iter_mut().skip(d).step_by(features.cols).for_each(|x| *x -= mean);
    }
}

/// `--debug-mel`: logs the filters, and prints the mel energies of each frame.
fn show_mel_bins(extractor: &mut Extractor) {
    let list = |values: &[f32]| values.iter().map(|&x| num(x.into()) + " ").collect::<String>();
    for (i, (first, weights)) in extractor.mel_bank().filters().enumerate() {
        messages::log(&format!("bin {i}, offset = {first}, vec =  [ {}]", list(weights)));
    }
    extractor.observe(|energies| {
        let values: String = energies.iter().map(|x| format!(" {x:.6}")).collect();
        kaldi_cli::terminal::print(format!("MEL BANKS:\n{values}\n").as_bytes());
    });
}
