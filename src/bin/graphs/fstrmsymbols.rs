//! `fstrmsymbols`: makes labels empty, removes the arcs that have them, or makes those dearer.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use nnet3::fsts;

/// With no options, replaces a subset of symbols with epsilon, wherever they appear on the input side of an FST.
///
/// With --remove-arcs=true, arcs with these symbols on the input are removed. With --penalty=X, a penalty is added to
/// these arcs. With --apply-to-output=true, the program looks at the output side instead.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fstrmsymbols disambig_tid.int < HCLGa.1.fst > HCLGa.2.fst")]
pub struct Options {
    /// If true, this applies to symbols on the output, not the input, side. (For back compatibility; use
    /// --apply-to-output instead)
    #[arg(long, default_value_t = false)]
    remove_from_output: bool,
    /// If true, this applies to symbols on the output, not the input, side.
    #[arg(long, default_value_t = false)]
    apply_to_output: bool,
    /// If true, instead of converting the symbol to <eps>, remove the arcs.
    #[arg(long, default_value_t = false)]
    remove_arcs: bool,
    /// If specified, instead of converting the symbol to <eps>, penalize the arc it is on by adding this value to its
    /// cost.
    #[arg(long, default_value_t = f32::NEG_INFINITY)]
    penalty: f32,
    in_list: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let penalty = (options.penalty != f32::NEG_INFINITY).then_some(options.penalty);
    if options.remove_arcs && penalty.is_some() {
        bail!("--remove-arc and --penalty options are mutually exclusive");
    }
    let side = if options.apply_to_output || options.remove_from_output { Side::Output } else { Side::Input };
    let mut fst = fsts::read(options.fst_in.as_deref())?;
    let labels = fsts::read_labels(&options.in_list)?.into_iter().collect();
    match penalty {
        _ if options.remove_arcs => ops::remove_arcs_with_labels(&mut fst, side, &labels),
        Some(penalty) => ops::penalize_labels(&mut fst, side, &labels, penalty),
        None => ops::remove_labels(&mut fst, side, &labels),
    }
    fsts::write(options.fst_out.as_deref(), &fst)?;
    Ok(0)
}
