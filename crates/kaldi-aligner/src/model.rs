//! A model with its features: trained, stored, read, used.

use std::num::NonZero;
use std::path::Path;

use kaldi_align::features::{FeatureKind, Normalized};
use kaldi_align::recipe::StageKind;
use kaldi_align::{AdaptOptions, Amount, Observer, Reason, Recipe, System, Utterance};
use kaldi_corpus::Corpus;
use kaldi_fst::store::Symbols;
use kaldi_io::{KaldiWriter, temporary};
use kaldi_lang::lexicon::{Entry, Lexicon};
use kaldi_lang::{Lang, LangOptions};
use serde_json::json;

use crate::aligned::{Results, in_seconds, sentence};
use crate::archive;
use crate::cepstra::Extracted;
use crate::edges::sharpen;
use crate::kind;
use crate::listen::{TextScores, text_scores};
use crate::options_file::OPTIONS;
use crate::pronunciations::{Pronunciations, Unknown};
use crate::scores;
use crate::settings::{FeatureSettings, META, SilenceSettings, Uses};
use crate::spoken;
use crate::{Error, Result};

/// A model of Gaussians and the features that it is for.
#[derive(Debug, Clone)]
pub struct Model {
    /// The model of Gaussians with its tree.
    pub system: System,
    /// The features that it is for.
    pub features: FeatureSettings,
    /// Names and numbers of phones.
    pub phones: Symbols,
    /// Names and probabilities of silence.
    pub silence: SilenceSettings,
    /// Oddities of the folder that it was read from.
    pub warnings: Vec<String>,
}

impl Model {
    /// Trains a model on utterances: monophones, triphones, LDA+MLLT, and SAT if speakers have enough speech, with as many
    /// Gaussians as the data can train.
    ///
    /// # Errors
    /// No utterance can be aligned.
    pub fn train(
        lang: &Lang,
        extracted: &Extracted,
        features: FeatureSettings,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let recipe = Recipe::for_data(&amount(lang, &extracted.utterances));
        Model::by_recipe(&recipe, lang, extracted, features, threads, observer)
    }

    /// Trains monophones only, which find wrong texts in a short time.
    ///
    /// # Errors
    /// No utterance can be aligned.
    pub fn train_quickly(
        lang: &Lang,
        extracted: &Extracted,
        features: FeatureSettings,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let recipe = Recipe::up_to(StageKind::Monophones, &amount(lang, &extracted.utterances));
        Model::by_recipe(&recipe, lang, extracted, features, threads, observer)
    }

    fn by_recipe(
        recipe: &Recipe,
        lang: &Lang,
        extracted: &Extracted,
        features: FeatureSettings,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let trained = kaldi_align::train(lang, &extracted.utterances, recipe, threads, observer)?;
        let (phones, silence) = (lang.phones.clone(), SilenceSettings::default());
        Ok(Model { system: trained.system, features, phones, silence, warnings: Vec::new() })
    }

    /// The model, trained on with other utterances: the means of its Gaussians move towards them (maximum a posteriori).
    ///
    /// # Errors
    /// No utterance can be aligned.
    pub fn adapted(
        &self,
        lang: &Lang,
        extracted: &Extracted,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let options = AdaptOptions::default();
        let trained = self.system.adapt(lang, &extracted.utterances, &options, threads, observer)?;
        Ok(Model { system: trained.system, ..self.clone() })
    }

    /// Reads a folder that [`save`](Self::save) or Kaldi's scripts wrote, or an acoustic model of the Montreal Forced Aligner,
    /// as a zip archive or unpacked.
    ///
    /// # Errors
    /// A file is missing, makes no sense, or is of another kind of model.
    pub fn open(place: &Path) -> Result<Model> {
        Model::open_with(place, None)
    }

    /// Does the same. A folder without [`META`] is for `features`; without these, it is for those of Kaldi's recipes, and the
    /// model has a warning.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(place: &Path, features: Option<FeatureSettings>) -> Result<Model> {
        if !place.is_file() {
            return Model::open_folder(place, features);
        }
        let folder = archive::unpack(place)?;
        // (The name of the temporary folder says nothing.)
        let inside = |error: Error| {
            let hidden = format!("{}/", folder.path().display());
            Error::file(place, error.to_string().replace(&hidden, ""))
        };
        Model::open_folder(folder.path(), None).map_err(inside)
    }

    fn open_folder(folder: &Path, given: Option<FeatureSettings>) -> Result<Model> {
        let name = folder.to_str().ok_or_else(|| Error::file(folder, "the name is not UTF-8"))?;
        kind::check(folder)?;
        let (mut source, mut warnings) = (META, Vec::new());
        let features = match (FeatureSettings::read(folder)?, given) {
            (Some(features), _) => features,
            (None, Some(given)) => {
                source = OPTIONS;
                given
            }
            (None, None) => {
                source = "";
                FeatureSettings::of_kaldi()
            }
        };
        let file = folder.join("phones.txt");
        let phones = Symbols::load(&file.display().to_string())?;
        let mut system = System::load(name)?;
        apply(&Uses::read(folder)?, &mut system, &features, folder)?;
        let (found, expected) = (features.cepstra, system.cepstra());
        if found != expected {
            let message = match source {
                "" => format!(
                    "the model is for features with {expected} numbers a frame, those of Kaldi's recipes have {found}: the folder says \
                     nothing about its features. Write the options of compute-mfcc-feats to {OPTIONS} there; features with pitch are \
                     not supported"
                ),
                _ => format!("the model is for {expected} cepstra, its features have {found}"),
            };
            return Err(Error::file(&folder.join(source), message));
        }
        if source.is_empty() {
            warnings.push(format!(
                "{name} has no {OPTIONS} and no {META}, so its features are not known: {found} cepstra of {} Hz are assumed, as Kaldi's \
                 recipes make them. If the model is for others, all times are wrong: write the options of compute-mfcc-feats to {OPTIONS} \
                 there",
                features.rate
            ));
        }
        let silence = SilenceSettings::read(folder)?;
        Ok(Model { system, features, phones, silence, warnings })
    }

    /// Writes a folder that [`open`](Self::open) and Kaldi's scripts read. It appears whole; a folder that is there is replaced
    /// if it has a model.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        folder.file_name().ok_or_else(|| Error::file(folder, "expected the name of a folder"))?;
        let is_there = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        if is_there && !folder.join(META).is_file() {
            return Err(Error::file(folder, "expected a new folder or one with a model, found other files"));
        }
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(parent).map_err(|source| Error::io(parent, source))?;
        let new = temporary::Folder::new_in(parent).map_err(|source| Error::io(folder, source))?;
        let name = new.path().to_str().ok_or_else(|| Error::file(folder, "the name is not UTF-8"))?;
        self.system.save(name, &self.phones)?;
        let mut meta = json!({ "features": self.features.to_json() });
        self.silence.add_to(&mut meta);
        for (file, text) in [(META, format!("{meta:#}\n")), (OPTIONS, self.features.to_options())] {
            let mut out = KaldiWriter::create(&new.path().join(file).display().to_string(), false)?;
            out.write_bytes(text.as_bytes())?;
            out.finish()?;
        }
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        }
        new.rename(folder).map_err(|source| Error::io(folder, source))
    }

    /// The language of a lexicon in the phones of this model.
    ///
    /// # Errors
    /// The lexicon has phones that the model lacks.
    pub fn lang(&self, pronunciations: &Pronunciations) -> Result<Lang> {
        lang_of(&self.phones, &self.silence, pronunciations)
    }

    /// A sentence about words that would be aligned by the phone for anything spoken, if the model was trained without sound of it;
    /// `None` if there are none. The lexicon has the words of the corpus.
    pub fn warning_of_speech(
        &self,
        pronunciations: &Pronunciations,
        unknown: Unknown,
        corpus: &Corpus,
    ) -> Option<String> {
        spoken::warning((&self.system, &self.phones, &self.silence), pronunciations, unknown, corpus)
    }

    /// Scores the texts of a corpus: the scores, and the reasons why utterances are not aligned.
    ///
    /// # Errors
    /// The language does not fit the model.
    pub fn listen(
        &self,
        lang: &Lang,
        (corpus, extracted): (&Corpus, &Extracted),
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<(TextScores, Vec<Option<String>>)> {
        let aligned = self.system.align(lang, &extracted.utterances, threads, observer)?;
        let mut scores = text_scores(&self.system, lang, &extracted.utterances, &aligned, threads)?;
        let alignments = aligned.results.iter().map(|result| result.as_ref().ok());
        scores.find_long_sounds(alignments, self.features.times().seconds);
        let reasons = aligned.results.iter().enumerate().map(|(number, result)| {
            result
                .as_ref()
                .err()
                .map(|reason| extracted.problem_or(number, || sentence(reason, corpus, number, lang)))
        });
        Ok((scores, reasons.collect()))
    }

    /// Aligns the utterances of a corpus. With `with_scores`, words and phones have scores.
    ///
    /// # Errors
    /// The language does not fit the model.
    pub fn align(
        &self,
        lang: &Lang,
        pronunciations: &Pronunciations,
        (corpus, extracted): (&Corpus, &Extracted),
        with_scores: bool,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Results> {
        let aligned = self.system.align(lang, &extracted.utterances, threads, observer)?;
        let seconds = |number: usize, alignment| {
            let times = self.features.times();
            let mut found = in_seconds(corpus, number, alignment, lang, pronunciations, times);
            sharpen(&mut found, &extracted.levels[number]);
            found
        };
        let said = |number: usize, reason: &Reason| {
            extracted.problem_or(number, || sentence(reason, corpus, number, lang))
        };
        let utterances = aligned.results.iter().enumerate().map(|(number, result)| match result {
            Ok(alignment) => Ok(seconds(number, alignment)),
            Err(reason) => Err(said(number, reason)),
        });
        let mut results = Results {
            utterances: utterances.collect(),
            doubtful: None,
            left_out: Vec::new(),
            untexted: Vec::new(),
        };
        if with_scores {
            scores::add(&self.system, extracted, &aligned, &mut results, threads)?;
        }
        Ok(results)
    }
}

/// Gives a system the features that its `meta.json` names. Files of options beside the model, as Kaldi's scripts write them, say the
/// same for their models, and are in the system already.
fn apply(uses: &Uses, system: &mut System, features: &FeatureSettings, folder: &Path) -> Result<()> {
    let wrong = |message: &str| Err(Error::file(&folder.join(META), message));
    if uses.cmvn == Some(false) && !folder.join("cmvn_opts").is_file() {
        system.normalized = Normalized::Nothing;
    }
    match (uses.speaker_adaptation, &system.independent) {
        (Some(true), None) => {
            return wrong(
                "'uses_speaker_adaptation' is true, and there is no final.alimdl for the first pass",
            );
        }
        (Some(false), Some(_)) => system.independent = None,
        _ => {}
    }
    match &mut system.features {
        FeatureKind::Deltas { .. } if uses.splices == Some(true) => {
            wrong("'uses_splices' is true, and there is no lda.mat that fits the model")
        }
        FeatureKind::Spliced { left, right, lda } if !folder.join("splice_opts").is_file() => {
            let frames = lda.cols / features.cepstra.max(1);
            let (before, behind) = match uses.context {
                (Some(before), Some(behind)) => (before, behind),
                _ => (frames.saturating_sub(1) / 2, frames.saturating_sub(1) / 2),
            };
            if (before + 1 + behind) * features.cepstra != lda.cols {
                return wrong(&format!(
                    "{before} frames before and {behind} behind a frame of {} cepstra do not have {} elements, as lda.mat expects",
                    features.cepstra, lda.cols
                ));
            }
            (*left, *right) = (before, behind);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The language of a lexicon in the phones of a model.
pub(crate) fn lang_of(
    phones: &Symbols,
    silence: &SilenceSettings,
    pronunciations: &Pronunciations,
) -> Result<Lang> {
    let has = |name: &str| phones.number(name).is_some();
    let word_positions = phones.iter().any(|(name, _)| name.ends_with("_B"));
    let mut options = LangOptions { word_positions, ..pronunciations.options() };
    // Names of silence are the model's.
    let names = silence.phone.as_deref().into_iter().chain(["SIL", "sil", "SIL_S", "sil_S"]);
    options.silence_phones = names.filter(|name| has(name)).take(1).map(str::to_owned).collect();
    let own = pronunciations.spoken.as_str();
    let spoken = spoken::phone(phones, silence, pronunciations);
    options.silence_phones.extend(spoken.clone());
    options.silence_probability = silence.probability.unwrap_or(options.silence_probability);
    options.silence_at_ends = silence.at_ends.or(options.silence_at_ends);
    let lexicon = &pronunciations.lexicon;
    // Words for unknown ones have the model's phone for them, if it has one.
    let renamed = |entry: &Entry| {
        let mut entry = entry.clone();
        for phone in entry.phones.iter_mut().filter(|phone| *phone == own) {
            phone.clone_from(spoken.as_ref()?);
        }
        Some(entry)
    };
    let lexicon = Lexicon::new(&lexicon.name, lexicon.entries.iter().filter_map(renamed).collect());
    Ok(Lang::for_phones(&lexicon, phones, "the model's phones.txt", &options)?)
}

/// The amount of data, which decides about sizes of models.
fn amount(lang: &Lang, utterances: &[Utterance]) -> Amount {
    let mut speakers: rustc_hash::FxHashMap<&str, usize> = rustc_hash::FxHashMap::default();
    for utterance in utterances {
        *speakers.entry(&utterance.speaker).or_default() += utterance.features.rows;
    }
    let mut frames: Vec<usize> = speakers.into_values().collect();
    frames.sort_unstable();
    Amount { speakers: frames, phones: lang.silence.len() + lang.nonsilence.len() }
}
