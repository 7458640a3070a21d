//! Features of a model, stored beside it.

use std::path::Path;

use kaldi_feat::spectral::{EnergyOptions, FrameOptions, Kind, MelOptions, SpectralOptions};
use kaldi_lang::l_fst::SilenceAtEnds;
use serde_json::{Value, json};

use crate::{Error, Result};

/// The settings of mel cepstra.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSettings {
    /// Samples per second, to which recordings are brought.
    pub rate: u32,
    /// Milliseconds between frames, and of a frame.
    pub shift: f32,
    /// The length of a frame, in milliseconds.
    pub length: f32,
    /// The number of cepstra.
    pub cepstra: usize,
    /// The number of mel filters.
    pub bins: usize,
    /// In Hz; 0 or a negative `high` counts from half the rate.
    pub low: f32,
    /// The highest frequency, in Hz.
    pub high: f32,
    /// True if the energy takes the place of the zeroth cepstrum.
    pub use_energy: bool,
    /// True if the energy is computed before preemphasis and window.
    pub raw_energy: bool,
    /// False: the first frame lies around the middle of the first shift, so that frame `t` stands for the time from `t` to
    /// `t + 1` shifts.
    pub snip_edges: bool,
    /// The deviation of the noise that is added to samples.
    pub dither: f32,
    /// The factor of preemphasis.
    pub preemphasis: f32,
    /// The scale of higher cepstra; 0 for none.
    pub cepstral_lifter: f32,
}

/// Times of the frames that a model aligns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameTimes {
    /// Seconds between frames.
    pub seconds: f64,
    /// Seconds of the beginning of frame 0's part of the time.
    pub offset: f64,
}

/// Higher rates say nothing more about where phones begin.
const HIGHEST_RATE: u32 = 16_000;

/// Names and probabilities of silence that a model of the Montreal Forced Aligner has beside its features.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SilenceSettings {
    /// The phone of pauses.
    pub phone: Option<String>,
    /// The phone of unknown words.
    pub spoken: Option<String>,
    /// The probability of a pause between two words.
    pub probability: Option<f64>,
    /// Probabilities of silence at the beginning and at the end of an utterance.
    pub at_ends: Option<SilenceAtEnds>,
}

/// The contents of a folder's [`META`]; `None` if there is no such file.
fn meta(folder: &Path) -> Result<Option<Value>> {
    let file = folder.join(META);
    match std::fs::read(&file) {
        Ok(text) => {
            let meta = serde_json::from_slice(&text);
            meta.map(Some).map_err(|error| Error::file(&file, error.to_string()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io(&file, source)),
    }
}

impl SilenceSettings {
    /// Adds the settings to the object of `meta.json`; those that are `None` stay away.
    pub(crate) fn add_to(&self, meta: &mut Value) {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                meta[name] = value;
            }
        };
        put("optional_silence_phone", self.phone.clone().map(Value::from));
        put("oov_phone", self.spoken.clone().map(Value::from));
        put("silence_probability", self.probability.map(Value::from));
        put("initial_silence_probability", self.at_ends.map(|ends| ends.begin.into()));
        put("final_silence_correction", self.at_ends.map(|ends| ends.end_silence.into()));
        put("final_non_silence_correction", self.at_ends.map(|ends| ends.end_other.into()));
    }

    /// Reads the settings of a model's folder; those that it lacks are `None`.
    pub(crate) fn read(folder: &Path) -> Result<SilenceSettings> {
        let Some(meta) = meta(folder)? else { return Ok(SilenceSettings::default()) };
        let file = folder.join(META);
        let number = |name: &str, valid: fn(f64) -> bool, expected: &str| match &meta[name] {
            Value::Null => Ok(None),
            value => match value.as_f64().filter(|number| valid(*number)) {
                Some(number) => Ok(Some(number)),
                None => {
                    Err(Error::file(&file, format!("'{name}': expected a number {expected}, found {value}")))
                }
            },
        };
        let probability = |name: &str| number(name, |p| p > 0.0 && p < 1.0, "above 0 and below 1");
        let factor = |name: &str| number(name, |p| p > 0.0 && p < 1e6, "above 0");
        let name = |name: &str| meta[name].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let ends = (factor("final_silence_correction")?, factor("final_non_silence_correction")?);
        let at_ends = match (probability("initial_silence_probability")?, ends) {
            (Some(begin), (Some(end_silence), Some(end_other))) => {
                Some(SilenceAtEnds { begin, end_silence, end_other })
            }
            _ => None,
        };
        Ok(SilenceSettings {
            phone: name("optional_silence_phone"),
            spoken: name("oov_phone"),
            probability: probability("silence_probability")?,
            at_ends,
        })
    }
}

/// Processing of a model's features after the cepstra, by the names in the Montreal Forced Aligner's `meta.json`. A field is `None` if
/// the file lacks it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Uses {
    pub cmvn: Option<bool>,
    pub splices: Option<bool>,
    pub speaker_adaptation: Option<bool>,
    /// Frames before and behind a frame that are spliced.
    pub context: (Option<usize>, Option<usize>),
}

impl Uses {
    /// Reads them from a model's folder.
    pub(crate) fn read(folder: &Path) -> Result<Uses> {
        let Some(meta) = meta(folder)? else { return Ok(Uses::default()) };
        let features = &meta["features"];
        let count = |name: &str| match &features[name] {
            Value::Null => Ok(None),
            value => match value.as_u64().filter(|count| *count <= 100) {
                Some(count) => Ok(Some(count as usize)),
                None => {
                    let message = format!("'{name}': expected a number from 0 to 100, found {value}");
                    Err(Error::file(&folder.join(META), message))
                }
            },
        };
        Ok(Uses {
            cmvn: features["uses_cmvn"].as_bool(),
            splices: features["uses_splices"].as_bool(),
            speaker_adaptation: features["uses_speaker_adaptation"].as_bool(),
            context: (count("splice_left_context")?, count("splice_right_context")?),
        })
    }
}

/// The file of the settings in a model's folder: that of the Montreal Forced Aligner's models. Folders of Kaldi's scripts may have
/// [`OPTIONS`](crate::OPTIONS) instead.
pub const META: &str = "meta.json";

impl FeatureSettings {
    /// Settings for recordings with this rate in Hz.
    pub fn for_rate(rate: u32) -> FeatureSettings {
        FeatureSettings {
            rate: rate.min(HIGHEST_RATE),
            shift: 10.0,
            length: 25.0,
            cepstra: 13,
            bins: 23,
            low: 20.0,
            high: 0.0,
            use_energy: false,
            raw_energy: true,
            snip_edges: false,
            dither: 1.0,
            preemphasis: 0.97,
            cepstral_lifter: 22.0,
        }
    }

    /// Seconds between frames.
    pub fn seconds(&self) -> f64 {
        f64::from(self.shift) / 1000.0
    }

    /// Seconds of the beginning of frame 0's part of the time.
    pub fn offset(&self) -> f64 {
        match self.snip_edges {
            true => 0.5 * f64::from(self.length - self.shift) / 1000.0,
            false => 0.0,
        }
    }

    /// Times of frames.
    pub fn times(&self) -> FrameTimes {
        FrameTimes { seconds: self.seconds(), offset: self.offset() }
    }

    /// Settings of an extractor.
    pub fn spectral(&self) -> SpectralOptions {
        SpectralOptions {
            frames: FrameOptions {
                sample_rate: self.rate as f32,
                length: self.length,
                shift: self.shift,
                dither: self.dither,
                preemphasis: self.preemphasis,
                snip_edges: self.snip_edges,
                ..FrameOptions::default()
            },
            mel: MelOptions { bins: self.bins, low: self.low, high: self.high, ..MelOptions::default() },
            energy: EnergyOptions {
                used: self.use_energy,
                floor: 0.0,
                raw: self.raw_energy,
                htk_compat: false,
            },
            kind: Kind::Mfcc { num_ceps: self.cepstra, cepstral_lifter: self.cepstral_lifter },
        }
    }

    /// As the object `features` of `meta.json`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "feature_type": "mfcc",
            "sample_frequency": self.rate,
            "frame_shift": self.shift,
            "frame_length": self.length,
            "num_coefficients": self.cepstra,
            "num_mel_bins": self.bins,
            "low_frequency": self.low,
            "high_frequency": self.high,
            "use_energy": self.use_energy,
            "raw_energy": self.raw_energy,
            "snip_edges": self.snip_edges,
            "dither": self.dither,
            "preemphasis_coefficient": self.preemphasis,
            "cepstral_lifter": self.cepstral_lifter,
        })
    }

    /// The features of Kaldi's recipes.
    pub(crate) fn of_kaldi() -> FeatureSettings {
        FeatureSettings { snip_edges: true, ..FeatureSettings::for_rate(HIGHEST_RATE) }
    }

    /// Checks that an extractor can have the times and the rate.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        match self.rate < 1000 || self.shift < 1.0 || self.length < self.shift {
            true => Err("rate, shift or length of frames make no sense".to_owned()),
            false => Ok(()),
        }
    }

    /// Reads the settings of a model's folder; `None` if it has no [`META`].
    pub(crate) fn read(folder: &Path) -> Result<Option<FeatureSettings>> {
        let file = folder.join(META);
        let Some(meta) = meta(folder)? else { return Ok(None) };
        let features = &meta["features"];
        if let Some(kind) = features["feature_type"].as_str().or_else(|| features["type"].as_str())
            && kind != "mfcc"
        {
            return Err(Error::file(&file, format!("expected features of the type 'mfcc', found '{kind}'")));
        }
        for unused in ["use_pitch", "use_voicing"] {
            if features[unused].as_bool() == Some(true) {
                return Err(Error::file(
                    &file,
                    format!("'{unused}' is true: features with pitch are not supported"),
                ));
            }
        }
        let number = |name: &str, default: f32, most: f64| match &features[name] {
            Value::Null => Ok(default),
            value => match value.as_f64().filter(|number| number.abs() <= most) {
                Some(number) => Ok(number as f32),
                None => Err(Error::file(&file, format!("'{name}': expected a number, found {value}"))),
            },
        };
        let flag = |name: &str, default: bool| features[name].as_bool().unwrap_or(default);
        let settings = FeatureSettings {
            rate: number("sample_frequency", 16000.0, 1e6)? as u32,
            shift: number("frame_shift", 10.0, 1e4)?,
            length: number("frame_length", 25.0, 1e4)?,
            cepstra: number("num_coefficients", 13.0, 1e3)? as usize,
            bins: number("num_mel_bins", 23.0, 1e4)? as usize,
            low: number("low_frequency", 20.0, 1e6)?,
            high: number("high_frequency", 7800.0, 1e6)?,
            use_energy: flag("use_energy", false),
            raw_energy: flag("raw_energy", true),
            snip_edges: flag("snip_edges", true),
            dither: number("dither", 1.0, 1e4)?,
            preemphasis: number("preemphasis_coefficient", 0.97, 1.0)?,
            cepstral_lifter: number("cepstral_lifter", 22.0, 1e4)?,
        };
        settings.check().map_err(|message| Error::file(&file, message))?;
        Ok(Some(settings))
    }
}
