//! Posteriors of pdfs on their own: the denominator's for an output, and the supervision's without an output.

use kaldi_io::DenseMatrix;
use nnet3_matrix::workspace::Workspace;
use nnet3_matrix::{Accumulator, Device, Matrix, View, cpu};
use nnet3_train::{Error, Result};

use crate::denominator::{self, DenominatorGraph, Posteriors};
use crate::numerator;
use crate::objective::ABANDONED;
use crate::supervision::{Graph, Supervision};

/// Posteriors, and the log-probability of all sequences together.
#[derive(Debug, Clone)]
pub struct DenominatorPosteriors {
    pub log_probability: f64,
    /// The posteriors, in the shape of the output.
    pub posteriors: DenseMatrix<f32>,
}

/// The posteriors of pdfs under the denominator graph. `output` has a row for each sequence of the first frame, then of
/// the second, and so on. Fails if it does not fit the graph, or if forward and backward pass do not agree.
pub fn denominator_posteriors(
    graph: &DenominatorGraph,
    output: &DenseMatrix<f32>,
    sequences: usize,
    leaky_hmm_coefficient: f32,
    device: &Device,
) -> Result<DenominatorPosteriors> {
    let (rows, cols) = (output.rows, output.cols);
    if cols != graph.num_pdfs() || sequences == 0 || rows == 0 || rows % sequences != 0 {
        return Err(Error::data(format!(
            "the output is {rows} x {cols}, but the denominator graph is for {} pdfs and there are {sequences} sequences",
            graph.num_pdfs()
        )));
    }
    let output = Matrix::from_slice(device, rows, cols, &output.data);
    let mut posteriors = Matrix::zeros(device, rows, cols);
    let workspace = Workspace::new(device);
    let deriv = Posteriors { deriv: posteriors.view_mut(), factor: 1.0 };
    let mut sums = Accumulator::zeros(2);
    let begun = denominator::begin(
        graph,
        output.view(),
        sequences,
        leaky_hmm_coefficient,
        Some(deriv),
        &mut sums,
        &workspace,
    );
    let found = begun.finish(&sums.values());
    let posteriors = posteriors.to_vec();
    nnet3_matrix::check(device).map_err(nnet3_core::Error::from)?;
    let wanted = sequences as f64;
    let agrees = |sum: &f64| (sum - wanted).abs() <= ABANDONED;
    if !found.log_probability.is_finite() || !found.checks.iter().flatten().all(agrees) {
        return Err(Error::data(format!(
            "forward and backward pass of the denominator do not agree: the log-probability is {}",
            found.log_probability
        )));
    }
    Ok(DenominatorPosteriors {
        log_probability: found.log_probability,
        posteriors: DenseMatrix { rows, cols, data: posteriors },
    })
}

/// Returns the weight of each pdf in each frame of one sequence (frames × `num_pdfs`), from the supervision alone. The
/// weights are the posteriors in its FST. If the FST has no times, they come from the alignment stored beside it.
pub fn supervision_posteriors(supervision: &Supervision, num_pdfs: usize) -> Result<DenseMatrix<f32>> {
    let frames = supervision.frames_per_sequence;
    if supervision.num_sequences != 1 {
        return Err(Error::data(format!(
            "the example has {} sequences, expected one that has not been merged",
            supervision.num_sequences
        )));
    }
    if let Graph::EndToEnd(_) = supervision.graph {
        return aligned(&supervision.alignment_pdfs, frames, num_pdfs);
    }
    let device = cpu();
    let mut posteriors = Matrix::zeros(&device, frames, num_pdfs);
    let mut scratch = numerator::Scratch::default();
    let no_scores: View<'_> = posteriors.view();
    scratch.fetch_for(supervision, &*device, no_scores)?;
    let log_probability = scratch.forward_backward(supervision, 1);
    if !log_probability.is_finite() {
        return Err(Error::data("the supervision FST has no path of finite cost"));
    }
    scratch.add_posteriors(&*device, posteriors.view_mut(), 1.0);
    Ok(DenseMatrix { rows: frames, cols: num_pdfs, data: posteriors.to_vec() })
}

fn aligned(pdfs: &[i32], frames: usize, num_pdfs: usize) -> Result<DenseMatrix<f32>> {
    if pdfs.len() != frames {
        return Err(Error::data(format!(
            "end-to-end supervision of {frames} frames has an alignment of {} pdfs, expected one for each frame",
            pdfs.len()
        )));
    }
    let mut out = DenseMatrix::new(frames, num_pdfs);
    for (t, &pdf) in pdfs.iter().enumerate() {
        match usize::try_from(pdf).ok().filter(|&pdf| pdf < num_pdfs) {
            Some(pdf) => out.row_mut(t)[pdf] = 1.0,
            None => {
                return Err(Error::data(format!(
                    "the alignment has pdf {pdf} in frame {t}, expected numbers from 0 to below {num_pdfs}"
                )));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::{Arc, Fst};

    fn of_two_frames(fst: Fst) -> Supervision {
        Supervision {
            weight: 0.5,
            num_sequences: 1,
            frames_per_sequence: 2,
            label_dim: 3,
            graph: Graph::Constrained(fst),
            alignment_pdfs: Vec::new(),
        }
    }

    /// Two frames: pdf 0 or, three times as probable, pdf 2, and then pdf 1.
    #[test]
    fn posteriors_of_an_fst() {
        let mut fst = Fst::default();
        (0..3).for_each(|_| _ = fst.add_state());
        fst.start = Some(0);
        let arc = |pdf: i32, probability: f32, next| Arc {
            ilabel: pdf + 1,
            olabel: pdf + 1,
            weight: -probability.ln(),
            next,
        };
        fst.states[0].arcs = vec![arc(0, 0.1, 1), arc(2, 0.3, 1)];
        fst.states[1].arcs = vec![arc(1, 0.5, 2)];
        fst.states[2].final_weight = 0.0;
        let mut supervision = of_two_frames(fst);
        let found = supervision_posteriors(&supervision, 3).unwrap();
        let expected = [0.25, 0.0, 0.75, 0.0, 1.0, 0.0];
        assert!(found.data.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        supervision.num_sequences = 2;
        assert!(supervision_posteriors(&supervision, 3).is_err());
    }

    /// As above, but arcs without a label lead to the two states of the first frame.
    #[test]
    fn posteriors_of_an_fst_with_empty_arcs() {
        let mut fst = Fst::default();
        (0..5).for_each(|_| _ = fst.add_state());
        fst.start = Some(0);
        let arc = |label, probability: f32, next| Arc {
            ilabel: label,
            olabel: label,
            weight: -probability.ln(),
            next,
        };
        fst.states[0].arcs = vec![arc(0, 1.0, 1), arc(0, 0.6, 2)];
        fst.states[1].arcs = vec![arc(1, 0.1, 3)];
        fst.states[2].arcs = vec![arc(3, 0.5, 3)];
        fst.states[3].arcs = vec![arc(2, 0.5, 4)];
        fst.states[4].final_weight = 0.0;
        let supervision = of_two_frames(fst);
        let found = supervision_posteriors(&supervision, 3).unwrap();
        let expected = [0.25, 0.0, 0.75, 0.0, 1.0, 0.0];
        assert!(found.data.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn alignments() {
        let found = aligned(&[1, 0], 2, 3).unwrap();
        assert_eq!(found.data, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        for bad in [&[1][..], &[1, 3], &[1, -1]] {
            assert!(aligned(bad, 2, 3).is_err(), "{bad:?}");
        }
    }
}
