//! The lexicon within a decoding graph: the phones along the paths from the start of the graph to the ends of words.
//!
//! A path of a graph has transition-ids as input labels, which give phones, and words as output labels. Phones tell where a
//! word ends (`word_boundary.int`). A word's label may come before its phones, among them, or behind them, as the graph was
//! determinized and may have a context of phones. It is the first label of the path. Since any word may come first, paths are
//! followed to the end of their first word only.

use std::collections::BTreeSet;
use std::path::Path;

use kaldi_fst::labels::read_disambiguation;
use kaldi_fst::store::{self, FlatOrNgrams, Names, Symbols};
use kaldi_fst::{EPSILON, FlatFst, Fst, StateId};
use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiReader, read_object};
use nnet3_decode::align::{PhoneType, WordBoundaries};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};

/// Steps along paths, for each arc of the graph and besides, after which a graph is given up. (A lexicon takes a few for each
/// arc.)
const STEPS_PER_ARC: usize = 1000;
const MOST_STEPS_BESIDES: usize = 1_000_000;
/// The word on arcs to shorter histories.
const BACKOFF: &str = "#0";

/// The pronunciations of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lexicon {
    /// Words and their phones, each pair once, in the order of words and phones.
    pub entries: Vec<(String, Vec<String>)>,
    /// Words with a name and without a pronunciation, in the order of their numbers.
    pub without: Vec<String>,
    /// The phone that `phones.txt` has no name for, if it does not fit the model: phones then have names that are made up.
    pub nameless: Option<i32>,
}

impl Lexicon {
    /// Reads the lexicon of the model in a folder, as published for vosk, or of the older form. Phones have the names of
    /// `phones.txt`, without the suffixes `_B`, `_I`, `_E` and `_S` for places in a word unless `positions` is set. If there
    /// is no such file, or it does not fit the model, a phone is `p` and the number of its first form.
    ///
    /// # Errors
    /// A file is missing or damaged; files do not fit each other; no phone is known to end words.
    pub fn read(folder: &str, positions: bool) -> Result<Lexicon> {
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
        let (words, names) = match &grammar {
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
        let names = match (names, there(&format!("{graph}words.txt"))) {
            (Some(names), _) => names,
            (None, Some(file)) => Names::try_from(&Symbols::load(&file)?).map_err(Error::of(&file))?,
            (None, None) => return Err(Error::NoNames),
        };
        let phone_names = match there(&format!("{graph}phones.txt")) {
            Some(file) => Some(Names::try_from(&Symbols::load(&file)?).map_err(Error::of(&file))?),
            None => None,
        };
        let (phone_names, nameless) = names_of_phones(phone_names.as_ref(), &transitions, &boundaries);
        let word_of =
            |label: i32| words.as_ref().map_or(label, |words| words.get(&label).copied().unwrap_or(label));
        let is_backoff = |label: i32| names.get(word_of(label)) == Some(BACKOFF);
        let found =
            pronunciations(&FlatFst::from(&fst), &disambiguation, is_backoff, &transitions, &boundaries)
                .map_err(Error::of(&file))?;
        let phone = |phone: &i32| {
            let name = phone_names.get(phone).map_or("", String::as_str);
            if positions { name.to_owned() } else { without_position(name).to_owned() }
        };
        let mut spoken = BTreeSet::new();
        let mut entries = BTreeSet::new();
        for (label, phones) in &found {
            let word = word_of(*label);
            let name = names.get(word).ok_or(Error::UnknownWord(word))?;
            spoken.insert(name);
            entries.insert((name.to_owned(), phones.iter().map(phone).collect()));
        }
        let without = names.iter().filter(|(number, name)| *number != EPSILON && !spoken.contains(name));
        let without = without.map(|(_, name)| name.to_owned()).collect();
        Ok(Lexicon { entries: entries.into_iter().collect(), without, nameless })
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

/// A phone's name without its place in a word.
fn without_position(name: &str) -> &str {
    ["_B", "_I", "_E", "_S"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
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

/// A step of a path: a state, the next arc to take there, and the lengths of the path's lists before it.
struct Step {
    state: StateId,
    next: usize,
    phones: usize,
    label: i32,
    /// True if the phones of the word are complete.
    complete: bool,
}

/// Returns the first words of all paths from the start of a graph, as labels and phones, each pair once. Paths do not take
/// arcs whose label `is_backoff`: with it language models go to shorter histories.
///
/// # Errors
/// The graph has an input label that is neither a transition-id nor one of `disambiguation`, or too many paths.
pub fn pronunciations(
    graph: &FlatFst,
    disambiguation: &FxHashSet<i32>,
    is_backoff: impl Fn(i32) -> bool,
    transitions: &TransitionModel,
    boundaries: &WordBoundaries,
) -> std::result::Result<BTreeSet<(i32, Vec<i32>)>, String> {
    let mut found = BTreeSet::new();
    let Some(start) = graph.start else { return Ok(found) };
    let mut steps_left = MOST_STEPS_BESIDES.saturating_add(graph.arcs.len().saturating_mul(STEPS_PER_ARC));
    // States on the way to a word, by what was found before: paths that meet there go on alike.
    let mut silent: FxHashSet<StateId> = FxHashSet::from_iter([start]);
    let mut phones: Vec<i32> = Vec::new();
    let step = |state: StateId, phones: &[i32], label, complete| Step {
        state,
        next: graph.arcs_of(state as usize).start,
        phones: phones.len(),
        label,
        complete,
    };
    let mut path = vec![step(start, &phones, EPSILON, false)];
    let mut on_path: FxHashSet<StateId> = FxHashSet::default();
    while let Some(last) = path.last_mut() {
        phones.truncate(last.phones);
        if last.next == graph.arcs_of(last.state as usize).end {
            on_path.remove(&last.state);
            path.pop();
            continue;
        }
        let arc = graph.arcs[last.next];
        last.next += 1;
        steps_left -= 1;
        if steps_left == 0 {
            return Err(
                "there are too many paths from the start of the graph to the ends of words".to_owned()
            );
        }
        if arc.olabel != EPSILON && is_backoff(arc.olabel) {
            continue;
        }
        let label = if last.label == EPSILON { arc.olabel } else { last.label };
        let mut complete = last.complete;
        if arc.ilabel != EPSILON && !disambiguation.contains(&arc.ilabel) {
            let id = transitions
                .transition_id(arc.ilabel)
                .map_err(|_| format!("the label {} is no transition-id of the model", arc.ilabel))?;
            if transitions.is_self_loop(id) {
                continue;
            }
            if transitions.state(id).hmm_state == 0 {
                // The next word begins.
                if complete {
                    continue;
                }
                let phone = transitions.phone(id);
                match boundaries.kind(phone) {
                    Some(PhoneType::Nonword) => {}
                    Some(PhoneType::End | PhoneType::Singleton) => {
                        phones.push(phone);
                        complete = true;
                    }
                    _ => phones.push(phone),
                }
            }
        }
        if complete && label != EPSILON {
            found.insert((label, phones.clone()));
            continue;
        }
        if arc.next == last.state || on_path.contains(&arc.next) {
            continue;
        }
        // A label of the next word, which stands before its phones, is no label of a silence before it.
        if phones.is_empty() && label == EPSILON && !silent.insert(arc.next) {
            continue;
        }
        let state = last.state;
        on_path.insert(state);
        path.push(step(arc.next, &phones, label, complete));
    }
    Ok(found)
}
