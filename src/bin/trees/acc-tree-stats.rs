//! `acc-tree-stats`: accumulates statistics of phones in context, for building trees.

use kaldi_cli::NOTHING_DONE;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::{KaldiWriter, RandomReader, read_object, write_object};
use kaldi_tree::accumulate::{AccumulateOptions, Accumulator};
use kaldi_tree::phone_sets::{PhoneMap, parse_phones};
use nnet3::{messages, tables, trees};
/// Accumulate statistics for phonetic-context tree building.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n acc-tree-stats 1.mdl scp:train.scp ark:1.ali 1.tacc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Variance floor for tree clustering.
    #[arg(long, default_value_t = 0.01)]
    var_floor: f32,
    /// Colon-separated list of integer indices of context-independent phones (after mapping, if --phone-map option is used).
    #[arg(long, default_value = "")]
    ci_phones: String,
    /// Context window size.
    #[arg(long, default_value_t = 3)]
    context_width: i32,
    /// Central context-window position (zero-based)
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// File name containing old->new phone mapping (each line is: old-integer-id new-integer-id)
    #[arg(long, default_value = "")]
    phone_map: String,
    model_in: String,
    features_rspecifier: String,
    alignments_rspecifier: String,
    tree_accs_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (context_width, central_position) =
        trees::check_context(options.context_width, options.central_position)?;
    if options.var_floor.is_nan() || options.var_floor < 0.0 {
        anyhow::bail!("--var-floor={} must not be negative", options.var_floor);
    }
    let phone_map = match options.phone_map.as_str() {
        "" => None,
        file => Some(trees::read_text(file, PhoneMap::read)?),
    };
    let mut accumulator = Accumulator::new(AccumulateOptions {
        var_floor: options.var_floor,
        context_independent: parse_phones(&options.ci_phones)?,
        context_width,
        central_position,
        phone_map,
    })?;
    let model: TransitionModel = read_object(&options.model_in)?;
    KaldiWriter::check(&options.tree_accs_out)?;
    let mut alignments = RandomReader::<I32VectorHolder>::open(&options.alignments_rspecifier)?;
    let (mut done, mut without_alignment, mut failed) = (0, 0, 0);
    tables::Input::<MatrixHolder>::open(&options.features_rspecifier)?.for_each(|utterance, features| {
        let Some(alignment) = alignments.get(utterance)? else {
            without_alignment += 1;
            return Ok(());
        };
        let problem = match features.not_finite() {
            Some(found) => Some(found.to_string()),
            None => accumulator.add(&model, alignment, &features).err().map(|e| kaldi_io::error::chain(&e)),
        };
        match problem {
            Some(problem) => {
                messages::warn(&format!("{utterance}: {problem}"));
                failed += 1;
            }
            None => {
                done += 1;
                if done % 1000 == 0 {
                    messages::log(&format!("Processed {done} utterances."));
                }
            }
        }
        Ok(())
    })?;
    alignments.close()?;
    messages::log(&format!(
        "Accumulated stats for {done} files, {without_alignment} failed due to no alignment, {failed} failed for other reasons."
    ));
    if done == 0 {
        messages::error(&format!("{}: there are no statistics to write", options.tree_accs_out));
        return Ok(NOTHING_DONE);
    }
    let stats = accumulator.finish();
    write_object(&options.tree_accs_out, options.mode.binary, &stats)?;
    messages::log(&format!("Number of separate stats (context-dependent states) is {}", stats.entries.len()));
    Ok(0)
}
