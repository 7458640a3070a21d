//! Options that choose words: phrases, alternatives, confidences.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use nnet3::messages;
use nnet3::options::fraction;
use nnet3_online::formats::Format;
use nnet3_online::{Model, Phrases, RecognizerOptions, is_unknown, phrases};

/// The phrase for anything else, as in vosk.
const ANYTHING: &str = "[unk]";
/// Texts of a sentence, at most.
const MOST_ALTERNATIVES: i32 = 1000;

/// Phrases, each with the number of its line.
type Lines = Vec<(usize, String)>;

// Options that choose words.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct WordArgs {
    /// File of phrases, one a line: only these phrases, or their words in another order, are recognised. The phrase [unk]
    /// stands for anything else: it is the model's word [unk], <unk> or <UNK>. Models of recognizer.sh and
    /// published ones with graph/HCLr.fst take phrases. Phrases with words that the model does not know are left out with a warning; capitals do not count
    #[arg(long, value_name = "FILE", default_value = "")]
    pub phrases: String,
    /// Write up to this many texts of each sentence, the likeliest first (forms text and json). 0: its words alone
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub alternatives: i32,
    /// Leave out words whose confidence is lower, from 0 to 1. Alternatives keep all words
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub min_confidence: f32,
    /// Write this in the place of <unk>, [unk] or <UNK>, the word of many models for a sound that is no word of their vocabulary: a name
    /// that they lack, a cough, noise. With nothing behind the = (--unknown=) it is left out. Without the option it is written as it is
    #[arg(long, value_name = "WORD")]
    pub unknown: Option<String>,
}

impl WordArgs {
    /// Checks the options.
    ///
    /// Fails if a form has no place for alternatives.
    pub fn check(&self, formats: &[Format]) -> Result<()> {
        if !(0..=MOST_ALTERNATIVES).contains(&self.alternatives) {
            bail!("--alternatives={}: expected a number from 0 to {MOST_ALTERNATIVES}", self.alternatives);
        }
        let other = formats.iter().find(|format| !matches!(format, Format::Text | Format::Json));
        if let Some(other) = other.filter(|_| self.alternatives > 0) {
            let name = other.name();
            bail!("--alternatives is for --format=text and --format=json, found --format={name}");
        }
        if let Some(unknown) =
            self.unknown.as_ref().filter(|word| word.contains(|c: char| c.is_whitespace() || c.is_control()))
        {
            bail!("--unknown={unknown:?}: expected a word without blanks");
        }
        fraction::check("min-confidence", self.min_confidence)
    }

    /// The words of a sentence that has not ended, with [`unknown`](Self::unknown) in the place of such words.
    pub fn shown(&self, partial: String) -> String {
        let Some(unknown) = &self.unknown else { return partial };
        let words = partial.split(' ').map(|word| if is_unknown(word) { unknown } else { word });
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The lines of the file of phrases, with their numbers, if there is one.
    pub fn lines(&self) -> Result<Option<Lines>> {
        if self.phrases.is_empty() { Ok(None) } else { Ok(Some(phrases::read(&self.phrases)?)) }
    }

    /// The options of recognisers. Warns of words of the phrases that are ignored.
    pub fn recognizer(&self, model: &Model, lines: Option<Lines>) -> Result<RecognizerOptions> {
        let phrases = lines.map(|lines| self.phrases(model, &lines)).transpose()?;
        Ok(RecognizerOptions {
            alternatives: self.alternatives.max(0) as usize,
            phrases,
            ..model.options().clone()
        })
    }

    fn phrases(&self, model: &Model, lines: &Lines) -> Result<Phrases> {
        let file = &self.phrases;
        let texts: Vec<&str> = lines
            .iter()
            .map(|(_, text)| if text == ANYTHING { model.garbage_word().unwrap_or(text) } else { text })
            .collect();
        let named = || format!("--phrases={file}");
        let phrases = model.phrases(&texts).with_context(named)?;
        let lacking: BTreeSet<usize> = phrases.ignored().iter().map(|word| word.phrase).collect();
        let mut remarks: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
        let line = |phrase: usize| lines.get(phrase).map_or(0, |line| line.0);
        for word in phrases.ignored() {
            let cause = match (word.is_pathless, word.word == ANYTHING) {
                (true, _) => "is not in the graph of the model: phrases with it are left out",
                (false, true) => "stands for a word that the model lacks: phrases with it are left out",
                (false, false) => "is not in the vocabulary of the model: phrases with it are left out",
            };
            let remark = (word.word.as_str(), cause.to_owned());
            remarks.entry(remark).or_default().push(line(word.phrase));
        }
        for word in phrases.replaced().iter().filter(|word| !lacking.contains(&word.phrase)) {
            let remark = (word.word.as_str(), format!("is recognised as '{}', which the model has", word.by));
            remarks.entry(remark).or_default().push(line(word.phrase));
        }
        for ((word, remark), lines) in remarks {
            let others =
                if lines.len() > 1 { format!(" and {} more", lines.len() - 1) } else { String::new() };
            messages::warn(&format!("{file}, line {}{others}: the word '{word}' {remark}", lines[0]));
        }
        if lacking.is_empty() {
            return Ok(phrases);
        }
        let kept: Vec<&str> =
            (0..).zip(&texts).filter(|(at, _)| !lacking.contains(at)).map(|(_, text)| *text).collect();
        if kept.is_empty() {
            bail!("--phrases={file}: no phrase is left: each has a word that the model cannot recognise");
        }
        model.phrases(&kept).with_context(named)
    }
}
