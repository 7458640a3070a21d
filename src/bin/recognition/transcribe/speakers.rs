//! Speakers: a folder of a speaker model in vosk's form, and numbers of speakers for the phrases of a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use nnet3_online::formats::{self, Format, Parts, Segment};
use nnet3_online::speakers::{SpeakerModel, SpeakerVector};
use nnet3_online::voices::{Phrase, Voices};

// Options for speakers.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SpeakerArgs {
    /// Folder of a speaker model: mfcc.conf, final.ext.raw, mean.vec and transform.mat, as vosk reads them, and plda and
    /// threshold if they are there. Words get the numbers of their speakers (forms text and json). A speaker has all words
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
    ///
    /// Fails if `format` has no place for speakers.
    pub fn load(&self, format: Format) -> Result<Option<Speakers>> {
        let folder = &self.speakers;
        if folder.is_empty() {
            return Ok(None);
        }
        if !matches!(format, Format::Text | Format::Json) {
            bail!("--speakers is for --format=text and --format=json, found --format={}", format.suffix());
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

    /// The text of a file with this name, with its speakers. There are voices for each segment.
    pub fn write(
        &self,
        format: Format,
        parts: Parts,
        name: &str,
        segments: &[Segment],
        voices: &[Voices],
    ) -> Result<String> {
        Ok(write((format, parts), name, segments, voices, &self.numbers(voices)?))
    }
}

fn filled(mut numbers: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let mut last = numbers.iter().flatten().next().copied();
    for number in &mut numbers {
        last = number.or(last);
        *number = last;
    }
    numbers
}

/// A line for each turn (text), or the file's object with `speaker` in each word, and `spk` and `spk_frames` as vosk has them
/// in each segment.
fn write(
    (format, parts): (Format, Parts),
    name: &str,
    segments: &[Segment],
    voices: &[Voices],
    numbers: &[Vec<Option<usize>>],
) -> String {
    let spoken =
        segments.iter().zip(voices.iter().zip(numbers)).filter(|(segment, _)| !segment.words.is_empty());
    if format == Format::Json {
        let mut object = formats::recording(parts, name, segments);
        let objects = object["segments"].as_array_mut().into_iter().flatten();
        for (object, (_, (voices, numbers))) in objects.zip(spoken) {
            if let Some(SpeakerVector { values, frames }) = &voices.whole {
                object["spk"] = values.clone().into();
                object["spk_frames"] = (*frames).into();
            }
            for (phrase, number) in voices.phrases.iter().zip(numbers) {
                phrase.words.clone().for_each(|word| object["words"][word]["speaker"] = (*number).into());
            }
        }
        return format!("{object}\n");
    }
    let mut lines = String::new();
    for (segment, (voices, numbers)) in spoken {
        let turns: Vec<_> = voices.phrases.iter().zip(numbers).collect();
        for turn in turns.chunk_by(|a, b| a.1 == b.1) {
            let speaker = turn[0].1.map_or("?".to_owned(), |number| number.to_string());
            let words = turn[0].0.words.start..turn[turn.len() - 1].0.words.end;
            lines += &format!("{name} speaker{speaker}: {}\n", nnet3_online::text(&segment.words[words]));
        }
    }
    if lines.is_empty() { format!("{name}\n") } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_online::Word;
    use nnet3_online::voices::phrases;
    use serde_json::json;

    fn word(text: &str, start: f64) -> Word {
        Word { text: text.to_owned(), start, end: start + 0.5, confidence: 1.0 }
    }

    #[test]
    fn texts_name_speakers() {
        let segment = |words| Segment { words, channel: 1, ..Segment::default() };
        let segments = [
            segment(vec![word("one", 0.0), word("two", 0.5), word("three", 1.5), word("four", 2.5)]),
            segment(vec![]),
            segment(vec![word("five", 4.0)]),
        ];
        assert_eq!(phrases(&segments[0].words), [0..2, 2..3, 3..4]);
        let vector = SpeakerVector { values: vec![0.5, -1.5], frames: 60 };
        let voices: Vec<Voices> = segments
            .iter()
            .map(|segment| Voices {
                whole: (segment.words.len() > 1).then(|| vector.clone()),
                phrases: phrases(&segment.words)
                    .into_iter()
                    .map(|words| Phrase { words, vector: None })
                    .collect(),
            })
            .collect();
        let numbers = [vec![Some(1), Some(1), Some(2)], vec![], vec![None]];
        let shown = |format| write((format, Parts::default()), "u", &segments, &voices, &numbers);
        assert_eq!(shown(Format::Text), "u speaker1: one two three\nu speaker2: four\nu speaker?: five\n");
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        let shown_segment = |i: usize| object["segments"][i].clone();
        let speakers: Vec<_> = (0..4).map(|i| shown_segment(0)["words"][i]["speaker"].clone()).collect();
        assert_eq!(speakers, [json!(1), json!(1), json!(1), json!(2)]);
        assert_eq!(
            (&shown_segment(0)["spk"], &shown_segment(0)["spk_frames"]),
            (&json!([0.5, -1.5]), &json!(60))
        );
        assert_eq!((&shown_segment(1)["text"], &shown_segment(1)["spk"]), (&json!("five"), &json!(null)));
        assert_eq!(
            write(
                (Format::Text, Parts::default()),
                "u",
                &[Segment::default()],
                &[Voices::default()],
                &[vec![]]
            ),
            "u\n"
        );
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
