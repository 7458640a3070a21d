//! The entry: an input, its form, the options of reading.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldi_sound::Channels;

use crate::fault::Kind;
use crate::probe::Check;
use crate::speakers::SpeakerRule;
use crate::tiers::{self, TierRule};
use crate::{Corpus, Error, Result, data_folder, folder, listed, table};

/// The place of recordings and texts.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A folder or a table; [`Input::form`] finds out which form it has.
    Path(PathBuf),
    /// Recordings, as a folder of waves or a list (`wav.scp`), and their texts by key.
    Listed { sound: PathBuf, text: PathBuf, speakers: Option<PathBuf> },
}

/// The forms of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Files with texts beside files with sound.
    Folder,
    /// Rows of a recording and its text.
    Table,
    /// `wav.scp`, `text` and so on.
    DataFolder,
    /// Keys with recordings, keys with texts.
    Listed,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Folder => "a folder of recordings with texts beside them",
            Form::Table => "a table of recordings and texts",
            Form::DataFolder => "a data folder of Kaldi",
            Form::Listed => "a list of recordings and one of texts",
        })
    }
}

/// A function that gets the number of recordings that were opened, and of all.
pub type Progress = Arc<dyn Fn(usize, usize) + Send + Sync>;

/// A function that says if the corpus is still wanted. Threads that open recordings call it.
pub type Wanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// Settings of [`read`].
#[derive(Clone)]
pub struct Options {
    /// Endings of the files with texts, without the first point; empty for `TextGrid`, `eaf`, `lab` and `txt`, in this
    /// order of preference.
    pub text_extensions: Vec<String>,
    /// The source of speakers' names.
    pub speakers: SpeakerRule,
    /// The choice among tiers.
    pub tiers: TierRule,
    /// The signal of recordings with several channels; not [`Channels::Each`].
    pub channels: Channels,
    /// The part of each recording that is read.
    pub check: Check,
    /// Threads that open recordings, at least one.
    pub threads: usize,
    /// Hears of the progress.
    pub progress: Option<Progress>,
    /// Once it says no, recordings are left unopened, and count as unreadable.
    pub is_wanted: Option<Wanted>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            text_extensions: Vec::new(),
            speakers: SpeakerRule::default(),
            tiers: TierRule::default(),
            channels: Channels::default(),
            check: Check::default(),
            threads: 1,
            progress: None,
            is_wanted: None,
        }
    }
}

impl Options {
    pub(crate) fn extensions(&self) -> Vec<&str> {
        if self.text_extensions.is_empty() {
            return vec!["TextGrid", "eaf", "lab", "txt"];
        }
        self.text_extensions.iter().map(|extension| extension.trim_start_matches('.')).collect()
    }
}

impl Input {
    /// Finds out the form.
    ///
    /// # Errors
    /// There is no such file or folder, or if it has none of the forms.
    pub fn form(&self) -> Result<Form> {
        let Input::Path(path) = self else { return Ok(Form::Listed) };
        let data = path.metadata().map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::form(
                path,
                "expected recordings with texts (a folder or a table), but there is no such file or folder",
            ),
            _ => Error::io(path, source),
        })?;
        if data.is_dir() {
            let is_data = data_folder::is_one(path);
            return Ok(if is_data { Form::DataFolder } else { Form::Folder });
        }
        if crate::path::is_sound(path) {
            return Err(Error::form(
                path,
                "expected a folder or a table, found one recording: give its folder",
            ));
        }
        Ok(Form::Table)
    }
}

/// Reads a corpus. Other faults are in the corpus.
///
/// # Errors
/// The input as a whole cannot be read, or if it has not one utterance.
pub fn read(input: &Input, options: &Options) -> Result<Corpus> {
    if options.channels == Channels::Each {
        let message =
            "a text belongs to one signal: expected first, mix or the number of a channel".to_owned();
        return Err(Error::Setting { setting: "channels", value: "each".to_owned(), message });
    }
    let form = input.form()?;
    let (drafts, place) = match (input, form) {
        (Input::Listed { sound, text, speakers }, _) => {
            (listed::read(sound, text, speakers.as_deref())?, text)
        }
        (Input::Path(path), Form::DataFolder) => (data_folder::read(path)?, path),
        (Input::Path(path), Form::Table) => (table::read(path)?, path),
        (Input::Path(path), _) => (folder::read(path, options)?, path),
    };
    let corpus = drafts.finish(options)?;
    if corpus.utterances.is_empty() {
        return Err(empty(&corpus, form, place));
    }
    check_tiers(&corpus, &options.tiers)?;
    Ok(corpus)
}

/// Fails if a name of a tier fits no tier with texts: it may be misspelt, and a part of the corpus would be missing.
fn check_tiers(corpus: &Corpus, rule: &TierRule) -> Result<()> {
    let TierRule::Named(patterns) = rule else { return Ok(()) };
    let places = corpus.utterances.iter().map(|utterance| &utterance.place);
    let places = places.chain(corpus.faults.iter().map(|fault| &fault.place));
    let tiers: BTreeSet<&str> = places.filter_map(|place| tiers::of_place(place)).collect();
    if tiers.is_empty() {
        return Ok(());
    }
    let is_there = |pattern: &String| tiers.iter().any(|tier| tiers::matched(pattern, tier).is_some());
    match patterns.iter().find(|pattern| !is_there(pattern)) {
        None => Ok(()),
        Some(pattern) => {
            let others = corpus.faults.iter().find(|fault| fault.kind == Kind::IgnoredTiers);
            let others = others.map_or(String::new(), |fault| format!(" ({fault})"));
            let message = format!("no file has a text in a tier '{pattern}'{others}");
            Err(Error::Setting { setting: "tiers", value: patterns.join(","), message })
        }
    }
}

/// The error of an input without an utterance, with the first reasons.
fn empty(corpus: &Corpus, form: Form, place: &Path) -> Error {
    let counts = corpus.counts();
    let mut message = format!("no utterance can be used ({form})");
    if !counts.lost.is_empty() {
        message += &format!(": {}", counts.reasons());
        for sentence in &counts.first {
            message += &format!("\n  {sentence}");
        }
    }
    Error::form(place, message)
}
