//! The loop over utterances with lists of Gaussians and weights of frames.

use anyhow::Result;
use kaldi_gmm::Scorer;
use kaldi_io::holder::{I32VectorVectorHolder, MatrixHolder, VectorHolder};
use kaldi_io::{DenseMatrix, RandomReader};
use nnet3::gaussians::Counts;
use nnet3::messages;
use nnet3::tables::{self, Input, Outcome, no_frames};

/// Tables of utterances.
#[derive(Default)]
pub struct Sources<'a> {
    pub features: &'a str,
    /// Lists of Gaussians for each frame; all Gaussians if empty.
    pub lists: &'a str,
    /// Weights of frames; 1 if empty.
    pub weights: &'a str,
    /// Features of another dimension than the mixture are an error of the utterance, and not of the program.
    pub skip_wrong_dim: bool,
}

/// An utterance whose features fit the mixture.
pub struct Utterance<'a> {
    pub key: &'a str,
    pub features: &'a DenseMatrix<f32>,
    /// Gaussians that take part at each frame.
    pub lists: Option<Vec<Vec<usize>>>,
    pub weights: Option<&'a [f32]>,
}

/// Calls `f` with each utterance. Warns of those whose features, lists or weights are missing or do not fit, and of those that
/// `f` does not use; counts them.
pub fn for_each(
    sources: &Sources<'_>,
    scorer: &Scorer,
    mut f: impl FnMut(&Utterance<'_>) -> Result<Outcome>,
) -> Result<Counts> {
    let mut lists = tables::open_optional::<I32VectorVectorHolder>(sources.lists)?;
    let mut weights = tables::open_optional::<VectorHolder>(sources.weights)?;
    let mut counts = Counts::default();
    Input::<MatrixHolder>::open(sources.features)?.for_each(|key, features| {
        let mut skip = |reason: String| {
            messages::warn(&reason);
            counts.failed += 1;
            Ok(())
        };
        if features.rows == 0 {
            return skip(no_frames(key));
        }
        if sources.skip_wrong_dim && features.cols != scorer.dim() {
            return skip(format!(
                "Dimension mismatch for utterance {key}: got {}, expected {}",
                features.cols,
                scorer.dim()
            ));
        }
        scorer.check_dim(&features)?;
        if let Err(error) = scorer.check_features(&features) {
            return skip(format!("{key}: {error}"));
        }
        let weights = match frame_weights(&mut weights, key, features.rows)? {
            Ok(weights) => weights,
            Err(reason) => return skip(reason.sentence(key)),
        };
        let lists = match &mut lists {
            None => None,
            Some(table) => match table.get(key)? {
                None => return skip(format!("No gselect information for utterance {key}")),
                Some(lists) => match scorer.check_lists(lists, features.rows) {
                    Ok(lists) => Some(lists),
                    Err(error) => {
                        return skip(format!("gselect information for utterance {key} has {error}"));
                    }
                },
            },
        };
        match f(&Utterance { key, features: &features, lists, weights })? {
            Ok(()) => counts.done += 1,
            Err(reason) => skip(reason.sentence(key))?,
        }
        Ok(())
    })?;
    lists.map_or(Ok(()), |table| table.close())?;
    weights.map_or(Ok(()), |table| table.close())?;
    Ok(counts)
}

/// Returns the weights of an utterance's frames, `None` without a table, or the reason that they cannot be used.
pub fn frame_weights<'a>(
    table: &'a mut Option<RandomReader<VectorHolder>>,
    key: &str,
    frames: usize,
) -> Result<Outcome<Option<&'a [f32]>>> {
    let Some(table) = table else { return Ok(Ok(None)) };
    let Some(weights) = table.get(key)? else {
        return tables::skip_as(format!("No per-frame weights available for utterance {key}"));
    };
    if weights.len() != frames {
        let found = weights.len();
        return tables::skip_as(format!("Weights for utterance {key} have wrong dim {found} vs. {frames}"));
    }
    match weights.iter().find(|weight| !weight.is_finite()) {
        Some(weight) => tables::skip_as(format!("Weights for utterance {key} have the value {weight}")),
        None => Ok(Ok(Some(weights))),
    }
}
