//! One sampling rate for all recordings.

use crate::corpus::Corpus;
use crate::fault::{Fault, Kind};

/// The share of utterances, from 0 to 1, whose lower rate does not bring down that of all.
const FEW: f64 = 0.02;

impl Corpus {
    /// The rate in Hz to which recordings are brought: the highest that at least 98 % of the utterances reach. `None` if
    /// recordings were not opened.
    pub fn common_rate(&self) -> Option<u32> {
        let mut rates: Vec<u32> =
            self.utterances.iter().map(|utterance| self.recordings[utterance.recording].rate).collect();
        rates.sort_unstable();
        let below = (rates.len() as f64 * FEW) as usize;
        rates.get(below).copied().filter(|&rate| rate > 0)
    }

    /// Removes utterances whose recordings have a lower rate.
    pub fn require_rate(&mut self, rate: u32) {
        self.remove(|corpus, utterance| {
            let recording = &corpus.recordings[utterance.recording];
            (recording.rate > 0 && recording.rate < rate).then(|| {
                let sentence = format!(
                    "{} has {} samples per second, fewer than {rate}",
                    recording.source, recording.rate
                );
                Fault::loss(Kind::OtherRate, &utterance.place, sentence, corpus.seconds(utterance))
            })
        });
    }
}
