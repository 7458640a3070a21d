//! `est-pca`: estimates principal components.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_feat::pca::{PcaOptions, PcaStats};
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_io::write_object;
use nnet3::messages;
use nnet3::tables::Input;

/// Estimate PCA transform, from features that the program reads directly.
///
/// Without --dim the dimension is not reduced. With --normalize-variance=true the (centered) covariance of the features is
/// normalized, and with --normalize-mean=true the mean too. Statistics in separate files are not supported, because this
/// type of transform does not need much data.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n (features are in ark:features.ark): est-pca --dim=40 ark:features.ark pca.mat\n\
    (vectors): est-pca --read-vectors=true --dim=50 ark:ivectors.ark pca.mat"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, read in single vectors instead of feature matrices.
    #[arg(long, default_value_t = false)]
    read_vectors: bool,
    /// Feature dimension requested (if <= 0, uses full feature dimension)
    #[arg(long, default_value_t = -1)]
    dim: i32,
    /// If true, make a transform that normalizes variance to one.
    #[arg(long, default_value_t = false)]
    normalize_variance: bool,
    /// If true, output an affine transform that subtracts the data mean.
    #[arg(long, default_value_t = false)]
    normalize_mean: bool,
    /// Write full version of the matrix to this location (including rejected rows)
    #[arg(long, default_value = "")]
    write_full_matrix: String,
    #[arg(value_name = "(<feature-rspecifier>|<vector-rspecifier>)")]
    data_rspecifier: String,
    pca_matrix_out: String,
}

fn read(options: &Options) -> Result<PcaStats> {
    let mut stats = PcaStats::default();
    let (mut done, mut failed, mut frames) = (0, 0, 0);
    let mut add = |key: &str, rows: usize, row: &dyn Fn(usize) -> Vec<f32>| {
        match (0..rows).try_for_each(|t| stats.add(&row(t))) {
            Ok(()) if rows > 0 => {
                done += 1;
                frames += rows;
                return;
            }
            Ok(()) => messages::warn(&format!("Empty input for {key}")),
            Err(error) => messages::warn(&format!("{key}: {error}")),
        }
        failed += 1;
    };
    if options.read_vectors {
        Input::<VectorHolder>::open(&options.data_rspecifier)?.for_each(|key, vector| {
            add(key, usize::from(!vector.is_empty()), &|_| vector.clone());
            Ok(())
        })?;
        messages::log(&format!("Accumulated stats from {done} vectors, {failed} with errors."));
    } else {
        Input::<MatrixHolder>::open(&options.data_rspecifier)?.for_each(|key, features| {
            add(key, features.rows, &|t| features.row(t).to_vec());
            Ok(())
        })?;
        messages::log(&format!(
            "Accumulated stats from {done} feature files, {failed} with errors; {frames} frames."
        ));
    }
    Ok(stats)
}

pub fn run(options: Options) -> Result<u8> {
    let stats = read(&options)?;
    let dim = usize::try_from(options.dim).ok().filter(|&dim| dim > 0);
    let (normalize_variance, normalize_mean) = (options.normalize_variance, options.normalize_mean);
    let pca = stats.estimate(&PcaOptions { dim, normalize_variance, normalize_mean });
    let pca = pca.with_context(|| options.data_rspecifier.clone())?;
    let list: Vec<String> = pca.variances.iter().map(|&value| num(value)).collect();
    messages::log(&format!("Eigenvalues in PCA are  [ {} ]\n", list.join(" ")));
    let kept: f64 = pca.variances.iter().take(pca.transform.rows).sum();
    messages::log(&format!(
        "Sum of PCA eigenvalues is {}, sum of kept eigenvalues is {}",
        num(pca.variances.iter().sum()),
        num(kept)
    ));
    if pca.floored > 0 {
        messages::warn(&format!("Floored {} eigenvalues of covariance", pca.floored));
    }
    write_object(&options.pca_matrix_out, options.mode.binary, &pca.transform)?;
    if !options.write_full_matrix.is_empty() {
        write_object(&options.write_full_matrix, options.mode.binary, &pca.full)?;
    }
    Ok(0)
}
