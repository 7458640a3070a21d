//! `lattice-align-words`: lattices with an arc for each word, by the types of phones.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::lattices::{self, AlignedOutput};
use nnet3::tables::Input;
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::align::{WordAlignment, align_words, test_alignment};

/// Convert lattices so that the arcs in the CompactLattice format correspond with words (i.e. aligned with word boundaries).
///
/// The word-boundary file has format (on each line): <integer-phone-id> [begin|end|singleton|internal|nonword]
/// Every phone of the model needs a line.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-align-words --silence-label=4320 --partial-word-label=4324 \\\n\
      data/lang/phones/word_boundary.int final.mdl ark:1.lats ark:aligned.lats\n\
    See also: lattice-align-words-lexicon, for use in cases where phones do not have word-position information.")]
pub struct Options {
    /// Output lattices that aligned with errors (e.g. due to force-out)
    #[arg(long, default_value_t = true)]
    output_error_lats: bool,
    /// Test the algorithm while running it: every path of the result must be one of the input.
    #[arg(long, default_value_t = false)]
    test: bool,
    /// If >0, the maximum amount by which this program will expand lattices before refusing to continue. E.g. 10. This
    /// can be used to prevent this program consuming excessive memory if there is a mismatch on the command-line or a
    /// "problem" lattice.
    #[arg(long, default_value_t = 0.0)]
    max_expand: f32,
    /// Numeric id of word symbol that is to be used for silence arcs in the word-aligned lattice (zero is OK)
    #[arg(long, default_value_t = 0)]
    silence_label: i32,
    /// Numeric id of the word symbol for arcs in the word-aligned lattice that correspond to partial words at the end
    /// of "forced-out" utterances (zero is OK)
    #[arg(long, default_value_t = 0)]
    partial_word_label: i32,
    /// True if the lattices were generated from graphs that had the --reorder option true, relating to reordering
    /// self-loops (typically true)
    #[arg(long, default_value_t = true)]
    reorder: bool,
    word_boundary_file: String,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let boundaries = lattices::open_boundaries(&options.word_boundary_file, &model)?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = AlignedOutput::open(&options.lattice_wspecifier, options.output_error_lats)?;
    input.for_each(|key, lattice| {
        let expand = Some(options.max_expand).filter(|&factor| factor > 0.0);
        let choices = WordAlignment {
            reorder: options.reorder,
            silence_label: options.silence_label,
            partial_word_label: options.partial_word_label,
            max_states: expand.map(|factor| (1000.0 + factor * lattice.states.len() as f32) as usize),
        };
        let (mut aligned, mut problems) = align_words(&lattice, &model, &boundaries, &choices)?;
        if options.test && problems.is_empty() {
            problems.extend(test_alignment(&lattice, &aligned)?);
        }
        output.write(key, &mut aligned, &problems)
    })?;
    output.finish()
}
