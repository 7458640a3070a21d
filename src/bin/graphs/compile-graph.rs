//! `compile-graph`: a decoding graph from a tree, a model, a lexicon and a grammar.

use anyhow::{Context, Result};
use kaldi_fst::store;
use kaldi_graph::grammar::Nonterminals;
use kaldi_graph::{DecodingGraph, compile_decoding_graph};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::{KaldiWriter, read_object};
use nnet3::{fsts, messages};

/// Creates HCLG decoding graph. Similar to mkgraph.sh but done in code.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: compile-graph --read-disambig-syms=phones/disambig.int tree final.mdl L_disambig.fst G.fst HCLG.fst"
)]
pub struct Options {
    /// File containing list of disambiguation symbols in phone symbol table
    #[arg(long, default_value = "")]
    read_disambig_syms: String,
    /// Scale of transition probabilities (excluding self-loops).
    #[arg(long, default_value_t = 1.0)]
    transition_scale: f32,
    /// Scale of self-loop vs. non-self-loop probability mass. Caution: the default of mkgraph.sh is 0.1, but this defaults to 1.0.
    #[arg(long, default_value_t = 1.0)]
    self_loop_scale: f32,
    /// Integer value of symbol #nonterm_bos in phones.txt, if present. (Only relevant for grammar decoding). The graph is prepared
    /// for make-grammar-fst then.
    #[arg(long, default_value_t = -1)]
    nonterm_phones_offset: i32,
    tree_in: String,
    model_in: String,
    lexicon_fst_in: String,
    grammar_fst_in: String,
    hclg_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let tree: ContextDependency = read_object(&options.tree_in)?;
    let model: TransitionModel = read_object(&options.model_in)?;
    let lexicon = store::read_fst(&options.lexicon_fst_in)?;
    let grammar = store::read_fst(&options.grammar_fst_in)?;
    let mut disambiguation = fsts::read_disambiguation(&options.read_disambig_syms)?;
    disambiguation.sort_unstable();
    if disambiguation.is_empty() {
        messages::warn(
            "You supplied no disambiguation symbols; note, these are typically necessary when compiling graphs from FSTs \
             (i.e. supply L_disambig.fst and the list of disambig syms with --read-disambig-syms)",
        );
    }
    let first_symbol = options.nonterm_phones_offset;
    let how = DecodingGraph {
        transition_scale: options.transition_scale,
        self_loop_scale: options.self_loop_scale,
        disambiguation: &disambiguation,
        nonterminals: (first_symbol >= 0).then_some(Nonterminals { first_symbol }),
    };
    let (graph, prepared) = compile_decoding_graph(&tree, &model, (lexicon, &grammar), how)
        .with_context(|| format!("{} and {}", options.lexicon_fst_in, options.grammar_fst_in))?;
    if let Some(prepared) = prepared {
        fsts::log_prepared(prepared.new_states, prepared.marked_before);
    }
    let mut w = KaldiWriter::create(&options.hclg_out, false)?;
    store::write_const(&mut w, &graph, false)?;
    w.finish()?;
    messages::log(&format!("Wrote graph with {} states to {}", graph.states.len(), options.hclg_out));
    Ok(0)
}
