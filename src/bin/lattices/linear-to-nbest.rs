//! `linear-to-nbest`: alignments, words and costs as lattices with a single path.

use anyhow::{Context, Result};
use kaldi_io::RandomReader;
use kaldi_io::holder::{FloatHolder, I32VectorHolder};
use nnet3::messages;
use nnet3::tables::{Input, Output, open_optional};
use nnet3_decode::lattice::{compact, linear};
use nnet3_decode::{CompactLatticeHolder, LatticeWeight};

/// This does the opposite of nbest-to-linear. It takes 4 archives, containing alignments, word-sequences, and acoustic and
/// LM costs, and turns it into a single archive containing FSTs with a linear structure.
///
/// The program is called linear-to-nbest because very often the archives concerned will represent N-best lists.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: linear-to-nbest ark:1.ali ark:1.tra ark:1.lm ark:1.ac ark:-\n\
    Empty strings in place of <lm-cost-rspecifier> and <ac-cost-rspecifier> stand for costs of 0.")]
pub struct Options {
    alignments_rspecifier: String,
    transcriptions_rspecifier: String,
    #[arg(value_name = "(<lm-cost-rspecifier>|'')")]
    lm_cost_rspecifier: String,
    #[arg(value_name = "(<ac-cost-rspecifier>|'')")]
    ac_cost_rspecifier: String,
    nbest_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut words = RandomReader::<I32VectorHolder>::open(&options.transcriptions_rspecifier)?;
    let mut graph = open_optional::<FloatHolder>(&options.lm_cost_rspecifier)?;
    let mut acoustic = open_optional::<FloatHolder>(&options.ac_cost_rspecifier)?;
    let input = Input::<I32VectorHolder>::open(&options.alignments_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.nbest_wspecifier)?;
    input.for_each(|key, alignment| {
        let words = words.get(key)?.with_context(|| format!("No transcription for key {key}"))?;
        let weight = LatticeWeight::new(cost(&mut graph, key, "LM")?, cost(&mut acoustic, key, "acoustic")?);
        output.write(key, &compact(&linear(&alignment, words, weight)))
    })?;
    messages::log(&format!("Done {} n-best entries ,{} had errors.", output.done, output.failed));
    output.finish()
}

/// A cost from a table, or 0 if there is no table.
fn cost(table: &mut Option<RandomReader<FloatHolder>>, key: &str, kind: &str) -> Result<f32> {
    let Some(table) = table else { return Ok(0.0) };
    table.get(key)?.copied().with_context(|| format!("No {kind} cost for key {key}"))
}
