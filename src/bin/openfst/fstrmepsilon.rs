//! `fstrmepsilon`: removes arcs with neither input nor output.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Semiring};
use nnet3::fsts::{self, WithSymbols};

/// Removes arcs with epsilons on both sides from an FST. Such arcs may form cycles whose cost is not negative (arcs of type log:
/// whose probability is below 1).
#[derive(clap::Parser)]
pub struct Options {
    /// Trim output
    #[arg(long = "connect", default_value_t = true)]
    connect: bool,
    /// Comparison/quantization delta. It has no effect: distances are exact
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    /// State number threshold (-1: none): more states are cut away from the result, the most expensive first
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Queue type: "auto", "fifo", "lifo", "shortest", "state" or "top". It has no effect on the result
    #[arg(long = "queue_type", default_value = "auto")]
    queue_type: String,
    /// Weight threshold: paths that cost more than the cheapest one and this are removed (empty: none)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    fsts::check_search(&options.queue_type, -1)?;
    let (beam, most_states) = (fsts::threshold(&options.weight)?, usize::try_from(options.nstate).ok());
    let prunes = beam < f32::INFINITY || most_states.is_some();
    match file.semiring {
        Semiring::Tropical => ops::remove_epsilon_arcs(&mut file.fst)?,
        Semiring::Log if prunes => bail!("--weight and --nstate need arcs of type standard, found log"),
        Semiring::Log => {
            let mut fst = std::mem::take(&mut file.fst).into_log();
            ops::remove_epsilon_arcs(&mut fst)?;
            file.fst = fst.into_costs();
        }
    }
    if prunes {
        ops::prune(&mut file.fst, beam, most_states)?;
    } else if options.connect {
        ops::connect(&mut file.fst);
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
