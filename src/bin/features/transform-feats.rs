//! `transform-feats`: linear and affine transforms of features.

use anyhow::{Result, bail};
use kaldi_cli::log::ratio;
use kaldi_feat::transform;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, MappedRandomReader};
use nnet3::{messages, tables};

/// Apply transform (e.g. LDA; HLDA; fMLLR/CMLLR; MLLT/STC).
///
/// Linear transform if transform-num-cols == feature-dim, affine if transform-num-cols == feature-dim+1 (->append 1.0 to
/// features). A transform in a file is for all utterances; transforms in a table are per utterance, or per speaker with
/// --utt2spk.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: transform-feats lda.mat scp:feats.scp ark:-\nSee also: copy-feats, splice-feats"
)]
pub struct Options {
    /// Rspecifier for utterance to speaker map
    #[arg(long, default_value = "")]
    utt2spk: String,
    #[arg(value_name = "(<transform-rspecifier>|<transform-rxfilename>)")]
    transform: String,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

enum Source {
    Global(DenseMatrix<f32>),
    Table(Box<MappedRandomReader<MatrixHolder>>),
}

/// The average of log-determinants over frames, for transforms that do not increase the dimension.
#[derive(Default)]
struct LogDeterminants {
    sum: f64,
    frames: usize,
    reducing: bool,
    /// The log-determinant of the transform for all utterances.
    global: Option<f64>,
}

impl LogDeterminants {
    fn add(&mut self, key: &str, features: &DenseMatrix<f32>, transform: &DenseMatrix<f32>, global: bool) {
        if transform.rows > features.cols {
            return;
        }
        self.reducing = transform.rows < features.cols;
        let known = self.global.filter(|_| global);
        let value = known.unwrap_or_else(|| transform::log_determinant(transform, features.cols));
        self.global = Some(value);
        if value.is_finite() {
            self.sum += value * features.rows as f64;
            self.frames += features.rows;
        } else {
            messages::warn(&format!("{key}: the logarithm of the transform's determinant is {value}"));
        }
    }

    fn log(&self) {
        if self.frames > 0 {
            let average = ratio(self.sum, self.frames as f64);
            let what = if self.reducing { "[pseudo-]" } else { "" };
            messages::log(&format!("Overall average {what}logdet is {average} over {} frames.", self.frames));
        }
    }
}

pub fn run(options: Options) -> Result<u8> {
    let name = &options.transform;
    let mut source = if tables::is_input(name) {
        Source::Table(Box::new(MappedRandomReader::open(name, &options.utt2spk)?))
    } else if options.utt2spk.is_empty() {
        Source::Global(read_matrix(name)?)
    } else {
        bail!("--utt2spk needs a table of transforms, found the file {name} (did you forget ark:?)");
    };
    let mut determinants = LogDeterminants::default();
    let (from, to) = (&options.feats_rspecifier, &options.feats_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        let (matrix, global) = match &mut source {
            Source::Global(matrix) => (&*matrix, true),
            Source::Table(table) => match table.get(key)? {
                Some(matrix) => (matrix, false),
                None => {
                    return tables::skip_as(format!(
                        "No fMLLR transform available for utterance {key}, producing no output for this utterance ({name})"
                    ));
                }
            },
        };
        let Some(transformed) = transform::apply(&features, matrix) else {
            return tables::skip_as(format!(
                "Transform matrix for utterance {key} has bad dimension {}x{} versus feat dim {} ({name})",
                matrix.rows, matrix.cols, features.cols
            ));
        };
        determinants.add(key, &features, matrix, global);
        Ok(Ok(transformed))
    })?;
    if let Source::Table(table) = source {
        table.close()?;
    }
    determinants.log();
    let (done, failed) = (output.done, output.failed);
    messages::log(&format!("Applied transform to {done} utterances; {failed} had errors."));
    output.finish()
}
