//! Learning without forgetting: an example may have the posteriors that another model has for its output, which then
//! are added to the derivative.

use kaldi_io::GeneralMatrix;
use nnet3_matrix::{View, ViewMut};
use nnet3_train::objective::{Exchange, ObjectiveValue};
use nnet3_train::{Error, NnetIo, Result};

use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::objective::ChainOptions;

/// The input that has the posteriors: rows sequence by sequence, in the output's dimension.
pub const LWF_INPUT: &str = "__LWF-posteriors";

pub(super) fn input(example: &NnetChainExample) -> Option<&NnetIo> {
    example.inputs.iter().find(|io| io.name == LWF_INPUT)
}

/// Factor of the posteriors.
pub(super) fn scale(options: &ChainOptions) -> f32 {
    if options.lwf_scale != 0.0 { options.lwf_scale } else { options.lwf_den_scale }
}

/// Adds the posteriors of `io`, times `scale`, to the derivative. Their contribution is the sum of their products with
/// the output, times `scale`.
pub(super) fn add(
    exchange: &Exchange<'_>,
    io: &NnetIo,
    output: &NnetChainSupervision,
    scale: f32,
    value: View<'_>,
    deriv: Option<ViewMut<'_>>,
) -> Result<ObjectiveValue> {
    let (rows, cols) = (io.features.rows(), io.features.cols());
    if (rows, cols) != (value.rows(), value.cols()) {
        return Err(Error::data(format!(
            "'{LWF_INPUT}' is {rows} x {cols}, but the output '{}' is {} x {}",
            output.name,
            value.rows(),
            value.cols()
        )));
    }
    let sequences = output.supervision.num_sequences;
    let posteriors = frame_by_frame(&io.features, sequences);
    let device = exchange.device();
    let mut matrix = exchange.workspace().take(rows, cols);
    device.upload(matrix.view_mut(), &posteriors);
    if let Some(deriv) = deriv {
        device.add(deriv, scale, matrix.view());
    }
    let weight = f64::from(output.supervision.weight) * rows as f64;
    let objective = f64::from(scale) * device.dot(value, matrix.view());
    Ok(ObjectiveValue { objective, auxiliary: 0.0, weight })
}

/// Reorders rows from sequence after sequence into the order of chain outputs: for each frame the rows of all
/// sequences.
fn frame_by_frame(matrix: &GeneralMatrix, sequences: usize) -> Vec<f32> {
    let dense = matrix.to_dense();
    let frames = dense.rows / sequences;
    let rows = (0..frames).flat_map(|t| (0..sequences).map(move |n| n * frames + t));
    rows.flat_map(|row| dense.row(row).iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::DenseMatrix;

    #[test]
    fn rows_are_reordered() {
        let matrix = DenseMatrix::from_rows(&[[0.0f32], [1.0], [2.0], [10.0], [11.0], [12.0]]);
        assert_eq!(frame_by_frame(&matrix.into(), 2), [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    }
}
