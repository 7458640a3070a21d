//! `paste-vectors`: vectors of several tables one behind the other.

use anyhow::{Result, bail};
use kaldi_cli::FAILED;
use kaldi_io::RandomReader;
use kaldi_io::holder::VectorHolder;
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Paste feature vectors: vectors of the same key one behind the other.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: paste-vectors ark:vectors1.ark ark:vectors2.ark ark:-\nSee also: paste-feats, append-vector-to-feats"
)]
pub struct Options {
    #[arg(
        value_name = "<vector-in-rspecifier1> <vector-in-rspecifier2> [<vector-in-rspecifier3> ...] <vector-out-wspecifier>",
        required = true
    )]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let [first, others @ .., to] = &options.arguments[..] else {
        bail!("expected at least two inputs and the output");
    };
    if others.is_empty() {
        bail!("expected at least two inputs and the output");
    }
    let mut readers = Vec::new();
    for name in others {
        readers.push((name, RandomReader::<VectorHolder>::open(name)?));
    }
    let input = Input::<VectorHolder>::open(first)?;
    let mut output = Output::<VectorHolder>::open(to)?;
    input.for_each(|key, mut vector| {
        messages::detail(2, format_args!("Merging vectors for utterance {key}"));
        for (name, reader) in &mut readers {
            let Some(other) = reader.get(key)? else {
                messages::warn(&format!("Missing utt {key} from input {name}"));
                output.failed += 1;
                return Ok(());
            };
            vector.extend_from_slice(other);
        }
        output.write(key, &vector)
    })?;
    for (_, reader) in readers {
        reader.close()?;
    }
    messages::log(&format!("Done {} utts, errors on {}", output.done, output.failed));
    output.finish_or(FAILED)
}
