//! `g2p-train`: a lexicon → a model that pronounces other words.

use std::num::NonZero;

use anyhow::{Result, bail};
use kaldi_g2p::align::{AlignOptions, MOST_PIECE};
use kaldi_g2p::train::{alignments, stamp};
use kaldi_g2p::{Lexicon, TrainOptions, train};
use kaldi_io::KaldiWriter;
use nnet3::messages;
use nnet3::options::threads;

use super::reports;

/// The share of pronunciations that may be lost without --skip-bad.
const MOST_LOST: f64 = 0.02;
/// The highest order of n-grams.
const MOST_ORDER: usize = 20;

/// Learn a model of letters and phones from a lexicon, for g2p.
///
/// The lexicon has lines 'word phones'. Kaldi's other forms are understood: a probability behind the word (lexiconp.txt), four numbers
/// (lexiconp_silprob.txt), the word twice (align_lexicon.txt), and phones with markers of their place (_B _I _E _S), which are
/// removed. Entries such as <unk>, [noise] and !SIL are left out.
///
/// Letters are Unicode characters with their diacritics, in the form NFC. Capitals differ from small letters. The model is
/// a joint n-gram model of letters with phones. It is one file; with --binary=false an ARPA file whose words are such pairs.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: g2p-train data/local/dict/lexicon.txt g2p.model")]
pub struct Options {
    /// Write a binary file; otherwise an ARPA file
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// Pairs of letters and phones in the longest n-grams, from 1 to 20. 0: the number up to --max-order that makes held-out words
    /// most likely
    #[arg(long, default_value_t = 0)]
    order: usize,
    /// Highest order that is tried, from 1 to 20
    #[arg(long, default_value_t = 8)]
    max_order: usize,
    /// N-grams of three and more pairs that occur less often are left out: a smaller and worse model
    #[arg(long, default_value_t = 1)]
    min_count: u32,
    /// Largest number of letters of a pair, from 1 to 8
    #[arg(long, default_value_t = 1)]
    max_letters: usize,
    /// Largest number of phones of a pair, from 1 to 8. 0: the least number from 2 on that suits 99 % of the lexicon
    #[arg(long, default_value_t = 0)]
    max_phones: usize,
    /// Allow pairs of several letters with several phones
    #[arg(long)]
    many_to_many: bool,
    /// Allow phones without a letter
    #[arg(long)]
    insertions: bool,
    /// Largest number of iterations of the alignment
    #[arg(long, default_value_t = 12)]
    iterations: usize,
    /// Pairs that are expected to occur less often are used only where a word has no other alignment
    #[arg(long, default_value_t = 1.0)]
    prune: f64,
    /// Leave out wrong lines, and any number of words that cannot be aligned, with a warning
    #[arg(long)]
    skip_bad: bool,
    /// File for the alignments: a word and its pairs a line
    #[arg(long, default_value = "")]
    alignments: String,
    /// File for the words that are left out, each with the reason
    #[arg(long, default_value = "")]
    left_out: String,
    /// Number of threads (if not set: the number of processors, at most 8). The model does not depend on it
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    #[arg(value_name = "lexicon-in")]
    lexicon: String,
    #[arg(value_name = "model-out")]
    model: String,
}

impl Options {
    fn for_training(&self) -> Result<TrainOptions> {
        let within = |name: &str, value: usize, from: usize, to: usize| {
            if !(from..=to).contains(&value) {
                bail!("--{name}={value}: expected a number from {from} to {to}");
            }
            Ok(())
        };
        within("order", self.order, 0, MOST_ORDER)?;
        within("max-order", self.max_order, 1, MOST_ORDER)?;
        within("max-letters", self.max_letters, 1, MOST_PIECE)?;
        within("max-phones", self.max_phones, 0, MOST_PIECE)?;
        within("iterations", self.iterations, 1, 1000)?;
        if !(self.prune >= 0.0 && self.prune.is_finite()) {
            bail!("--prune={}: expected a number from 0", self.prune);
        }
        let threads = NonZero::new(threads::count(self.num_threads, 8)?).unwrap_or(NonZero::<usize>::MIN);
        let align = AlignOptions {
            max_letters: self.max_letters,
            max_phones: Some(self.max_phones).filter(|&phones| phones > 0),
            many_to_many: self.many_to_many,
            insertions: self.insertions,
            iterations: self.iterations,
            prune: self.prune,
            threads,
        };
        let order = Some(self.order).filter(|&order| order > 0);
        Ok(TrainOptions { align, order, max_order: self.max_order, min_count: self.min_count, threads })
    }
}

pub fn run(options: Options) -> Result<u8> {
    let training = options.for_training()?;
    for file in [&options.alignments, &options.left_out, &options.model] {
        if !file.is_empty() {
            KaldiWriter::check(file)?;
        }
    }
    let lexicon = Lexicon::load(&options.lexicon, options.skip_bad)?;
    reports::lexicon(&lexicon);
    let (mut model, report) = train(&lexicon, &training)?;
    let (lost, all) = (report.unaligned.len(), lexicon.entries.len());
    if lost as f64 > MOST_LOST * all as f64 && !options.skip_bad {
        let words = reports::named(report.unaligned.iter().map(String::as_str));
        bail!(
            "{}: {lost} of {all} pronunciations have too many phones for their letters: {words}; expected at most 2 % \
             (--max-phones={} allows more phones a letter, --insertions=true phones without a letter, --skip-bad=true \
             leaves these words out)",
            options.lexicon,
            report.max_phones + 1
        );
    }
    reports::training(&report, &model.ngrams.sizes());
    if !options.left_out.is_empty() {
        let mut w = KaldiWriter::create(&options.left_out, false)?;
        for line in &lexicon.bad_lines {
            w.write_str(&format!("{line}\n"))?;
        }
        for (word, reason) in &lexicon.left_out {
            w.write_str(&format!("{word} {reason}\n"))?;
        }
        for word in &report.unaligned {
            w.write_str(&format!("{word} has too many phones for its letters\n"))?;
        }
        w.finish()?;
    }
    if !options.alignments.is_empty() {
        let mut w = KaldiWriter::create(&options.alignments, false)?;
        for (entry, graphones) in lexicon.entries.iter().zip(alignments(&lexicon, &training.align)?) {
            let Some(graphones) = graphones else { continue };
            let symbols: Vec<String> = graphones.iter().map(|graphone| graphone.symbol()).collect();
            w.write_str(&format!("{} {}\n", entry.word, symbols.join(" ")))?;
        }
        w.finish()?;
    }
    model.stamp = stamp(&lexicon, &training);
    model.store(&options.model, options.binary)?;
    messages::log(&format!("Wrote the model to {}", options.model));
    Ok(0)
}
