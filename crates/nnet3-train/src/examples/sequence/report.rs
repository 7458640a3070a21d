//! Log messages about the derivatives of a minibatch.

use kaldi_io::log::num;
use nnet3_matrix::ViewMut;

use crate::objective::Exchange;

/// A message with the sum of the squared derivatives of each frame, over all sequences. Rows of the derivative are frame by
/// frame.
pub fn derivatives_per_frame(exchange: &Exchange<'_>, deriv: ViewMut<'_>, sequences: usize) -> String {
    let mut squares = exchange.workspace().take(deriv.rows(), 1);
    exchange.device().row_dots(squares.view_mut(), 1.0, deriv.as_view(), deriv.as_view(), 0.0);
    let squares = exchange.device().download(squares.view());
    let of_frame = |frame: &[f32]| num(frame.iter().map(|&square| f64::from(square)).sum());
    let frames: Vec<String> = squares.chunks(sequences).map(of_frame).collect();
    format!("Derivs per frame are  [ {} ]", frames.join(" "))
}
