//! `post-to-smat`: posteriors as sparse matrices.

use anyhow::{Result, bail};
use kaldi_feat::posterior::to_sparse;
use kaldi_io::SparseMatrix;
use kaldi_io::holder::{ObjectHolder, PosteriorHolder};
use nnet3::{messages, tables};

/// Turn an archive of per-frame posteriors, e.g. from ali-to-post | post-to-pdf-post, into an archive of sparse matrices.
///
/// This is just a format transformation. If the ids in question are one-based, the dimension must be increased by one.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: post-to-smat --dim=1038 ark:- ark:-\n\
    See also: post-to-phone-post, ali-to-post, post-to-pdf-post")]
pub struct Options {
    /// The number of columns of each sparse matrix (required). All ids must be between 0 and dim - 1.
    #[arg(long, default_value_t = -1)]
    dim: i32,
    posteriors_rspecifier: String,
    sparse_matrix_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(dim) = usize::try_from(options.dim).ok().filter(|&dim| dim > 0) else {
        bail!("--dim is required and must be above 0, found {}", options.dim);
    };
    let (from, to) = (&options.posteriors_rspecifier, &options.sparse_matrix_wspecifier);
    let output = tables::map::<PosteriorHolder, ObjectHolder<SparseMatrix>>(from, to, |_, posterior| {
        Ok(Ok(to_sparse(&posterior, dim)?))
    })?;
    messages::log(&format!("Done converting {} posteriors into sparse matrices.", output.done));
    output.finish_any()
}
