//! All pronunciations of a transcript: the paths of L for its words.

use kaldi_fst::{EPSILON, Fst, StateId};
use kaldi_lang::Lang;
use rustc_hash::FxHashMap;

use crate::error::{Error, Reason, Result};

/// L, with its silences between words marked.
#[derive(Debug)]
pub struct LexiconGraph {
    /// Arcs are sorted by words.
    fst: Fst,
    /// For each state, true if an arc with the silence phone and without a word is silence between words.
    outside_words: Vec<bool>,
    silence: i32,
    /// By number; true for words with a pronunciation.
    known: Vec<bool>,
}

/// A number that stands for no word.
pub const NO_WORD: u32 = u32::MAX;

/// An arc of a graph of phones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhoneArc {
    /// 0 for an arc without a phone.
    pub phone: i32,
    /// The place in the transcript of the phone's word; [`NO_WORD`] for silence between words.
    pub word: u32,
    pub cost: f32,
    pub next: u32,
}

/// A graph without cycles and without dead ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhoneGraph {
    pub arcs: Vec<Vec<PhoneArc>>,
    /// The cost of ending in each state; infinite for states that are not final.
    pub finals: Vec<f32>,
}

impl LexiconGraph {
    /// Takes the L of a language.
    ///
    /// # Errors
    /// L is empty.
    pub fn new(lang: &Lang) -> Result<LexiconGraph> {
        let fst = lang.l_fst(false);
        let Some(start) = fst.start else { return Err(Error::data("the language's L is empty")) };
        let has_words: Vec<bool> =
            fst.states.iter().map(|state| state.arcs.iter().any(|arc| arc.olabel != EPSILON)).collect();
        let mut outside_words = vec![false; fst.states.len()];
        outside_words[start as usize] = true;
        for (s, state) in fst.states.iter().enumerate() {
            for arc in state.arcs.iter().filter(|arc| arc.is_epsilon()) {
                outside_words[s] |= has_words[arc.next as usize];
                outside_words[arc.next as usize] = true;
            }
        }
        let mut known = vec![false; lang.words.len()];
        for arc in fst.states.iter().flat_map(|state| &state.arcs).filter(|arc| arc.olabel != EPSILON) {
            let place = arc.olabel as usize;
            if known.len() <= place {
                known.resize(place + 1, false);
            }
            known[place] = true;
        }
        Ok(LexiconGraph { fst, outside_words, silence: lang.optional_silence, known })
    }

    /// Makes the graph of a transcript.
    ///
    /// # Errors
    /// A word has no pronunciation.
    pub fn transcript(&self, words: &[u32]) -> std::result::Result<PhoneGraph, Reason> {
        let unknown = words.iter().position(|&word| !self.known.get(word as usize).copied().unwrap_or(false));
        if let Some(position) = unknown {
            return Err(Reason::NoPronunciation { word: words[position], position });
        }
        let mut numbers: FxHashMap<(StateId, u32), u32> = FxHashMap::default();
        let start = (self.fst.start.unwrap_or(0), 0);
        let mut states = vec![start];
        numbers.insert(start, 0);
        let mut graph = PhoneGraph::default();
        while let Some(&(l, at)) = states.get(graph.arcs.len()) {
            let state = self.fst.state(l);
            let mut arcs = Vec::new();
            let mut add = |arc: &kaldi_fst::Arc, word: u32, then: u32| {
                let next = *numbers.entry((arc.next, then)).or_insert_with(|| {
                    states.push((arc.next, then));
                    (states.len() - 1) as u32
                });
                arcs.push(PhoneArc { phone: arc.ilabel, word, cost: arc.weight, next });
            };
            let of_word = |word: i32| {
                let first = state.arcs.partition_point(|arc| arc.olabel < word);
                state.arcs[first..].iter().take_while(move |arc| arc.olabel == word)
            };
            for arc in of_word(EPSILON) {
                let is_silence = arc.ilabel == self.silence && self.outside_words[l as usize];
                let word = if is_silence || at == 0 { NO_WORD } else { at - 1 };
                add(arc, word, at);
            }
            if let Some(&word) = words.get(at as usize) {
                of_word(word as i32).for_each(|arc| add(arc, at, at + 1));
            }
            let ends = at as usize == words.len();
            graph.finals.push(if ends { state.final_weight } else { f32::INFINITY });
            graph.arcs.push(arcs);
        }
        graph.remove_dead_ends();
        Ok(graph)
    }
}

impl PhoneGraph {
    /// Removes arcs to states from which there is no way to the end.
    fn remove_dead_ends(&mut self) {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.arcs.len()];
        for (s, arcs) in self.arcs.iter().enumerate() {
            arcs.iter().for_each(|arc| before[arc.next as usize].push(s as u32));
        }
        let mut ends = vec![false; self.arcs.len()];
        let mut queue: Vec<u32> = Vec::new();
        for (s, cost) in self.finals.iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
            debug_assert!(!cost.is_nan());
            ends[s] = true;
            queue.push(s as u32);
        }
        while let Some(s) = queue.pop() {
            for &from in &before[s as usize] {
                if !std::mem::replace(&mut ends[from as usize], true) {
                    queue.push(from);
                }
            }
        }
        self.arcs.iter_mut().for_each(|arcs| arcs.retain(|arc| ends[arc.next as usize]));
    }

    /// The arcs with phones that can come next after a state, with the cost of the arcs without phones before them, and the cost
    /// of ending.
    pub fn next(&self, state: u32) -> Next {
        let mut next = Next { arcs: Vec::new(), end: f32::INFINITY };
        let mut queue = vec![(state, 0.0)];
        while let Some((s, cost)) = queue.pop() {
            next.end = next.end.min(cost + self.finals[s as usize]);
            for (number, arc) in self.arcs[s as usize].iter().enumerate() {
                match arc.phone {
                    EPSILON => queue.push((arc.next, cost + arc.cost)),
                    _ => next.arcs.push((s, number as u32, cost + arc.cost)),
                }
            }
        }
        next
    }
}

/// Ways to go on after a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// States, numbers of their arcs, and the costs up to the arcs' ends.
    pub arcs: Vec<(u32, u32, f32)>,
    /// Infinite if the transcript cannot end here.
    pub end: f32,
}
