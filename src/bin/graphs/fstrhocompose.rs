//! `fstrhocompose`: composition in which the second FST has an arc for the rest of the labels.

use anyhow::{Result, bail};
use kaldi_fst::{Fst, FstHolder};
use nnet3::tables::{self, is_input, is_output};
use nnet3::{fsts, messages};
use nnet3_decode::compose::{Matching, SecondFst, compose_fsts};

/// Composition. The right FST has "rest" (rho) transitions, which are taken only if no "real" label matches. You supply
/// the label corresponding to rho.
///
/// On these transitions the label of the left FST replaces rho. If the right FST is an acceptor, it replaces rho on the
/// output side too.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: fstrhocompose 54 a.fst b.fst c.fst\nor: fstrhocompose 11 ark:a.fsts G.fst ark:b.fsts"
)]
pub struct Options {
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    rho_label: i32,
    #[arg(value_name = "(<fst1-rxfilename>|<fst1-rspecifier>)")]
    fst1_in: String,
    #[arg(value_name = "FST2_RXFILENAME")]
    fst2_in: String,
    #[arg(value_name = "(<out-wxfilename>|<out-wspecifier>)")]
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (first, second) = (options.fst1_in.as_str(), options.fst2_in.as_str());
    let to = options.fst_out.as_deref().unwrap_or_default();
    if is_input(second) || is_input(first) != is_output(to) {
        bail!("{first}, {second}, {to}: expected three files, or a table, a file and a table");
    }
    let second = SecondFst::new(fsts::read(Some(second))?, Matching::Rest(options.rho_label))?;
    let compose = |first: &Fst| Ok(compose_fsts(first, &second)?);
    if !is_input(first) {
        fsts::write(Some(to), &compose(&fsts::read(Some(first))?)?)?;
        return Ok(0);
    }
    let output = tables::map::<FstHolder, FstHolder>(first, to, |_, first| compose(&first).map(Ok))?;
    messages::log(&format!("Composed {} FSTs.", output.done));
    output.finish()
}
