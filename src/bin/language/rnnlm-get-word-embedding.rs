//! `rnnlm-get-word-embedding`: makes embeddings of words of those of their features.

use anyhow::{Context, Result};
use kaldi_io::{DenseMatrix, read_object, write_object};
use nnet3_rnnlm::features::WordFeatures;

/// Multiplies a sparse matrix, the features of words in a text format, by a dense one, the embeddings of features.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: rnnlm-get-word-embedding word_features.txt feat_embedding.mat word_embedding.mat"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    word_features_in: String,
    feature_embedding_in: String,
    word_embedding_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let embedding: DenseMatrix<f32> = read_object(&options.feature_embedding_in)?;
    let features = WordFeatures::load(&options.word_features_in, embedding.rows)?;
    let words = features.word_embedding(&embedding).with_context(|| options.word_features_in.clone())?;
    write_object(&options.word_embedding_out, options.mode.binary, &words)?;
    Ok(0)
}
