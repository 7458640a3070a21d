//! `compose-transforms`: multiplies transforms, in files or in tables.

use anyhow::{Context, Result, bail};
use kaldi_feat::compose::compose;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, MappedRandomReader, write_object};
use nnet3::messages;
use nnet3::tables::{self, Input, Output};

/// Compose (affine or linear) feature transforms.
///
/// Multiplies transform A by transform B, where B is applied first. If A is affine (one column more than B has rows), B
/// is linear unless --b-is-affine says otherwise. Each may be a file or a table by speaker. If one is a table, the
/// output is a table too.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: compose-transforms 1.mat 2.mat 3.mat\n\
    compose-transforms 1.mat ark:2.trans ark:3.trans\n\
    compose-transforms ark:1.trans ark:2.trans ark:3.trans\nSee also: transform-feats, transform-vec, extend-transform-dim, est-lda, est-pca")]
pub struct Options {
    /// If true, treat last column of transform b as an offset term (only relevant if a is affine)
    #[arg(long, default_value_t = false)]
    b_is_affine: bool,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// rspecifier for mapping from utterance to speaker: A is then by utterance and B by speaker
    #[arg(long, default_value = "")]
    utt2spk: String,
    #[arg(value_name = "(<transform-A-rspecifier>|<transform-A-rxfilename>)")]
    transform_a: String,
    #[arg(value_name = "(<transform-B-rspecifier>|<transform-B-rxfilename>)")]
    transform_b: String,
    #[arg(value_name = "(<transform-out-wspecifier>|<transform-out-wxfilename>)")]
    transform_out: String,
}

impl Options {
    /// Writes a product to a table. Empty transforms are left out. Transforms that do not fit are an error.
    fn write(
        &self,
        output: &mut Output<MatrixHolder>,
        key: &str,
        a: &DenseMatrix<f32>,
        b: &DenseMatrix<f32>,
    ) -> Result<()> {
        if a.rows == 0 || b.rows == 0 {
            output.skip(key, "Empty matrix in ComposeTransforms");
            return Ok(());
        }
        output.write(key, &compose(a, b, self.b_is_affine)?)
    }

    fn files(&self) -> Result<()> {
        let (a, b): (DenseMatrix<f32>, DenseMatrix<f32>) =
            (read_matrix(&self.transform_a)?, read_matrix(&self.transform_b)?);
        if !self.b_is_affine && a.cols == a.rows + 1 && b.cols == b.rows + 1 {
            messages::warn(
                "It looks like you are trying to compose two affine transforms, but you omitted the --b-is-affine option.",
            );
        }
        let product = compose(&a, &b, self.b_is_affine)
            .with_context(|| format!("{} and {}", self.transform_a, self.transform_b))?;
        Ok(write_object(&self.transform_out, self.mode.binary, &product)?)
    }

    fn two_tables(&self, output: &mut Output<MatrixHolder>) -> Result<()> {
        let mut second = MappedRandomReader::<MatrixHolder>::open(&self.transform_b, &self.utt2spk)?;
        Input::<MatrixHolder>::open(&self.transform_a)?.for_each(|key, a| match second.get(key)? {
            Some(b) => self.write(output, key, &a, b),
            None => {
                messages::warn(&format!("Second table does not have key {key}"));
                Ok(())
            }
        })
    }
}

pub fn run(options: Options) -> Result<u8> {
    let (a, b, out) = (&options.transform_a, &options.transform_b, &options.transform_out);
    let are_tables = (tables::is_input(a), tables::is_input(b));
    if (are_tables.0 || are_tables.1) != tables::is_output(out) {
        bail!(
            "Formats of the input and output rspecifiers/rxfilenames do not match (if either a or b is an rspecifier, then the \
             output must be a wspecifier): {a}, {b}, {out}"
        );
    }
    if are_tables == (false, false) {
        options.files()?;
        return Ok(0);
    }
    let mut output = Output::<MatrixHolder>::open(out)?;
    match are_tables {
        (true, true) => options.two_tables(&mut output)?,
        (true, false) => {
            let b: DenseMatrix<f32> = read_matrix(b)?;
            Input::<MatrixHolder>::open(a)?.for_each(|key, a| options.write(&mut output, key, &a, &b))?;
        }
        _ => {
            let a: DenseMatrix<f32> = read_matrix(a)?;
            Input::<MatrixHolder>::open(b)?.for_each(|key, b| options.write(&mut output, key, &a, &b))?;
        }
    }
    output.finish_any()
}
