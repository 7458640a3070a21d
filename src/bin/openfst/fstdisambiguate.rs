//! `fstdisambiguate`: an equivalent acceptor with one path for each string.

use anyhow::{Context, Result};
use kaldi_fst::ops::{self, Determinize};
use nnet3::fsts::{self, WithSymbols};

/// More states are taken for a determinization without an end.
const MOST_STATES: usize = 10_000_000;

/// Disambiguates an acceptor: each string has one path. The result is even deterministic, so it may have other states than that
/// of OpenFst, and acceptors without a deterministic form are refused.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = 1.0 / 1024.0)]
    delta: f32,
    /// State number threshold (-1: none): more states are cut away from the result, the most expensive first
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Weight threshold: paths that cost more than the cheapest one and this are removed (empty: none)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    /// Label of arcs that lead to several ends. Refused, as such arcs are not made
    #[arg(long = "subsequential_label", default_value_t = 0)]
    subsequential_label: i64,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    anyhow::ensure!(options.subsequential_label == 0, "--subsequential_label must be 0");
    let mut file = WithSymbols::read_tropical(options.fst_in.as_deref())?;
    file.fst.check_acceptor()?;
    let how = Determinize { delta: options.delta, most_states: Some(MOST_STATES), ..Determinize::default() };
    file.fst = ops::determinize_labels(file.fst, how).context("the acceptor has no deterministic form")?;
    let (beam, most_states) = (fsts::threshold(&options.weight)?, usize::try_from(options.nstate).ok());
    if beam < f32::INFINITY || most_states.is_some() {
        ops::prune(&mut file.fst, beam, most_states)?;
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
