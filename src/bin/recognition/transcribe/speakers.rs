//! Speakers: a folder of a speaker model in vosk's form.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_lang::plain_text;
use nnet3::messages;
use nnet3_online::speakers::SpeakerModel;
use nnet3_online::{Model, Speakers};

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

    /// Warns if sound that the recogniser takes lacks frequencies that the model of speakers hears.
    pub fn compare(&self, speakers: Option<&Speakers>, recognizer: &Model) {
        let Some(speakers) = speakers else { return };
        let (needs, gets) = (speakers.model.sample_rate(), recognizer.sample_rate());
        if gets < needs {
            messages::warn(&format!(
                "--speakers={}: this model was trained with {needs} samples per second, and the recogniser with {gets}: it tells voices apart \
                 less well if recordings have no more",
                self.speakers
            ));
        }
    }

    fn threshold(&self, file: &str) -> Result<Option<f32>> {
        if self.speaker_threshold.is_some() || !Path::new(file).exists() {
            return Ok(self.speaker_threshold);
        }
        let text = plain_text::read(file)?;
        match text.trim().parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => bail!(
                "{file}: expected a number, found '{}'",
                text.trim().chars().take(40).collect::<String>()
            ),
        }
    }
}
