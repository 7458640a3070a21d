//! From recordings to cepstra of utterances.

use std::num::NonZero;

use kaldi_align::parallel::in_order;
use kaldi_align::{Utterance, interrupt};
use kaldi_corpus::{Corpus, Recording};
use kaldi_feat::spectral::Extractor;
use kaldi_io::DenseMatrix;
use kaldi_lang::Lang;
use kaldi_sound::{Channels, Signal, SoundStream};

use crate::edges::Levels;
use crate::settings::FeatureSettings;
use crate::{Error, Result};

/// Samples that are read at once.
const PIECE: usize = 1 << 16;

/// Utterances with features, in the order of the corpus' utterances. Features of an utterance that has none are empty.
pub struct Extracted {
    /// Features and words of each utterance.
    pub utterances: Vec<Utterance>,
    /// Reasons for empty features, by the number of the utterance.
    pub problems: Vec<Option<String>>,
    /// The loudness of each utterance.
    pub levels: Vec<Levels>,
}

impl Extracted {
    /// The reason for empty features, or another one.
    pub(crate) fn problem_or(&self, number: usize, other: impl FnOnce() -> String) -> String {
        self.problems[number].clone().unwrap_or_else(other)
    }
}

/// Makes cepstra of all utterances. `progress` gets the share that is done, from 0 to 1.
///
/// # Errors
/// The settings make no sense. A recording that cannot be read is a problem of its utterances.
pub fn extract(
    corpus: &Corpus,
    lang: &Lang,
    settings: &FeatureSettings,
    threads: NonZero<usize>,
    mut progress: impl FnMut(f64),
) -> Result<Extracted> {
    Extractor::new(settings.spectral())?;
    let mut of_recording: Vec<Vec<usize>> = vec![Vec::new(); corpus.recordings.len()];
    for (number, utterance) in corpus.utterances.iter().enumerate() {
        of_recording[utterance.recording].push(number);
    }
    let empty = |number: usize| {
        let utterance = &corpus.utterances[number];
        Utterance {
            key: utterance.id.clone(),
            speaker: utterance.speaker.clone(),
            features: DenseMatrix::new(0, 0),
            words: numbers(&utterance.text, lang),
        }
    };
    let mut utterances: Vec<Utterance> = (0..corpus.utterances.len()).map(empty).collect();
    let mut problems = vec![None; utterances.len()];
    let mut levels = vec![Levels::default(); utterances.len()];
    let (mut done, all) = (0, of_recording.len().max(1));
    let work = |number: usize| {
        let members = &of_recording[number];
        let spans: Vec<_> = members.iter().map(|&member| corpus.utterances[member].span).collect();
        (number, of_spans(&corpus.recordings[number], &spans, settings))
    };
    in_order(threads, of_recording.len(), work, |(number, found)| {
        for (place, &member) in of_recording[number].iter().enumerate() {
            match &found {
                Ok(parts) if parts[place].0.rows > 0 => {
                    utterances[member].features = parts[place].0.clone();
                    levels[member] = parts[place].1.clone();
                }
                Ok(_) => problems[member] = Some("it is shorter than a frame".to_owned()),
                Err(message) => problems[member] = Some(message.clone()),
            }
        }
        done += 1;
        progress(done as f64 / all as f64);
        Ok::<(), Error>(())
    })?;
    Ok(Extracted { utterances, problems, levels })
}

/// The numbers of a text's words.
pub(crate) fn numbers(text: &str, lang: &Lang) -> Vec<u32> {
    text.split(' ').filter(|word| !word.is_empty()).map(|word| lang.word(word) as u32).collect()
}

/// The samples of a part of a recording, between seconds; all of them without a span.
pub(crate) fn part(samples: &[f32], span: Option<(f64, f64)>, rate: u32) -> &[f32] {
    let place = |seconds: f64| ((seconds * f64::from(rate)).round() as usize).min(samples.len());
    match span {
        Some((begin, end)) => &samples[place(begin)..place(end).max(place(begin))],
        None => samples,
    }
}

/// The features and levels of parts of a recording.
fn of_spans(
    recording: &Recording,
    spans: &[Option<(f64, f64)>],
    settings: &FeatureSettings,
) -> std::result::Result<Vec<(DenseMatrix<f32>, Levels)>, String> {
    let says = |error: &dyn std::error::Error| kaldi_io::error::chain(error);
    let samples = samples(recording, settings.rate).map_err(|error| says(&error))?;
    spans
        .iter()
        .map(|span| {
            let part = part(&samples, *span, settings.rate);
            // A new one for each part: its noise does not depend on the order of the parts.
            let mut extractor = Extractor::new(settings.spectral()).map_err(|error| says(&error))?;
            let features =
                extractor.features(part, settings.rate as f32, 1.0).map_err(|error| says(&error))?;
            Ok((features, Levels::of(part, settings.rate)))
        })
        .collect()
}

/// The samples of a recording at this rate.
///
/// # Errors
/// The recording cannot be read.
pub fn samples(recording: &Recording, rate: u32) -> kaldi_sound::Result<Vec<f32>> {
    let channels = match recording.channel {
        Some(channel) => Channels::Number(channel + 1),
        None => Channels::Mix,
    };
    let stream = SoundStream::open(&recording.source.rxfilename())?;
    let mut signal = Signal::new(stream, channels, Some(rate))?;
    let mut samples = Vec::new();
    // (Nobody takes a part of them: the work is over.)
    while !interrupt::is_over() {
        let more = signal.read(PIECE)?;
        if more.is_empty() {
            break;
        }
        samples.extend(more);
    }
    signal.close()?;
    Ok(samples)
}
