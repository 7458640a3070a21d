//! `lattice-arc-post`: probabilities of arcs, as text.

use std::fmt::Write;

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::text::{FILE_PRECISION, format_g};
use kaldi_io::{KaldiWriter, read_object};
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::phones::Ids;
use nnet3_decode::posterior::arc_posteriors;
use nnet3_decode::{CompactLattice, CompactLatticeHolder, Scale, order};

/// Print out information regarding posteriors of lattice arcs.
///
/// This program computes posteriors from a lattice and prints out information for each arc (the format is reminiscent of
/// ctm, but contains information from multiple paths). Each line is: <utterance-id> <start-frame> <num-frames>
/// <posterior> <word> [<ali>] [<phone1> <phone2>...] for instance: 2013a04-bk42 104 26 0.95 0
/// 11,242,242,242,71,894,894,62,63,63,63,63 2 8 9. The --print-alignment option determines if the alignments (the
/// sequences of transition-ids) are printed. The phones are printed only if the <model> is supplied on the command line.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-arc-post --acoustic-scale=0.1 final.mdl 'ark:gunzip -c lat.1.gz|' post.txt\n\
    You will want to word-align the lattice with lattice-align-words or lattice-align-words-lexicon before using this program."
)]
pub struct Options {
    /// If true, print alignments (i.e. sequences of transition-ids) for each arc.
    #[arg(long, default_value_t = false)]
    print_alignment: bool,
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for "graph costs" (including LM costs)
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Arc posteriors below this value will be pruned away
    #[arg(long, default_value_t = 1e-4)]
    min_post: f32,
    #[arg(required = true, num_args = 2..=3, value_name = "[<model>] <lattices-rspecifier> <output-wxfilename>")]
    files: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    let (model, from, to) = match &options.files[..] {
        [model, from, to] => (Some(read_object::<TransitionModel>(model)?), from, to),
        [from, to] => (None, from, to),
        _ => return Ok(kaldi_cli::usage_error::<Options>("2 or 3 arguments are needed")),
    };
    let input = Input::<CompactLatticeHolder>::open(from)?;
    let mut writer = KaldiWriter::create(to, false)?;
    let (mut done, mut failed, mut printed) = (0u64, 0u64, 0u64);
    input.for_each(|key, lattice| {
        let lines = lattices::scaled(lattice, scale)
            .and_then(|lattice| lines(key, lattice, model.as_ref(), &options));
        match lines {
            Ok((text, count)) if count > 0 => {
                writer.write_str(&text)?;
                (done, printed) = (done + 1, printed + count);
            }
            Ok(_) => {
                messages::warn(&format!("No posterior printed for {key}"));
                failed += 1;
            }
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                failed += 1;
            }
        }
        Ok(())
    })?;
    messages::log(&format!(
        "Printed posteriors for {done} lattices ({failed} with errors); on average printed {} posteriors per lattice.",
        printed / done.max(1)
    ));
    if done == 0 {
        return Ok(kaldi_cli::NOTHING_DONE);
    }
    writer.finish()?;
    Ok(0)
}

/// The lines for a lattice, and their number.
fn lines(
    key: &str,
    lattice: CompactLattice,
    model: Option<&TransitionModel>,
    options: &Options,
) -> nnet3_decode::Result<(String, u64)> {
    let mut lattice = lattices::nonempty(lattice)?;
    order::sort(&mut lattice)?;
    let ids = model.map(|model| Ids::of(model, &lattice)).transpose()?;
    let (mut text, mut count) = (String::new(), 0);
    let joined =
        |values: &[i32], separator| values.iter().map(i32::to_string).collect::<Vec<_>>().join(separator);
    for arc in arc_posteriors(&lattice, options.min_post)? {
        let posterior = format_g(f64::from(arc.posterior), FILE_PRECISION);
        let _ = write!(text, "{key}\t{}\t{}\t{posterior}\t{}", arc.start, arc.ids.len(), arc.word);
        if options.print_alignment {
            let _ = write!(text, "\t{}", joined(arc.ids, ","));
        }
        if let Some(ids) = ids {
            let finals = arc.ids.iter().filter(|&&id| ids.is_final(id));
            let phones: Vec<i32> = finals.map(|&id| ids.phone(id)).collect();
            let _ = write!(text, "\t{}", joined(&phones, " "));
        }
        text.push('\n');
        count += 1;
    }
    Ok((text, count))
}
