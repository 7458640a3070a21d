//! Parts shared by the programs that make training graphs.

use anyhow::{Context, Result};
use kaldi_fst::{Fst, FstHolder};
use kaldi_graph::Error;
use kaldi_graph::training::{TrainingGraphCompiler, TrainingGraphs};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::holder::Holder;
use kaldi_io::read_object;

use nnet3::tables::{Input, Output};
use nnet3::{fsts, messages};

// Options of training graphs.
#[derive(clap::Args)]
pub struct TrainingGraphOptions {
    /// Scale of transition probabilities (excluding self-loops)
    #[arg(long, default_value_t = 0.0)]
    pub transition_scale: f32,
    /// Scale of self-loop vs. non-self-loop probability mass
    #[arg(long, default_value_t = 0.0)]
    pub self_loop_scale: f32,
    /// Reorder transition ids for greater decoding efficiency.
    #[arg(long, default_value_t = true)]
    pub reorder: bool,
    /// Remove [most] epsilons before minimization (only applicable if disambig symbols present)
    #[arg(long, default_value_t = false)]
    pub rm_eps: bool,
    /// Number of FSTs to compile at a time. It has no effect: FSTs are made one by one.
    #[arg(long, default_value_t = 250)]
    pub batch_size: i32,
    /// File containing list of disambiguation symbols in phone symbol table
    #[arg(long, default_value = "")]
    pub read_disambig_syms: String,
}

/// The input files of graphs.
pub struct Files<'a> {
    pub tree: &'a str,
    pub model: &'a str,
    pub lexicon: &'a str,
    pub from: &'a str,
    pub to: &'a str,
}

/// An input of training graphs that has words.
pub trait HasWords {
    /// All words, in any order.
    fn words(&self) -> Vec<i32>;
}

impl HasWords for Vec<i32> {
    fn words(&self) -> Vec<i32> {
        self.clone()
    }
}

impl HasWords for Fst {
    fn words(&self) -> Vec<i32> {
        self.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel).collect()
    }
}

/// Says which words are to blame for an empty graph.
fn why_empty(compiler: &TrainingGraphCompiler, words: Vec<i32>, lexicon: &str) -> String {
    let missing = compiler.words_without_pronunciation(words);
    let numbers = nnet3_core::nnet::edit::some_names(missing.iter().map(i32::to_string));
    match missing.len() {
        0 => String::new(),
        1 => format!(": word {numbers} has no pronunciation in {lexicon}"),
        _ => format!(": words {numbers} have no pronunciation in {lexicon}"),
    }
}

/// Makes a graph of each entry of a table. A fault of an entry is a warning. Returns the number of graphs, and closes
/// the table.
pub fn compile_table<H: Holder<T: HasWords>>(
    options: &TrainingGraphOptions,
    files: &Files,
    compile: impl Fn(&TrainingGraphCompiler, &H::T) -> kaldi_graph::Result<Fst>,
) -> Result<u64> {
    let tree: ContextDependency = read_object(files.tree)?;
    let model: TransitionModel = read_object(files.model)?;
    let lexicon = fsts::read(Some(files.lexicon))?;
    let disambiguation = fsts::read_disambiguation(&options.read_disambig_syms)?;
    let how = TrainingGraphs {
        transition_scale: options.transition_scale,
        self_loop_scale: options.self_loop_scale,
        reorder: options.reorder,
        remove_epsilons: options.rm_eps,
    };
    let of = || format!("{}, {} and {}", files.tree, files.model, files.lexicon);
    let compiler =
        TrainingGraphCompiler::new(&tree, &model, lexicon, &disambiguation, how).with_context(of)?;
    let mut output = Output::<FstHolder>::open(files.to)?;
    let mut failed = 0;
    Input::<H>::open(files.from)?.for_each(|key, value| {
        match compile(&compiler, &value) {
            Ok(graph) if graph.start.is_some() => return output.write(key, &graph),
            Ok(_) => {
                let why = why_empty(&compiler, value.words(), files.lexicon);
                messages::warn(&format!("Empty decoding graph for utterance {key}{why}"));
            }
            Err(error @ Error::Mismatch(_)) => {
                messages::warn(&format!("No decoding graph for utterance {key}: {}: {error}", of()));
            }
            Err(error) => messages::warn(&format!("No decoding graph for utterance {key}: {error}")),
        }
        failed += 1;
        Ok(())
    })?;
    let done = output.done;
    messages::log(&format!("compile-train-graphs: succeeded for {done} graphs, failed for {failed}"));
    output.finish_any()?;
    Ok(done)
}
