//! `lattice-align-phones`: lattices with an arc for each phone.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::lattices::AlignedOutput;
use nnet3::tables::Input;
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::align::{PhoneAlignment, align_phones};

/// Convert lattices so that the arcs in the CompactLattice format correspond with phones.
///
/// The output symbols are still words, unless you specify --replace-output-symbols=true.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-align-phones final.mdl ark:1.lats ark:phone_aligned.lats\n\
    See also: lattice-to-phone-lattice, lattice-align-words, lattice-align-words-lexicon\n\
    If you just want the phone alignment: lattice-1best | nbest-to-linear [keeping only alignment] | ali-to-phones")]
pub struct Options {
    /// Output lattices that aligned with errors (e.g. due to force-out)
    #[arg(long, default_value_t = true)]
    output_error_lats: bool,
    /// True if the lattices were generated from graphs that had the --reorder option true, relating to reordering
    /// self-loops (typically true)
    #[arg(long, default_value_t = true)]
    reorder: bool,
    /// If true, removes epsilons from the phone lattice; if replace-output-symbols==false, this will mean that an arc
    /// can have multiple phones on it.
    #[arg(long, default_value_t = true)]
    remove_epsilon: bool,
    /// If true, the output symbols (typically words) will be replaced with phones.
    #[arg(long, default_value_t = false)]
    replace_output_symbols: bool,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let choices = PhoneAlignment {
        reorder: options.reorder,
        remove_epsilon: options.remove_epsilon,
        replace_output_symbols: options.replace_output_symbols,
    };
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = AlignedOutput::open(&options.lattice_wspecifier, options.output_error_lats)?;
    input.for_each(|key, lattice| {
        let (mut aligned, problems) = align_phones(&lattice, &model, &choices)?;
        output.write(key, &mut aligned, &problems)
    })?;
    output.finish()
}
