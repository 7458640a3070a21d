//! `nbest-to-prons`: pronunciations of the words of aligned linear lattices, as text.

use std::fmt::Write;

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::{KaldiWriter, read_object};
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::pronunciation::pronunciations;

/// Reads lattices and outputs the pronunciations. The lattices must be linear (single path), in CompactLattice form. The
/// transition-ids on the arcs must have been aligned with the word boundaries (see lattice-align-words*).
///
/// Each line is: <utterance-id> <begin-frame> <num-frames> <word> <phone1> <phone2> ... <phoneN>
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-1best ark:1.lats ark:- | lattice-align-words word_boundary.int 1.mdl ark:- ark:- | \\\n\
    nbest-to-prons 1.mdl ark:- prons.txt"
)]
pub struct Options {
    /// If true, then the <num-frames> is replaced by the lengths of the phones, e.g. 3,4,5
    #[arg(long, default_value_t = false)]
    print_lengths_per_phone: bool,
    model: String,
    aligned_linear_lattice_rspecifier: String,
    output_wxfilename: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let input = Input::<CompactLatticeHolder>::open(&options.aligned_linear_lattice_rspecifier)?;
    let mut writer = KaldiWriter::create(&options.output_wxfilename, false)?;
    let (mut done, mut failed) = (0u64, 0u64);
    input.for_each(|key, lattice| {
        let found = match pronunciations(&model, &lattice) {
            Ok(found) => found,
            Err(error) => {
                messages::warn(&format!("Format conversion failed for utterance {key}: {error}"));
                failed += 1;
                return Ok(());
            }
        };
        if found.has_rest {
            messages::warn(
                "Lattice has alignments on final-weight: probably was not word-aligned (alignments will be approximate)",
            );
        }
        let mut text = String::new();
        for entry in &found.words {
            let lengths: Vec<String> = entry.lengths.iter().map(usize::to_string).collect();
            let frames = match options.print_lengths_per_phone {
                true => lengths.join(","),
                false => entry.lengths.iter().sum::<usize>().to_string(),
            };
            let _ = write!(text, "{key} {} {frames} {}", entry.start, entry.word);
            entry.phones.iter().for_each(|phone| text.push_str(&format!(" {phone}")));
            text.push('\n');
        }
        writer.write_str(&text)?;
        done += 1;
        Ok(())
    })?;
    messages::log(&format!("Printed prons for {done} linear lattices; {failed} had errors."));
    if done == 0 {
        return Ok(kaldi_cli::NOTHING_DONE);
    }
    writer.finish()?;
    Ok(0)
}
