//! Determinization of a lattice chunk by chunk while a search goes on (`LatticeIncrementalDeterminizer` of
//! `decoder/lattice-incremental-decoder.cc`).
//!
//! A chunk is the raw lattice from one frame to another. A token is a state at its last frame. The determinized chunks
//! so far are one lattice, with arcs at its end that lead to tokens. A state with such an arc, or with a path to one,
//! is open. The next chunk may change its arcs, so the raw lattice of that chunk begins with all open states. Other
//! states are settled.
//!
//! The raw lattice has labels that are no words. The first arcs lead from its start to the open states. Each has a label
//! of its own, and the cost of the best path to the state. The last arcs lead from tokens to ends, with the label of the
//! token. So determinization keeps these states apart, and the result tells which state is which. An open state that
//! only other open states lead to needs no such arc. It has one because the reference gives it one: with it, fewer paths
//! from the state are pruned.

use kaldi_fst::{Algebra, Arc, EPSILON, StateId, ops};
use kaldi_hmm::TransitionModel;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{PhoneOptions, Report, determinize_phones};
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice};
use crate::order;
use crate::weight::{CompactLatticeWeight, LatticeWeight};

/// A token's number. It is unique among the tokens at the end of a chunk.
pub type Token = u32;

/// The raw lattice of a chunk. The caller adds states and arcs.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    pub lattice: Lattice,
    /// The states of the tokens at the end of the chunk before this one.
    begins: FxHashMap<Token, StateId>,
    /// For each arc of the start: an open state, and the cost that is on the arc for pruning only.
    entries: Vec<(StateId, f32)>,
    /// For each token at the end: its number, and the final cost that is there for pruning only.
    ends: Vec<(Token, f32)>,
}

/// Tokens have labels from here downwards. Words are positive.
const FIRST_TOKEN_LABEL: i32 = -1;
/// Arcs of the start have labels from here upwards.
const FIRST_ENTRY_LABEL: i32 = i32::MIN;

impl Chunk {
    /// True if this chunk continues others. Otherwise the caller sets the start.
    pub fn is_continued(&self) -> bool {
        self.lattice.start.is_some()
    }

    /// The state of a token at the end of the previous chunk. It is new if no determinized path leads to the token.
    pub fn begin(&mut self, token: Token) -> StateId {
        match self.begins.get(&token) {
            Some(&state) => state,
            None => self.lattice.add_state(),
        }
    }

    /// Adds a state for a token at the end of this chunk. `cost` guides the pruning, and does not remain in the result.
    /// It estimates the cost of the best path from the token on, apart from a constant.
    pub fn end(&mut self, token: Token, cost: f32) -> StateId {
        let state = self.lattice.add_state();
        let end = self.lattice.add_state();
        let label = FIRST_TOKEN_LABEL - self.ends.len() as i32;
        let weight = LatticeWeight::ONE;
        self.lattice.state_mut(state).arcs.push(Arc { ilabel: EPSILON, olabel: label, weight, next: end });
        self.lattice.state_mut(end).final_weight = LatticeWeight::new(cost, 0.0);
        self.ends.push((token, cost));
        state
    }

    /// Adds an arc of a determinized lattice.
    fn add_path(&mut self, from: StateId, word: i32, weight: &CompactLatticeWeight, to: StateId) {
        let (last, before) = match weight.string.split_last() {
            Some((&last, before)) => (last, before),
            None => (EPSILON, &[][..]),
        };
        let (mut from, mut word, mut costs) = (from, word, weight.weight);
        for &id in before {
            let next = self.lattice.add_state();
            let arc = Arc { ilabel: id, olabel: word, weight: costs, next };
            self.lattice.state_mut(from).arcs.push(arc);
            (from, word, costs) = (next, EPSILON, LatticeWeight::ONE);
        }
        let arc = Arc { ilabel: last, olabel: word, weight: costs, next: to };
        self.lattice.state_mut(from).arcs.push(arc);
    }

    /// The token that a label belongs to, and its final cost.
    fn end_of(&self, label: i32) -> Option<(Token, f32)> {
        let number = usize::try_from(FIRST_TOKEN_LABEL.checked_sub(label)?).ok()?;
        self.ends.get(number).copied()
    }

    /// The open state that a label belongs to, and the cost on its arc.
    fn entry_of(&self, label: i32) -> Option<(StateId, f32)> {
        self.entries.get(label.wrapping_sub(FIRST_ENTRY_LABEL) as u32 as usize).copied()
    }
}

/// An arc from the determinized lattice to a token.
#[derive(Debug, Clone)]
struct End {
    from: StateId,
    token: Token,
    weight: CompactLatticeWeight,
}

/// An arc from a settled state to an open one.
#[derive(Debug, Clone, Copy)]
struct Entry {
    from: StateId,
    /// The position among the arcs of `from`.
    position: usize,
}

/// The determinized chunks of an utterance so far.
#[derive(Debug)]
pub struct Incremental {
    beam: f64,
    options: PhoneOptions,
    /// Chunks so far, without the arcs to tokens. Its states have no order, and some are dead ends. State 0 is the start.
    lattice: CompactLattice,
    /// For each state, the cost of the best path to it; infinite for dead ends.
    forward: Vec<f64>,
    ends: Vec<End>,
    open: Vec<StateId>,
    entries: Vec<Entry>,
    report: Report,
}

impl Incremental {
    /// Makes a determinizer that keeps the paths of a chunk that cost at most `beam` more than the best.
    ///
    /// # Errors
    /// The options ask for minimization, or for no pass on words: chunks could not be joined.
    pub fn new(beam: f64, options: PhoneOptions) -> Result<Incremental> {
        if options.minimize {
            return Err(Error::option("minimize", true, "false, since lattices are determinized in chunks"));
        }
        if !options.word_determinize {
            let expected = "true, since lattices are determinized in chunks";
            return Err(Error::option("word-determinize", false, expected));
        }
        Ok(Incremental {
            beam,
            options,
            lattice: CompactLattice::default(),
            forward: Vec::new(),
            ends: Vec::new(),
            open: Vec::new(),
            entries: Vec::new(),
            report: Report { complete: true, events: Vec::new() },
        })
    }

    /// Forgets the utterance.
    pub fn clear(&mut self) {
        self.lattice = CompactLattice::default();
        self.forward.clear();
        self.ends.clear();
        self.open.clear();
        self.entries.clear();
        self.report = Report { complete: true, events: Vec::new() };
    }

    /// True if the next chunk must begin with the first frame. There was no chunk yet, or the start is open because a
    /// token can be reached without a word.
    pub fn begins_anew(&self) -> bool {
        self.lattice.states.is_empty() || self.ends.iter().any(|end| end.from == 0)
    }

    /// Events of all chunks; complete if no limit stopped the determinization of a chunk.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Begins a chunk that follows the others, with the open states and the tokens that they lead to. If the chunk
    /// [begins anew](Self::begins_anew), the others are forgotten.
    pub fn begin_chunk(&mut self) -> Chunk {
        let mut chunk = Chunk::default();
        if self.begins_anew() {
            self.clear();
            return chunk;
        }
        let start = chunk.lattice.add_state();
        chunk.lattice.start = Some(start);
        let copies: FxHashMap<StateId, StateId> =
            self.open.iter().map(|&state| (state, chunk.lattice.add_state())).collect();
        for &state in &self.open {
            for arc in &self.lattice.state(state).arcs {
                chunk.add_path(copies[&state], arc.ilabel, &arc.weight, copies[&arc.next]);
            }
        }
        for end in &self.ends {
            let to = *chunk.begins.entry(end.token).or_insert_with(|| chunk.lattice.add_state());
            chunk.add_path(copies[&end.from], EPSILON, &end.weight, to);
        }
        // Differences suffice for pruning, and are rounded less than costs.
        let costs = self.open.iter().map(|&state| self.forward[state as usize]);
        let best = costs.fold(f64::INFINITY, f64::min);
        for (number, &state) in self.open.iter().enumerate() {
            let cost = (self.forward[state as usize] - best) as f32;
            chunk.entries.push((state, cost));
            let label = FIRST_ENTRY_LABEL + number as i32;
            let weight = LatticeWeight::new(cost, 0.0);
            let arc = Arc { ilabel: EPSILON, olabel: label, weight, next: copies[&state] };
            chunk.lattice.state_mut(start).arcs.push(arc);
        }
        chunk
    }

    fn target(&self, entry: &Entry) -> StateId {
        self.lattice.state(entry.from).arcs[entry.position].next
    }

    /// Determinizes the chunk that [`begin_chunk`](Self::begin_chunk) began, and appends it.
    ///
    /// # Errors
    /// The chunk has a cycle, or a transition-id that the model does not have.
    pub fn append(&mut self, model: &TransitionModel, mut chunk: Chunk) -> Result<()> {
        let continued = self.lattice.start.is_some();
        let mut raw = std::mem::take(&mut chunk.lattice);
        let (mut part, report) = determinize_phones(model, &mut raw, self.beam, &self.options)?;
        self.report.complete &= report.complete;
        self.report.events.extend(report.events);
        order::sort(&mut part)?;
        // The state in this lattice of each state of the part.
        let mut numbers: Vec<Option<StateId>> = vec![None; part.states.len()];
        let mut touched = Vec::new();
        if continued {
            for &state in &self.open {
                self.lattice.state_mut(state).arcs.clear();
                self.forward[state as usize] = f64::INFINITY;
            }
            self.enter(&part, &chunk, &mut numbers);
            touched.extend(numbers.iter().flatten());
        }
        let first = usize::from(continued);
        for (number, state) in part.states.iter().enumerate().skip(first) {
            // (Only the ends that tokens lead to are final.)
            if !state.is_final() && numbers[number].is_none() {
                let new = self.lattice.add_state();
                self.forward.push(f64::INFINITY);
                numbers[number] = Some(new);
                touched.push(new);
            }
        }
        if !continued && !part.states.is_empty() {
            self.lattice.start = Some(0);
            self.forward[0] = 0.0;
        }
        self.ends.clear();
        for (number, state) in part.states.iter().enumerate().skip(first) {
            let from = numbers[number].filter(|&from| self.is_reachable(from));
            let Some(from) = from else { continue };
            for arc in &state.arcs {
                match numbers[arc.next as usize] {
                    Some(next) => self.add_arc(from, Arc::new(arc.ilabel, arc.weight.clone(), next)),
                    None => self.ends.extend(chunk.end_of(arc.ilabel).map(|(token, cost)| {
                        let mut weight = arc.weight.times(&part.state(arc.next).final_weight);
                        weight.weight.graph -= cost;
                        End { from, token, weight }
                    })),
                }
            }
        }
        self.settle(touched);
        Ok(())
    }

    /// Finds the states of a part that the arcs of its start lead to. Moves the weight of these arcs to the arcs of
    /// settled states that enter them. Two open states may have become one.
    fn enter(&mut self, part: &CompactLattice, chunk: &Chunk, numbers: &mut [Option<StateId>]) {
        let arcs = part.start.map_or(&[][..], |start| &part.state(start).arcs);
        let mut entered: FxHashMap<StateId, (StateId, CompactLatticeWeight)> = FxHashMap::default();
        for arc in arcs {
            let Some((state, cost)) = chunk.entry_of(arc.ilabel) else { continue };
            let same = *numbers[arc.next as usize].get_or_insert(state);
            let mut weight = arc.weight.clone();
            weight.weight.graph -= cost;
            entered.insert(state, (same, weight));
        }
        let entries = std::mem::take(&mut self.entries);
        for entry in entries {
            let target = self.target(&entry);
            // (An arc to a state that was pruned is a dead end.)
            let Some((state, weight)) = entered.get(&target) else { continue };
            let arc = &mut self.lattice.state_mut(entry.from).arcs[entry.position];
            arc.next = *state;
            arc.weight = arc.weight.times(weight);
            let cost = self.forward[entry.from as usize] + arc.weight.weight.cost();
            let forward = &mut self.forward[*state as usize];
            *forward = forward.min(cost);
            self.entries.push(entry);
        }
    }

    fn is_reachable(&self, state: StateId) -> bool {
        self.forward[state as usize] != f64::INFINITY
    }

    fn add_arc(&mut self, from: StateId, arc: Arc<CompactLatticeWeight>) {
        let cost = self.forward[from as usize] + arc.weight.weight.cost();
        let forward = &mut self.forward[arc.next as usize];
        *forward = forward.min(cost);
        self.lattice.state_mut(from).arcs.push(arc);
    }

    /// Finds the open states, and the arcs that enter them. Only states that the last chunk touched can be open.
    fn settle(&mut self, touched: Vec<StateId>) {
        let mut open: FxHashSet<StateId> = FxHashSet::default();
        let mut waiting: Vec<StateId> = self.ends.iter().map(|end| end.from).collect();
        while let Some(state) = waiting.pop() {
            if open.insert(state) {
                waiting.extend(self.lattice.state(state).arcs.iter().map(|arc| arc.next));
            }
        }
        let mut entries = std::mem::take(&mut self.entries);
        for from in touched.into_iter().filter(|state| !open.contains(state)) {
            let count = self.lattice.state(from).arcs.len();
            entries.extend((0..count).map(|position| Entry { from, position }));
        }
        entries.retain(|entry| open.contains(&self.target(entry)));
        self.entries = entries;
        self.open = open.into_iter().collect();
        self.open.sort_unstable();
    }

    /// Takes the determinized lattice to the end of the last chunk, without dead ends. Its states are in the order in which
    /// chunks brought them, which may not be topological. `ending` gives the cost of ending in a token; a token without
    /// one is no end. The next chunk begins anew; the [report](Self::report) remains.
    pub fn take_lattice(&mut self, ending: impl Fn(Token) -> Option<f32>) -> CompactLattice {
        let report = std::mem::replace(&mut self.report, Report { complete: true, events: Vec::new() });
        let (mut out, ends) = (std::mem::take(&mut self.lattice), std::mem::take(&mut self.ends));
        self.clear();
        self.report = report;
        for End { from, token, mut weight } in ends {
            let Some(cost) = ending(token) else { continue };
            weight.weight.graph += cost;
            let end = &mut out.state_mut(from).final_weight;
            *end = end.plus(&weight);
        }
        ops::connect(&mut out);
        out
    }
}
