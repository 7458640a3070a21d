//! A new transition model from a tree and a topology.

use crate::error::{Error, Result};
use crate::topology::{HmmState, HmmTopology};
use crate::transitions::{TransitionModel, TransitionState};
use crate::tree::ContextDependency;
use std::collections::BTreeSet;

impl TransitionModel {
    /// Makes the model with all transition states that the tree allows for the topology's phones, and with the
    /// topology's transition probabilities. It is an error if the tree has no pdf for a state.
    pub fn new(tree: &ContextDependency, topology: HmmTopology) -> Result<TransitionModel> {
        let is_hmm = topology.is_hmm();
        let mut states = BTreeSet::new();
        for &phone in topology.phones() {
            for (hmm_state, state) in topology.entry(phone).unwrap_or_default().iter().enumerate() {
                let Some(forward_class) = state.forward_pdf_class else { continue };
                let pairs = if is_hmm {
                    let pdfs = tree.pdfs(phone, forward_class);
                    pdfs.into_iter().map(|pdf| (pdf, Some(pdf))).collect()
                } else {
                    tree.pdf_pairs(topology.phones(), phone, forward_class, state.self_loop_pdf_class)
                };
                if pairs.is_empty() {
                    return Err(no_pdf(phone, state));
                }
                states.extend(pairs.into_iter().map(|(forward_pdf, self_loop_pdf)| TransitionState {
                    phone,
                    hmm_state,
                    forward_pdf,
                    self_loop_pdf,
                }));
            }
        }
        TransitionModel::from_parts(topology, states.into_iter().collect(), None)
    }
}

fn no_pdf(phone: i32, state: &HmmState) -> Error {
    let classes: Vec<i32> = BTreeSet::from_iter(state.pdf_classes()).into_iter().collect();
    Error::model(format!(
        "the tree has no pdf for pdf class {} of phone {phone}: tree and topology do not belong together",
        classes.iter().map(i32::to_string).collect::<Vec<_>>().join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    const TOPOLOGY: &str = "<Topology> <TopologyEntry> <ForPhones> 1 </ForPhones> \
        <State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> \
        <State> 1 <PdfClass> 1 <Transition> 1 0.5 <Transition> 2 0.5 </State> <State> 2 </State> </TopologyEntry> \
        <TopologyEntry> <ForPhones> 2 </ForPhones> <State> 0 <PdfClass> 0 <Transition> 1 1 </State> \
        <State> 1 </State> </TopologyEntry> </Topology> ";
    /// Pdf 0 or 1 for class 0 of phone 1, depending on the phone before it; 2 or 3 for class 1; 4 for phone 2.
    const TREE: &str = "ContextDependency 2 1 ToPdf TE 1 3 ( NULL TE -1 2 ( \
        SE 0 [ 2 ] { CE 0 CE 1 } SE 0 [ 2 ] { CE 2 CE 3 } ) CE 4 ) EndContextDependency ";

    fn states(model: &TransitionModel) -> Vec<(i32, usize, i32, Option<i32>)> {
        model.states().iter().map(|s| (s.phone, s.hmm_state, s.forward_pdf, s.self_loop_pdf)).collect()
    }

    #[test]
    fn states_and_ids() {
        let model = TransitionModel::new(&from_text(TREE).unwrap(), from_text(TOPOLOGY).unwrap()).unwrap();
        let same = |phone, state, pdf| (phone, state, pdf, Some(pdf));
        assert_eq!(
            states(&model),
            [same(1, 0, 0), same(1, 0, 1), same(1, 1, 2), same(1, 1, 3), same(2, 0, 4)]
        );
        assert_eq!((model.num_transition_ids(), model.num_pdfs()), (9, 5));
        let by_id = |f: &dyn Fn(crate::TransitionId) -> i32| model.ids().map(f).collect::<Vec<_>>();
        assert_eq!(by_id(&|id| model.pdf(id)), [0, 0, 1, 1, 2, 2, 3, 3, 4]);
        assert_eq!(by_id(&|id| model.phone(id)), [1, 1, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(by_id(&|id| model.is_self_loop(id).into()), [1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(by_id(&|id| model.is_final(id).into()), [0, 0, 0, 0, 0, 1, 0, 1, 1]);
        assert_eq!(model.log_probs()[2], 0.25f32.ln());
        assert_eq!(model.log_probs()[9], 0.0);
    }

    /// Makes a chain model: the self-loop has a pdf of its own, and both pdfs depend on the context.
    #[test]
    fn pdfs_of_their_own_for_self_loops() {
        let topology = TOPOLOGY
            .replacen(
                "<PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> <State> 1 <PdfClass> 1 \
                 <Transition> 1 0.5 <Transition> 2 0.5 </State> <State> 2 </State>",
                "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
                 <State> 1 </State>",
                1,
            )
            .replacen("<PdfClass> 0", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 0", 1);
        let model = TransitionModel::new(&from_text(TREE).unwrap(), from_text(&topology).unwrap()).unwrap();
        assert_eq!(states(&model), [(1, 0, 0, Some(2)), (1, 0, 1, Some(3)), (2, 0, 4, Some(4))]);
        let pdfs: Vec<i32> = model.ids().map(|id| model.pdf(id)).collect();
        assert_eq!(pdfs, [2, 0, 3, 1, 4]);
    }

    #[test]
    fn a_tree_of_something_else() {
        let topology =
            TOPOLOGY.replace("> 2 <", "> 3 <").replace("1 0.5 <Transition> 3", "1 0.5 <Transition> 2");
        let topology = topology.replace("<State> 3 </State>", "<State> 2 </State>");
        let error = TransitionModel::new(&from_text(TREE).unwrap(), from_text(&topology).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("no pdf for pdf class 0 of phone 3"), "{error}");
    }
}
