//! HMM topologies: the states of phones, with their pdf classes and transitions.
//!
//! Phones with the same topology share an entry. The last state of an entry is its end: it is non-emitting and has no
//! transitions. Files are in `topology_store.rs`.

use crate::error::{Error, Result};

/// Largest deviation from 1 of the sum of the probabilities out of a state, without a warning.
const SUM_TOLERANCE: f32 = 0.01;

/// A state of a phone's HMM.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HmmState {
    /// The class of the pdf that belongs to transitions to other states; `None` for a non-emitting state.
    pub forward_pdf_class: Option<i32>,
    /// Class of the pdf that belongs to the transition to the state itself; usually the same.
    pub self_loop_pdf_class: Option<i32>,
    /// Next states and the initial probabilities of going there.
    pub transitions: Vec<(usize, f32)>,
}

impl HmmState {
    /// A state with one pdf class for all its transitions.
    pub fn emitting(pdf_class: i32, transitions: Vec<(usize, f32)>) -> HmmState {
        HmmState { forward_pdf_class: Some(pdf_class), self_loop_pdf_class: Some(pdf_class), transitions }
    }

    /// Iterates over both classes; the forward one comes first.
    pub fn pdf_classes(&self) -> impl Iterator<Item = i32> {
        self.forward_pdf_class.into_iter().chain(self.self_loop_pdf_class)
    }
}

/// The states of each phone. Phones are numbered from 1; every phone has an entry, every entry a phone.
#[derive(Debug, Clone, PartialEq)]
pub struct HmmTopology {
    /// Sorted.
    pub(crate) phones: Vec<i32>,
    /// Indexed by phone; -1 for numbers that are no phones.
    pub(crate) entry_of_phone: Vec<i32>,
    pub(crate) entries: Vec<Vec<HmmState>>,
}

impl HmmTopology {
    /// A topology of entries, each with the phones that share it.
    pub fn new(entries: Vec<(Vec<i32>, Vec<HmmState>)>) -> Result<HmmTopology> {
        let mut topology =
            HmmTopology { phones: Vec::new(), entry_of_phone: Vec::new(), entries: Vec::new() };
        for (index, (phones, states)) in entries.into_iter().enumerate() {
            for phone in phones {
                topology.add_phone(phone, index as i32)?;
            }
            topology.entries.push(states);
        }
        topology.phones.sort_unstable();
        topology.check()?;
        Ok(topology)
    }

    fn add_phone(&mut self, phone: i32, entry: i32) -> Result<()> {
        /// More phones than anyone has; the table by phone must not fill the memory.
        const MOST_PHONES: i32 = 1 << 24;
        if !(1..MOST_PHONES).contains(&phone) {
            return Err(Error::model(format!("invalid phone {phone}: expected a number above 0")));
        }
        let at = phone as usize;
        if self.entry_of_phone.len() <= at {
            self.entry_of_phone.resize(at + 1, -1);
        }
        if self.entry_of_phone[at] != -1 {
            return Err(Error::model(format!("phone {phone} appears in two topology entries")));
        }
        self.entry_of_phone[at] = entry;
        self.phones.push(phone);
        Ok(())
    }

    /// Returns all phones, sorted.
    pub fn phones(&self) -> &[i32] {
        &self.phones
    }

    /// The states of a phone; None if there is no such phone.
    pub fn entry(&self, phone: i32) -> Option<&[HmmState]> {
        let entry = *self.entry_of_phone.get(usize::try_from(phone).ok()?)?;
        self.entries.get(usize::try_from(entry).ok()?).map(Vec::as_slice)
    }

    /// True if each state's self-loop and its other transitions have the same pdf class. Otherwise files are in the
    /// extended form.
    pub fn is_hmm(&self) -> bool {
        self.entries.iter().flatten().all(|state| state.forward_pdf_class == state.self_loop_pdf_class)
    }

    /// Number of pdf classes of a phone, numbered from 0; 0 for a number that is no phone.
    pub fn num_pdf_classes(&self, phone: i32) -> i32 {
        let states = self.entry(phone).unwrap_or_default();
        states.iter().flat_map(HmmState::pdf_classes).max().map_or(0, |largest| largest + 1)
    }

    /// Smallest number of frames of a phone; `None` for a number that is no phone.
    pub fn min_length(&self, phone: i32) -> Option<usize> {
        let states = self.entry(phone)?;
        // Frames until a state has been left, on the shortest way there; no way visits a state twice.
        let mut frames = vec![usize::MAX; states.len()];
        let cost = |state: usize| usize::from(states[state].forward_pdf_class.is_some());
        frames[0] = cost(0);
        for _ in 0..states.len() {
            for (from, state) in states.iter().enumerate().filter(|(_, state)| !state.transitions.is_empty())
            {
                for &(to, _) in &state.transitions {
                    frames[to] = frames[to].min(frames[from].saturating_add(cost(to)));
                }
            }
        }
        frames.last().copied()
    }

    /// Returns an error if the topology breaks a rule of the type's description.
    pub(crate) fn check(&self) -> Result<()> {
        if self.entries.is_empty() || self.phones.is_empty() {
            return Err(Error::model("the topology has no phones"));
        }
        if let Some(pair) = self.phones.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::model(format!("phone {} of the topology follows {}", pair[1], pair[0])));
        }
        let mut used = vec![false; self.entries.len()];
        for &phone in &self.phones {
            if phone < 1 || self.entry(phone).is_none() {
                return Err(Error::model(format!("phone {phone} has no topology entry")));
            }
            used[self.entry_of_phone[phone as usize] as usize] = true;
        }
        for (index, states) in self.entries.iter().enumerate() {
            let check = if used[index] { check_entry(states) } else { Err("it has no phones".to_owned()) };
            check.map_err(|why| Error::model(format!("topology entry {index}: {why}")))?;
        }
        Ok(())
    }

    /// Warnings about valid but unusual topologies.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (index, states) in self.entries.iter().enumerate() {
            for (s, state) in states.iter().enumerate().take(states.len() - 1) {
                let total: f32 = state.transitions.iter().map(|t| t.1).sum();
                if (total - 1.0).abs() > SUM_TOLERANCE {
                    warnings.push(format!(
                        "Total probability for state {s} of topology entry {index} is {total}"
                    ));
                }
            }
        }
        warnings
    }
}

fn check_entry(states: &[HmmState]) -> std::result::Result<(), String> {
    let [others @ .., end] = states else { return Err("it has no states".to_owned()) };
    if others.is_empty() {
        return Err("it has only one state, expected at least two (the last one is non-emitting)".to_owned());
    }
    if !end.transitions.is_empty() || end.pdf_classes().next().is_some() {
        return Err("its last state emits something or has transitions".to_owned());
    }
    let mut reached = vec![false; states.len()];
    for (s, state) in others.iter().enumerate() {
        let emits = state.forward_pdf_class.is_some();
        if !emits && state.self_loop_pdf_class.is_some() {
            return Err(format!("state {s} has a pdf class for its self-loop only"));
        }
        if state.transitions.is_empty() {
            return Err(format!("state {s} has no transitions; only the last state may have none"));
        }
        for (i, &(next, probability)) in state.transitions.iter().enumerate() {
            if next >= states.len() {
                return Err(format!("state {s} has a transition to state {next}, which does not exist"));
            }
            if probability.is_nan() || probability <= 0.0 {
                return Err(format!("the transition from state {s} to {next} has probability {probability}"));
            }
            if state.transitions[..i].iter().any(|t| t.0 == next) {
                return Err(format!("state {s} has two transitions to state {next}"));
            }
            if !emits && next + 1 == states.len() {
                return Err(format!("state {s} is non-emitting and has a transition to the last state"));
            }
            if next == s && state.self_loop_pdf_class.is_none() {
                return Err(format!("state {s} has a self-loop, but no pdf class for it"));
            }
            reached[next] = true;
        }
    }
    if let Some(s) = (1..states.len()).find(|&s| !reached[s]) {
        return Err(format!("no transition leads to state {s}"));
    }
    let mut classes: Vec<i32> = others.iter().flat_map(HmmState::pdf_classes).collect();
    classes.sort_unstable();
    classes.dedup();
    if !classes.iter().copied().eq(0..classes.len() as i32) {
        return Err(format!("its pdf classes {classes:?} are not 0, 1, 2, …"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(entries: Vec<(Vec<i32>, Vec<HmmState>)>, words: &str) {
        let error = HmmTopology::new(entries).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn entries_that_make_no_sense() {
        let state = HmmState::emitting;
        let end = HmmState::default;
        let with = |states: Vec<HmmState>| vec![(vec![1], states)];
        refused(vec![], "no phones");
        refused(with(vec![end()]), "only one state");
        refused(with(vec![state(0, vec![(1, 1.0)]), state(1, vec![])]), "last state emits");
        refused(with(vec![state(0, vec![(2, 1.0)]), end()]), "to state 2, which does not exist");
        refused(with(vec![state(0, vec![(1, 0.0)]), end()]), "probability 0");
        refused(with(vec![state(0, vec![(1, 0.5), (1, 0.5)]), end()]), "two transitions to state 1");
        refused(with(vec![state(1, vec![(1, 1.0)]), end()]), "pdf classes [1]");
        refused(with(vec![state(0, vec![(0, 1.0)]), end()]), "no transition leads to state 1");
        refused(with(vec![state(0, vec![(1, 1.0)]), state(0, vec![]), end()]), "state 1 has no transitions");
        let silent = HmmState { transitions: vec![(1, 1.0)], ..end() };
        refused(with(vec![silent.clone(), end()]), "is non-emitting and has a transition to the last state");
        let one = || vec![state(0, vec![(0, 0.5), (1, 0.5)]), end()];
        refused(vec![(vec![1, 2], one()), (vec![2], one())], "phone 2 appears in two");
        refused(vec![(vec![1], one()), (vec![], one())], "entry 1: it has no phones");
        refused(vec![(vec![0], one())], "invalid phone 0");
    }

    #[test]
    fn what_entries_say() {
        let two = vec![
            HmmState {
                forward_pdf_class: Some(0),
                self_loop_pdf_class: Some(1),
                transitions: vec![(0, 0.5), (1, 0.3)],
            },
            HmmState::default(),
        ];
        let topology = HmmTopology::new(vec![(vec![5, 2], two)]).unwrap();
        assert_eq!(topology.phones(), [2, 5]);
        assert!(!topology.is_hmm() && topology.entry(3).is_none() && topology.entry(-1).is_none());
        assert_eq!((topology.num_pdf_classes(5), topology.num_pdf_classes(3)), (2, 0));
        assert_eq!(topology.warnings(), ["Total probability for state 0 of topology entry 0 is 0.8"]);
    }

    /// Two paths to the end: through one emitting and one non-emitting state, or through three emitting ones.
    #[test]
    fn shortest_phones() {
        let state = HmmState::emitting;
        let silent = HmmState { transitions: vec![(3, 1.0)], ..HmmState::default() };
        let entry = vec![
            state(0, vec![(0, 0.5), (1, 0.25), (2, 0.25)]),
            state(1, vec![(3, 1.0)]),
            silent,
            state(2, vec![(3, 0.5), (4, 0.5)]),
            HmmState::default(),
        ];
        let topology = HmmTopology::new(vec![(vec![2], entry)]).unwrap();
        assert_eq!((topology.min_length(2), topology.min_length(1)), (Some(2), None));
    }
}
