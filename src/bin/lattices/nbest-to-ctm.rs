//! `nbest-to-ctm`: words with times from word-aligned lattices with a single path.

use anyhow::{Context, Result};
use kaldi_cli::NOTHING_DONE;
use kaldi_fst::EPSILON;
use kaldi_io::KaldiWriter;
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::{CompactLatticeHolder, path};

/// Takes as input lattices which must be linear (single path), in CompactLattice form. The transition-ids on the arcs
/// must have been aligned with the word boundaries, by lattice-1best and then lattice-align-words.
///
/// It outputs ctm format (with integers in place of words): <utterance-id> 1 <begin-time> <duration> <word-id>
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-1best --acoustic-scale=0.08333 ark:1.lats ark:- | \\\n\
      lattice-align-words data/lang/phones/word_boundary.int exp/dir/final.mdl ark:- ark:- | \\\n\
      nbest-to-ctm ark:- 1.ctm")]
pub struct Options {
    /// If true, print optional-silence (<eps>) arcs
    #[arg(long, default_value_t = false)]
    print_silence: bool,
    /// Time in seconds between frames.
    #[arg(long, default_value_t = 0.01)]
    frame_shift: f32,
    /// Number of decimal places for start duration times (note: we may use a higher value than this if it's obvious
    /// from --frame-shift that this value is too small
    #[arg(long, default_value_t = 2)]
    precision: i32,
    aligned_linear_lattice_rspecifier: String,
    ctm_wxfilename: String,
}

pub fn run(options: Options) -> Result<u8> {
    let shift = options.frame_shift;
    // (0.01 as a float is below 0.01, so with the defaults there are three decimals, as in the reference.)
    let precision = match options.precision {
        ..=3 if f64::from(shift) < 0.001 => 4,
        ..=2 if f64::from(shift) < 0.01 => 3,
        precision => usize::try_from(precision)
            .with_context(|| format!("--precision={precision}: expected a number that is not negative"))?,
    };
    let input = Input::<CompactLatticeHolder>::open(&options.aligned_linear_lattice_rspecifier)?;
    let mut writer = KaldiWriter::create(&options.ctm_wxfilename, false)?;
    let (mut done, mut failed) = (0, 0);
    input.for_each(|key, lattice| {
        let arcs = match path::linear_arcs(&lattice) {
            Ok(arcs) => arcs,
            Err(error) => {
                messages::warn(&format!("Format conversion failed for key {key}: {error}"));
                failed += 1;
                return Ok(());
            }
        };
        if !path::linear_end(&lattice).string.is_empty() {
            messages::warn(&format!(
                "{key}: lattice has alignments on final-weight: probably was not word-aligned (alignments will be \
                 approximate)"
            ));
        }
        let mut time = 0;
        for arc in arcs {
            let frames = arc.weight.string.len();
            if arc.ilabel != EPSILON || options.print_silence {
                let (start, length) = (shift * time as f32, shift * frames as f32);
                let word = arc.ilabel;
                writer.write_str(&format!("{key} 1 {start:.precision$} {length:.precision$} {word}\n"))?;
            }
            time += frames;
        }
        done += 1;
        Ok(())
    })?;
    writer.finish()?;
    messages::log(&format!("Converted {done} linear lattices to ctm format; {failed} had errors."));
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
