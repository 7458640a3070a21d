//! H: from transition-ids to phones in context, the HMMs without their self-loops (`GetHTransducer` in
//! `hmm/hmm-utils.cc`).

use kaldi_fst::ops::components::Components;
use kaldi_fst::ops::{self, Semiring};
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use kaldi_hmm::{ContextDependency, TransitionModel, TransitionState, listed};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::grammar::Nonterminals;
use crate::ilabels::IlabelInfo;

/// H with the input labels that stand for disambiguation symbols, in the order of these symbols' labels.
#[derive(Debug, Clone, PartialEq)]
pub struct HTransducer {
    pub fst: Fst,
    pub disambiguation: Vec<i32>,
}

/// A loop of the HMMs of all windows in `labels`, with the window's label as output. Costs are negated logarithms of
/// transition probabilities times `transition_scale`, of leaving the state if that is done. Windows with the same phone
/// and pdfs share their HMM. Disambiguation symbols have new input labels, behind the transition-ids.
///
/// `first_nonterminal` is the number of `#nonterm_bos` among the phones; only graphs of grammars need it.
pub fn make_h_transducer(
    labels: &IlabelInfo,
    tree: &ContextDependency,
    model: &TransitionModel,
    transition_scale: f32,
    first_nonterminal: Option<i32>,
) -> Result<HTransducer> {
    let mut acceptors = Hmms { tree, model, transition_scale, known: FxHashMap::default(), all: Vec::new() };
    let mut disambiguation = Vec::new();
    let mut next_symbol = model.num_transition_ids() as i32;
    let mut h = Loop::new();
    for (label, window) in (0..).zip(&labels.0) {
        match window[..] {
            [] if label == 0 => {}
            [] => return Err(Error::mismatch(format!("label {label} has an empty phone window"))),
            [symbol] if symbol <= 0 => {
                next_symbol += 1;
                disambiguation.push(next_symbol);
                h.add(label, &single_arc(next_symbol));
            }
            [symbol, phone] if symbol < 0 => {
                h.add(label, &single_arc(grammar_symbol(-symbol, phone, first_nonterminal)?));
            }
            [symbol, ..] if symbol < 0 => {
                return Err(Error::mismatch(format!(
                    "label {label} has the invalid phone window {}",
                    listed(window)
                )));
            }
            _ => {
                let hmm = acceptors.of(window)?;
                h.add_shared(label, hmm, &acceptors.all[hmm]);
            }
        }
    }
    Ok(HTransducer { fst: h.fst, disambiguation })
}

fn grammar_symbol(nonterminal: i32, phone: i32, first_nonterminal: Option<i32>) -> Result<i32> {
    let Some(first) = first_nonterminal else {
        return Err(Error::mismatch(
            "the labels are those of a grammar: expected `nonterm-phones-offset`, the number of the first nonterminal symbol",
        ));
    };
    Nonterminals { first_symbol: first }.label(nonterminal, phone).ok_or_else(|| {
        Error::mismatch(format!(
            "nonterminal {nonterminal} with phone {phone} is invalid, since the first nonterminal is {first}"
        ))
    })
}

fn single_arc(label: i32) -> Fst {
    let mut fst = Fst { start: Some(0), states: vec![Default::default(), Default::default()] };
    fst.state_mut(0).arcs.push(Arc::new(label, 0.0, 1));
    fst.state_mut(1).final_weight = 0.0;
    fst
}

/// The HMMs of windows as acceptors of transition-ids.
struct Hmms<'a> {
    tree: &'a ContextDependency,
    model: &'a TransitionModel,
    transition_scale: f32,
    /// The number of the acceptor for a phone and its pdfs.
    known: FxHashMap<(i32, Vec<i32>), usize>,
    all: Vec<Fst>,
}

impl Hmms<'_> {
    /// Returns the HMM of the window, as its number in `all`.
    fn of(&mut self, window: &[i32]) -> Result<usize> {
        let width = self.tree.context_width();
        if window.len() != width {
            return Err(Error::mismatch(format!(
                "a label has a window of {} phones, but the tree has a context width of {width}",
                window.len()
            )));
        }
        let phone = window[self.tree.central_position()];
        if self.model.topology().entry(phone).is_none() {
            return Err(Error::mismatch(format!(
                "phone {phone} of the window {} is not in the topology",
                listed(window)
            )));
        }
        let classes = 0..self.model.topology().num_pdf_classes(phone);
        let pdf = |class: i32| {
            self.tree.pdf(window, class).ok_or_else(|| {
                Error::mismatch(format!(
                    "the tree has no pdf for pdf class {class} of the window {}",
                    listed(window)
                ))
            })
        };
        let pdfs = classes.map(pdf).collect::<Result<Vec<i32>>>()?;
        if let Some(&known) = self.known.get(&(phone, pdfs.clone())) {
            return Ok(known);
        }
        self.all.push(self.make(phone, &pdfs)?);
        self.known.insert((phone, pdfs), self.all.len() - 1);
        Ok(self.all.len() - 1)
    }

    /// Makes the acceptor of a phone. `pdfs` are the pdfs of the phone's pdf classes.
    fn make(&self, phone: i32, pdfs: &[i32]) -> Result<Fst> {
        let entry = self.model.topology().entry(phone).unwrap_or_default();
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(entry.len(), Default::default);
        if let Some(end) = fst.states.last_mut() {
            end.final_weight = 0.0;
        }
        for (hmm_state, state) in entry.iter().enumerate() {
            let index = match state.forward_pdf_class {
                None => None,
                Some(class) => {
                    let forward_pdf = pdfs[class as usize];
                    let self_loop_pdf = state.self_loop_pdf_class.map(|class| pdfs[class as usize]);
                    let wanted = TransitionState { phone, hmm_state, forward_pdf, self_loop_pdf };
                    let index = self.model.find_state(&wanted);
                    Some(index.ok_or_else(|| {
                        Error::mismatch(format!(
                            "the transition model has no state with {wanted}: it does not belong to the tree"
                        ))
                    })?)
                }
            };
            for (i, &(next, probability)) in state.transitions.iter().enumerate() {
                if next == hmm_state {
                    continue;
                }
                let (label, log_prob) = match index.and_then(|index| self.model.ids_of_state(index).nth(i)) {
                    Some(id) => (id.get() as i32, self.model.log_prob_when_leaving(id)),
                    None => (EPSILON, probability.ln()),
                };
                let arc = Arc::new(label, -log_prob, next as StateId);
                fst.state_mut(hmm_state as StateId).arcs.push(arc);
            }
        }
        ops::remove_epsilons_locally(&mut fst, Semiring::Tropical, Semiring::Tropical);
        fst.scale(self.transition_scale);
        Ok(fst)
    }
}

/// Acceptors in a loop: state 0 is start and end.
struct Loop {
    fst: Fst,
    /// The arc that leads into each shared acceptor, by the acceptor's number.
    entries: FxHashMap<usize, Arc>,
}

impl Loop {
    fn new() -> Loop {
        let mut fst = Fst::default();
        fst.start = Some(fst.add_state());
        fst.state_mut(0).final_weight = 0.0;
        Loop { fst, entries: FxHashMap::default() }
    }

    /// Adds an acceptor, unless the FST has an acceptor with this number.
    fn add_shared(&mut self, label: i32, number: usize, acceptor: &Fst) {
        if let Some(&entry) = self.entries.get(&number) {
            self.fst.state_mut(0).arcs.push(Arc { olabel: label, ..entry });
        } else if let Some(entry) = self.add(label, acceptor) {
            self.entries.insert(number, entry);
        }
    }

    /// Adds an acceptor with the label as its output, and returns the arc that leads into it.
    fn add(&mut self, label: i32, acceptor: &Fst) -> Option<Arc> {
        let start = acceptor.start?;
        let first = acceptor.state(start);
        // Then the loop's state can be the acceptor's start.
        let shares_start = first.arcs.len() == 1
            && !first.is_final()
            && !Components::of(acceptor).cyclic(acceptor, start as usize);
        let numbers: Vec<StateId> = (0..acceptor.states.len() as StateId)
            .map(|s| if s == start && shares_start { 0 } else { self.fst.add_state() })
            .collect();
        let mut entry = None;
        if !shares_start {
            let arc = Arc { ilabel: EPSILON, olabel: label, weight: 0.0, next: numbers[start as usize] };
            entry = Some(arc);
            self.fst.state_mut(0).arcs.push(arc);
        }
        for (s, state) in acceptor.numbered() {
            let from = numbers[s as usize];
            for arc in &state.arcs {
                let is_entry = s == start && shares_start;
                let olabel = if is_entry { label } else { EPSILON };
                let arc = Arc { olabel, next: numbers[arc.next as usize], ..*arc };
                if is_entry {
                    entry = Some(arc);
                }
                self.fst.state_mut(from).arcs.push(arc);
            }
            if state.is_final() {
                let arc = Arc { ilabel: EPSILON, olabel: EPSILON, weight: state.final_weight, next: 0 };
                self.fst.state_mut(from).arcs.push(arc);
            }
        }
        entry
    }
}
