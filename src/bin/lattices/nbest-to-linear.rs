//! `nbest-to-linear`: lattices with a single path as lists of words, transition-ids and costs.

use anyhow::Result;
use kaldi_io::holder::{FloatHolder, I32VectorHolder};
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::{LatticeHolder, path};

/// Takes as input lattices/n-bests which must be linear (single path).
///
/// Convert from lattice to up to 4 archives containing transcriptions, alignments, and acoustic and LM costs (note: use
/// ark:/dev/null for unwanted outputs).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-nbest --n=10 ark:1.lats ark:- | \\\n\
      nbest-to-linear ark:1.lats ark,t:1.ali 'ark,t:|int2sym.pl -f 2- words.txt > text'")]
pub struct Options {
    nbest_rspecifier: String,
    alignments_wspecifier: String,
    transcriptions_wspecifier: Option<String>,
    lm_cost_wspecifier: Option<String>,
    ac_cost_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let input = Input::<LatticeHolder>::open(&options.nbest_rspecifier)?;
    let mut output = Output::<I32VectorHolder>::open(&options.alignments_wspecifier)?;
    let mut words = lattices::open_writer::<I32VectorHolder>(options.transcriptions_wspecifier.as_ref())?;
    let mut graph = lattices::open_writer::<FloatHolder>(options.lm_cost_wspecifier.as_ref())?;
    let mut acoustic = lattices::open_writer::<FloatHolder>(options.ac_cost_wspecifier.as_ref())?;
    input.for_each(|key, lattice| {
        let linear = match path::read_linear(&lattice) {
            Ok(linear) => linear,
            Err(error) => {
                output.skip(
                    key,
                    format!("{error}; this program expects input with one path, e.g. from lattice-to-nbest"),
                );
                return Ok(());
            }
        };
        lattices::write(&mut words, key, &linear.words)?;
        lattices::write(&mut graph, key, &linear.weight.graph)?;
        lattices::write(&mut acoustic, key, &linear.weight.acoustic)?;
        output.write(key, &linear.ids)
    })?;
    messages::log(&format!("Done {} n-best entries, {} had errors.", output.done, output.failed));
    lattices::close(words)?;
    lattices::close(graph)?;
    lattices::close(acoustic)?;
    output.finish()
}
