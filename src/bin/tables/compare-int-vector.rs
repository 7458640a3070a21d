//! `compare-int-vector`: counts the positions at which vectors of integers differ.

use std::io::Write;

use anyhow::{Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_cli::log::ratio;
use kaldi_io::DenseMatrix;
use kaldi_io::holder::I32VectorHolder;
use nnet3::{lattices, messages};

use crate::tables::label_counts::LabelCounts;

/// Compare vectors of integers (e.g. phones or pdfs): prints to standard output, for each utterance,
/// <utterance-id> <number of elements> <number of differing elements>.
///
/// If the lengths differ, the shorter one counts.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compare-int-vector --write-diff-counts=diff.vec ark:1.ali ark:2.ali > stats.txt\n\
    See also: copy-int-vector"
)]
pub struct Options {
    /// Write in binary mode (only relevant for the counts and the matrix)
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// Filename to write a vector with the number of times each integer occurs in the first input
    #[arg(long, default_value = "")]
    write_tot_counts: String,
    /// Filename to write a vector with the number of times each integer occurs where the inputs differ (half for each input)
    #[arg(long, default_value = "")]
    write_diff_counts: String,
    /// Filename to write the confusion matrix; rows are integers of the first input, columns of the second
    #[arg(long, default_value = "")]
    write_confusion_matrix: String,
    vector1_rspecifier: String,
    vector2_rspecifier: String,
}

/// Rows of the largest confusion matrix.
const MOST_LABELS: usize = 20_000;

pub fn run(options: Options) -> Result<u8> {
    let mut out = StandardOutput::open()?;
    let (mut total, mut different) = (LabelCounts::default(), LabelCounts::default());
    let mut pairs: std::collections::BTreeMap<(i32, i32), f64> = std::collections::BTreeMap::new();
    let (mut compared, mut lengths, mut missing) = (0u64, 0u64, 0u64);
    let (mut frames, mut differing) = (0u64, 0u64);
    let (first, second) = (&options.vector1_rspecifier, &options.vector2_rspecifier);
    lattices::for_each_pair::<I32VectorHolder, I32VectorHolder>(first, second, |key, first, second| {
        let Some(second) = second else {
            messages::warn(&format!("No key {key} found in second input."));
            missing += 1;
            return Ok(());
        };
        compared += 1;
        if first.len() != second.len() {
            messages::warn(&format!(
                "For utterance {key}, lengths differ {} vs. {}",
                first.len(),
                second.len()
            ));
            lengths += 1;
        }
        let mut count = 0u64;
        for (&a, &b) in first.iter().zip(&second) {
            total.add(a, 1.0)?;
            for label in [a, b].into_iter().filter(|_| a != b) {
                different.add(label, 0.5)?;
            }
            count += u64::from(a != b);
            *pairs.entry((a, b)).or_default() += 1.0;
        }
        let length = first.len().min(second.len());
        writeln!(out, "{key} {length} {count}")?;
        (frames, differing) = (frames + length as u64, differing + count);
        Ok(())
    })?;
    for (name, counts) in [(&options.write_tot_counts, &total), (&options.write_diff_counts, &different)] {
        if !name.is_empty() {
            kaldi_io::write_object(name, options.binary, &counts.counts)?;
        }
    }
    if !options.write_confusion_matrix.is_empty() {
        let size = total.counts.len().max(different.counts.len());
        if size > MOST_LABELS {
            bail!(
                "--write-confusion-matrix: the largest integer is {}, more than {MOST_LABELS} rows",
                size - 1
            );
        }
        let mut matrix = DenseMatrix::<f64>::new(size, size);
        for ((a, b), count) in pairs {
            matrix.row_mut(a as usize)[b as usize] = count;
        }
        kaldi_io::write_object(&options.write_confusion_matrix, options.binary, &matrix)?;
    }
    // (The reference counts each key that it compares twice.)
    messages::log(&format!(
        "Computed difference for {} utterances, of which {lengths} had mismatched lengths; corresponding utterance not \
         found for {missing}",
        2 * compared + missing
    ));
    let percentage = ratio(100.0 * differing as f64, frames as f64);
    messages::log(&format!("Average p(different) is {percentage}%, over {frames} frames."));
    Ok(if compared > 0 { 0 } else { kaldi_cli::NOTHING_DONE })
}
