//! The result of reading: recordings, utterances, faults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::fault::{Amount, Counts, Fault};
use crate::probe::Levels;

/// The place of a recording's sound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An extended file name of Kaldi's that is not a plain file: a command that ends with `|`, or `file:offset`.
    Extended(String),
}

impl Source {
    /// The name by which programs open the sound. (Only files whose names programs would take for files are in a corpus.)
    pub fn rxfilename(&self) -> String {
        match self {
            Source::File(path) => path.to_string_lossy().into_owned(),
            Source::Extended(name) => name.clone(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(f),
            Source::Extended(name) => name.fmt(f),
        }
    }
}

/// A recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// A valid key of Kaldi's tables, unique in the corpus.
    pub id: String,
    /// The folders below the input, and the name without its ending. The key alone if the input is a list of keys, or if the
    /// recording lies elsewhere.
    pub path: Vec<String>,
    /// The file or the command that has it.
    pub source: Source,
    /// The channel that is used, from 0. `None` is the mean of all channels.
    pub channel: Option<usize>,
    /// Number of channels of the file. 0 if the recording was not opened.
    pub channels: usize,
    /// In Hz. 0 if the recording was not opened.
    pub rate: u32,
    /// 0 if the recording was not opened.
    pub seconds: f64,
    /// The length by the header of a wave file; the same as `seconds` if the header promises none.
    pub promised_seconds: f64,
    /// True if the file is a plain wave file, which Kaldi's programs read.
    pub is_wave: bool,
    /// Loudness and clipping, if asked for.
    pub levels: Option<Levels>,
}

/// A header that promises more samples than this factor is not believed.
const MOST_PROMISED: f64 = 1.05;

impl Recording {
    /// The length that Praat shows, in seconds: it fills a wave up to the length by its header. At most 5 % more than there is.
    pub fn shown_seconds(&self) -> f64 {
        match self.promised_seconds {
            promised if promised > self.seconds && promised <= MOST_PROMISED * self.seconds => promised,
            _ => self.seconds,
        }
    }
}

/// A part of a recording, or a whole one, with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Utterance {
    /// A valid key of Kaldi's tables, unique in the corpus. It begins with the speaker's name, unless the input has keys.
    pub id: String,
    /// The number of the recording in [`Corpus::recordings`].
    pub recording: usize,
    /// Beginning and end in seconds. `None` is the whole recording.
    pub span: Option<(f64, f64)>,
    /// A valid key of Kaldi's tables.
    pub speaker: String,
    /// The text as the input has it, with single blanks between words, until [`crate::vocabulary`] changes it.
    pub text: String,
    /// The file, and the line or the tier and time in it, that has the text.
    pub place: String,
}

/// Recordings and their utterances, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Corpus {
    /// All recordings.
    pub recordings: Vec<Recording>,
    /// All utterances, in the order of their names.
    pub utterances: Vec<Utterance>,
    /// Losses and oddities.
    pub faults: Vec<Fault>,
    /// Everything that the input has, with the utterances that were lost.
    pub found: Amount,
    /// Recordings that are taken for a speaker each, because neither the input nor a rule names speakers.
    pub own_speakers: usize,
}

impl Corpus {
    /// The length of the shortest utterance in seconds; `None` without utterances.
    pub fn shortest(&self) -> Option<f64> {
        let seconds = |utterance: &Utterance| match utterance.span {
            Some((begin, end)) => end - begin,
            None => self.recordings[utterance.recording].seconds,
        };
        self.utterances.iter().map(seconds).reduce(f64::min)
    }

    /// Seconds of an utterance.
    pub fn seconds(&self, utterance: &Utterance) -> f64 {
        match utterance.span {
            Some((begin, end)) => end - begin,
            None => self.recordings[utterance.recording].seconds,
        }
    }

    /// The utterances that the corpus has.
    pub fn kept(&self) -> Amount {
        let seconds = self.utterances.iter().map(|utterance| self.seconds(utterance)).sum();
        Amount { utterances: self.utterances.len(), seconds }
    }

    /// Utterances in and out, and the reasons.
    pub fn counts(&self) -> Counts {
        Counts::new(self.found, self.kept(), &self.faults)
    }

    /// Sampling rates in Hz, and the number of recordings with each.
    pub fn rates(&self) -> BTreeMap<u32, usize> {
        let mut rates = BTreeMap::new();
        for recording in self.recordings.iter().filter(|recording| recording.rate > 0) {
            *rates.entry(recording.rate).or_default() += 1;
        }
        rates
    }

    /// Speakers, each with the numbers of its utterances.
    pub fn speakers(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut speakers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, utterance) in self.utterances.iter().enumerate() {
            speakers.entry(&utterance.speaker).or_default().push(number);
        }
        speakers
    }

    /// Removes the utterances for which `fault` returns one; the faults are added. Recordings that are left without
    /// utterances go, too.
    pub fn remove(&mut self, mut fault: impl FnMut(&Corpus, &Utterance) -> Option<Fault>) {
        let utterances = std::mem::take(&mut self.utterances);
        let mut kept = Vec::with_capacity(utterances.len());
        for utterance in utterances {
            match fault(self, &utterance) {
                Some(fault) => self.faults.push(fault),
                None => kept.push(utterance),
            }
        }
        self.utterances = kept;
        self.drop_unused_recordings();
    }

    pub(crate) fn drop_unused_recordings(&mut self) {
        let mut is_used = vec![false; self.recordings.len()];
        for utterance in &self.utterances {
            is_used[utterance.recording] = true;
        }
        let mut number = 0;
        let numbers: Vec<usize> = is_used
            .iter()
            .map(|&used| {
                number += usize::from(used);
                number.saturating_sub(1)
            })
            .collect();
        let mut used = is_used.iter();
        self.recordings.retain(|_| used.next().is_some_and(|&used| used));
        for utterance in &mut self.utterances {
            utterance.recording = numbers[utterance.recording];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_believed_if_it_promises_little_more_than_there_is() {
        let of = |promised_seconds| {
            let recording = Recording {
                id: "r".to_owned(),
                path: vec!["r".to_owned()],
                source: Source::File("/r.wav".into()),
                channel: Some(0),
                channels: 1,
                rate: 8000,
                seconds: 10.0,
                promised_seconds,
                is_wave: true,
                levels: None,
            };
            recording.shown_seconds()
        };
        assert_eq!([10.4, 10.0, 9.0, 10.6].map(of), [10.4, 10.0, 10.0, 10.0]);
    }
}
