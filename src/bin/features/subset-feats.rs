//! `subset-feats`: some of the utterances.

use anyhow::{Result, bail};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{KaldiReader, SequentialReader};
use nnet3::messages;
use nnet3::tables::{Input, Output};
use std::collections::HashSet;

/// Copy a subset of features (by default, the first n feature files).
///
/// The --include and --exclude options are mutually exclusive, and take the place of --n.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: subset-feats --n=10 ark:- ark:-\n\
    or:  subset-feats --include=include_uttlist ark:- ark:-\n\
    or:  subset-feats --exclude=exclude_uttlist ark:- ark:-\n\
    See also extract-feature-segments, select-feats, subsample-feats")]
pub struct Options {
    /// Copy the first n feature files.
    #[arg(long, default_value_t = DEFAULT_COUNT)]
    n: i32,
    /// Text file; features of the utterance-ids in the first field of its lines will be included
    #[arg(long, default_value = "")]
    include: String,
    /// Text file; features of the utterance-ids in the first field of its lines will be excluded
    #[arg(long, default_value = "")]
    exclude: String,
    in_rspecifier: String,
    out_wspecifier: String,
}

const DEFAULT_COUNT: i32 = 10;

pub fn run(options: Options) -> Result<u8> {
    let filter = match (options.include.as_str(), options.exclude.as_str()) {
        ("", "") => return first(&options),
        (include, "") => (include, true),
        ("", exclude) => (exclude, false),
        _ => bail!("--include and --exclude cannot both be given"),
    };
    if options.n != DEFAULT_COUNT {
        bail!("--n cannot be combined with --include or --exclude");
    }
    let (list, wanted) = (read_keys(filter.0)?, filter.1);
    let input = Input::<MatrixHolder>::open(&options.in_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.out_wspecifier)?;
    let mut total = 0;
    input.for_each(|key, features| {
        total += 1;
        if list.contains(key) == wanted { output.write(key, &features) } else { Ok(()) }
    })?;
    messages::log(&format!("Wrote {} out of {total} utterances.", output.done));
    output.finish()
}

fn first(options: &Options) -> Result<u8> {
    if options.n <= 0 {
        bail!("--n={}: expected a number above 0", options.n);
    }
    let mut input = SequentialReader::<MatrixHolder>::open(&options.in_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.out_wspecifier)?;
    for _ in 0..options.n {
        let Some((key, features)) = input.next()? else { break };
        output.write(&key, &features)?;
    }
    input.close()?;
    output.finish_any()
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
