//! Aligns words by a lexicon: an arc for each word or silence.

use std::collections::{HashMap, HashSet};

use kaldi_fst::state_table::{LastInFirstOut, StateTable};
use kaldi_fst::{Algebra, Arc, EPSILON, State, StateId, ops};
use kaldi_hmm::TransitionModel;
use kaldi_io::text::split_integers;
use kaldi_io::{IoError, KaldiReader};

use super::phones::{PhoneAlignment, align_phones};
use super::{Aligned, remove_epsilons, with_one_end};
use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::phones::Ids;
use crate::weight::{CompactLatticeWeight, LatticeWeight};

/// Stands for the empty label, so that arcs with it are not taken for empty ones.
const SILENCE: i32 = -2;

/// Words as they occur in lattices, their pronunciations, and the words that replace them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlignmentLexicon {
    /// The number of each word with its phones.
    entries: HashMap<(i32, Vec<i32>), i32>,
    /// The fewest and the most phones of each word.
    lengths: HashMap<i32, (usize, usize)>,
    /// For each proper prefix of a pronunciation: the words with a pronunciation that starts so.
    beginnings: HashMap<Vec<i32>, HashSet<i32>>,
    /// Entries that came twice.
    pub duplicates: Vec<i32>,
}

impl AlignmentLexicon {
    /// Reads a text file with lines of old word, new word, phones.
    pub fn load(rxfilename: &str) -> kaldi_io::Result<AlignmentLexicon> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let lexicon = Self::read(&mut r)?;
        r.close()?;
        Ok(lexicon)
    }

    pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<AlignmentLexicon> {
        let mut lexicon = AlignmentLexicon::default();
        while let Some(line) = r.read_line()? {
            let numbers = split_integers(line.trim_end_matches('\r'), &[' ', '\t'], true);
            let Some([word, new, phones @ ..]) = numbers.as_deref() else {
                return Err(bad(r, &line, "expected numbers: old word, new word, phones"));
            };
            lexicon.add(*word, *new, phones).map_err(|why| bad(r, &line, &why))?;
        }
        if lexicon.entries.is_empty() {
            return Err(r.error("expected a lexicon, found an empty file"));
        }
        Ok(lexicon)
    }

    /// Adds an entry; the error explains an invalid one.
    fn add(&mut self, word: i32, new: i32, phones: &[i32]) -> std::result::Result<(), String> {
        if word < 0 || new < 0 || phones.iter().any(|&phone| phone <= 0) {
            return Err("words must not be negative, and phones must be positive".to_owned());
        }
        if word == EPSILON && phones.is_empty() {
            return Err("word 0 needs phones".to_owned());
        }
        let stored = if new == EPSILON { SILENCE } else { new };
        match self.entries.insert((word, phones.to_vec()), stored) {
            Some(before) if before != stored => {
                return Err(format!("word {word} has this pronunciation already, for another new word"));
            }
            Some(_) => self.duplicates.push(word),
            None => {}
        }
        let (fewest, most) = self.lengths.entry(word).or_insert((phones.len(), phones.len()));
        (*fewest, *most) = ((*fewest).min(phones.len()), (*most).max(phones.len()));
        for length in 1..phones.len() {
            self.beginnings.entry(phones[..length].to_vec()).or_default().insert(word);
        }
        Ok(())
    }
}

fn bad(r: &KaldiReader, line: &str, why: &str) -> IoError {
    r.error(format!("'{}': {why}", kaldi_io::text::excerpt(line.as_bytes())))
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexiconAlignment {
    /// True if states are left before their self-loops are taken.
    pub reorder: bool,
    /// The label of phones at the end that belong to no word; 0: none.
    pub partial_word_label: i32,
    /// By how much the lattice may grow.
    pub max_expand: Option<f32>,
}

/// Number of additional states allowed, so that small lattices may grow.
const MORE_STATES: f32 = 1000.0;

/// The part of the pending phones that is new. Older combinations have already been tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Fresh {
    #[default]
    No,
    /// The last phone is.
    Last,
    /// All entries are possible, because an earlier part has been removed.
    All,
}

/// Input that has been read and not yet been written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Place {
    /// The transition-ids of each phone.
    strings: Vec<Vec<i32>>,
    phones: Vec<i32>,
    words: Vec<i32>,
    fresh: Fresh,
    /// True if the first word was read last.
    word_fresh: bool,
}

impl Place {
    fn is_empty(&self) -> bool {
        self.strings.is_empty() && self.words.is_empty()
    }
}

/// Makes a lattice with one word or one silence on each arc. A word without an entry is an error.
pub fn align_words_by_lexicon(
    lattice: &CompactLattice,
    model: &TransitionModel,
    lexicon: &AlignmentLexicon,
    options: &LexiconAlignment,
) -> Result<Aligned> {
    let by_phone =
        PhoneAlignment { reorder: options.reorder, remove_epsilon: false, replace_output_symbols: false };
    let (phones, mut problems) = align_phones(lattice, model, &by_phone)?;
    let max_states =
        options.max_expand.map(|factor| (MORE_STATES + factor * phones.states.len() as f32) as usize);
    let input = with_one_end(&phones);
    let mut search = Search {
        ids: Ids::of(model, &input)?,
        input: &input,
        lexicon,
        out: CompactLattice::default(),
        places: StateTable::default(),
        ends: Vec::new(),
    };
    let finished = search.run(max_states)?;
    if !finished {
        let most = max_states.unwrap_or(0);
        problems.push(format!(
            "number of states in lattice exceeded max-states of {most}, returning empty lattice"
        ));
        return Ok((CompactLattice::default(), problems));
    }
    search.finish(options.partial_word_label, &mut problems);
    let mut out = search.out;
    ops::connect(&mut out);
    remove_epsilons(&mut out)?;
    for arc in out.states.iter_mut().flat_map(|state| &mut state.arcs) {
        if arc.ilabel == SILENCE {
            (arc.ilabel, arc.olabel) = (EPSILON, EPSILON);
        }
    }
    Ok((out, problems))
}

struct Search<'l> {
    ids: Ids<'l>,
    /// Its arcs have a phone or none.
    input: &'l CompactLattice,
    lexicon: &'l AlignmentLexicon,
    out: CompactLattice,
    places: StateTable<(StateId, Place), LastInFirstOut>,
    /// Places at the end of the input, with their states in the output.
    ends: Vec<(StateId, Place, StateId)>,
}

impl Search<'_> {
    /// False if there would be too many states.
    fn run(&mut self, max_states: Option<usize>) -> Result<bool> {
        let Some(start) = self.input.start else { return Ok(true) };
        self.out.start = Some(self.number(start, Place::default()));
        while let Some((number, (s, place))) = self.places.take() {
            if max_states.is_some_and(|most| self.out.states.len() > most) {
                return Ok(false);
            }
            self.take_silences(s, &place, number);
            self.take_words(s, &place, number)?;
            self.advance(s, &place, number);
            if self.input.state(s).is_final() {
                self.ends.push((s, place, number));
            }
        }
        Ok(true)
    }

    fn number(&mut self, state: StateId, place: Place) -> StateId {
        let number = self.places.number((state, place));
        self.out.states.resize_with(self.places.len(), State::default);
        number
    }

    /// Writes phones without a word.
    fn take_silences(&mut self, s: StateId, place: &Place, number: StateId) {
        let Some(&(fewest, most)) = self.lexicon.lengths.get(&EPSILON) else { return };
        let count = place.phones.len();
        let lengths = match place.fresh {
            Fresh::All => fewest..=most.min(count),
            Fresh::Last if (fewest..=most).contains(&count) => count..=count,
            _ => return,
        };
        for length in lengths {
            self.take(s, place, number, EPSILON, length);
        }
    }

    /// Writes the first word with phones of its pronunciations.
    fn take_words(&mut self, s: StateId, place: &Place, number: StateId) -> Result<()> {
        let Some(&word) = place.words.first() else { return Ok(()) };
        let count = place.phones.len();
        let lengths = if place.word_fresh || place.fresh == Fresh::All {
            let &(fewest, most) = self.lexicon.lengths.get(&word).ok_or(Error::NotInLexicon { word })?;
            fewest..=most.min(count)
        } else if place.fresh == Fresh::Last {
            count..=count
        } else {
            return Ok(());
        };
        for length in lengths {
            self.take(s, place, number, word, length);
        }
        Ok(())
    }

    /// Writes an arc for a word with `length` phones, if the lexicon has it.
    fn take(&mut self, s: StateId, place: &Place, number: StateId, word: i32, length: usize) {
        let Some(&new) = self.lexicon.entries.get(&(word, place.phones[..length].to_vec())) else { return };
        let words = place.words[usize::from(word != EPSILON)..].to_vec();
        let phones = place.phones[length..].to_vec();
        // A word without phones leaves all phones to be tried again, as when some have gone.
        let fresh = if phones.is_empty() { Fresh::No } else { Fresh::All };
        let word_fresh = word != EPSILON && !words.is_empty();
        let strings = place.strings[length..].to_vec();
        let next = self.number(s, Place { strings, phones, words, fresh, word_fresh });
        self.add_arc(number, new, LatticeWeight::ONE, place.strings[..length].concat(), next);
    }

    fn add_arc(&mut self, from: StateId, label: i32, weight: LatticeWeight, string: Vec<i32>, next: StateId) {
        let arc = Arc::new(label, CompactLatticeWeight::new(weight, string), next);
        self.out.state_mut(from).arcs.push(arc);
    }

    /// Follows the arcs of the input, unless no entry begins with the pending phones.
    fn advance(&mut self, s: StateId, place: &Place, number: StateId) {
        let viable = match (place.words.first(), self.lexicon.beginnings.get(&place.phones)) {
            (None, _) => true,
            (Some(_), _) if place.phones.is_empty() => true,
            (Some(word), Some(words)) => words.contains(&EPSILON) || words.contains(word),
            (Some(_), None) => false,
        };
        if !viable {
            return;
        }
        for arc in &self.input.state(s).arcs {
            let mut then = place.clone();
            then.word_fresh = arc.ilabel != EPSILON && then.words.is_empty();
            then.words.extend(Some(arc.ilabel).filter(|&word| word != EPSILON));
            then.fresh = match arc.weight.string.first() {
                None => Fresh::No,
                Some(&id) => {
                    then.phones.push(self.ids.phone(id));
                    then.strings.push(arc.weight.string.clone());
                    Fresh::Last
                }
            };
            let next = self.number(arc.next, then);
            self.add_arc(number, EPSILON, arc.weight.weight, Vec::new(), next);
        }
    }

    /// Makes states final. If no state can be final, writes the pending input unaligned.
    fn finish(&mut self, partial_word_label: i32, problems: &mut Vec<String>) {
        if self.ends.is_empty() {
            problems.push("no path of the lattice can be aligned with the lexicon".to_owned());
            return;
        }
        if self.mark_ends() {
            return;
        }
        problems.push("lattice was forced out, will have partial words at end".to_owned());
        let partial = if partial_word_label == EPSILON { SILENCE } else { partial_word_label };
        for (s, place, number) in std::mem::take(&mut self.ends) {
            let has_output =
                |arc: &Arc<CompactLatticeWeight>| arc.ilabel != EPSILON || !arc.weight.string.is_empty();
            if self.out.state(number).arcs.iter().any(has_output) {
                continue;
            }
            if place.words.len() > 1 {
                problems.push("an extra word at the end of the lattice is left out".to_owned());
            }
            let label = place.words.first().copied().unwrap_or(partial);
            let next = self.number(s, Place::default());
            self.add_arc(number, label, LatticeWeight::ONE, place.strings.concat(), next);
            self.ends.push((s, Place::default(), next));
        }
        if !self.mark_ends() {
            problems
                .push("there were no final states even after forcing out (result will be empty)".to_owned());
        }
    }

    fn mark_ends(&mut self) -> bool {
        for (_, _, number) in self.ends.iter().filter(|(_, place, _)| place.is_empty()) {
            self.out.state_mut(*number).final_weight = CompactLatticeWeight::one();
        }
        self.ends.iter().any(|(_, place, _)| place.is_empty())
    }
}
