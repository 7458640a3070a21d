//! Aligns words by phones that mark the beginnings and ends of words: an arc for each word or silence.

use std::collections::HashMap;
use std::fmt;

use kaldi_fst::EPSILON;
use kaldi_hmm::TransitionModel;
use kaldi_io::KaldiReader;

use super::{Aligned, Aligner, Pending, Problems, Unit, ends_with_phone, phone_end, remove_epsilons, walk};
use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::phones::Ids;

/// Possible positions of a phone in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhoneType {
    /// The phone is in no word, such as silence.
    Nonword,
    Begin,
    End,
    Internal,
    /// A word of one phone.
    Singleton,
}

impl fmt::Display for PhoneType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhoneType::Nonword => "nonword",
            PhoneType::Begin => "begin",
            PhoneType::End => "end",
            PhoneType::Internal => "internal",
            PhoneType::Singleton => "singleton",
        })
    }
}

/// The types of phones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordBoundaries(HashMap<i32, PhoneType>);

impl WordBoundaries {
    /// Reads a text file: a phone and its type a line.
    pub fn load(rxfilename: &str) -> kaldi_io::Result<WordBoundaries> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let boundaries = Self::read(&mut r)?;
        r.close()?;
        Ok(boundaries)
    }

    pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<WordBoundaries> {
        let mut types = HashMap::new();
        while let Some(line) = r.read_line()? {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let entry = match words[..] {
                [phone, kind] => phone.parse().ok().filter(|&phone: &i32| phone > 0).zip(phone_type(kind)),
                _ => None,
            };
            let Some((phone, kind)) = entry else {
                return Err(r.error(format!(
                    "expected a phone and one of nonword, begin, end, internal, singleton, found '{line}'"
                )));
            };
            if let Some(other) = types.insert(phone, kind).filter(|other| *other != kind) {
                return Err(
                    r.error(format!("phone {phone} has the type '{kind}', but the type '{other}' before"))
                );
            }
        }
        if types.is_empty() {
            return Err(r.error("expected types of phones, found an empty file"));
        }
        Ok(WordBoundaries(types))
    }

    /// The type of a phone, if the list has it.
    pub fn kind(&self, phone: i32) -> Option<PhoneType> {
        self.0.get(&phone).copied()
    }

    /// Checks that these are the types of a model's phones. It is an error if a phone has no type, or if words could be
    /// lost. Words could be lost if only one of the types for the beginning and the end of a word occurs. The same
    /// holds if no phone belongs to words.
    pub fn check(&self, model: &TransitionModel) -> Result<()> {
        let mut found: HashMap<PhoneType, i32> = HashMap::new();
        for &phone in model.topology().phones() {
            let kind = *self.0.get(&phone).ok_or(Error::NoPhoneType { phone })?;
            found.entry(kind).or_insert(phone);
        }
        let needs = [
            (PhoneType::Begin, PhoneType::End),
            (PhoneType::End, PhoneType::Begin),
            (PhoneType::Internal, PhoneType::Begin),
            (PhoneType::Internal, PhoneType::End),
        ];
        for (kind, missing) in needs {
            if let (Some(&phone), None) = (found.get(&kind), found.get(&missing)) {
                return Err(Error::PhoneTypes { phone, found: kind, missing });
            }
        }
        if found.keys().all(|kind| *kind == PhoneType::Nonword) {
            return Err(Error::NoPhoneOfWords);
        }
        Ok(())
    }
}

fn phone_type(name: &str) -> Option<PhoneType> {
    Some(match name {
        "nonword" => PhoneType::Nonword,
        "begin" => PhoneType::Begin,
        "end" => PhoneType::End,
        "internal" => PhoneType::Internal,
        "singleton" => PhoneType::Singleton,
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordAlignment {
    /// True if states are left before their self-loops are taken.
    pub reorder: bool,
    /// The label of silence.
    pub silence_label: i32,
    /// The label of a partial word at the end of the lattice that has no word.
    pub partial_word_label: i32,
    /// Largest number of states.
    pub max_states: Option<usize>,
}

struct Words<'m> {
    ids: Ids<'m>,
    boundaries: &'m WordBoundaries,
    options: WordAlignment,
}

/// Makes a lattice with one word or one silence on each arc.
pub fn align_words(
    lattice: &CompactLattice,
    model: &TransitionModel,
    boundaries: &WordBoundaries,
    options: &WordAlignment,
) -> Result<Aligned> {
    let ids = Ids::of(model, lattice)?;
    // Arcs with these labels must not be taken for empty ones, so meanwhile they have others.
    let mut unused = 1 + lattice.largest_label().max(options.silence_label).max(options.partial_word_label);
    let mut replaced = Vec::new();
    let mut stand_in = |label: i32| {
        if label != EPSILON {
            return label;
        }
        replaced.push(unused);
        unused += 1;
        unused - 1
    };
    let meanwhile = WordAlignment {
        silence_label: stand_in(options.silence_label),
        partial_word_label: stand_in(options.partial_word_label),
        ..*options
    };
    let aligner = Words { ids, boundaries, options: meanwhile };
    let mut problems = Problems::default();
    let mut out = walk(lattice, &aligner, options.max_states, &mut problems)?;
    remove_epsilons(&mut out)?;
    for arc in out.states.iter_mut().flat_map(|state| &mut state.arcs) {
        if replaced.contains(&arc.ilabel) {
            (arc.ilabel, arc.olabel) = (EPSILON, EPSILON);
        }
    }
    Ok((out, problems.0))
}

impl Words<'_> {
    fn kind(&self, id: i32) -> Option<PhoneType> {
        self.boundaries.0.get(&self.ids.phone(id)).copied()
    }

    /// Returns the end of the word at the front of the pending input.
    fn word_end(&self, string: &[i32], problems: &mut Problems) -> Option<usize> {
        let mut at = phone_end(self.ids, string, 0, self.options.reorder, problems)?;
        loop {
            match self.kind(*string.get(at)?) {
                Some(PhoneType::End) => {
                    return phone_end(self.ids, string, at, self.options.reorder, problems);
                }
                Some(PhoneType::Internal) => {}
                _ => problems.add(format!("phone {} was found inside a word", self.ids.phone(string[at]))),
            }
            at += 1;
        }
    }

    /// Explains why the text that begins with this transition-id is no whole word.
    fn why_invalid(&self, first: i32) -> String {
        let phone = self.ids.phone(first);
        let cause = match self.kind(first) {
            None => format!("phone {phone} has no type in the word boundaries"),
            Some(kind @ (PhoneType::End | PhoneType::Internal)) => format!(
                "it begins with phone {phone}, which has the type '{kind}' in the word boundaries; wrong types?"
            ),
            Some(_) => "partial lattice, forced out?".to_owned(),
        };
        format!("Invalid word at end of lattice [{cause}]")
    }

    /// True if this may be a whole word.
    fn is_plausible(&self, string: &[i32]) -> bool {
        let (Some(&first), Some(&last)) = (string.first(), string.last()) else { return false };
        let (begin, end) = (self.kind(first), self.kind(last));
        let single = begin == Some(PhoneType::Singleton) && self.ids.phone(first) == self.ids.phone(last);
        let normal = begin == Some(PhoneType::Begin) && end == Some(PhoneType::End);
        (single || normal) && ends_with_phone(self.ids, string, self.options.reorder)
    }
}

impl Aligner for Words<'_> {
    fn unit(&self, pending: &mut Pending, problems: &mut Problems) -> Option<Unit> {
        let kind = self.kind(*pending.ids.first()?)?;
        let one_phone =
            |problems: &mut Problems| phone_end(self.ids, &pending.ids, 0, self.options.reorder, problems);
        let end = match kind {
            PhoneType::Nonword => {
                let end = one_phone(problems)?;
                return Some(pending.take(self.options.silence_label, end));
            }
            _ if pending.words.is_empty() => return None,
            PhoneType::Singleton => one_phone(problems)?,
            PhoneType::Begin => self.word_end(&pending.ids, problems)?,
            PhoneType::End | PhoneType::Internal => return None,
        };
        let word = pending.take_word();
        Some(pending.take(word, end))
    }

    fn rest(&self, pending: &mut Pending, problems: &mut Problems) -> Unit {
        let all = pending.ids.len();
        let Some(&first) = pending.ids.first() else {
            problems.add("there are words at the end without alignments; they are left out");
            pending.words.clear();
            return pending.take(EPSILON, 0);
        };
        if !pending.words.is_empty() {
            if !self.is_plausible(&pending.ids) {
                problems.add(self.why_invalid(first));
            }
            let word = pending.take_word();
            return pending.take(word, all);
        }
        if self.kind(first) == Some(PhoneType::Nonword) {
            if !ends_with_phone(self.ids, &pending.ids, self.options.reorder) {
                problems.add("the silence at the end of the utterance does not reach its end");
            }
            return pending.take(self.options.silence_label, all);
        }
        problems.add("Partial word detected at end of utterance");
        pending.take(self.options.partial_word_label, all)
    }
}
