//! `compare-feats`: similarity of two tables of features.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_feat::compare::Comparison;
use kaldi_io::RandomReader;
use kaldi_io::holder::MatrixHolder;
use nnet3::messages;
use nnet3::tables::{self, Input, Skip};

/// Computes relative difference between two sets of features per dimension and an average difference.
///
/// Can be used to figure out how different two sets of features are. The status is 0 if they are similar.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compare-feats ark:1.ark ark:2.ark")]
pub struct Options {
    /// The threshold, in a range of [-1, 1], to tell if the two sets of features are similar
    #[arg(long, default_value_t = 0.99)]
    threshold: f32,
    in_rspecifier1: String,
    in_rspecifier2: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut second = RandomReader::<MatrixHolder>::open(&options.in_rspecifier2)?;
    let mut comparison = Comparison::default();
    let (mut done, mut failed) = (0u64, 0u64);
    Input::<MatrixHolder>::open(&options.in_rspecifier1)?.for_each(|key, features| {
        let added = match second.get(key)? {
            _ if features.rows == 0 => Err(Skip::Reason(tables::NO_FRAMES.to_owned())),
            Some(other) => comparison.add(&features, other).map_err(Skip::Reason),
            None => Err(Skip::Reason(format!("not in {}", options.in_rspecifier2))),
        };
        match added {
            Ok(()) => done += 1,
            Err(skip) => {
                messages::warn(&skip.sentence(key));
                failed += 1;
            }
        }
        Ok(())
    })?;
    second.close()?;
    let list = |values: &[f64]| values.iter().map(|&x| num(x) + " ").collect::<String>();
    for (what, sums) in [
        ("self-product of 1st features", &comparison.first),
        ("self-product of 2nd features", &comparison.second),
        ("cross-product", &comparison.cross),
    ] {
        messages::log(&format!("{what} for each column dimension:  [ {}]\n", list(sums)));
    }
    const MEANING: &str = " (1.0 means identical, the smaller the more different)";
    let similarities = list(&comparison.similarities());
    messages::log(&format!("Similarity metric for each dimension  [ {similarities}]\n{MEANING}"));
    let overall = comparison.overall();
    messages::log(&format!("Overall similarity for the two feats is:{}{MEANING}", num(overall)));
    messages::log(&format!("Processed {done} feature files, {failed} had errors."));
    let similar = done > 0 && overall >= f64::from(options.threshold);
    let (name, sign) = if similar { ("similar", ">=") } else { ("dissimilar", "<") };
    let threshold = num(options.threshold.into());
    messages::log(&format!("Features are considered {name} since {} {sign} {threshold}", num(overall)));
    Ok(u8::from(!similar))
}
