//! Decoding graphs in one go: all that `utils/mkgraph.sh` does between L and G and the graph (`bin/compile-graph.cc`).

use kaldi_fst::Fst;
use kaldi_fst::ops::{self, DELTA, DeterminizeStar, Semiring, Side};
use kaldi_hmm::{ContextDependency, TransitionModel};

use crate::context::{InverseContext, Window, compose_context};
use crate::error::{Error, Result};
use crate::grammar::{GrammarContext, Nonterminals, Prepared, prepare_for_grammar};
use crate::h_transducer::make_h_transducer;
use crate::self_loops::{SelfLoops, add_self_loops};

/// Options of decoding graphs.
#[derive(Debug, Clone, Copy)]
pub struct DecodingGraph<'a> {
    /// Scale of the logarithms of transition probabilities, but for self-loops.
    pub transition_scale: f32,
    pub self_loop_scale: f32,
    /// Symbols of L that only tell words with the same pronunciation apart.
    pub disambiguation: &'a [i32],
    /// The nonterminal symbols, if the graph is to be a part of a grammar.
    pub nonterminals: Option<Nonterminals>,
}

/// Makes a decoding graph, with self-loops, of the lexicon L (from phones to words) and G (an acceptor of words). The counts are those of
/// the preparation for a grammar.
pub fn compile_decoding_graph(
    tree: &ContextDependency,
    model: &TransitionModel,
    (mut lexicon, grammar): (Fst, &Fst),
    options: DecodingGraph<'_>,
) -> Result<(Fst, Option<Prepared>)> {
    let phones = model.topology().phones();
    if let Some(symbol) = options.disambiguation.iter().find(|symbol| phones.contains(symbol)) {
        return Err(Error::mismatch(format!("Disambiguation symbol {symbol} is also a phone.")));
    }
    let in_log = DeterminizeStar { semiring: Semiring::Log, ..DeterminizeStar::default() };
    ops::sort_arcs(&mut lexicon, Side::Output);
    let lg = ops::compose_transducers(&lexicon, grammar, true).unwrap_or_default();
    if lg.start.is_none() {
        return Err(Error::mismatch(
            "the composition of lexicon and grammar is empty (do they have the same words?)",
        ));
    }
    let mut lg = ops::determinize_star(lg, in_log)?;
    ops::minimize_encoded(&mut lg, DELTA);
    ops::push_special(&mut lg, DELTA);

    let window = Window::new(tree.context_width(), tree.central_position())?;
    let (clg, labels) = match options.nonterminals {
        None => compose_context(lg, window, options.disambiguation)?,
        Some(nonterminals) => {
            if window != Window::new(2, 1)? {
                return Err(Error::mismatch(
                    "Grammar-fst graph creation only supports models with left-biphone context.  (--nonterm-phones-offset \
                     option was supplied).",
                ));
            }
            let mut context =
                GrammarContext::for_fst(&lg, nonterminals.first_symbol, options.disambiguation)?;
            let clg = context.compose_with(&lg)?;
            (clg, context.into_labels())
        }
    };
    let first_symbol = options.nonterminals.map(|nonterminals| nonterminals.first_symbol);
    let h = make_h_transducer(&labels, tree, model, options.transition_scale, first_symbol)?;
    // H is sorted on output.
    let graph = ops::compose_transducers(&h.fst, &clg, true).unwrap_or_default();
    if graph.start.is_none() {
        return Err(Error::mismatch("the graph is empty (do lexicon and model have the same phones?)"));
    }
    let mut graph = ops::determinize_star(graph, in_log)?;
    if !h.disambiguation.is_empty() {
        ops::remove_labels(&mut graph, Side::Input, &h.disambiguation.into_iter().collect());
        ops::remove_epsilons_locally(&mut graph, Semiring::Tropical, Semiring::Tropical);
    }
    ops::minimize_encoded(&mut graph, DELTA);
    let scale = options.self_loop_scale;
    add_self_loops(&mut graph, model, SelfLoops { scale, ..SelfLoops::default() })?;
    let prepared =
        options.nonterminals.map(|nonterminals| prepare_for_grammar(&mut graph, nonterminals)).transpose()?;
    Ok((graph, prepared))
}
