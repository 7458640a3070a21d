//! `analyze-counts`: counts of integers, such as the pdf-ids of alignments.

use anyhow::{Context, Result};
use kaldi_cli::log::{num, ratio, verbose};
use kaldi_io::holder::{FloatHolder, I32VectorHolder, VectorHolder};
use kaldi_io::symbols::SymbolTable;
use nnet3::tables::{Input, open_optional};
use nnet3::{lattices, messages};

use crate::tables::label_counts::LabelCounts;

/// Computes element counts from integer vector table (e.g. get pdf-counts to estimate DNN-output priors).
///
/// Each count gets 0.5 more, so that no prior is 0. With --verbose=1 or a symbol table, the counts are printed as a
/// sorted table.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: analyze-counts ark:1.ali prior.counts\n\
    Show phone counts by: ali-to-phones --per-frame=true ark:1.ali ark:- | analyze-counts --verbose=1 ark:- - >/dev/null")]
pub struct Options {
    /// Write in binary mode
    #[arg(long, default_value_t = false)]
    binary: bool,
    /// Read symbol table for display of counts
    #[arg(long, default_value = "")]
    symbol_table: String,
    /// Number of counts, if above 0; more if there are larger integers
    #[arg(long, default_value_t = 0)]
    counts_dim: i32,
    /// Table of weights of frames: vectors of the same lengths as the integers
    #[arg(long, default_value = "")]
    frame_weights: String,
    /// Table of weights of utterances
    #[arg(long, default_value = "")]
    utt_weights: String,
    alignments_rspecifier: String,
    counts_wxfilename: String,
}

pub fn run(options: Options) -> Result<u8> {
    let symbols = lattices::open_symbols(&options.symbol_table)?;
    let mut frame_weights = open_optional::<VectorHolder>(&options.frame_weights)?;
    let mut utterance_weights = open_optional::<FloatHolder>(&options.utt_weights)?;
    let mut counts = LabelCounts::with_size(options.counts_dim).context("--counts-dim")?;
    let (mut done, mut skipped) = (0u64, 0u64);
    Input::<I32VectorHolder>::open(&options.alignments_rspecifier)?.for_each(|key, labels| {
        let mut skip = |reason: &str| {
            messages::warn(&format!("{key}: {reason}"));
            skipped += 1;
            Ok(())
        };
        let mut weights = vec![1.0; labels.len()];
        if let Some(table) = &mut frame_weights {
            match table.get(key)? {
                None => return skip("there are no weights of frames (--frame-weights)"),
                Some(found) if found.len() != labels.len() => {
                    let (found, expected) = (found.len(), labels.len());
                    return skip(&format!(
                        "{found} weights of frames (--frame-weights), expected {expected}"
                    ));
                }
                Some(found) => weights = found.iter().map(|&weight| f64::from(weight)).collect(),
            }
        }
        if let Some(table) = &mut utterance_weights {
            let Some(&weight) = table.get(key)? else {
                return skip("there is no weight of the utterance (--utt-weights)");
            };
            weights.iter_mut().for_each(|frame| *frame *= f64::from(weight));
        }
        if let Some(label) = labels.iter().find(|&&label| label < 0) {
            return skip(&format!("the integer {label} is negative"));
        }
        for (&label, weight) in labels.iter().zip(weights) {
            counts.add(label, weight)?;
        }
        done += 1;
        Ok(())
    })?;
    for label in counts.zeros() {
        messages::warn(&format!("Zero count for label {label}, this is suspicious."));
    }
    let smoothed: Vec<f64> = counts.counts.iter().map(|count| count + 0.5).collect();
    kaldi_io::write_object(&options.counts_wxfilename, options.binary, &smoothed)?;
    if verbose() >= 1 || symbols.is_some() {
        messages::log(&table(&counts, symbols.as_ref()));
    }
    messages::log(&format!("Summed {done} int32 vectors to counts, skipped {skipped} vectors."));
    messages::log(&format!("Counts written to {}", options.counts_wxfilename));
    Ok(0)
}

/// The counts in their order, with shares and names.
fn table(counts: &LabelCounts, symbols: Option<&SymbolTable>) -> String {
    let mut sorted: Vec<(f64, usize)> = counts.counts.iter().copied().zip(0..).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = counts.counts.iter().sum();
    let mut text = String::from("Printing...\n### The sorted count table,\ncount\t(norm),\tid\t(symbol):\n");
    for (count, label) in sorted {
        let name = symbols.and_then(|symbols| symbols.name(label as i64)).unwrap_or_default();
        text += &format!("{}\t({}),\t{label}\t{name}\n", num(count), ratio(count, total));
    }
    // Hours at 100 frames a second.
    text += &format!("\n#total {} ({}h)\n", num(total), num(total / 100.0 / 3600.0));
    text
}
