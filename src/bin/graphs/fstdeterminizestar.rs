//! `fstdeterminizestar`: removes epsilons and determinizes in one step.

use anyhow::{Context, Result, anyhow};
use kaldi_fst::ops::{self, DELTA, DeterminizeStar, Semiring};
use kaldi_fst::{Error, Fst, FstHolder};
use nnet3::tables::{Input, Output, are_tables, is_input};
use nnet3::{fsts, messages};

/// Removes epsilons and determinizes in one step.
///
/// Works on files, or on two tables. Does not end for FSTs that cannot be determinized, unless the number of states is
/// limited.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fstdeterminizestar --use-log=true LG.1.fst LG.2.fst")]
pub struct Options {
    /// Determinize in log semiring.
    #[arg(long, default_value_t = false)]
    use_log: bool,
    /// Delta value used to determine equivalence of weights.
    #[arg(long, default_value_t = DELTA)]
    delta: f32,
    /// Maximum number of states in determinized FST before it will abort (if larger than 0).
    #[arg(long, default_value_t = -1)]
    max_states: i32,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

impl Options {
    fn determinize(&self, fst: Fst) -> Result<Fst> {
        let options = DeterminizeStar {
            semiring: if self.use_log { Semiring::Log } else { Semiring::Tropical },
            delta: self.delta,
            most_states: usize::try_from(self.max_states).ok().filter(|&limit| limit > 0),
            ..DeterminizeStar::default()
        };
        ops::determinize_star(fst, options).map_err(|error| match error {
            Error::NotFunctional { .. } => {
                anyhow!(error).context("FST was not functional -> not determinizable")
            }
            Error::TooManyStates { limit } => {
                anyhow!("Determinization aborted since passed {limit} states")
            }
            other => anyhow!(other),
        })
    }
}

pub fn run(options: Options) -> Result<u8> {
    let from = options.fst_in.as_deref().unwrap_or_default();
    let to = options.fst_out.as_deref().unwrap_or_default();
    if !is_input(from) {
        fsts::write(Some(to), &options.determinize(fsts::read(Some(from))?)?)?;
        return Ok(0);
    }
    are_tables(from, to)?;
    let mut output = Output::<FstHolder>::open(to)?;
    Input::<FstHolder>::open(from)?.for_each(|key, fst| match options.determinize(fst) {
        Ok(fst) => output.write(key, &fst).context("writing"),
        Err(error) => {
            messages::warn(&format!("Error during determinization for key {key}: {error:#}"));
            Ok(())
        }
    })?;
    output.finish_any()
}
