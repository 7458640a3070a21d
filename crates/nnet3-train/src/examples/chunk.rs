//! Making examples from the features and targets of an utterance.

use crate::error::{Error, Result};
use crate::example::{NnetExample, NnetIo};
use crate::finite::inputs_not_finite;
use crate::split::{Chunk, UtteranceSplitter};
use kaldi_io::finite::NotFinite;
use kaldi_io::matrix::DenseMatrix;
use kaldi_io::{GeneralMatrix, Posterior, SparseMatrix, SparseVector};
use nnet3_core::CRand;

/// Options for making examples, apart from the cutting of utterances.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkOptions {
    /// Compresses matrices that are stored in full.
    pub compress: bool,
    /// Frames from one row of i-vectors to the next.
    pub ivector_period: usize,
    /// Largest difference between the numbers of frames of features and i-vectors.
    pub length_tolerance: i32,
    /// Largest difference between the numbers of output frames of features and targets.
    pub targets_length_tolerance: i32,
}

impl ChunkOptions {
    /// A message if an utterance of `frames` frames has i-vectors for too many more or fewer.
    pub fn ivector_mismatch(
        &self,
        utterance: &str,
        frames: usize,
        ivectors: Option<&DenseMatrix<f32>>,
    ) -> Option<String> {
        let (rows, period) = (ivectors?.rows, self.ivector_period);
        let fits = frames.abs_diff(rows * period) as i64 <= i64::from(self.length_tolerance) && rows > 0;
        (!fits).then(|| {
            format!(
                "Length difference between feats {frames} and iVectors {rows} (period {period}) of utterance {utterance} \
                 exceeds tolerance {}",
                self.length_tolerance
            )
        })
    }
}

/// The data of an utterance.
#[derive(Debug, Clone, Copy)]
pub struct Utterance<'a> {
    pub key: &'a str,
    pub features: &'a GeneralMatrix,
    pub ivectors: Option<&'a DenseMatrix<f32>>,
    pub targets: &'a dyn Targets,
}

impl Utterance<'_> {
    /// Describes the first NaN or infinite value in features, i-vectors or targets.
    pub fn not_finite(&self) -> Option<String> {
        let targets = || {
            let found = self.targets.not_finite()?;
            Some(format!("targets of utterance {}: {found}", self.key))
        };
        inputs_not_finite(self.key, self.features, self.ivectors).or_else(targets)
    }
}

/// Targets of the output frames of an utterance.
pub trait Targets: std::fmt::Debug {
    /// Number of output frames with targets.
    fn frames(&self) -> usize;

    /// The first value that is not a finite number.
    fn not_finite(&self) -> Option<NotFinite>;

    /// Targets of output frames from `first` on, one for each weight. Not all of them need to exist: utterances may be a
    /// few frames longer than their targets. Targets that the options do not allow are an error, which names `utterance`.
    fn part(&self, utterance: &str, first: usize, weights: &[f32]) -> Result<GeneralMatrix>;
}

/// Ids with probabilities, which become weighted sparse rows; empty ones after the last.
#[derive(Debug)]
pub struct PosteriorTargets<'a> {
    pub posterior: &'a Posterior,
    pub num_pdfs: usize,
}

impl Targets for PosteriorTargets<'_> {
    fn frames(&self) -> usize {
        self.posterior.len()
    }

    fn not_finite(&self) -> Option<NotFinite> {
        self.posterior.iter().enumerate().find_map(|(row, pairs)| {
            let &(column, value) = pairs.iter().find(|(_, value)| !value.is_finite())?;
            Some(NotFinite { row, column: column as usize, value: f64::from(value) })
        })
    }

    fn part(&self, utterance: &str, first: usize, weights: &[f32]) -> Result<GeneralMatrix> {
        let row = |(i, &weight): (usize, &f32)| {
            let pairs = self.posterior.get(first + i).map_or(&[][..], Vec::as_slice);
            if let Some((index, _)) = pairs.iter().find(|(index, _)| !in_range(*index, self.num_pdfs)) {
                return Err(Error::data(format!(
                    "target {index} of frame {} of utterance '{utterance}' is not between 0 and {}, as `num-pdfs`={} asks (are the targets of another tree?)",
                    first + i,
                    self.num_pdfs - 1,
                    self.num_pdfs
                )));
            }
            let weighted = pairs.iter().map(|&(index, value)| (index, value * weight)).collect();
            Ok(SparseVector::new(self.num_pdfs, weighted)?)
        };
        let rows = weights.iter().enumerate().map(row).collect::<Result<_>>()?;
        Ok(SparseMatrix { rows }.into())
    }
}

/// Rows of a matrix; the last one is repeated. Weights do not count.
#[derive(Debug)]
pub struct DenseTargets<'a> {
    pub matrix: &'a DenseMatrix<f32>,
    /// The dimension that they must have.
    pub num_targets: Option<usize>,
}

impl Targets for DenseTargets<'_> {
    fn frames(&self) -> usize {
        self.matrix.rows
    }

    fn not_finite(&self) -> Option<NotFinite> {
        self.matrix.not_finite()
    }

    fn part(&self, utterance: &str, first: usize, weights: &[f32]) -> Result<GeneralMatrix> {
        let (m, rows) = (self.matrix, weights.len());
        if let Some(wanted) = self.num_targets.filter(|&wanted| wanted != m.cols) {
            let found = m.cols;
            return Err(Error::data(format!(
                "targets of utterance '{utterance}' have dimension {found}, `num-targets`={wanted} is given"
            )));
        }
        let data = (first..first + rows).flat_map(|t| m.row(t.min(m.rows - 1))).copied().collect();
        Ok(DenseMatrix { rows, cols: m.cols, data }.into())
    }
}

/// The result of cutting an utterance.
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// Keys and examples.
    Examples(Vec<(String, NnetExample)>),
    /// No chunk fits; the message gives the reason.
    TooShort(String),
    /// Its parts do not fit each other; the message names them.
    Mismatch(String),
}

/// Cuts an utterance. Targets that the options do not allow are an error.
pub fn cut(
    options: &ChunkOptions,
    splitter: &mut UtteranceSplitter,
    utterance: Utterance<'_>,
) -> Result<Cut> {
    let frames = utterance.features.rows();
    if let Some(message) = options.ivector_mismatch(utterance.key, frames, utterance.ivectors) {
        return Ok(Cut::Mismatch(message));
    }
    let tolerance = options.targets_length_tolerance;
    let targets = utterance.targets.frames();
    if let Some(message) = splitter.length_mismatch(utterance.key, frames, targets, tolerance) {
        return Ok(Cut::Mismatch(message));
    }
    if targets == 0 {
        return Ok(Cut::Mismatch(format!("No frame of utterance {} has targets", utterance.key)));
    }
    let chunks = splitter.split(frames);
    if chunks.is_empty() {
        let key = utterance.key;
        return Ok(Cut::TooShort(format!(
            "Not producing egs for utterance {key} because it is too short: {frames} frames."
        )));
    }
    let example = |chunk: &Chunk| {
        let key = format!("{}-{}", utterance.key, chunk.first_frame);
        Ok((key, chunk_example(options, splitter, utterance, chunk)?))
    };
    Ok(Cut::Examples(chunks.iter().map(example).collect::<Result<_>>()?))
}

/// Returns the inputs of a chunk's example: `input` and, if there are i-vectors, one of them as `ivector`. It is drawn
/// from the first `frames` frames of the utterance, counted from the first row of the input on.
pub fn chunk_inputs(
    options: &ChunkOptions,
    rand: &mut CRand,
    features: &GeneralMatrix,
    ivectors: Option<&DenseMatrix<f32>>,
    frames: usize,
    chunk: &Chunk,
) -> Result<Vec<NnetIo>> {
    let first = chunk.first_frame as i64 - chunk.left_context as i64;
    let rows = chunk.left_context + chunk.num_frames + chunk.right_context;
    let input = features.extract_rows(first, rows, true)?;
    let mut ios = vec![NnetIo::new("input", input, -(chunk.left_context as i32), 1)];
    if let Some(ivectors) = ivectors {
        let last = first + frames as i64 - 1;
        let frame = rand.int(first as i32, last as i32);
        let row = (frame / options.ivector_period as i32).clamp(0, ivectors.rows as i32 - 1) as usize;
        let ivector = DenseMatrix::from_rows(&[ivectors.row(row)]);
        ios.push(NnetIo::new("ivector", ivector.into(), 0, 1));
    }
    Ok(ios)
}

fn chunk_example(
    options: &ChunkOptions,
    splitter: &mut UtteranceSplitter,
    utterance: Utterance<'_>,
    chunk: &Chunk,
) -> Result<NnetExample> {
    let mut ios = chunk_inputs(
        options,
        splitter.rand(),
        utterance.features,
        utterance.ivectors,
        utterance.features.rows(),
        chunk,
    )?;
    let subsampling = splitter.subsampling();
    let first_target = chunk.first_frame / subsampling;
    let targets = utterance.targets.part(utterance.key, first_target, &chunk.output_weights)?;
    ios.push(NnetIo::new("output", targets, 0, subsampling as i32));
    let mut example = NnetExample { ios };
    if options.compress {
        example.compress()?;
    }
    Ok(example)
}

fn in_range(index: i32, count: usize) -> bool {
    usize::try_from(index).is_ok_and(|index| index < count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::SplitOptions;

    fn options() -> ChunkOptions {
        ChunkOptions { compress: false, ivector_period: 2, length_tolerance: 3, targets_length_tolerance: 0 }
    }

    fn features(frames: usize) -> GeneralMatrix {
        let rows: Vec<[f32; 2]> = (0..frames).map(|t| [t as f32, -(t as f32)]).collect();
        DenseMatrix::from_rows(&rows).into()
    }

    fn splitter(subsampling: i32) -> UtteranceSplitter {
        let options = SplitOptions {
            left_context: 2,
            right_context: 1,
            num_frames: "6".to_owned(),
            frame_subsampling_factor: subsampling,
            ..Default::default()
        };
        UtteranceSplitter::new(&options).unwrap()
    }

    fn pdfs(posterior: &Posterior) -> PosteriorTargets<'_> {
        PosteriorTargets { posterior, num_pdfs: 4 }
    }

    fn examples(cut: Cut) -> Vec<(String, NnetExample)> {
        match cut {
            Cut::Examples(examples) => examples,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_outside_the_utterance_repeat_its_edges() {
        let targets: Posterior = (0..12).map(|t| vec![(t % 4, 0.5)]).collect();
        let ivectors = DenseMatrix::from_rows(&[[1.0f32], [2.0], [3.0], [4.0], [5.0]]);
        let feats = features(12);
        let utterance =
            Utterance { key: "u", features: &feats, ivectors: Some(&ivectors), targets: &pdfs(&targets) };
        let made = examples(cut(&options(), &mut splitter(1), utterance).unwrap());
        assert_eq!(made.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["u-0", "u-6"]);
        let first_column = |example: &NnetExample| -> Vec<f32> {
            let input = example.ios[0].features.to_dense();
            (0..input.rows).map(|row| input.row(row)[0]).collect()
        };
        assert_eq!(first_column(&made[0].1), [0., 0., 0., 1., 2., 3., 4., 5., 6.]);
        assert_eq!(first_column(&made[1].1), [4., 5., 6., 7., 8., 9., 10., 11., 11.]);
        let example = &made[1].1;
        assert_eq!(example.ios[0].time_range(), Some((-2, 6)));
        assert_eq!(example.ios[1].name, "ivector");
        let output = example.io("output").unwrap();
        assert_eq!(output.time_range(), Some((0, 5)));
        assert_eq!(output.features.to_dense().row(1), [0.0, 0.0, 0.0, 0.5], "frame 7 has target 3");
    }

    #[test]
    fn subsampled_targets_are_taken_at_their_own_rate() {
        let targets: Posterior = (0..4).map(|t| vec![(t, 1.0)]).collect();
        let feats = features(12);
        let utterance = Utterance { key: "u", features: &feats, ivectors: None, targets: &pdfs(&targets) };
        let made = examples(cut(&options(), &mut splitter(3), utterance).unwrap());
        let output = made[1].1.io("output").unwrap();
        assert_eq!(output.indexes.iter().map(|i| i.t).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(output.features.to_dense().data, [0., 0., 1., 0., 0., 0., 0., 1.]);
    }

    #[test]
    fn what_does_not_fit() {
        let feats = features(12);
        let mut targets: Posterior = vec![vec![]; 11];
        let ivectors = DenseMatrix::new(1, 1);
        let utterance = Utterance { key: "u", features: &feats, ivectors: None, targets: &pdfs(&targets) };
        assert!(matches!(cut(&options(), &mut splitter(1), utterance), Ok(Cut::Mismatch(_))));
        let with_ivectors = Utterance { ivectors: Some(&ivectors), ..utterance };
        assert!(matches!(cut(&options(), &mut splitter(1), with_ivectors), Ok(Cut::Mismatch(_))));
        let short = features(5);
        let targets_of_short = vec![vec![]; 5];
        let too_short = Utterance { features: &short, targets: &pdfs(&targets_of_short), ..utterance };
        assert!(matches!(cut(&options(), &mut splitter(1), too_short), Ok(Cut::TooShort(_))));
        targets.push(vec![(4, 1.0)]);
        let utterance = Utterance { key: "u", features: &feats, ivectors: None, targets: &pdfs(&targets) };
        let error = cut(&options(), &mut splitter(1), utterance).unwrap_err().to_string();
        assert!(error.contains("target 4 of frame 11 of utterance 'u'"), "{error}");
    }

    #[test]
    fn dense_targets() {
        let feats = features(12);
        let rows: Vec<[f32; 2]> = (0..3).map(|t| [t as f32, 9.0]).collect();
        let matrix = DenseMatrix::from_rows(&rows);
        let cut_with = |targets: &DenseTargets<'_>, compress| {
            let options = ChunkOptions { targets_length_tolerance: 1, compress, ..options() };
            cut(&options, &mut splitter(3), Utterance { key: "u", features: &feats, ivectors: None, targets })
        };
        let made =
            examples(cut_with(&DenseTargets { matrix: &matrix, num_targets: Some(2) }, false).unwrap());
        let output = made[1].1.io("output").unwrap();
        assert_eq!(output.indexes.iter().map(|i| i.t).collect::<Vec<_>>(), [0, 3]);
        // The third of four rows is repeated.
        assert_eq!(output.features.to_dense().data, [2., 9., 2., 9.]);
        let made = examples(cut_with(&DenseTargets { matrix: &matrix, num_targets: None }, true).unwrap());
        assert!(matches!(made[0].1.io("output").unwrap().features, GeneralMatrix::Compressed(_)));
        let error = cut_with(&DenseTargets { matrix: &matrix, num_targets: Some(3) }, false).unwrap_err();
        assert!(error.to_string().contains("targets of utterance 'u' have dimension 2"), "{error}");
        let empty = DenseTargets { matrix: &DenseMatrix::default(), num_targets: None };
        let short = Utterance { key: "u", features: &features(3), ivectors: None, targets: &empty };
        let tolerant = ChunkOptions { targets_length_tolerance: 1, ..options() };
        assert!(matches!(cut(&tolerant, &mut splitter(3), short), Ok(Cut::Mismatch(_))));
    }
}
