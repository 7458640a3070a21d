//! `make-h-transducer`: HMMs as a transducer.

use anyhow::{Context, Result};
use kaldi_graph::{IlabelInfo, make_h_transducer};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::read_object;
use nnet3::fsts;

/// Make H transducer from transition-ids to context-dependent phones, without self-loops [use add-self-loops to add
/// them].
#[derive(clap::Parser)]
#[command(after_help = "e.g.: make-h-transducer ilabel_info 1.tree 1.mdl > H.fst")]
pub struct Options {
    /// Scale of transition probs (relative to LM)
    #[arg(long, default_value_t = 1.0)]
    transition_scale: f32,
    /// List of disambiguation symbols on input of H [to be output from this program]
    #[arg(long, default_value = "")]
    disambig_syms_out: String,
    /// The integer id of #nonterm_bos in phones.txt, if present. Only needed in grammar-FST construction
    #[arg(long, default_value_t = -1)]
    nonterm_phones_offset: i32,
    ilabel_info_file: String,
    tree: String,
    model: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let labels: IlabelInfo = read_object(&options.ilabel_info_file)?;
    let tree: ContextDependency = read_object(&options.tree)?;
    let model: TransitionModel = read_object(&options.model)?;
    let nonterminals = Some(options.nonterm_phones_offset).filter(|&offset| offset > 0);
    let h = make_h_transducer(&labels, &tree, &model, options.transition_scale, nonterminals)
        .with_context(|| format!("{}, {} and {}", options.ilabel_info_file, options.tree, options.model))?;
    if !options.disambig_syms_out.is_empty() {
        fsts::write_integers(&options.disambig_syms_out, &h.disambiguation)?;
    }
    fsts::write(options.fst_out.as_deref(), &h.fst)?;
    Ok(0)
}
