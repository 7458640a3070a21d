//! `lattice-copy`: copies lattices, all or some, in the requested form.

use std::collections::HashSet;

use anyhow::{Result, bail};
use kaldi_io::holder::Holder;
use kaldi_io::table::specifier::Rspecifier;
use kaldi_io::{KaldiReader, SequentialReader};
use nnet3::messages;
use nnet3::tables::Output;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Copy lattices (e.g. useful for changing to text mode or changing format to standard from compact lattice.)
///
/// The --include and --exclude options can be used to copy only a subset of lattices; only one of them can be given.
/// (With --write-compact=false, --exclude copies the listed utterances, as --include does: so does Kaldi.)
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-copy --write-compact=false ark:1.lats ark,t:text.lats\n\
    See also: lattice-scale")]
pub struct Options {
    /// If true, write in normal (compact) form.
    #[arg(long, default_value_t = true)]
    write_compact: bool,
    /// Text file; lattices of the utterance-ids in the first field of its lines will be included
    #[arg(long, default_value = "")]
    include: String,
    /// Text file; lattices of the utterance-ids in the first field of its lines will be excluded
    #[arg(long, default_value = "")]
    exclude: String,
    /// Exit with status 0 even if no lattices are copied
    #[arg(long, default_value_t = false)]
    ignore_missing: bool,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

/// Choice of the lattices to copy.
enum Filter {
    All,
    /// The lattices in the list, or the lattices that are not in it.
    Listed(HashSet<String>, bool),
}

pub fn run(options: Options) -> Result<u8> {
    let filter = match (options.include.as_str(), options.exclude.as_str()) {
        ("", "") => Filter::All,
        (include, "") => Filter::Listed(read_keys(include)?, true),
        // Scripts may rely on this: see the help text.
        ("", exclude) => Filter::Listed(read_keys(exclude)?, !options.write_compact),
        _ => bail!("--include and --exclude cannot both be given"),
    };
    if options.write_compact {
        copy::<CompactLatticeHolder>(&options, &filter)
    } else {
        copy::<LatticeHolder>(&options, &filter)
    }
}

fn copy<H: Holder>(options: &Options, filter: &Filter) -> Result<u8> {
    let from = &options.lattice_rspecifier;
    let sorted = Rspecifier::parse(from).is_ok_and(|rspecifier| rspecifier.sorted);
    let last = match filter {
        Filter::Listed(keys, true) if sorted && options.exclude.is_empty() => keys.iter().max(),
        _ => None,
    };
    let mut input = SequentialReader::<H>::open(from)?;
    let mut output = Output::<H>::open(&options.lattice_wspecifier)?;
    let mut total = 0;
    while let Some((key, lattice)) = input.next()? {
        if last.is_some_and(|last| key > *last) {
            messages::log(&format!(
                "The utterance {key} is larger than the last key in the include list. Not reading further."
            ));
            messages::log(&format!("Wrote {} utterances", output.done));
            return output.finish_any();
        }
        total += 1;
        let wanted = match filter {
            Filter::All => true,
            Filter::Listed(keys, include) => keys.contains(&key) == *include,
        };
        if wanted {
            output.write(&key, &lattice)?;
        }
    }
    input.close()?;
    messages::log(&match filter {
        Filter::All => format!("Done copying {} lattices.", output.done),
        // (The additional blank is the reference's.)
        Filter::Listed(..) if options.write_compact => {
            format!(" Wrote {} out of {total} utterances.", output.done)
        }
        Filter::Listed(..) => format!("Wrote {} out of {total} utterances.", output.done),
    });
    if options.ignore_missing { output.finish_any() } else { output.finish() }
}

/// The first word of each line.
fn read_keys(rxfilename: &str) -> Result<HashSet<String>> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    let mut keys = HashSet::new();
    while let Some(line) = reader.read_line()? {
        match line.split_ascii_whitespace().next() {
            Some(key) => keys.insert(key.to_owned()),
            None => bail!("{rxfilename}: expected an utterance-id in each line, found an empty line"),
        };
    }
    reader.close()?;
    Ok(keys)
}
