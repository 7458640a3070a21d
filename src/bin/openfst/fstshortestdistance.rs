//! `fstshortestdistance`: costs of the cheapest paths to or from the states of an FST.

use anyhow::Result;
use kaldi_fst::{openfst_text, ops};
use kaldi_io::KaldiWriter;
use nnet3::fsts::{self, WithSymbols};

/// Finds shortest distances in an FST: of each state from the start, or to an end. Prints a line a state, up to the
/// last state with a distance.
#[derive(clap::Parser)]
pub struct Options {
    /// Perform in the reverse direction: from each state to an end
    #[arg(long = "reverse", default_value_t = false)]
    reverse: bool,
    /// Comparison/quantization delta. It has no effect: distances are exact
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    /// State number threshold. Only -1 (none)
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Queue type: "auto", "fifo", "lifo", "shortest", "state" or "top". It has no effect on the result
    #[arg(long = "queue_type", default_value = "auto")]
    queue_type: String,
    fst_in: Option<String>,
    distance_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    fsts::check_search(&options.queue_type, options.nstate)?;
    let WithSymbols { fst, semiring, .. } = WithSymbols::read(options.fst_in.as_deref())?;
    let distances = match options.reverse {
        true => ops::costs_to_end(&fst, semiring)?,
        false => ops::costs_from_start(&fst, semiring)?,
    };
    let count = distances.iter().rposition(|&distance| distance < f32::INFINITY).map_or(0, |last| last + 1);
    let mut w = KaldiWriter::create(options.distance_out.as_deref().unwrap_or_default(), false)?;
    openfst_text::write_potentials(&mut w, &distances[..count])?;
    w.finish()?;
    Ok(0)
}
