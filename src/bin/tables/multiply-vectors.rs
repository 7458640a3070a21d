//! `multiply-vectors`: multiplies vectors element by element.

use anyhow::{Result, anyhow, bail};
use kaldi_cli::FAILED;
use kaldi_feat::elementwise::product;
use kaldi_io::RandomReader;
use kaldi_io::holder::VectorHolder;
use nnet3::messages;
use nnet3::tables::{self, Input, Output};

/// Multiply vectors element by element; the vectors of the first table decide which utterances there are.
///
/// Inputs and output are all tables or all files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: multiply-vectors ark:weights1.ark ark:weights2.ark ark:weights.ark\n\
    or: multiply-vectors foo.vec bar.vec baz.vec\n\
    See also: vector-scale, vector-sum")]
pub struct Options {
    /// If lengths differ by up to this many elements, trim to the shortest, otherwise leave the utterance out.
    #[arg(long, default_value_t = 0)]
    length_tolerance: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// At least two inputs, and the output
    #[arg(value_name = "<vector-in1> <vector-in2> [<vector-in3> ...] <vector-out>", required = true, num_args = 3..)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(tolerance) = usize::try_from(options.length_tolerance) else {
        bail!("--length-tolerance={}: expected a number that is not negative", options.length_tolerance);
    };
    let Some((to, [first, others @ ..])) = options.arguments.split_last() else {
        bail!("expected at least two inputs and the output");
    };
    let mismatch = |(longest, shortest): (usize, usize)| format!("Length mismatch {longest} vs. {shortest}");
    if !tables::are_tables(first, to)? {
        let mut vectors: Vec<Vec<f32>> = vec![kaldi_io::read_object(first)?];
        for input in others {
            vectors.push(kaldi_io::read_object(input)?);
        }
        let product = product(&vectors, tolerance)
            .map_err(|lengths| anyhow!("{} exceeds tolerance {tolerance}", mismatch(lengths)))?;
        kaldi_io::write_object(to, options.mode.binary, &product)?;
        messages::log(&format!("Wrote multiplied vector to {to}"));
        return Ok(0);
    }
    let mut readers = Vec::new();
    for input in others {
        readers.push((input, RandomReader::<VectorHolder>::open(input)?));
    }
    let input = Input::<VectorHolder>::open(first)?;
    let mut output = Output::<VectorHolder>::open(to)?;
    input.for_each(|key, first| {
        messages::detail(2, format_args!("Multiplying vectors for utterance {key}"));
        let mut vectors = vec![first];
        for (name, reader) in &mut readers {
            match reader.get(key)? {
                Some(vector) => vectors.push(vector.clone()),
                None => {
                    messages::warn(&format!("Missing utt {key} from input {name}"));
                    output.failed += 1;
                    return Ok(());
                }
            }
        }
        match product(&vectors, tolerance) {
            Ok(product) => output.write(key, &product)?,
            Err(lengths) => {
                let lengths = mismatch(lengths);
                messages::warn(&format!("{lengths} for utt {key} exceeds tolerance {tolerance}"));
                output.failed += 1;
            }
        }
        Ok(())
    })?;
    for (_, reader) in readers {
        reader.close()?;
    }
    messages::log(&format!("Done {} utts, errors on {}", output.done, output.failed));
    output.finish_or(FAILED)
}
