//! Kaldi's data folders as utterances in memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_align::Utterance;
use kaldi_feat::segments::Segment;
use kaldi_feat::spectral::{Extractor, SpectralOptions};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::text::{count, either};
use kaldi_io::{DenseMatrix, KaldiWriter};
use kaldi_lang::Lang;
use kaldi_lang::plain_text::{self, fields, lines};
use nnet3::messages;
use nnet3::tables::{Input, Outcome, Skip};
use nnet3_online::config;
use nnet3_online::config::spectral::{MfccArgs, SpectralArgs};

// Options for making features.
#[derive(Args, Clone, Debug)]
pub struct CepstraOptions {
    /// File with options of compute-mfcc-feats, one a line. The default is mfcc.conf beside the model that is given, or else
    /// use-energy=false, and the sample rate of the first recording. Only where the folder has no feats.scp.
    #[arg(long, default_value = "")]
    mfcc_config: String,
}

/// Utterances, and what is missing.
pub struct Data {
    pub utterances: Vec<Utterance>,
    /// The words of each utterance.
    pub texts: Vec<Vec<String>>,
    /// Keys of the text that have no features, and why.
    pub without_features: Vec<(String, Skip)>,
    /// Frames in a second.
    pub frame_shift: f64,
    /// The options of the features, as lines, if these were made here.
    feature_options: Option<String>,
}

/// The file beside a model that has the options of its features.
const FEATURES: &str = "mfcc.conf";

impl CepstraOptions {
    /// These options, or without any the file beside a model.
    pub fn or_beside(&self, model: &str) -> CepstraOptions {
        let file = path_in(model, FEATURES);
        match self.mfcc_config.is_empty() && Path::new(&file).is_file() {
            true => CepstraOptions { mfcc_config: file },
            false => self.clone(),
        }
    }

    /// The options, and their lines.
    fn spectral(&self, rate: u32) -> Result<(SpectralOptions, String)> {
        let (args, lines): (MfccArgs, _) = match self.mfcc_config.as_str() {
            "" => {
                let options =
                    ["--use-energy=false", &format!("--sample-frequency={rate}"), "--allow-downsample=true"];
                (config::given("mfcc", &options)?, options.map(|line| format!("{line}\n")).concat())
            }
            file => (config::read("mfcc-config", file)?, plain_text::read(file)?),
        };
        Ok((args.options()?, lines))
    }
}

fn path_in(folder: &str, name: &str) -> String {
    Path::new(folder).join(name).to_string_lossy().into_owned()
}

/// A table of words by keys, in the order of the file.
fn table(file: &str) -> Result<Vec<(String, Vec<String>)>> {
    let text = plain_text::read(file)?;
    let mut seen = HashSet::new();
    let mut rows = Vec::new();
    for (number, line) in lines(&text) {
        let words: Vec<String> = fields(line).into_iter().map(str::to_owned).collect();
        let Some((key, words)) = words.split_first() else { continue };
        if !seen.insert(key.clone()) {
            bail!("{file}, line {number}: the key '{key}' is there twice");
        }
        rows.push((key.clone(), words.to_vec()));
    }
    Ok(rows)
}

/// Reads weights of the words of each utterance.
///
/// # Errors
/// An utterance has no line, or a field is no number. (The alignment checks how many there are, and their range.)
pub fn read_weights(file: &str, data: &Data) -> Result<Vec<Vec<f32>>> {
    let rows: HashMap<String, Vec<String>> = table(file)?.into_iter().collect();
    let of_utterance = |utterance: &Utterance| -> Result<Vec<f32>> {
        let key = &utterance.key;
        let row = rows.get(key).with_context(|| format!("{file} has no line for the utterance '{key}'"))?;
        let number = |field: &String| {
            field
                .parse()
                .with_context(|| format!("{file}: '{key}' has '{field}': expected a number from 0 to 1"))
        };
        row.iter().map(number).collect()
    };
    data.utterances.iter().map(of_utterance).collect()
}

impl Data {
    /// Reads a folder. Words are those of the language.
    pub fn read(folder: &str, lang: &Lang, options: &CepstraOptions) -> Result<Data> {
        let text = table(&path_in(folder, "text"))?;
        let has = |name: &str| Path::new(folder).join(name).exists();
        let speakers: HashMap<String, String> = match has("utt2spk") {
            true => {
                let rows = table(&path_in(folder, "utt2spk"))?;
                rows.into_iter().filter_map(|(key, words)| Some((key, words.first()?.clone()))).collect()
            }
            false => {
                messages::warn(&format!(
                    "{folder}: there is no utt2spk, so each utterance counts as a speaker"
                ));
                HashMap::new()
            }
        };
        let wanted: HashSet<&str> = text.iter().map(|(key, _)| key.as_str()).collect();
        let mut made = Made::default();
        match has("feats.scp") {
            true => made.read_table(&path_in(folder, "feats.scp"), &wanted)?,
            false => made.compute(folder, &wanted, options)?,
        }
        let mut data = Data {
            utterances: Vec::new(),
            texts: Vec::new(),
            without_features: Vec::new(),
            frame_shift: made.frame_shift.unwrap_or(0.01),
            feature_options: made.options.take(),
        };
        let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
        for (key, words) in text {
            let Some(features) = made.features.remove(&key) else {
                let no_sound = || Skip::Reason("there is no sound".to_owned());
                let reason = made.problems.remove(&key).unwrap_or_else(no_sound);
                data.without_features.push((key, reason));
                continue;
            };
            for word in words.iter().filter(|word| lang.words.number(word).is_none()) {
                *unknown.entry(word.clone()).or_default() += 1;
            }
            let numbers = words.iter().map(|word| lang.word(word) as u32).collect();
            let speaker = speakers.get(&key).unwrap_or(&key).clone();
            data.utterances.push(Utterance { key, speaker, features, words: numbers });
            data.texts.push(words);
        }
        if !unknown.is_empty() {
            let first: Vec<&str> = unknown.keys().take(5).map(String::as_str).collect();
            messages::warn(&format!(
                "{folder}: {} ({}) {} not in the lexicon, such as {}",
                count(unknown.len(), "word"),
                count(unknown.values().sum(), "time"),
                either(unknown.len(), "is", "are"),
                first.join(", ")
            ));
        }
        if has("utt2spk") {
            let lacking: Vec<&str> = data
                .utterances
                .iter()
                .map(|of| of.key.as_str())
                .filter(|key| !speakers.contains_key(*key))
                .collect();
            if let Some(first) = lacking.first() {
                bail!(
                    "{}: {} of {} utterances of the text have no speaker, such as '{first}'",
                    path_in(folder, "utt2spk"),
                    lacking.len(),
                    data.utterances.len()
                );
            }
        }
        for (key, skip) in data.without_features.iter().take(5) {
            messages::warn(&skip.sentence(key));
        }
        Ok(data)
    }

    /// Writes the options of the features beside a model, so that other programs make the same. Without any, a file that is there stays.
    pub fn write_options(&self, model: &str) -> Result<()> {
        let Some(lines) = &self.feature_options else { return Ok(()) };
        let mut out = KaldiWriter::create(&path_in(model, FEATURES), false)?;
        out.write_bytes(lines.as_bytes())?;
        Ok(out.finish()?)
    }

    pub fn frames(&self) -> usize {
        self.utterances.iter().map(|utterance| utterance.features.rows).sum()
    }

    /// Hours of so many frames.
    pub fn hours(&self, frames: usize) -> f64 {
        frames as f64 * self.frame_shift / 3600.0
    }
}

/// Features by key.
#[derive(Default)]
struct Made {
    features: HashMap<String, DenseMatrix<f32>>,
    problems: HashMap<String, Skip>,
    frame_shift: Option<f64>,
    options: Option<String>,
}

impl Made {
    fn read_table(&mut self, file: &str, wanted: &HashSet<&str>) -> Result<()> {
        Input::<MatrixHolder>::open(&format!("scp:{file}"))?.for_each(|key, features| {
            if wanted.contains(key) {
                self.features.insert(key.to_owned(), features);
            }
            Ok(())
        })
    }

    fn compute(&mut self, folder: &str, wanted: &HashSet<&str>, options: &CepstraOptions) -> Result<()> {
        let file = path_in(folder, "segments");
        let mut segments: HashMap<String, Vec<Segment>> = HashMap::new();
        let in_segments = Path::new(&file).exists();
        if in_segments {
            let text = plain_text::read(&file)?;
            for (number, line) in lines(&text) {
                let segment = Segment::parse_open(line);
                let segment =
                    segment.map_err(|why| anyhow::anyhow!("{file}, line {number}: {why}: '{line}'"))?;
                segments.entry(segment.recording.clone()).or_default().push(segment);
            }
        }
        let mut extractor: Option<Extractor> = None;
        let waves = path_in(folder, "wav.scp");
        Input::<WaveHolder>::open(&format!("scp:{waves}"))?.for_each(|key, wave| {
            if let Some(complaint) = &wave.complaint {
                messages::warn(&format!("{key}: {complaint}"));
            }
            if extractor.is_none() {
                let (spectral, lines) = options.spectral(wave.sample_rate)?;
                self.options = Some(lines);
                self.frame_shift = Some(f64::from(spectral.frames.shift) * 0.001);
                extractor = Some(Extractor::new(spectral)?);
            }
            let Some(extractor) = &mut extractor else { return Ok(()) };
            if !in_segments {
                self.add(extractor, key, &wave.channel(0), wave.sample_rate, wanted);
                return Ok(());
            }
            for segment in segments.remove(key).unwrap_or_default() {
                match part(&segment, &wave) {
                    Ok(samples) => self.add(extractor, &segment.name, &samples, wave.sample_rate, wanted),
                    Err(problem) => {
                        self.problems.insert(segment.name, problem);
                    }
                }
            }
            Ok(())
        })?;
        for segment in segments.into_values().flatten() {
            let reason = format!("there is no recording '{}'", segment.recording);
            self.problems.insert(segment.name, Skip::Reason(reason));
        }
        Ok(())
    }

    fn add(
        &mut self,
        extractor: &mut Extractor,
        key: &str,
        samples: &[f32],
        rate: u32,
        wanted: &HashSet<&str>,
    ) {
        if !wanted.contains(key) {
            return;
        }
        match extractor.features(samples, rate as f32, 1.0) {
            Ok(features) => {
                self.features.insert(key.to_owned(), features);
            }
            Err(error) => {
                self.problems.insert(key.to_owned(), Skip::Reason(error.to_string()));
            }
        }
    }
}

/// The samples of a segment, or why there are none.
fn part(segment: &Segment, wave: &Wave) -> Outcome<Vec<f32>> {
    let channel = usize::from(segment.channel.unwrap_or(0));
    if channel >= wave.channels {
        return Err(Skip::Reason(format!("the recording has no channel {channel}")));
    }
    let at = |seconds: f64| (seconds * f64::from(wave.sample_rate) + 0.5) as usize;
    let samples = wave.channel(channel);
    let (begin, end) = (at(segment.start), at(segment.end).min(samples.len()));
    match begin < end {
        true => Ok(samples[begin..end].to_vec()),
        false => Err(Skip::Reason(format!(
            "the segment begins at {} s, behind the end of the recording",
            segment.start
        ))),
    }
}

/// Reads a lang folder.
pub fn read_lang(folder: &str) -> Result<Lang> {
    Lang::read(folder).with_context(|| format!("the language in {folder}"))
}
