//! `ivector-subtract-global-mean`: centres vectors.

use anyhow::{Result, bail};
use kaldi_cli::log::num;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::vectors::{Mean, norm, subtract};
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Copies a table of iVectors but subtracts the global mean as it does so. With 3 arguments the mean is read from a
/// file; otherwise it is the mean of the vectors.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-subtract-global-mean scp:ivectors.scp ark:-\n  \
    or: ivector-subtract-global-mean mean.vec scp:ivectors.scp ark:-\n\
    See also: ivector-mean")]
pub struct Options {
    /// If true, subtract mean; if false, just copy the input. Only without a file of the mean
    #[arg(long, default_value_t = true)]
    subtract_mean: bool,
    #[arg(
        value_name = "[<mean-rxfilename>] <ivector-rspecifier> <ivector-wspecifier>",
        required = true,
        num_args = 2..=3
    )]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let output = match &options.arguments[..] {
        [vectors, to] => own_mean(vectors, to, options.subtract_mean)?,
        [mean, vectors, to] => {
            let mean: Vec<f32> = kaldi_io::read_object(mean)?;
            let input = Input::<VectorHolder>::open(vectors)?;
            let mut output = Output::open(to)?;
            input.for_each(|key, vector| write(&mut output, key, &vector, &mean))?;
            output
        }
        _ => bail!("expected 2 or 3 arguments"),
    };
    messages::log(&format!("Wrote {} mean-subtracted iVectors", output.done));
    output.finish()
}

/// Writes a vector less the mean; the message about one that does not fit names its key.
fn write(output: &mut Output<VectorHolder>, key: &str, vector: &[f32], mean: &[f32]) -> Result<()> {
    match subtract(vector, mean) {
        Ok(difference) => output.write(key, &difference),
        Err(reason) => {
            output.skip(key, reason);
            Ok(())
        }
    }
}

fn own_mean(from: &str, to: &str, subtracts: bool) -> Result<Output<VectorHolder>> {
    let input = Input::<VectorHolder>::open(from)?;
    let mut output = Output::open(to)?;
    let (mut vectors, mut sum) = (Vec::new(), Mean::default());
    input.for_each(|key, vector| {
        match sum.add(&vector) {
            Ok(()) => vectors.push((key.to_owned(), vector)),
            Err(reason) => output.skip(key, reason),
        }
        Ok(())
    })?;
    let mean = sum.mean().unwrap_or_default();
    messages::log(&format!("Read {} iVectors.", vectors.len()));
    if !vectors.is_empty() {
        messages::log(&format!("Norm of iVector mean was {}", num(norm(&mean))));
    }
    let mean: Vec<f32> = mean.iter().map(|&x| if subtracts { x as f32 } else { 0.0 }).collect();
    vectors.iter().try_for_each(|(key, vector)| write(&mut output, key, vector, &mean))?;
    Ok(output)
}
