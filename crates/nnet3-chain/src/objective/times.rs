//! Measures the time of a minibatch's objective, part by part.

use std::time::Duration;

use nnet3_core::inspect::thread_time;
use nnet3_matrix::{Matrix, View, ViewMut, cpu};
use nnet3_train::Result;

use super::{ChainOptions, ChainScratch, evaluate};
use crate::denominator::DenominatorGraph;
use crate::supervision::Supervision;

/// Times of one thread of the host, without time that the processor spent on other programs. Each is the median of
/// several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveTimes {
    /// The forward pass of the denominator, with the exponentials of the output and the numerator.
    pub forward: Duration,
    /// Additional time of the derivative.
    pub backward: Duration,
    /// Time of all steps of training: the penalty on the output's range, l2 regularisation, and the derivative for
    /// cross-entropy.
    pub whole: Duration,
    /// Arcs of the graph times frames of all sequences.
    pub products: f64,
}

/// A network's output that is the same everywhere: element (r, c) is 2 sin(0.37 r + 1.1 c + 0.01 r c).
fn output(rows: usize, cols: usize) -> Matrix {
    let element = |r: usize, c: usize| 2.0 * (0.37 * r as f64 + 1.1 * c as f64 + 0.01 * (r * c) as f64).sin();
    Matrix::from_vec(rows, cols, (0..rows * cols).map(|k| element(k / cols, k % cols) as f32).collect())
}

impl ObjectiveTimes {
    /// Measures the parts in turn, `rounds` times (at least one) after a warm-up round. It is an error if graph and
    /// supervision do not fit each other.
    pub fn measure(
        graph: &DenominatorGraph,
        supervision: &Supervision,
        rounds: usize,
    ) -> Result<ObjectiveTimes> {
        let all = ChainOptions {
            leaky_hmm_coefficient: 0.1,
            l2_regularize: 5e-5,
            numerator_graph_threads: 1,
            ..ChainOptions::default()
        };
        let plain = ChainOptions { l2_regularize: 0.0, ..all.clone() };
        let (device, rows, cols) = (cpu(), supervision.num_frames(), graph.num_pdfs());
        let output = output(rows, cols);
        let [mut deriv, mut xent_deriv] = [(); 2].map(|()| Matrix::zeros(&device, rows, cols));
        let mut scratch = ChainScratch::new(&device);
        let mut time = |options: &ChainOptions,
                        penalty: bool,
                        deriv: Option<ViewMut<'_>>,
                        xent_deriv: Option<ViewMut<'_>>|
         -> Result<Duration> {
            let (output, start): (View<'_>, _) = (output.view(), thread_time());
            evaluate(options, graph, supervision, output, penalty, deriv, xent_deriv, &mut scratch)?;
            Ok(thread_time() - start)
        };
        let (mut forward, mut both, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=rounds {
            forward.push(time(&plain, false, None, None)?);
            both.push(time(&plain, false, Some(deriv.view_mut()), None)?);
            whole.push(time(&all, true, Some(deriv.view_mut()), Some(xent_deriv.view_mut()))?);
        }
        let median = |mut times: Vec<Duration>| {
            times.remove(0);
            times.sort_unstable();
            times[times.len() / 2]
        };
        let forward = median(forward);
        Ok(ObjectiveTimes {
            forward,
            backward: median(both).saturating_sub(forward),
            whole: median(whole),
            products: graph.num_arcs() as f64 * rows as f64,
        })
    }
}
