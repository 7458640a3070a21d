//! `fstreplace`: puts FSTs in the place of arcs.

use anyhow::{Context, Result, bail};
use kaldi_fst::ops::{self, Semiring};
use kaldi_io::text::parse_integer;
use nnet3::fsts::WithSymbols;

/// Recursively replaces FST arcs with other FST(s).
///
/// An arc with a rule's label as output label is replaced by this rule. A rule must not call itself.
#[derive(clap::Parser)]
#[command(override_usage = "fstreplace [options] root.fst root-label [rule1.fst label1 ...] [out.fst]")]
pub struct Options {
    /// Call/return arcs have no labels (otherwise the arc that calls a rule keeps its input label)
    #[arg(long = "epsilon_on_replace", default_value_t = false)]
    epsilon_on_replace: bool,
    /// root.fst root-label [rule1.fst label1 ...] [out.fst]
    #[arg(required = true, num_args = 2.., value_name = "fst-or-label")]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (pairs, rest) = options.arguments.as_chunks::<2>();
    let mut fsts = Vec::with_capacity(pairs.len());
    let (mut kept, mut semiring) = ([None, None], Semiring::Tropical);
    for (i, [name, label]) in pairs.iter().enumerate() {
        let Some(label) = parse_integer::<i32>(label).filter(|&label| label > 0) else {
            bail!("expected the label of {name}, an integer larger than 0, found '{label}'");
        };
        let file = WithSymbols::read(Some(name))?;
        if i == 0 {
            (kept, semiring) = (file.symbols, file.semiring);
        } else if file.semiring != semiring {
            bail!("{name} has arcs of type {}, and {} has another type", file.arc_type(), pairs[0][0]);
        }
        fsts.push((file.fst, label));
    }
    let mut rules = fsts.iter().map(|(fst, label)| (fst, *label));
    let root = rules.next().context("expected a root FST")?;
    let fst = ops::replace(root, &rules.collect::<Vec<_>>(), options.epsilon_on_replace)?;
    WithSymbols { fst, semiring, symbols: kept }.write(rest.first().map(String::as_str))?;
    Ok(0)
}
