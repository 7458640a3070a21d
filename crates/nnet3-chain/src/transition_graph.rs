//! The way from an acceptor of phones to one of transition-ids: context, HMMs and self-loops.

use kaldi_fst::ops::{self, Side};
use kaldi_fst::{EPSILON, Fst};
use kaldi_graph::{SelfLoops, Window, add_self_loops, compose_context, make_h_transducer};
use kaldi_hmm::{ContextDependency, TransitionModel};
use nnet3_train::{Error, Result};

/// The model that phones are expanded with.
#[derive(Clone, Copy)]
pub struct PhoneModel<'a> {
    pub tree: &'a ContextDependency,
    pub transitions: &'a TransitionModel,
}

pub(crate) fn fst_error(e: kaldi_fst::Error) -> Error {
    Error::data(e.to_string())
}

fn graph_error(e: kaldi_graph::Error) -> Error {
    Error::data(e.to_string())
}

impl<'a> PhoneModel<'a> {
    /// Fails if the tree has other pdfs than the transition model.
    pub fn new(tree: &'a ContextDependency, transitions: &'a TransitionModel) -> Result<PhoneModel<'a>> {
        let (of_tree, of_model) = (tree.num_pdfs(), transitions.num_pdfs());
        if of_tree != of_model {
            return Err(Error::data(format!(
                "the tree has {of_tree} pdfs, the transition model {of_model}: they do not belong together"
            )));
        }
        Ok(PhoneModel { tree, transitions })
    }

    /// The acceptor of transition-ids for an acceptor of phones. Costs of transitions are multiplied by `scale`.
    /// `report` sees the FST of phones in context, and the result.
    pub(crate) fn expand(&self, phones: Fst, scale: f32, mut report: impl FnMut(&Fst, bool)) -> Result<Fst> {
        for arc in phones.states.iter().flat_map(|state| &state.arcs) {
            if arc.ilabel != EPSILON && self.transitions.topology().entry(arc.ilabel).is_none() {
                return Err(Error::data(format!("phone {} is not in the topology", arc.ilabel)));
            }
        }
        let window =
            Window::new(self.tree.context_width(), self.tree.central_position()).map_err(graph_error)?;
        let (mut in_context, labels) = compose_context(phones, window, &[]).map_err(graph_error)?;
        ops::connect(&mut in_context);
        ops::project(&mut in_context, Side::Input);
        report(&in_context, false);
        let mut h =
            make_h_transducer(&labels, self.tree, self.transitions, scale, None).map_err(graph_error)?;
        ops::sort_arcs(&mut h.fst, Side::Output);
        let composed = ops::compose_transducers(&h.fst, &in_context, true);
        let mut graph = composed.ok_or_else(|| Error::data("the HMMs are not sorted"))?;
        let loops = SelfLoops { scale, ..SelfLoops::default() };
        add_self_loops(&mut graph, self.transitions, loops).map_err(graph_error)?;
        ops::project(&mut graph, Side::Input);
        report(&graph, true);
        Ok(graph)
    }

    /// Makes labels that are transition-ids pdfs plus 1.
    pub(crate) fn to_pdfs(self, fst: &mut Fst) -> Result<()> {
        to_pdfs(self.transitions, fst)
    }
}

/// Turns transition-ids (input labels) into pdfs plus 1, and the FST into an acceptor.
pub(crate) fn to_pdfs(transitions: &TransitionModel, fst: &mut Fst) -> Result<()> {
    for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
        if arc.ilabel != EPSILON {
            arc.ilabel = 1 + transitions.pdf(transitions.transition_id(arc.ilabel)?);
        }
        arc.olabel = arc.ilabel;
    }
    Ok(())
}
