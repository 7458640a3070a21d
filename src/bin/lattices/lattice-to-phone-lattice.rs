//! `lattice-to-phone-lattice`: phones in the place of words or transition-ids.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::{messages, tables};
use nnet3_decode::lattice::{compact, expand};
use nnet3_decode::{CompactLatticeHolder, phones};

/// Convert the words or transition-ids into phones, which are computed from the transition-ids.
///
/// If --replace-words=true (true by default), replaces the words with phones, otherwise replaces the transition-ids.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-phone-lattice 1.mdl ark:1.lats ark:phones.lats\n\
    See also: lattice-align-words, lattice-align-phones")]
pub struct Options {
    /// If true, replace words with phones; otherwise replace transition-ids with phones.
    #[arg(long, default_value_t = true)]
    replace_words: bool,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = tables::map::<CompactLatticeHolder, CompactLatticeHolder>(from, to, |_, mut lattice| {
        if !options.replace_words {
            phones::replace_ids(&model, &mut lattice)?;
            return Ok(Ok(lattice));
        }
        let mut lattice = expand(&lattice);
        phones::replace_words(&model, &mut lattice)?;
        Ok(Ok(compact(&lattice)))
    })?;
    messages::log(&format!("Done converting {} lattices.", output.done));
    output.finish()
}
