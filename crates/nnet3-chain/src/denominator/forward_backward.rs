//! The forward-backward algorithm over all sequences of a minibatch, in probabilities that are scaled in each frame.

use nnet3_matrix::workspace::Workspace;
use nnet3_matrix::{HmmStep, Map, View, ViewMut};

use super::graph::DenominatorGraph;

/// The output is limited to ± this before it is exponentiated.
pub(crate) const OUTPUT_LIMIT: f32 = 30.0;

/// What comes of a minibatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Result {
    /// The sum over sequences.
    pub log_probability: f64,
    /// At the first frame, summed over sequences, each should be their number: Σ α β, and Σ of the posteriors of pdfs.
    /// Only where posteriors were asked for.
    pub checks: Option<[f64; 2]>,
}

/// The destination of posteriors: `deriv` becomes `factor` · posteriors. It has the shape of the output.
#[derive(Clone, Copy)]
pub(crate) struct Posteriors<'a> {
    pub deriv: ViewMut<'a>,
    pub factor: f32,
}

/// `output` has a row for each sequence of the first frame, then of the second, and so on; a column for each pdf.
/// All shapes must fit, and everything must be on the workspace's device.
pub(crate) fn forward_backward(
    graph: &DenominatorGraph,
    output: View<'_>,
    num_sequences: usize,
    leak: f32,
    posteriors: Option<Posteriors<'_>>,
    workspace: &Workspace,
) -> Result {
    let most = workspace.device().hmm_columns().unwrap_or(num_sequences).max(1);
    let mut result = Result { log_probability: 0.0, checks: posteriors.map(|_| [0.0; 2]) };
    for first in (0..num_sequences).step_by(most) {
        let sequences = Sequences {
            graph,
            output,
            leak,
            first,
            count: most.min(num_sequences - first),
            all: num_sequences,
            workspace,
        };
        let part = sequences.forward_backward(posteriors);
        result.log_probability += part.log_probability;
        if let (Some(sum), Some(more)) = (&mut result.checks, part.checks) {
            *sum = [sum[0] + more[0], sum[1] + more[1]];
        }
    }
    result
}

/// Some sequences of a minibatch, which are worked on side by side.
struct Sequences<'a> {
    graph: &'a DenominatorGraph,
    output: View<'a>,
    leak: f32,
    first: usize,
    count: usize,
    /// Sequences of the minibatch.
    all: usize,
    workspace: &'a Workspace,
}

impl Sequences<'_> {
    /// Rows of the output, or of a matrix like it, at a frame.
    fn rows(&self, frame: usize) -> std::ops::Range<usize> {
        let start = frame * self.all + self.first;
        start..start + self.count
    }

    /// Sets `to` (pdfs × sequences) to the exponentials of the output at a frame.
    fn likelihoods(&self, to: ViewMut<'_>, frame: usize) {
        let device = self.workspace.device();
        device.copy_transposed(to, self.output.row_range(self.rows(frame)));
        device.exp_within(to, to.as_view(), OUTPUT_LIMIT);
    }

    fn forward_backward(&self, posteriors: Option<Posteriors<'_>>) -> Result {
        let Sequences { graph, leak, count, workspace, .. } = *self;
        let (device, hmm) = (workspace.device(), graph.hmm());
        let (states, pdfs, frames) = (hmm.states(), hmm.emissions(), self.output.rows() / self.all);
        let mut alphas = workspace.take(if posteriors.is_some() { frames + 1 } else { 2 } * states, count);
        let kept = alphas.rows() / states;
        let alphas = alphas.view_mut();
        let alpha = |frame: usize| alphas.row_range(frame % kept * states..(frame % kept + 1) * states);
        let (mut totals, mut scales) = (workspace.take(frames + 1, count), workspace.take(frames + 1, count));
        let (totals, scales) = (totals.view_mut(), scales.view_mut());
        let mut likelihoods = workspace.take(pdfs, count);
        let likelihoods = likelihoods.view_mut();
        let step = |frame: usize| HmmStep {
            alpha: alpha(frame).as_view(),
            likelihoods: likelihoods.as_view(),
            scale: scales.row(frame).as_view(),
            leak,
        };

        let mut initial = workspace.take(states, 1);
        device.upload(initial.view_mut(), graph.initial());
        device.set(alpha(0), 1.0);
        device.scale_rows(alpha(0), initial.view());
        for frame in 0..=frames {
            device.col_sums(totals.row(frame), 1.0, alpha(frame).as_view(), 0.0);
            device.map(scales.row(frame), totals.row(frame).as_view(), Map::Inverse);
            if frame < frames {
                self.likelihoods(likelihoods, frame);
                device.hmm_forward(alpha(frame + 1), hmm, step(frame));
            }
        }
        // What has leaked in the end is added to what has not.
        let last = 1.0 + f64::from(leak) * graph.initial().iter().map(|&p| f64::from(p)).sum::<f64>();
        let mut sums = workspace.floats((frames + 1) * count);
        device.download_into(totals.as_view(), &mut sums);
        let logs = sums.iter().map(|&sum| f64::from(sum).ln()).sum::<f64>();
        let log_probability = logs + count as f64 * last.ln();
        let Some(posteriors) = posteriors else {
            return Result { log_probability, checks: None };
        };

        // Σ π β, by which what leaks into a state anywhere is multiplied, is the same for all states.
        let (mut beta, mut shared) = (workspace.take(states, count), workspace.take(1, count));
        let (beta, shared) = (beta.view_mut(), shared.view_mut());
        let (mut entries, mut occupation) =
            (workspace.take(hmm.entries(), count), workspace.take(pdfs, count));
        let (entries, occupation) = (entries.view_mut(), occupation.view_mut());
        let share = || device.col_dots(shared, leak, alpha(0).as_view(), beta.as_view(), 0.0);
        device.set_rows(beta, scales.row(frames).as_view());
        device.scale(beta, (1.0 / last) as f32);
        let mut occupied = 0.0;
        for frame in (0..frames).rev() {
            share();
            self.likelihoods(likelihoods, frame);
            let (next, beta_next) = (alpha(frame + 1).as_view(), beta.as_view());
            device.hmm_entries(entries, occupation, hmm, step(frame), next, beta_next, shared.as_view());
            device.hmm_backward(beta, hmm, entries.as_view(), scales.row(frame).as_view());
            if frame == 0 {
                occupied = device.sum(occupation.as_view());
            }
            device.scale(occupation, posteriors.factor);
            device.copy_transposed(posteriors.deriv.row_range(self.rows(frame)), occupation.as_view());
        }
        // Before the first frame α is π, and with what leaks (1 + leak Σ π) π.
        device.col_dots(shared, last as f32, alpha(0).as_view(), beta.as_view(), 0.0);
        let product = device.sum(shared.as_view());
        Result { log_probability, checks: Some([product, occupied]) }
    }
}
