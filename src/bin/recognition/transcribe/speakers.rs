//! Speakers of sentences: a folder of a speaker model in vosk's form, and numbers of speakers for the sentences of a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_io::object::read_matrix;
use kaldi_io::read_object;
use nnet3::forward::load_to_run;
use nnet3_matrix::WeightForm;
use nnet3_online::config::spectral::{self, MfccArgs};
use nnet3_online::json;
use nnet3_online::speakers::{SpeakerModel, SpeakerParts, SpeakerVector};

use super::output::{self, Format, Segment};

// Options for speakers.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SpeakerArgs {
    /// Folder of a speaker model: mfcc.conf, final.ext.raw, mean.vec and transform.mat, as vosk reads them, and plda and
    /// threshold if they are there. Sentences get the numbers of their speakers (forms text and json). Sentences end at
    /// pauses, so speakers who take turns without a pause are not told apart.
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub speakers: String,
    /// Sentences are of one speaker while their mean score is above this number: a log likelihood ratio if the folder has
    /// plda, else a cosine. Without it, the number in the file threshold of the folder, or 0 for plda, 0.4 for cosines
    #[arg(long, allow_negative_numbers = true)]
    pub speaker_threshold: Option<f32>,
}

/// A model, and the threshold for joining sentences.
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
        let path = |name: &str| format!("{folder}/{name}");
        for name in ["mfcc.conf", "final.ext.raw", "mean.vec", "transform.mat"] {
            if !Path::new(&path(name)).exists() {
                bail!("--speakers={folder}: the folder of the speaker model has no {name}");
            }
        }
        let mut features = spectral::read::<MfccArgs>("mfcc.conf", &path("mfcc.conf"))?;
        features.frames.allow_downsample = true;
        let device = nnet3_matrix::cpu();
        let plda = match Path::new(&path("plda")).exists() {
            true => Some(read_object(&path("plda"))?),
            false => None,
        };
        let parts = SpeakerParts {
            features,
            network: load_to_run(&path("final.ext.raw"), &device, WeightForm::Float)?,
            mean: read_object::<Vec<f32>>(&path("mean.vec"))?,
            transform: read_matrix(&path("transform.mat"))?,
            plda,
        };
        let model = SpeakerModel::new(parts, &device).with_context(|| format!("--speakers={folder}"))?;
        let model = Arc::new(model);
        Ok(Some(Speakers { model, threshold: self.threshold(&path("threshold"))? }))
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

/// The voice of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Voice {
    pub vector: SpeakerVector,
    /// The number of the speaker in the file, from 1 on.
    pub speaker: usize,
}

impl Speakers {
    /// Gives the vectors of a file's segments the numbers of their speakers.
    fn voices(&self, vectors: &[Option<SpeakerVector>]) -> Result<Vec<Option<Voice>>> {
        let known: Vec<&SpeakerVector> = vectors.iter().flatten().collect();
        let mut labels = self.model.cluster(&known, self.threshold)?.into_iter();
        let voice = |vector: &Option<SpeakerVector>| {
            let vector = vector.clone()?;
            labels.next().map(|speaker| Voice { vector, speaker })
        };
        Ok(vectors.iter().map(voice).collect())
    }

    /// The text of a file with this name, with the speaker of each segment. There is a vector, or none, for each segment.
    pub fn write(
        &self,
        format: Format,
        name: &str,
        segments: &[Segment],
        vectors: &[Option<SpeakerVector>],
    ) -> Result<String> {
        Ok(write(format, name, segments, &self.voices(vectors)?))
    }
}

/// A line for each segment (text), or the file's object with `speaker`, and `spk` and `spk_frames` as vosk has them, in each
/// segment.
fn write(format: Format, name: &str, segments: &[Segment], voices: &[Option<Voice>]) -> String {
    let spoken = segments.iter().zip(voices).filter(|(segment, _)| !segment.is_empty());
    if format == Format::Json {
        let mut object = json::recording(name, segments);
        let objects = object["segments"].as_array_mut().into_iter().flatten();
        for (object, (_, voice)) in objects.zip(spoken) {
            if let Some(Voice { vector, speaker }) = voice {
                object["speaker"] = (*speaker).into();
                object["spk"] = vector.values.clone().into();
                object["spk_frames"] = vector.frames.into();
            }
        }
        return format!("{object}\n");
    }
    let mut lines: Vec<String> = Vec::new();
    for (segment, voice) in spoken {
        let speaker = voice.as_ref().map_or("?".to_owned(), |voice| voice.speaker.to_string());
        lines.push(format!("{name} speaker{speaker}: {}\n", output::text(segment)));
    }
    if lines.is_empty() { format!("{name}\n") } else { lines.concat() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_online::Word;
    use serde_json::json;

    #[test]
    fn texts_name_speakers() {
        let word = |text: &str| Word { text: text.to_owned(), start: 0.0, end: 1.0, confidence: 1.0 };
        let segments = [vec![word("one"), word("two")], vec![], vec![word("three")], vec![word("four")]];
        let voice =
            |speaker| Some(Voice { vector: SpeakerVector { values: vec![0.5, -1.5], frames: 60 }, speaker });
        let voices = [voice(1), None, voice(2), None];
        let shown = |format| write(format, "u", &segments, &voices);
        assert_eq!(shown(Format::Text), "u speaker1: one two\nu speaker2: three\nu speaker?: four\n");
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        let segment = |i: usize| object["segments"][i].clone();
        assert_eq!(segment(1)["speaker"], json!(2));
        assert_eq!((&segment(1)["spk"], &segment(1)["spk_frames"]), (&json!([0.5, -1.5]), &json!(60)));
        assert_eq!((&segment(2)["text"], &segment(2)["spk"]), (&json!("four"), &json!(null)));
        assert_eq!(write(Format::Text, "u", &[vec![]], &[None]), "u\n");
    }
}
