//! `copy-feats`: copies features, and changes their format.

use anyhow::{Result, bail};
use kaldi_feat::htk::{self, HtkHolder};
use kaldi_feat::sphinx::SphinxHolder;
use kaldi_io::holder::{GeneralMatrixHolder, Holder, I32Holder, MatrixHolder};
use kaldi_io::{CompressedMatrix, CompressionMethod, DenseMatrix, GeneralMatrix, KaldiReader};
use nnet3::messages;
use nnet3::tables::{self, Input, Output};

/// Copy features [and possibly change format].
///
/// Input and output are both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: copy-feats ark:- ark,scp:foo.ark,foo.scp\n\
    or: copy-feats ark:foo.ark ark,t:txt.ark\n\
    See also: copy-matrix, select-feats, extract-feature-segments, subset-feats, subsample-feats, splice-feats, \
    paste-feats, concat-feats")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Read input as HTK features
    #[arg(long)]
    htk_in: bool,
    /// Read input as Sphinx features (tables only)
    #[arg(long)]
    sphinx_in: bool,
    /// If true, write output in compressed form (tables only)
    #[arg(long)]
    compress: bool,
    /// Only relevant if --compress=true: 1 automatic, 2 for speech features, 3 two bytes, 4 two-byte integers, 5 one byte,
    /// 6 one-byte integers, 7 one byte for numbers from 0 to 1
    #[arg(long, default_value_t = 1)]
    compression_method: i32,
    /// Wspecifier to write the length in frames of each utterance, e.g. 'ark,t:utt2num_frames' (tables only). See also
    /// feat-to-len
    #[arg(long, default_value = "")]
    write_num_frames: String,
    #[arg(value_name = "(<feature-rspecifier>|<feats-rxfilename>)")]
    feats_in: String,
    #[arg(value_name = "(<feature-wspecifier>|<feats-wxfilename>)")]
    feats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    if options.htk_in && options.sphinx_in {
        bail!("--htk-in and --sphinx-in cannot both be given");
    }
    if !tables::are_tables(&options.feats_in, &options.feats_out)? {
        return copy_file(&options);
    }
    let method =
        options.compress.then(|| CompressionMethod::try_from(options.compression_method)).transpose()?;
    if options.htk_in {
        copy_table::<HtkHolder>(&options, method)
    } else if options.sphinx_in {
        copy_table::<SphinxHolder>(&options, method)
    } else {
        copy_table::<MatrixHolder>(&options, method)
    }
}

fn copy_table<H: Holder<T = DenseMatrix<f32>>>(
    options: &Options,
    method: Option<CompressionMethod>,
) -> Result<u8> {
    let input = Input::<H>::open(&options.feats_in)?;
    let mut output = Output::<GeneralMatrixHolder>::open(&options.feats_out)?;
    let lengths = &options.write_num_frames;
    let mut lengths = (!lengths.is_empty()).then(|| Output::<I32Holder>::open(lengths)).transpose()?;
    input.for_each(|key, features| {
        let frames = i32::try_from(features.rows)?;
        let features = match method {
            Some(method) => GeneralMatrix::Compressed(CompressedMatrix::compress(&features, method)?),
            None => GeneralMatrix::Full(features),
        };
        output.write(key, &features)?;
        lengths.as_mut().map_or(Ok(()), |lengths| lengths.write(key, &frames))
    })?;
    messages::log(&format!("Copied {} feature matrices.", output.done));
    if let Some(lengths) = lengths.filter(|lengths| lengths.done > 0) {
        lengths.finish()?;
    }
    output.finish()
}

fn copy_file(options: &Options) -> Result<u8> {
    if !options.write_num_frames.is_empty() {
        bail!("--write-num-frames needs tables, found the file {}", options.feats_in);
    }
    if options.sphinx_in {
        bail!("--sphinx-in needs tables, found the file {}", options.feats_in);
    }
    if options.compress {
        messages::warn("--compress has no effect on single files");
    }
    let features = if options.htk_in {
        let mut reader = KaldiReader::open_raw(&options.feats_in)?;
        htk::read(&mut reader)?
    } else {
        kaldi_io::object::read_matrix(&options.feats_in)?
    };
    kaldi_io::write_object(&options.feats_out, options.mode.binary, &features)?;
    messages::log(&format!("Copied features from {} to {}", options.feats_in, options.feats_out));
    Ok(0)
}
