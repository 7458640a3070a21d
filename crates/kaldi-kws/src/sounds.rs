//! Words by their sounds: a lexicon of known words, and the acceptors of those that sound like an unknown one.
//!
//! Phones may be confused, left out or inserted, each for the same cost. Several known words together may sound like the unknown
//! one.

use kaldi_fst::{Arc, EPSILON, Fst, State, StateId, ops};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::proxies::{ProxyOptions, proxies};

/// Costs of differences, as natural logarithms of probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoundCosts {
    /// A phone that is another one.
    pub substitution: f32,
    /// A phone that is left out, or one that is inserted.
    pub gap: f32,
    /// Each known word behind the first one.
    pub word: f32,
    /// Proxies cost at most so much more than the best one.
    pub beam: f32,
    /// Most proxies.
    pub most: usize,
}

impl Default for SoundCosts {
    fn default() -> SoundCosts {
        SoundCosts { substitution: 1.0, gap: 1.5, word: 0.5, beam: 3.0, most: 200 }
    }
}

/// Most states of an acceptor of proxies.
const MOST_STATES: usize = 100_000;
/// The label of the unknown word.
const UNKNOWN: i32 = 1;

/// A lexicon whose words can be found by their sounds.
#[derive(Debug, Clone)]
pub struct KnownSounds {
    phones: FxHashMap<String, i32>,
    /// Phones to words, any number of them; sorted on input.
    words: Fst,
    costs: SoundCosts,
}

impl KnownSounds {
    /// A lexicon of pairs of a word's label and its phones.
    pub fn new<'l>(entries: impl IntoIterator<Item = (i32, &'l [String])>, costs: SoundCosts) -> KnownSounds {
        let mut phones: FxHashMap<String, i32> = FxHashMap::default();
        // State 0 is the begin, state 1 is behind a word: a tree of phones leaves both.
        let mut states = vec![State::default(); 2];
        states[1].final_weight = 0.0;
        let mut next_of: FxHashMap<(StateId, i32), StateId> = FxHashMap::default();
        let mut add = |states: &mut Vec<State>, mut from: StateId, labels: &[i32], word: i32, cost: f32| {
            let Some((&last, before)) = labels.split_last() else { return };
            let mut cost = cost;
            for &label in before {
                let here = std::mem::take(&mut cost);
                from = *next_of.entry((from, label)).or_insert_with(|| {
                    let next = states.len() as StateId;
                    states.push(State::default());
                    states[from as usize].arcs.push(Arc {
                        ilabel: label,
                        olabel: EPSILON,
                        weight: here,
                        next,
                    });
                    next
                });
            }
            states[from as usize].arcs.push(Arc { ilabel: last, olabel: word, weight: cost, next: 1 });
        };
        for (word, spoken) in entries {
            let number = |phone: &String| {
                let next = phones.len() as i32 + 1;
                *phones.entry(phone.clone()).or_insert(next)
            };
            let labels: Vec<i32> = spoken.iter().map(number).collect();
            add(&mut states, 0, &labels, word, 0.0);
            add(&mut states, 1, &labels, word, costs.word);
        }
        for state in &mut states {
            state.arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel));
        }
        KnownSounds { phones, words: Fst { start: Some(0), states }, costs }
    }

    /// The acceptor of known words that sound like one with these pronunciations, with their costs. A pronunciation costs the
    /// logarithm of its probability beside that of the best one.
    ///
    /// # Errors
    /// No pronunciation has a known phone, or nothing sounds alike.
    pub fn alike<S: AsRef<str>>(&self, pronunciations: &[(f64, Vec<S>)]) -> Result<Fst> {
        let sounds = self.confused(pronunciations);
        let options = ProxyOptions {
            phone_beam: None,
            phone_nbest: None,
            proxy_beam: Some(self.costs.beam),
            proxy_nbest: Some(self.costs.most),
            most_states: Some(MOST_STATES),
        };
        let mut found = proxies(&[UNKNOWN], &sounds, &self.words, options)?;
        if found.start.is_none() || found.states.iter().all(|state| !state.is_final()) {
            return Err(Error::data("no known words sound like it"));
        }
        // (The search bounds the costs of begins, not those of whole proxies.)
        ops::prune(&mut found, self.costs.beam, None)?;
        Ok(found)
    }

    /// The unknown word to the phones that it may be heard as; sorted on input.
    fn confused<S: AsRef<str>>(&self, pronunciations: &[(f64, Vec<S>)]) -> Fst {
        let SoundCosts { substitution, gap, .. } = self.costs;
        let best = pronunciations.iter().map(|(probability, _)| *probability).fold(0.0, f64::max);
        let mut states = vec![State::default()];
        let all = 1..=self.phones.len() as i32;
        let inserting = |next: StateId| State {
            arcs: all.clone().map(|olabel| Arc { ilabel: EPSILON, olabel, weight: gap, next }).collect(),
            ..State::default()
        };
        for (probability, phones) in pronunciations.iter().filter(|(probability, _)| *probability > 0.0) {
            let cost = (best / probability).ln().max(0.0) as f32;
            let mut from = states.len() as StateId;
            states.push(inserting(from));
            states[0].arcs.push(Arc { ilabel: UNKNOWN, olabel: EPSILON, weight: cost, next: from });
            for phone in phones {
                let label = self.phones.get(phone.as_ref()).copied();
                let next = from + 1;
                let here = &mut states[from as usize].arcs;
                here.push(Arc { ilabel: EPSILON, olabel: EPSILON, weight: gap, next });
                here.extend(all.clone().map(|other| {
                    let weight = if Some(other) == label { 0.0 } else { substitution };
                    Arc { ilabel: EPSILON, olabel: other, weight, next }
                }));
                states.push(inserting(next));
                from = next;
            }
            states[from as usize].final_weight = 0.0;
        }
        Fst { start: Some(0), states }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEXICON: [(i32, &str); 5] = [(1, "k a t"), (2, "k o t"), (3, "k a"), (4, "t i"), (5, "m u m u")];

    fn spoken(phones: &str) -> Vec<String> {
        phones.split(' ').map(str::to_owned).collect()
    }

    /// Words and costs of all strings of an acceptor without cycles, the cheapest first.
    fn strings(fst: &Fst) -> Vec<(Vec<i32>, f32)> {
        let mut all = Vec::new();
        let mut left = vec![(fst.start.unwrap(), Vec::new(), 0.0)];
        while let Some((state, labels, cost)) = left.pop() {
            let state = fst.state(state);
            if state.is_final() {
                all.push((labels.clone(), cost + state.final_weight));
            }
            for arc in &state.arcs {
                left.push((arc.next, [&labels[..], &[arc.ilabel]].concat(), cost + arc.weight));
            }
        }
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all
    }

    /// The cost of the cheapest way from one sequence of phones to another.
    fn distance(from: &[String], to: &[String], costs: SoundCosts) -> f32 {
        let mut row: Vec<f32> = (0..=to.len()).map(|count| count as f32 * costs.gap).collect();
        for a in from {
            let mut next = vec![row[0] + costs.gap];
            for (place, b) in to.iter().enumerate() {
                let same = row[place] + if a == b { 0.0 } else { costs.substitution };
                next.push(same.min(row[place + 1] + costs.gap).min(next[place] + costs.gap));
            }
            row = next;
        }
        row[to.len()]
    }

    #[test]
    fn proxies_have_the_costs_of_the_edit_distance() {
        let costs = SoundCosts::default();
        let entries: Vec<(i32, Vec<String>)> =
            LEXICON.iter().map(|(word, phones)| (*word, spoken(phones))).collect();
        let known = KnownSounds::new(entries.iter().map(|(word, phones)| (*word, &phones[..])), costs);
        for word in ["k a t i", "k o k o", "m u", "q a t"] {
            let phones = spoken(word);
            let found = strings(&known.alike(&[(1.0, phones.clone())]).unwrap());
            // All sequences of up to three words, by their distance.
            let mut expected = Vec::new();
            let mut sequences: Vec<Vec<usize>> = vec![vec![]];
            for _ in 0..3 {
                sequences = sequences
                    .iter()
                    .flat_map(|before| (0..entries.len()).map(|next| [&before[..], &[next]].concat()))
                    .collect();
                for sequence in &sequences {
                    let said: Vec<String> = sequence.iter().flat_map(|&at| entries[at].1.clone()).collect();
                    let cost = distance(&phones, &said, costs) + costs.word * (sequence.len() - 1) as f32;
                    expected.push((sequence.iter().map(|&at| entries[at].0).collect::<Vec<i32>>(), cost));
                }
            }
            let best = expected.iter().map(|(_, cost)| *cost).fold(f32::INFINITY, f32::min);
            expected.retain(|(_, cost)| *cost <= best + costs.beam - 0.01);
            for (words, cost) in &expected {
                let there = found.iter().find(|(other, _)| other == words);
                assert!(
                    there.is_some_and(|(_, other)| (other - cost).abs() < 1e-3),
                    "{word}: {words:?} {cost}"
                );
            }
            assert!(found.iter().all(|(_, cost)| *cost <= best + costs.beam + 1e-3), "{word}: {best}");
        }
    }

    #[test]
    fn a_likelier_pronunciation_costs_less() {
        let costs = SoundCosts::default();
        let (kat, kot) = (spoken("k a t"), spoken("k o t"));
        let known = KnownSounds::new([(1, &kat[..]), (2, &kot[..])], costs);
        let found = strings(&known.alike(&[(0.6, kot.clone()), (0.3, kat)]).unwrap());
        assert_eq!(found[0], (vec![2], 0.0));
        assert!(found[1].0 == [1] && (found[1].1 - 2.0f32.ln()).abs() < 1e-3, "{found:?}");
        assert!(KnownSounds::new([], costs).alike(&[(1.0, kot)]).is_err());
    }
}
