//! `modify-cmvn-stats`: statistics that leave some dimensions alone, or means and variances instead of sums.

use anyhow::{Context, Result, bail};
use kaldi_feat::cmvn::CmvnStats;
use kaldi_io::holder::DoubleMatrixHolder;
use nnet3::options::cmvn::skip_dims;
use nnet3::{messages, tables};

/// Copy cepstral mean/variance stats so that some dimensions have 'fake' stats that will skip normalization.
///
/// Arguments: [<fake-dims>] <in-rspecifier> <out-wspecifier>
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: modify-cmvn-stats 13:14:15 ark:- ark:-\n\
    or: modify-cmvn-stats --convert-to-mean-and-var=true ark:- ark:-\nSee also: compute-cmvn-stats")]
pub struct Options {
    /// If true, convert the stats to a matrix containing the mean and the centered variance in each dimension
    #[arg(long)]
    convert_to_mean_and_var: bool,
    /// Dimensions (optional), input, output
    #[arg(value_name = "[<fake-dims>] <in-rspecifier> <out-wspecifier>", required = true, num_args = 2..=3)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (dims, from, to) = match &options.arguments[..] {
        [dims, from, to] => (dims.as_str(), from, to),
        [from, to] => ("", from, to),
        other => bail!("expected 2 or 3 arguments, found {}", other.len()),
    };
    let skip = skip_dims(dims).context("first argument")?;
    let output = tables::map::<DoubleMatrixHolder, DoubleMatrixHolder>(from, to, |_, matrix| {
        if matrix.rows == 0 {
            return tables::skip("empty statistics");
        }
        let mut stats = CmvnStats::from_matrix(&matrix)?;
        stats.skip(&skip)?;
        if !options.convert_to_mean_and_var {
            return Ok(Ok(stats.to_matrix()));
        }
        match stats.means_and_variances() {
            Some(matrix) => Ok(Ok(matrix)),
            None => tables::skip(format!("the count is {}, so there are no means", stats.count)),
        }
    })?;
    messages::log(&format!("Modified {} sets of stats.", output.done));
    output.finish()
}
