//! `fstcomposecontext`: composes the context FST with an FST on phones.

use anyhow::{Result, bail};
use kaldi_graph::context::{InverseContext, Window, compose_context};
use kaldi_graph::grammar::GrammarContext;
use kaldi_io::write_object;
use nnet3::{fsts, messages};

/// Composes on the left with a dynamically created context FST.
///
/// The inputs of the result are labels of phones in context; the list of these phones is written to
/// ilabels-output-file.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fstcomposecontext ilabels.sym < LG.fst > CLG.fst")]
pub struct Options {
    /// If true, output ilabels-output-file in binary format
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// List of disambiguation symbols on input of in.fst
    #[arg(long, default_value = "")]
    read_disambig_syms: String,
    /// List of disambiguation symbols on input of out.fst
    #[arg(long, default_value = "")]
    write_disambig_syms: String,
    /// Size of phone context window
    #[arg(long, default_value_t = 3)]
    context_size: i32,
    /// Designated central position in context window
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// The integer id of #nonterm_bos in your phones.txt, if present (only relevant for grammar-FST construction)
    #[arg(long, default_value_t = -1)]
    nonterm_phones_offset: i32,
    ilabels_output_file: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !options.write_disambig_syms.is_empty() && options.read_disambig_syms.is_empty() {
        bail!(
            "fstcomposecontext: cannot specify --write-disambig-syms if not specifying --read-disambig-syms"
        );
    }
    let (width, central) = (options.context_size, options.central_position);
    let (Ok(width), Ok(central)) = (usize::try_from(width), usize::try_from(central)) else {
        bail!("--context-size and --central-position must not be negative, found {width} and {central}");
    };
    let window = Window::new(width, central)?;
    let fst = fsts::read(options.fst_in.as_deref())?;
    let disambiguation = fsts::read_disambiguation(&options.read_disambig_syms)?;
    if disambiguation.is_empty() {
        messages::warn(
            "Disambiguation symbols list is empty; this likely indicates an error in data preparation.",
        );
    }
    let (composed, labels) = if options.nonterm_phones_offset < 0 {
        compose_context(fst, window, &disambiguation)?
    } else {
        if window != Window::new(2, 1)? {
            bail!(
                "Grammar-fst graph creation only supports models with left-biphone context.  \
                 (--nonterm-phones-offset option was supplied)."
            );
        }
        let mut context = GrammarContext::for_fst(&fst, options.nonterm_phones_offset, &disambiguation)?;
        let composed = context.compose_with(&fst)?;
        (composed, context.into_labels())
    };
    write_object(&options.ilabels_output_file, options.binary, &labels)?;
    if !options.write_disambig_syms.is_empty() {
        fsts::write_integers(&options.write_disambig_syms, &labels.disambiguation_labels())?;
    }
    fsts::write(options.fst_out.as_deref(), &composed)?;
    Ok(0)
}
