//! `transcripts-to-fsts`: transcriptions → linear FSTs.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use kaldi_fst::{Arc, Fst, FstHolder, State, StateId};
use kaldi_io::RandomReader;
use kaldi_io::holder::{FloatHolder, I32VectorHolder};
use nnet3::{fsts, messages, tables};

/// Build a linear acceptor for each transcription in the archive.
///
/// Read in the transcriptions in archive format and write out the linear acceptors in archive format with the same key.
/// The costs, if given, become costs of the first arcs. The acceptors may be composed with an FST on either side.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: transcripts-to-fsts ark:train.tra ark,s,cs,t:costs.txt ark:train.fsts")]
pub struct Options {
    /// Compose the given FST to the left
    #[arg(long, default_value = "")]
    left_compose: String,
    /// Compose the given FST to the right
    #[arg(long, default_value = "")]
    right_compose: String,
    /// Project input labels if true
    #[arg(long)]
    project_input: bool,
    /// Project output labels if true
    #[arg(long)]
    project_output: bool,
    transcriptions_rspecifier: String,
    #[arg(num_args = 1..=2, required = true, value_name = "[<costs-rspecifier>] <fsts-wspecifier>")]
    costs_and_fsts: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (costs, to) = match options.costs_and_fsts.as_slice() {
        [costs, to] => (costs.as_str(), to),
        [to] => ("", to),
        _ => bail!("expected one or two tables behind the transcriptions"),
    };
    let read = |name: &String| if name.is_empty() { Ok(None) } else { fsts::read(Some(name)).map(Some) };
    let (left, right) = (read(&options.left_compose)?, read(&options.right_compose)?);
    let mut costs: Option<RandomReader<FloatHolder>> = tables::open_optional(costs)?;
    let from = &options.transcriptions_rspecifier;
    let output = tables::map::<I32VectorHolder, FstHolder>(from, to, |key, labels| {
        let cost = match &mut costs {
            Some(table) => table.get(key)?.copied().unwrap_or(0.0),
            None => 0.0,
        };
        let mut fst = linear(&labels, cost);
        if let Some(left) = &left {
            fst = fsts::compose(left, &fst, true)?;
        }
        if let Some(right) = &right {
            fst = fsts::compose(&fst, right, true)?;
        }
        for (wanted, side) in [(options.project_input, Side::Input), (options.project_output, Side::Output)] {
            if wanted {
                ops::project(&mut fst, side);
            }
        }
        Ok(Ok(fst))
    })?;
    if let Some(costs) = costs {
        costs.close()?;
    }
    messages::log(&format!("Done {} transcriptions", output.done));
    output.finish()
}

/// The acceptor of one sequence, which has its cost on the first arc; an empty one has none.
fn linear(labels: &[i32], cost: f32) -> Fst {
    let state = |(i, &label): (usize, &i32)| {
        let weight = if i == 0 { cost } else { 0.0 };
        State { arcs: vec![Arc::new(label, weight, i as StateId + 1)], ..State::default() }
    };
    let mut states: Vec<State> = labels.iter().enumerate().map(state).collect();
    states.push(State { final_weight: 0.0, ..State::default() });
    Fst { start: Some(0), states }
}
