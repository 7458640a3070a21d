//! Pronunciations: from aligned lattices, and from pairs of phones and words.

use kaldi_fst::ops::compose_transducers;
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use kaldi_hmm::TransitionModel;

use crate::error::Result;
use crate::lattice::CompactLattice;
use crate::path::{linear_arcs, linear_end};
use crate::phones::checked;

/// A word of an aligned lattice with a single path, or a silence between words (word 0).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pronunciation {
    /// The first frame.
    pub start: usize,
    pub word: i32,
    pub phones: Vec<i32>,
    /// Frames of each phone.
    pub lengths: Vec<usize>,
}

/// The pronunciations of a linear lattice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pronunciations {
    pub words: Vec<Pronunciation>,
    /// True if ending the path has transition-ids: the lattice was not aligned with words.
    pub has_rest: bool,
}

/// Takes one pronunciation of each arc of a lattice with a single path.
///
/// # Errors
/// The lattice is not linear, or has transition-ids that the model has not or that do not follow each other.
pub fn pronunciations(model: &TransitionModel, lattice: &CompactLattice) -> Result<Pronunciations> {
    let mut start = 0;
    let mut words = Vec::new();
    for arc in linear_arcs(lattice)? {
        let ids = arc.weight.string.iter().map(|&id| checked(model, id)).collect::<Result<Vec<_>>>()?;
        let segments = model.split_to_phones(&ids).map_err(|error| crate::Error::Data(describe(&error)))?;
        words.push(Pronunciation {
            start,
            word: arc.ilabel,
            phones: segments.iter().map(|segment| segment.phone).collect(),
            lengths: segments.iter().map(|segment| segment.frames.len()).collect(),
        });
        start += ids.len();
    }
    Ok(Pronunciations { words, has_rest: !linear_end(lattice).string.is_empty() })
}

fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A reason why words cannot be aligned with phones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAlignment {
    /// The lexicon has a word not.
    Words,
    /// No pronunciation of the words has these phones.
    Phones,
}

/// The lexicon of an alignment: from phones, with a symbol at the start and end of each word, to words.
#[derive(Debug, Clone)]
pub struct PhoneLexicon {
    /// Arcs are sorted by output label.
    fst: Fst,
    word_start: i32,
    word_end: i32,
}

impl PhoneLexicon {
    pub fn new(mut fst: Fst, word_start: i32, word_end: i32) -> PhoneLexicon {
        for state in &mut fst.states {
            state.arcs.sort_by_key(|arc| arc.olabel);
        }
        PhoneLexicon { fst, word_start, word_end }
    }

    /// Splits phones into pronunciations: lists of a word and its phones. Each phone outside words has a separate list,
    /// with the word 0.
    pub fn align(&self, phones: &[i32], words: &[i32]) -> std::result::Result<Vec<Vec<i32>>, NoAlignment> {
        let compose = |a: &Fst, b: &Fst| compose_transducers(a, b, true).unwrap_or_default();
        let mut pronounced = compose(&self.fst, &acceptor(words, &[]));
        if pronounced.start.is_none() {
            return Err(NoAlignment::Words);
        }
        for state in &mut pronounced.states {
            state.arcs.sort_by_key(|arc| arc.ilabel);
        }
        let both = compose(&acceptor(phones, &[self.word_start, self.word_end]), &pronounced);
        let path = best_path(&both).ok_or(NoAlignment::Phones)?;
        Ok(self.split(&path))
    }

    fn split(&self, path: &[Arc]) -> Vec<Vec<i32>> {
        let mut lists: Vec<Vec<i32>> = Vec::new();
        let mut is_inside = false;
        for arc in path {
            match arc.ilabel {
                label if label == self.word_start => {
                    lists.push(vec![0]);
                    is_inside = true;
                }
                label if label == self.word_end => is_inside = false,
                EPSILON => {}
                phone => match lists.last_mut() {
                    Some(list) if is_inside => list.push(phone),
                    _ => lists.push(vec![0, phone]),
                },
            }
            if let (true, Some(list)) = (is_inside && arc.olabel != EPSILON, lists.last_mut()) {
                list[0] = arc.olabel;
            }
        }
        lists
    }
}

/// The sequence, with any number of these labels between.
fn acceptor(labels: &[i32], loops: &[i32]) -> Fst {
    let mut out = Fst { start: Some(0), ..Fst::default() };
    for position in 0..=labels.len() as StateId {
        let state = out.add_state();
        let next = labels.get(position as usize).map(|&label| Arc::new(label, 0.0, position + 1));
        out.state_mut(state)
            .arcs
            .extend(loops.iter().map(|&label| Arc::new(label, 0.0, position)).chain(next));
    }
    out.state_mut(labels.len() as StateId).final_weight = 0.0;
    out
}

/// The arcs of the cheapest path. Costs may not fall for ever.
fn best_path(fst: &Fst) -> Option<Vec<Arc>> {
    let count = fst.states.len();
    let mut best: Vec<(f32, Option<(StateId, usize)>)> = vec![(f32::INFINITY, None); count];
    best[fst.start? as usize].0 = 0.0;
    let mut waiting = std::collections::VecDeque::from([fst.start?]);
    // Bellman and Ford with a queue. Without a cycle of falling costs no state comes more than `count` times.
    let mut left = count.saturating_mul(count).max(1);
    let mut is_waiting = vec![false; count];
    while let Some(s) = waiting.pop_front() {
        left = left.checked_sub(1)?;
        is_waiting[s as usize] = false;
        for (position, arc) in fst.state(s).arcs.iter().enumerate() {
            let cost = best[s as usize].0 + arc.weight;
            if cost < best[arc.next as usize].0 {
                best[arc.next as usize] = (cost, Some((s, position)));
                if !std::mem::replace(&mut is_waiting[arc.next as usize], true) {
                    waiting.push_back(arc.next);
                }
            }
        }
    }
    let end = |s: StateId| best[s as usize].0 + fst.state(s).final_weight;
    let finals = (0..count as StateId).filter(|&s| end(s) < f32::INFINITY);
    let mut at = finals.min_by(|&a, &b| end(a).total_cmp(&end(b)))?;
    let mut arcs = Vec::new();
    while let Some((before, position)) = best[at as usize].1 {
        arcs.push(fst.state(before).arcs[position]);
        at = before;
    }
    arcs.reverse();
    Some(arcs)
}

/// Frames of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordLengths {
    /// Each word with its number of frames.
    pub words: Vec<(i32, i32)>,
    /// True if the phones of a word are others than those with lengths.
    pub has_mismatch: bool,
}

/// Returns the number of frames of each word, from its pronunciation (word, then phones) and the frames of each phone.
/// `None` if the numbers of phones differ.
pub fn word_lengths(pronunciations: &[Vec<i32>], phones: &[(i32, i32)]) -> Option<WordLengths> {
    let mut phones = phones.iter();
    let mut out = WordLengths { words: Vec::new(), has_mismatch: false };
    for list in pronunciations {
        let (&word, expected) = list.split_first()?;
        let mut frames = 0;
        for &phone in expected {
            let &(found, length) = phones.next()?;
            out.has_mismatch |= found != phone;
            frames += length;
        }
        out.words.push((word, frames));
    }
    phones.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words, 5 = phones 1 2 and 6 = phone 2, with optional silence (phone 9) between; 7 and 8 enclose words.
    fn lexicon() -> PhoneLexicon {
        let text = "0 0 9 0 1.5\n0 1 7 5\n1 2 1 0\n2 3 2 0\n3 0 8 0\n0 4 7 6\n4 3 2 0\n0\n";
        PhoneLexicon::new(kaldi_fst::text::parse(text).unwrap(), 7, 8)
    }

    #[test]
    fn phones_are_split_into_words() {
        let lexicon = lexicon();
        let found = lexicon.align(&[9, 9, 1, 2, 2, 9], &[5, 6]).unwrap();
        assert_eq!(found, [vec![0, 9], vec![0, 9], vec![5, 1, 2], vec![6, 2], vec![0, 9]]);
        assert_eq!(lexicon.align(&[9], &[]).unwrap(), [[0, 9]]);
        assert_eq!(lexicon.align(&[1, 2], &[5, 3]), Err(NoAlignment::Words));
        assert_eq!(lexicon.align(&[1, 2], &[6]), Err(NoAlignment::Phones));
    }

    #[test]
    fn lengths_of_words_are_sums() {
        let prons = [vec![0, 9], vec![5, 1, 2]];
        let found = word_lengths(&prons, &[(9, 4), (1, 3), (2, 5)]).unwrap();
        assert_eq!((found.words, found.has_mismatch), (vec![(0, 4), (5, 8)], false));
        let found = word_lengths(&prons, &[(9, 4), (3, 3), (2, 5)]).unwrap();
        assert_eq!((found.words, found.has_mismatch), (vec![(0, 4), (5, 8)], true));
        assert_eq!(word_lengths(&prons, &[(9, 4), (1, 3)]), None);
        assert_eq!(word_lengths(&prons, &[(9, 4), (1, 3), (2, 5), (2, 1)]), None);
    }
}
