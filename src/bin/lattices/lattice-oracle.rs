//! `lattice-oracle`: the path of each lattice with the fewest errors.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::ratio;
use kaldi_io::holder::{I32Holder, I32VectorHolder};
use kaldi_io::symbols::SymbolTable;
use kaldi_io::text::split_integers;
use kaldi_io::{KaldiReader, RandomReader};
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::edit_distance::Errors;
use nnet3_decode::oracle::{oracle, path_with_words};
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Finds the path having the smallest edit-distance between a lattice and a reference string.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-oracle ark:lat.1 'ark:sym2int.pl -f 2- data/lang/words.txt <data/test/text|' ark,t:-\n\
    Note the --write-lattices option by which you can write out the optimal path as a lattice."
)]
pub struct Options {
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    word_symbol_table: String,
    /// Colon-separated list of integer ids of symbols that don't count as errors. Preferred alternative to deprecated
    /// option --wildcard-symbols-list.
    #[arg(long, default_value = "")]
    wildcard_symbols: String,
    /// Filename (generally rxfilename) for file containing text-form list of symbols that don't count as errors; this
    /// option requires --word-symbol-table. Deprecated; use --wildcard-symbols option.
    #[arg(long, default_value = "")]
    wildcard_symbols_list: String,
    /// If supplied, write the lattice that contains only the oracle path to the given wspecifier.
    #[arg(long, default_value = "")]
    write_lattices: String,
    test_lattice_rspecifier: String,
    reference_rspecifier: String,
    transcriptions_wspecifier: String,
    edit_distance_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let symbols = lattices::open_symbols(&options.word_symbol_table)?;
    let wildcards = wildcards(&options, symbols.as_ref())?;
    let input = Input::<LatticeHolder>::open(&options.test_lattice_rspecifier)?;
    let mut references = RandomReader::<I32VectorHolder>::open(&options.reference_rspecifier)?;
    let mut words = lattices::open_writer::<I32VectorHolder>(Some(&options.transcriptions_wspecifier))?;
    let mut edits = lattices::open_writer::<I32Holder>(options.edit_distance_wspecifier.as_ref())?;
    let mut paths = lattices::open_writer::<CompactLatticeHolder>(Some(&options.write_lattices))?;
    let (mut done, mut failed, mut total, mut num_words) = (0, 0, Errors::default(), 0);
    input.for_each(|key, lattice| {
        kaldi_cli::terminal::print(format!("Lattice {key} read.\n").as_bytes());
        let Some(reference) = references.get(key)? else {
            messages::warn(&format!("No reference present for utterance {key}"));
            failed += 1;
            return Ok(());
        };
        done += 1;
        let oracle = match oracle(&lattice, reference, &wildcards) {
            Ok(Some(oracle)) => oracle,
            Ok(None) | Err(_) => {
                messages::warn(&format!("Best-path failed for key {key}"));
                failed += 1;
                return Ok(());
            }
        };
        let errors = oracle.errors;
        lattices::write(&mut edits, key, &(errors.total() as i32))?;
        messages::log(&format!("{} sub ]", summary(&errors, oracle.num_words)));
        total.insertions += errors.insertions;
        total.deletions += errors.deletions;
        total.substitutions += errors.substitutions;
        num_words += oracle.num_words;
        messages::log(&format!("For utterance {key}, best cost {}", errors.total()));
        lattices::write(&mut words, key, &oracle.words)?;
        if let Some(symbols) = &symbols {
            lattices::print_words(&format!("{key} (oracle)"), &oracle.words, symbols)?;
            lattices::print_words(&format!("{key} (reference)"), reference, symbols)?;
        }
        if paths.is_some() {
            lattices::write(&mut paths, key, &path_with_words(&lattice, &oracle.words, &wildcards)?)?;
        }
        Ok(())
    })?;
    messages::log(&format!("Overall {} substitutions ]", summary(&total, num_words)));
    messages::log(&format!("Scored {done} lattices, {failed} not present in ref."));
    lattices::close(words)?;
    lattices::close(edits)?;
    lattices::close(paths)?;
    if done == 0 {
        messages::error(&format!(
            "{}: no lattice has a reference in {}",
            options.test_lattice_rspecifier, options.reference_rspecifier
        ));
        return Ok(NOTHING_DONE);
    }
    Ok(0)
}

/// Returns all but the last word of a line.
fn summary(errors: &Errors, num_words: usize) -> String {
    format!(
        "%WER {} [ {} / {num_words}, {} insertions, {} deletions, {}",
        ratio(100.0 * errors.total() as f64, num_words as f64),
        errors.total(),
        errors.insertions,
        errors.deletions,
        errors.substitutions
    )
}

fn wildcards(options: &Options, symbols: Option<&SymbolTable>) -> Result<Vec<i32>> {
    let (numbers, list) = (&options.wildcard_symbols, &options.wildcard_symbols_list);
    if list.is_empty() {
        let parsed = split_integers(numbers, &[':'], true);
        return parsed.with_context(|| {
            format!("Expected colon-separated list of integers for --wildcard-symbols option, got: {numbers}")
        });
    }
    messages::warn("--wildcard-symbols-list option deprecated.");
    let (true, Some(symbols)) = (numbers.is_empty(), symbols) else {
        bail!("--wildcard-symbols-list needs --word-symbol-table, and excludes --wildcard-symbols");
    };
    let mut reader = KaldiReader::open_raw(list)?;
    let mut wildcards = Vec::new();
    while let Some(line) = reader.read_line()? {
        let number = symbols.number(line.trim());
        wildcards
            .push(number.with_context(|| format!("{list}: '{line}' is not in the symbol table"))? as i32);
    }
    reader.close()?;
    Ok(wildcards)
}
