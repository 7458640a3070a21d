//! Scores of texts, which show those that are not what is said.

use std::num::NonZero;

use anyhow::Result;
use clap::Args;
use kaldi_align::{Aligned, System};
#[cfg(feature = "sound")]
use kaldi_aligner::outputs::{TextRow, write_texts};
use kaldi_lang::Lang;

use crate::gaussians::data_folder::Data;

// Options for scores of texts.
#[derive(Args, Clone, Debug)]
pub struct TextScoreOptions {
    /// Write the texts with their scores to this file, those that may not be what is said first: a line each, with tabs between
    /// score, verdict (not aligned, wrong, doubtful, fits), utterance, place, text and reason. See docs/alignment.md
    #[arg(long, value_name = "FILE", default_value = "")]
    text_scores: String,
}

impl TextScoreOptions {
    /// Scores and writes, if the file has a name. Fails in a build without the feature `sound`, which the aligner needs.
    pub fn write(
        &self,
        system: &System,
        lang: &Lang,
        data: &Data,
        aligned: &Aligned,
        threads: NonZero<usize>,
    ) -> Result<()> {
        if self.text_scores.is_empty() {
            return Ok(());
        }
        #[cfg(not(feature = "sound"))]
        {
            let _ = (system, lang, data, aligned, threads);
            anyhow::bail!("--text-scores: this build is without the feature 'sound', which the aligner needs")
        }
        #[cfg(feature = "sound")]
        {
            let scores =
                kaldi_aligner::listen::text_scores(system, lang, &data.utterances, aligned, threads)?;
            let texts: Vec<String> = data.texts.iter().map(|words| words.join(" ")).collect();
            let reason = |result: &std::result::Result<_, kaldi_align::Reason>| {
                result.as_ref().err().map(ToString::to_string)
            };
            let reasons: Vec<Option<String>> = aligned.results.iter().map(reason).collect();
            let is_unknown = |word: &&u32| i64::from(**word) == i64::from(lang.oov);
            let rows: Vec<TextRow> = (0..texts.len())
                .map(|place| TextRow {
                    utterance: &data.utterances[place].key,
                    text: &texts[place],
                    place: "text",
                    reason: reasons[place].as_deref(),
                    unknown: data.utterances[place].words.iter().filter(|word| is_unknown(word)).count(),
                })
                .collect();
            write_texts(self.text_scores.as_ref(), &rows, &scores)?;
            Ok(())
        }
    }
}
