//! C: from phones in context to phones (Mohri, Pereira and Riley, "Speech recognition with weighted finite-state
//! transducers", 2008).
//!
//! The FST itself is never made. In the direction from phones to windows it is deterministic, so a composition makes
//! its arcs on demand. Its states are the last phones. Its windows get labels in the order of discovery.

use kaldi_fst::state_table::{Expanded, StateTable, try_unfold};
use kaldi_fst::{Arc, EPSILON, Fst, State, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::ilabels::{IlabelInfo, Labels};

/// Size of a tree's window of phones, and the position, from 0, of the phone whose pdf the tree gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub width: usize,
    pub central: usize,
}

impl Window {
    pub fn new(width: usize, central: usize) -> Result<Window> {
        if central >= width {
            return Err(Error::mismatch(format!(
                "the central position must be less than the context width, found {central} and {width}"
            )));
        }
        Ok(Window { width, central })
    }

    /// True if the next phones are part of the context. Then utterances end with subsequential symbols.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.central + 1 < self.width
    }
}

/// A context FST read backwards, from phones to labels of phones in context.
pub trait InverseContext {
    /// Its start is state 0.
    fn is_final(&self, state: StateId) -> bool;

    /// Returns the target of the phone or symbol from a state, with the label of the window that is then complete.
    /// `None` if it must not come there.
    fn step(&mut self, state: StateId, phone: i32) -> Result<Option<(i32, StateId)>>;

    /// Returns the meaning of the labels made so far.
    fn labels(&self) -> IlabelInfo;

    /// Composes the context FST with `fst`, whose inputs are phones. States are in the order of a breadth-first search.
    fn compose_with(&mut self, fst: &Fst) -> Result<Fst> {
        let Some(start) = fst.start else { return Ok(Fst::default()) };
        // Cached steps of the context FST: most arcs ask for a known step.
        let mut steps: FxHashMap<(StateId, i32), Option<(i32, StateId)>> = FxHashMap::default();
        try_unfold((0, start), |(context, s), out: &mut Expanded<_, f32>| {
            let state = fst.state(s);
            for arc in &state.arcs {
                let step = if arc.ilabel == EPSILON {
                    Some((EPSILON, context))
                } else if let Some(known) = steps.get(&(context, arc.ilabel)) {
                    *known
                } else {
                    let step = self.step(context, arc.ilabel)?;
                    steps.insert((context, arc.ilabel), step);
                    step
                };
                if let Some((ilabel, context)) = step {
                    out.add((ilabel, arc.olabel), arc.weight, (context, arc.next));
                }
            }
            Ok(if self.is_final(context) { state.final_weight } else { f32::INFINITY })
        })
    }
}

/// The context FST of a window of phones.
#[derive(Debug, Clone)]
pub struct WindowContext {
    window: Window,
    phones: FxHashSet<i32>,
    disambiguation: FxHashSet<i32>,
    subsequential: i32,
    /// The last phones of each state, 0 for an absent phone. Their number is the window's size minus 1.
    histories: StateTable<Vec<i32>>,
    labels: Labels,
    /// The label of arcs on which no window is complete yet.
    beginning: i32,
}

impl WindowContext {
    /// Makes a context FST. `phones` are all phones. Disambiguation symbols may come anywhere and are passed on. The
    /// subsequential symbol stands for positions behind the last phone.
    pub fn new(
        window: Window,
        phones: &[i32],
        disambiguation: &[i32],
        subsequential: i32,
    ) -> Result<WindowContext> {
        let phones: FxHashSet<i32> = phones.iter().copied().collect();
        let disambiguation: FxHashSet<i32> = disambiguation.iter().copied().collect();
        if let Some(&symbol) = disambiguation.iter().filter(|symbol| phones.contains(symbol)).min() {
            return Err(Error::mismatch(format!("Disambiguation symbol {symbol} is also a phone.")));
        }
        if let Some(&symbol) = phones.iter().chain(&disambiguation).find(|&&symbol| symbol <= 0) {
            return Err(Error::mismatch(format!(
                "expected phones and disambiguation symbols above 0, found {symbol}"
            )));
        }
        if phones.contains(&subsequential) || disambiguation.contains(&subsequential) {
            return Err(Error::mismatch(format!(
                "the subsequential symbol {subsequential} is also a phone or disambiguation symbol"
            )));
        }
        let mut labels = Labels::new();
        // Without this symbol, the distinctions by disambiguation symbols at the beginning would be lost: they come
        // earlier in the result than in the composed FST.
        let marked = window.looks_ahead() && !disambiguation.is_empty();
        let beginning = if marked { labels.of(vec![0]) } else { EPSILON };
        let start = vec![0; window.width - 1];
        Ok(WindowContext {
            window,
            phones,
            disambiguation,
            subsequential,
            histories: StateTable::starting_with(start),
            labels,
            beginning,
        })
    }

    /// Makes the context FST for composition with `fst`. Input labels of `fst` are phones or the disambiguation
    /// symbols. If the window extends to the right, subsequential symbols are added to `fst`.
    pub fn for_fst(fst: &mut Fst, window: Window, disambiguation: &[i32]) -> Result<WindowContext> {
        let arcs = fst.states.iter().flat_map(|state| &state.arcs);
        let mut phones: Vec<i32> = arcs.map(|arc| arc.ilabel).filter(|&label| label != EPSILON).collect();
        phones.sort_unstable();
        phones.dedup();
        let largest = phones.iter().chain(disambiguation).copied().max().unwrap_or(0);
        let symbols: FxHashSet<i32> = disambiguation.iter().copied().collect();
        phones.retain(|label| !symbols.contains(label));
        let subsequential = largest.max(0) + 1;
        if window.looks_ahead() {
            add_subsequential_loop(fst, subsequential);
        }
        WindowContext::new(window, &phones, disambiguation, subsequential)
    }

    pub fn into_labels(self) -> IlabelInfo {
        self.labels.into_info()
    }
}

impl InverseContext for WindowContext {
    fn is_final(&self, state: StateId) -> bool {
        // The last real phone must have been in the centre.
        !self.window.looks_ahead() || self.histories.key(state)[self.window.central] == self.subsequential
    }

    fn step(&mut self, state: StateId, phone: i32) -> Result<Option<(i32, StateId)>> {
        if self.disambiguation.contains(&phone) {
            return Ok(Some((self.labels.of(vec![-phone]), state)));
        }
        let history = self.histories.key(state);
        let allowed = if phone == self.subsequential {
            self.window.looks_ahead() && history[self.window.central] != self.subsequential
        } else if self.phones.contains(&phone) {
            history.last() != Some(&self.subsequential)
        } else {
            return Err(Error::mismatch(format!(
                "input label {phone} of the FST is neither a phone nor a disambiguation symbol"
            )));
        };
        if !allowed {
            return Ok(None);
        }
        let mut full: Vec<i32> = history.iter().copied().chain([phone]).collect();
        let next = self.histories.number(full[1..].to_vec());
        for behind in &mut full[self.window.central + 1..] {
            if *behind == self.subsequential {
                *behind = 0;
            }
        }
        let label = if full[self.window.central] == 0 { self.beginning } else { self.labels.of(full) };
        Ok(Some((label, next)))
    }

    fn labels(&self) -> IlabelInfo {
        self.labels.info()
    }
}

/// Allows any number of subsequential symbols after each string of `fst`, on the input side and without output.
pub(crate) fn add_subsequential_loop(fst: &mut Fst, symbol: i32) {
    let ends: Vec<StateId> = fst.numbered().filter(|(_, state)| state.is_final()).map(|(s, _)| s).collect();
    let end = fst.add_state();
    let arc = |weight: f32| Arc { ilabel: symbol, olabel: EPSILON, weight, next: end };
    *fst.state_mut(end) = State { final_weight: 0.0, arcs: vec![arc(0.0)] };
    for s in ends {
        let state = fst.state_mut(s);
        state.arcs.push(arc(state.final_weight));
    }
}

/// C ∘ `fst` with the meanings of the result's input labels. The inputs of `fst` are phones and disambiguation symbols.
pub fn compose_context(mut fst: Fst, window: Window, disambiguation: &[i32]) -> Result<(Fst, IlabelInfo)> {
    let mut context = WindowContext::for_fst(&mut fst, window, disambiguation)?;
    let composed = context.compose_with(&fst)?;
    Ok((composed, context.into_labels()))
}
