//! `lattice-align-words-lexicon`: lattices with an arc for each word, by a lexicon.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::lattices::AlignedOutput;
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::align::{
    AlignmentLexicon, LexiconAlignment, align_words_by_lexicon, test_alignment, test_duplicates,
};

/// Convert lattices so that the arcs in the CompactLattice format correspond with words (i.e. aligned with word boundaries).
///
/// This form reads in a lexicon in integer format, where each line is (integer id of) word-in word-out phone1 phone2
/// ... phoneN (note: word-in is word before alignment, word-out is after, e.g. for replacing <eps> with SIL or vice
/// versa).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-align-words-lexicon --partial-word-label=4324 --max-expand=10.0 --test=true \\\n\
      data/lang/phones/align_lexicon.int final.mdl ark:1.lats ark:aligned.lats\n\
    See also: lattice-align-words, which is only applicable if your phones have word-position markers"
)]
pub struct Options {
    /// Output lattices that aligned with errors (e.g. due to force-out)
    #[arg(long, default_value_t = true)]
    output_error_lats: bool,
    /// If true: if algorithm gives error and produces empty output, pass the input through.
    #[arg(long, default_value_t = false)]
    output_if_empty: bool,
    /// If true, the result is tested: every path of it must be one of the input.
    #[arg(long, default_value_t = false)]
    test: bool,
    /// Only has an effect if --test=true. If true, duplicate paths are no error.
    #[arg(long, default_value_t = false)]
    allow_duplicate_paths: bool,
    /// Numeric id of the word symbol for arcs in the word-aligned lattice that correspond to partial words at the end
    /// of "forced-out" utterances (zero is OK)
    #[arg(long, default_value_t = 0)]
    partial_word_label: i32,
    /// True if the lattices were generated from graphs that had the --reorder option true, relating to reordering
    /// self-loops (typically true)
    #[arg(long, default_value_t = true)]
    reorder: bool,
    /// If >0.0, the maximum ratio by which the alignment may increase the number of states, relative to the
    /// phone-aligned lattice. A lattice that would need more is not aligned. This is helpful in order to prevent
    /// pathological lattices from causing the program to exhaust memory. Actual max-states is 1000 plus max-expand
    /// * orig-num-states.
    #[arg(long, default_value_t = -1.0)]
    max_expand: f32,
    lexicon_file: String,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let lexicon = AlignmentLexicon::load(&options.lexicon_file)?;
    for word in &lexicon.duplicates {
        messages::warn(&format!("Duplicate entry in lexicon map for word {word}"));
    }
    let model: TransitionModel = read_object(&options.model)?;
    let choices = LexiconAlignment {
        reorder: options.reorder,
        partial_word_label: options.partial_word_label,
        max_expand: Some(options.max_expand).filter(|&factor| factor > 0.0),
    };
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = AlignedOutput::open(&options.lattice_wspecifier, options.output_error_lats)?;
    input.for_each(|key, lattice| {
        let (mut aligned, mut problems) = align_words_by_lexicon(&lattice, &model, &lexicon, &choices)?;
        if options.test && problems.is_empty() {
            problems.extend(test_alignment(&lattice, &aligned)?);
            if !options.allow_duplicate_paths {
                problems.extend(test_duplicates(&lattice, &aligned)?);
            }
        }
        if !problems.is_empty() && options.output_if_empty && aligned.states.is_empty() {
            messages::warn(&format!(
                "Algorithm produced no output (due to --max-expand?), so passing input through as output, for key {key}"
            ));
            return output.pass(key, &lattice);
        }
        output.write(key, &mut aligned, &problems)
    })?;
    output.finish()
}
