//! Speakers: a folder of a speaker model in vosk's form, and numbers of speakers for the phrases of a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use nnet3_online::formats::Segment;
use nnet3_online::speakers::{SpeakerModel, SpeakerVector};
use nnet3_online::voices::{Phrase, Voices};

// Options for speakers.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SpeakerArgs {
    /// Folder of a speaker model: mfcc.conf, final.ext.raw, mean.vec and transform.mat, as vosk reads them, and plda and
    /// threshold if they are there. Texts name who speaks: Speaker 1, Speaker 2. A speaker has all words
    /// up to a pause of 0.2 s, so speakers who take turns without one are not told apart. Less than half a second between
    /// pauses is not compared, but belongs to what is before it.
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub speakers: String,
    /// Phrases are of one speaker while their mean score is above this number: a log likelihood ratio if the folder has
    /// plda, else a cosine. Without it, the number in the file threshold of the folder, or 0 for plda, 0.4 for cosines
    #[arg(long, allow_negative_numbers = true)]
    pub speaker_threshold: Option<f32>,
}

/// A model, and the threshold for joining phrases.
pub struct Speakers {
    pub model: Arc<SpeakerModel>,
    threshold: Option<f32>,
}

impl SpeakerArgs {
    /// Reads the folder, if there is one.
    pub fn load(&self) -> Result<Option<Speakers>> {
        let folder = &self.speakers;
        if folder.is_empty() {
            return Ok(None);
        }
        if !Path::new(folder).is_dir() {
            let found =
                if Path::new(folder).exists() { "found a file" } else { "but there is no such folder" };
            bail!(
                "--speakers={folder}: expected the folder of a speaker model, {found} (docs/models.md says where models come from)"
            );
        }
        let model = SpeakerModel::open(folder).context("--speakers")?;
        let model = Arc::new(model);
        Ok(Some(Speakers { model, threshold: self.threshold(&format!("{folder}/threshold"))? }))
    }

    fn threshold(&self, file: &str) -> Result<Option<f32>> {
        if self.speaker_threshold.is_some() || !Path::new(file).exists() {
            return Ok(self.speaker_threshold);
        }
        let text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
        match text.trim().parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => bail!(
                "{file}: expected a number, found '{}'",
                text.trim().chars().take(40).collect::<String>()
            ),
        }
    }
}

impl Speakers {
    /// The number of the speaker of each phrase. A phrase without a vector has the speaker of the phrase before it, or else
    /// after it, in its segment; `None` without such a phrase.
    fn numbers(&self, voices: &[Voices]) -> Result<Vec<Vec<Option<usize>>>> {
        let phrases = || voices.iter().flat_map(|voices| &voices.phrases);
        let known: Vec<&SpeakerVector> = phrases().filter_map(|phrase| phrase.vector.as_ref()).collect();
        let mut labels = self.model.cluster(&known, self.threshold)?.into_iter();
        let of_segment = |voices: &Voices| {
            let number = |phrase: &Phrase| phrase.vector.as_ref().and_then(|_| labels.next());
            filled(voices.phrases.iter().map(number).collect())
        };
        Ok(voices.iter().map(of_segment).collect())
    }

    /// Gives each word of the segments its speaker, and each segment its voice. There are voices for each segment.
    pub fn label(&self, segments: &mut [Segment], voices: Vec<Voices>) -> Result<()> {
        let numbers = self.numbers(&voices)?;
        for (segment, (voices, numbers)) in segments.iter_mut().zip(voices.into_iter().zip(numbers)) {
            label(segment, voices, &numbers);
        }
        Ok(())
    }
}

/// Gives each word the number of its phrase.
fn label(segment: &mut Segment, voices: Voices, numbers: &[Option<usize>]) {
    segment.speakers = vec![None; segment.words.len()];
    for (phrase, number) in voices.phrases.iter().zip(numbers) {
        phrase.words.clone().for_each(|word| segment.speakers[word] = *number);
    }
    segment.voice = voices.whole;
}

fn filled(mut numbers: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let mut last = numbers.iter().flatten().next().copied();
    for number in &mut numbers {
        last = number.or(last);
        *number = last;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_online::Word;
    use nnet3_online::voices::phrases;

    fn word(text: &str, start: f64) -> Word {
        Word { text: text.to_owned(), start, end: start + 0.5, confidence: 1.0 }
    }

    #[test]
    fn words_have_the_speakers_of_their_phrases() {
        let words = vec![word("one", 0.0), word("two", 0.5), word("three", 1.5), word("four", 2.5)];
        let mut segment = Segment { words, channel: 1, ..Segment::default() };
        let ranges = phrases(&segment.words);
        assert_eq!(ranges, [0..2, 2..3, 3..4]);
        let phrases = ranges.into_iter().map(|words| Phrase { words, vector: None }).collect();
        let whole = Some(SpeakerVector { values: vec![0.5, -1.5], frames: 60 });
        label(&mut segment, Voices { whole: whole.clone(), phrases }, &[Some(1), Some(1), None]);
        assert_eq!(segment.speakers, [Some(1), Some(1), Some(1), None]);
        assert_eq!(segment.voice, whole);
        let mut silent = Segment::default();
        label(&mut silent, Voices::default(), &[]);
        assert!(silent.speakers.is_empty() && silent.voice.is_none());
    }

    #[test]
    fn short_phrases_belong_to_their_neighbours() {
        assert_eq!(
            filled(vec![None, Some(2), None, Some(1), None]),
            [Some(2), Some(2), Some(2), Some(1), Some(1)]
        );
        assert_eq!(filled(vec![None, None]), [None, None]);
    }
}
