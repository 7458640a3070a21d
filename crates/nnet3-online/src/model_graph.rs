//! The decoding graph of a model folder, with what belongs to it: transition model, words, phones.

use std::path::Path;

use kaldi_fst::labels::read_disambiguation;
use kaldi_fst::store::{self, FlatOrNgrams, Names, Symbols};
use kaldi_fst::{FlatFst, Fst};
use kaldi_graph::recover::{RecoveredTree, SeenContexts, seen_contexts};
use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiReader, read_object};
use nnet3_decode::align::{PhoneType, WordBoundaries};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::model::needs_folder;

/// The word on arcs to shorter histories.
const BACKOFF: &str = "#0";

/// The graph of a model: all of it, or its acoustic half.
#[derive(Debug)]
pub struct ModelGraph {
    /// The file of the graph.
    pub file: String,
    /// The graph.
    pub graph: FlatFst,
    /// Input labels that are no transition-ids.
    pub disambiguation: FxHashSet<i32>,
    /// HMMs and their pdfs.
    pub transitions: TransitionModel,
    /// Phones that begin and end words.
    pub boundaries: WordBoundaries,
    /// Names of words by number.
    pub words: Names,
    /// The word of each output label; `None` if labels are words.
    word_of_label: Option<WordsByLabel>,
    phone_names: FxHashMap<i32, String>,
    /// The phone that `phones.txt` has no name for, if it does not fit the model: phones then have names that are made up.
    pub nameless: Option<i32>,
}

/// A phone that stands between words, and the tree of a model, both from its graph.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveredContext {
    /// The decision tree.
    pub tree: RecoveredTree,
    /// The phone outside of words that begins on the most arcs; `None` if no phone does.
    pub silence: Option<i32>,
}

impl ModelGraph {
    /// Reads the graph of the model in a folder, as published for vosk, or of the older form.
    ///
    /// # Errors
    /// A file is missing or damaged; files do not fit each other; no phone is known to end words.
    pub fn read(folder: &str) -> Result<ModelGraph> {
        ModelGraph::read_with_phones(folder, &[])
    }

    /// Does the same. Names of phones are those of the first table that names all phones of the model: the folder's `phones.txt`, or
    /// one of `tables`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_with_phones(folder: &str, tables: &[String]) -> Result<ModelGraph> {
        needs_folder(folder)?;
        let there = |name: &str| {
            let path = format!("{folder}/{name}");
            Path::new(&path).exists().then_some(path)
        };
        let (graph, phones) =
            if there("am/final.mdl").is_some() { ("graph/", "graph/phones/") } else { ("", "") };
        let needed = |name: String| {
            there(&name)
                .ok_or_else(|| Error::Incomplete { folder: folder.to_owned(), lacks: format!("no {name}") })
        };
        let mdl = there("am/final.mdl").map_or_else(|| needed("final.mdl".to_owned()), Ok)?;
        let transitions: TransitionModel = read_object(&mdl)?;
        let boundaries_file = needed(format!("{phones}word_boundary.int"))?;
        let boundaries = WordBoundaries::load(&boundaries_file)?;
        boundaries.check(&transitions).map_err(Error::of(&boundaries_file))?;
        let (file, grammar) = match there(&format!("{graph}HCLG.fst")) {
            Some(file) => (file, None),
            None => (needed(format!("{graph}HCLr.fst"))?, Some(needed(format!("{graph}Gr.fst"))?)),
        };
        let mut r = KaldiReader::open_raw(&file)?;
        r.set_binary(true);
        let (fst, symbols): (Fst, _) = store::read_with_symbols(&mut r)?;
        let [_, of_graph] = symbols;
        let (word_of_label, names) = match &grammar {
            None => (None, of_graph.as_ref().map(Names::try_from).transpose().map_err(Error::of(&file))?),
            Some(grammar) => labels_of_grammar(grammar)?,
        };
        let disambiguation: FxHashSet<i32> = match &grammar {
            None => FxHashSet::default(),
            Some(_) => {
                let file = needed(format!("{graph}disambig_tid.int"))?;
                read_disambiguation(&file)?.into_iter().collect()
            }
        };
        let words = match (names, there(&format!("{graph}words.txt"))) {
            (Some(names), _) => names,
            (None, Some(file)) => Names::try_from(&Symbols::load(&file)?).map_err(Error::of(&file))?,
            (None, None) => return Err(Error::NoNames),
        };
        let (mut phone_names, mut nameless) = names_of_phones(None, &transitions, &boundaries);
        let files = there(&format!("{graph}phones.txt")).into_iter().chain(tables.iter().cloned());
        for (number, file) in files.enumerate() {
            let table = Names::try_from(&Symbols::load(&file)?).map_err(Error::of(&file))?;
            let (names, lacking) = names_of_phones(Some(&table), &transitions, &boundaries);
            if lacking.is_none() {
                (phone_names, nameless) = (names, None);
                break;
            }
            nameless = if number == 0 { lacking } else { nameless };
        }
        let graph = FlatFst::from(&fst);
        Ok(ModelGraph {
            file,
            graph,
            disambiguation,
            transitions,
            boundaries,
            words,
            word_of_label,
            phone_names,
            nameless,
        })
    }

    /// Returns the number of the word that an output label stands for.
    pub fn word(&self, label: i32) -> i32 {
        self.word_of_label.as_ref().map_or(label, |words| words.get(&label).copied().unwrap_or(label))
    }

    /// True for labels of arcs to shorter histories.
    pub fn is_backoff(&self, label: i32) -> bool {
        self.words.get(self.word(label)) == Some(BACKOFF)
    }

    /// Returns the name of a phone, from `phones.txt`. If there is no such file, or it does not fit the model, names are
    /// made. A phone is then `p` and the number of its first form, with a suffix for its place in a word.
    pub fn phone_name(&self, phone: i32) -> &str {
        self.phone_names.get(&phone).map_or("", String::as_str)
    }

    /// Returns the tree of the model, and the phone between words.
    ///
    /// # Errors
    /// The graph has an input label that is no transition-id; the tree asks for more than the phone before.
    pub fn context(&self) -> Result<RecoveredContext> {
        let seen = self.seen_contexts()?;
        let tree = seen.tree(&self.transitions).map_err(Error::of(&self.file))?;
        let outside = seen
            .arcs
            .iter()
            .filter(|(phone, _)| matches!(self.boundaries.kind(**phone), Some(PhoneType::Nonword)));
        let silence = outside.max_by_key(|(phone, arcs)| (**arcs, -**phone)).map(|(phone, _)| *phone);
        Ok(RecoveredContext { tree, silence })
    }

    /// Returns the pairs of phones on the paths of the graph.
    ///
    /// # Errors
    /// As [`context`](Self::context).
    pub fn seen_contexts(&self) -> Result<SeenContexts> {
        seen_contexts(&self.graph, &self.disambiguation, &self.transitions).map_err(Error::of(&self.file))
    }
}

/// Returns the names of a model's phones. Also returns the first phone that a table does not name: its names are not used
/// then, as it belongs to another model. (Names that begin with # are those of disambiguation symbols.)
fn names_of_phones(
    table: Option<&Names>,
    transitions: &TransitionModel,
    boundaries: &WordBoundaries,
) -> (FxHashMap<i32, String>, Option<i32>) {
    let phones = || transitions.topology().phones().iter().copied();
    let named = |phone: i32| table.and_then(|table| table.get(phone)).filter(|name| !name.starts_with('#'));
    let nameless = phones().find(|&phone| named(phone).is_none());
    if nameless.is_none() {
        let names = phones().filter_map(|phone| Some((phone, named(phone)?.to_owned())));
        return (names.collect(), None);
    }
    // Kaldi numbers the forms of a phone in this order: outside of words, _B, _E, _I, _S.
    let mut names = FxHashMap::default();
    let (mut first, mut last) = (0, (0, 0));
    for phone in phones() {
        let (place, suffix) = match boundaries.kind(phone) {
            None | Some(PhoneType::Nonword) => (0, ""),
            Some(PhoneType::Begin) => (1, "_B"),
            Some(PhoneType::End) => (2, "_E"),
            Some(PhoneType::Internal) => (3, "_I"),
            Some(PhoneType::Singleton) => (4, "_S"),
        };
        if last.0 + 1 != phone || last.1 >= place {
            first = phone;
        }
        last = (phone, place);
        names.insert(phone, format!("p{first}{suffix}"));
    }
    (names, table.and(nameless))
}

/// The word of each input label.
type WordsByLabel = FxHashMap<i32, i32>;

/// Reads the words of a language model by its input labels (`None` if these are the words), and their names if it has them.
fn labels_of_grammar(file: &str) -> Result<(Option<WordsByLabel>, Option<Names>)> {
    let mut r = KaldiReader::open_raw(file)?;
    r.set_binary(true);
    let (fst, names) = store::read_with_names(&mut r)?;
    let words = match fst {
        FlatOrNgrams::Flat(fst) if fst.arcs.iter().any(|arc| arc.ilabel != arc.olabel) => {
            Some(fst.arcs.iter().map(|arc| (arc.ilabel, arc.olabel)).collect())
        }
        FlatOrNgrams::Flat(_) | FlatOrNgrams::Ngrams(_) => None,
    };
    Ok((words, names))
}
