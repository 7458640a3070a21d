//! The forward-backward algorithm over all sequences of a minibatch, in probabilities that are scaled in each frame.

use nnet3_matrix::workspace::{Scratch, Workspace};
use nnet3_matrix::{Accumulator, Device, HmmPosteriors, HmmStep, HmmWayBack, Map, View, ViewMut};

use super::graph::DenominatorGraph;

/// The output is limited to ± this before it is exponentiated.
pub(crate) const OUTPUT_LIMIT: f32 = 30.0;

/// The results of a minibatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Result {
    /// The sum over sequences.
    pub log_probability: f64,
    /// Σ α β, and the sum of the posteriors of pdfs, each at the first frame and summed over sequences. Both should be
    /// the number of sequences. `None` if posteriors were not requested.
    pub checks: Option<[f64; 2]>,
}

/// The destination of posteriors: `deriv` becomes `factor` · posteriors. It has the shape of the output.
#[derive(Clone, Copy)]
pub(crate) struct Posteriors<'a> {
    pub deriv: ViewMut<'a>,
    pub factor: f32,
}

/// Indexes of [`Result::checks`] in the sums that the device accumulates.
pub(crate) const PRODUCTS: usize = 0;
pub(crate) const OCCUPIED: usize = 1;

/// A minibatch on the device, running or done; its results have not been fetched.
pub(crate) struct Begun<'w> {
    /// Σ α, frames × sequences.
    totals: Scratch<'w>,
    workspace: &'w Workspace,
    /// Factor of each sequence's probability at the end, for the leak.
    last: f64,
    posteriors: bool,
}

/// Starts the computation. `output` has a row for each sequence of the first frame, then of the second, and so on; a
/// column for each pdf. All shapes must fit, and all matrices must be on the workspace's device. Adds the checks in
/// [`Result`] to the sums, which are zero at first. The derivative is ready when the device has done this work.
pub(crate) fn begin<'w>(
    graph: &DenominatorGraph,
    output: View<'_>,
    num_sequences: usize,
    leak: f32,
    posteriors: Option<Posteriors<'_>>,
    sums: &mut Accumulator,
    workspace: &'w Workspace,
) -> Begun<'w> {
    let most = workspace.device().hmm_columns().unwrap_or(num_sequences).max(1);
    let last = 1.0 + f64::from(leak) * graph.initial().iter().map(|&p| f64::from(p)).sum::<f64>();
    let mut totals = workspace.take(output.rows() / num_sequences + 1, num_sequences);
    for first in (0..num_sequences).step_by(most) {
        let sequences = Sequences {
            graph,
            output,
            leak,
            last,
            first,
            count: most.min(num_sequences - first),
            all: num_sequences,
            workspace,
        };
        let totals = totals.view_mut().col_range(first..first + sequences.count);
        sequences.forward_backward(totals, posteriors, sums);
    }
    Begun { totals, workspace, last, posteriors: posteriors.is_some() }
}

/// Bytes that a minibatch with posteriors borrows from its workspace, which may round each matrix up.
pub(crate) fn memory(graph: &DenominatorGraph, device: &Device, sequences: usize, frames: usize) -> usize {
    let hmm = graph.hmm();
    let (states, pdfs) = (hmm.states(), hmm.emissions());
    let columns = device.hmm_columns().unwrap_or(sequences).min(sequences);
    // Alphas and scales of all frames; likelihoods and posteriors of one frame; betas, and contributions through
    // entries.
    let rows = (frames + 1) * (states + 1) + 2 * pdfs + states + hmm.entries();
    size_of::<f32>() * (rows * columns + (frames + 1) * sequences + states)
}

impl Begun<'_> {
    /// Waits for the device. `sums` are the sums that it has computed.
    pub(crate) fn finish(self, sums: &[f64]) -> Result {
        let Begun { totals, workspace, last, .. } = &self;
        let mut values = workspace.floats(totals.rows() * totals.cols());
        workspace.device().download_into(totals.view(), &mut values);
        let logs = values.iter().map(|&sum| f64::from(sum).ln()).sum::<f64>();
        let log_probability = logs + totals.cols() as f64 * last.ln();
        Result { log_probability, checks: self.posteriors.then(|| [sums[PRODUCTS], sums[OCCUPIED]]) }
    }
}

/// Some sequences of a minibatch, which are worked on side by side.
struct Sequences<'a, 'w> {
    graph: &'a DenominatorGraph,
    output: View<'a>,
    leak: f32,
    /// Factor of the leak at the end: 1 + `leak` Σ π.
    last: f64,
    first: usize,
    count: usize,
    /// Sequences of the minibatch.
    all: usize,
    workspace: &'w Workspace,
}

impl Sequences<'_, '_> {
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

    /// Sets `totals` (a row more than there are frames) to Σ α of each frame.
    fn forward_backward(
        &self,
        totals: ViewMut<'_>,
        posteriors: Option<Posteriors<'_>>,
        sums: &mut Accumulator,
    ) {
        let Sequences { graph, leak, last, count, workspace, .. } = *self;
        let (device, hmm) = (workspace.device(), graph.hmm());
        let (states, pdfs, frames) = (hmm.states(), hmm.emissions(), self.output.rows() / self.all);
        let mut alphas = workspace.take(if posteriors.is_some() { frames + 1 } else { 2 } * states, count);
        let kept = alphas.rows() / states;
        let alphas = alphas.view_mut();
        let alpha = |frame: usize| alphas.row_range(frame % kept * states..(frame % kept + 1) * states);
        let (mut scales, mut likelihoods) = (workspace.take(frames + 1, count), workspace.take(pdfs, count));
        let (scales, likelihoods) = (scales.view_mut(), likelihoods.view_mut());
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
        device.col_sums(totals.row(0), 1.0, alpha(0).as_view(), 0.0);
        for frame in 0..=frames {
            device.map(scales.row(frame), totals.row(frame).as_view(), Map::Inverse);
            if frame < frames {
                self.likelihoods(likelihoods, frame);
                device.hmm_forward(alpha(frame + 1), totals.row(frame + 1), hmm, step(frame));
            }
        }
        let Some(posteriors) = posteriors else { return };

        // Σ π β is the same for all states. Its product with the leakage coefficient is the leak into any state.
        let (mut beta, mut shared) = (workspace.take(states, count), workspace.take(1, count));
        let (mut entries, mut occupation) =
            (workspace.take(hmm.entries(), count), workspace.take(pdfs, count));
        let occupation = occupation.view_mut();
        let way = HmmWayBack {
            beta: beta.view_mut(),
            shared: shared.view_mut(),
            initial: initial.view(),
            entries: entries.view_mut(),
        };
        let (mut ones, mut occupied) = (workspace.take(1, count), workspace.take(1, count));
        device.set(ones.view_mut(), 1.0);
        device.set_rows(way.beta, scales.row(frames).as_view());
        device.scale(way.beta, (1.0 / last) as f32);
        device.col_dots(way.shared, leak, alpha(0).as_view(), way.beta.as_view(), 0.0);
        for frame in (0..frames).rev() {
            self.likelihoods(likelihoods, frame);
            // The sum over posteriors is wanted at the first frame.
            let factor = if frame == 0 { 1.0 } else { posteriors.factor };
            let result = HmmPosteriors { values: occupation, factor };
            device.hmm_backward(way, result, hmm, step(frame), alpha(frame + 1).as_view());
            if frame == 0 {
                device.col_sums(occupied.view_mut(), 1.0, occupation.as_view(), 0.0);
                device.accumulate_dot(sums, OCCUPIED, 1.0, occupied.view(), ones.view());
                device.scale(occupation, posteriors.factor);
            }
            device.copy_transposed(posteriors.deriv.row_range(self.rows(frame)), occupation.as_view());
        }
        // Before the first frame α is π, and with the leak (1 + leak Σ π) π.
        device.col_dots(way.shared, last as f32, alpha(0).as_view(), way.beta.as_view(), 0.0);
        device.accumulate_dot(sums, PRODUCTS, 1.0, way.shared.as_view(), ones.view());
    }
}
