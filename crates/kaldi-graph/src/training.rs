//! Training graphs: all pronunciations of a transcript, as HMMs (`decoder/training-graph-compiler.cc`).

use std::collections::BTreeSet;

use kaldi_fst::ops::{self, DELTA, DeterminizeStar, Semiring, Side};
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use kaldi_hmm::{ContextDependency, TransitionModel};
use rustc_hash::FxHashSet;

use crate::context::{InverseContext, Window, WindowContext, add_subsequential_loop};
use crate::error::Result;
use crate::h_transducer::make_h_transducer;
use crate::self_loops::{SelfLoops, add_self_loops};

/// Maker of training graphs.
#[derive(Debug, Clone, Copy)]
pub struct TrainingGraphs {
    pub transition_scale: f32,
    pub self_loop_scale: f32,
    /// Self-loops come behind the transitions out of their states.
    pub reorder: bool,
    /// Empty arcs of disambiguation symbols are removed if the graph becomes smaller.
    pub remove_epsilons: bool,
}

/// Makes training graphs of one model and lexicon.
#[derive(Debug)]
pub struct TrainingGraphCompiler<'a> {
    tree: &'a ContextDependency,
    model: &'a TransitionModel,
    /// Sorted on output.
    lexicon: Fst,
    disambiguation: Vec<i32>,
    subsequential: i32,
    window: Window,
    options: TrainingGraphs,
}

impl<'a> TrainingGraphCompiler<'a> {
    /// `lexicon` is from phones to words. Fails if a disambiguation symbol is also a phone.
    pub fn new(
        tree: &'a ContextDependency,
        model: &'a TransitionModel,
        mut lexicon: Fst,
        disambiguation: &[i32],
        options: TrainingGraphs,
    ) -> Result<TrainingGraphCompiler<'a>> {
        let window = Window::new(tree.context_width(), tree.central_position())?;
        let phones = model.topology().phones();
        let largest = phones.iter().chain(disambiguation).max().copied().unwrap_or(0);
        let subsequential = largest + 1;
        // Checks the symbols now, and not with the first transcript.
        WindowContext::new(window, phones, disambiguation, subsequential)?;
        if window.looks_ahead() {
            add_subsequential_loop(&mut lexicon, subsequential);
        }
        ops::sort_arcs(&mut lexicon, Side::Output);
        let disambiguation = disambiguation.to_vec();
        Ok(TrainingGraphCompiler { tree, model, lexicon, disambiguation, subsequential, window, options })
    }

    /// Returns the words without a pronunciation in the lexicon, each once, in ascending order.
    pub fn words_without_pronunciation(&self, words: impl IntoIterator<Item = i32>) -> Vec<i32> {
        let states = &self.lexicon.states;
        let known: FxHashSet<i32> =
            states.iter().flat_map(|state| &state.arcs).map(|arc| arc.olabel).collect();
        let missing: BTreeSet<i32> =
            words.into_iter().filter(|word| *word != EPSILON && !known.contains(word)).collect();
        missing.into_iter().collect()
    }

    /// The graph of a sequence of words. It is empty if the lexicon does not have them all.
    pub fn compile_words(&self, words: &[i32]) -> Result<Fst> {
        self.compile(&linear_acceptor(words))
    }

    /// The graph of a grammar on words; its inputs need not be sorted.
    pub fn compile(&self, grammar: &Fst) -> Result<Fst> {
        // The lexicon is sorted, so there is a result.
        let pronunciations = ops::compose_transducers(&self.lexicon, grammar, true).unwrap_or_default();
        if pronunciations.start.is_none() {
            return Ok(Fst::default());
        }
        let phones = self.model.topology().phones();
        let mut context = WindowContext::new(self.window, phones, &self.disambiguation, self.subsequential)?;
        let in_context = context.compose_with(&pronunciations)?;
        let labels = context.into_labels();
        let h = make_h_transducer(&labels, self.tree, self.model, self.options.transition_scale, None)?;
        let graph = ops::compose_transducers(&h.fst, &in_context, true).unwrap_or_default();
        let options = DeterminizeStar { semiring: Semiring::Log, ..DeterminizeStar::default() };
        let mut graph = ops::determinize_star(graph, options)?;
        if !h.disambiguation.is_empty() {
            ops::remove_labels(&mut graph, Side::Input, &h.disambiguation.into_iter().collect());
            if self.options.remove_epsilons {
                ops::remove_epsilons_locally(&mut graph, Semiring::Tropical, Semiring::Tropical);
            }
        }
        ops::minimize_encoded(&mut graph, DELTA);
        let TrainingGraphs { self_loop_scale: scale, reorder, .. } = self.options;
        add_self_loops(&mut graph, self.model, SelfLoops { scale, reorder, ..SelfLoops::default() })?;
        Ok(graph)
    }
}

/// Accepts exactly this sequence, at no cost.
fn linear_acceptor(labels: &[i32]) -> Fst {
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for (next, &label) in (1 as StateId..).zip(labels) {
        let state = fst.add_state();
        fst.state_mut(state).arcs.push(Arc::new(label, 0.0, next));
    }
    let end = fst.add_state();
    fst.state_mut(end).final_weight = 0.0;
    fst
}
