//! Cutting the lattice of an utterance into chunks.
//!
//! The lattice of a chunk has the paths between its first and its last frame. Forward and backward probabilities of the
//! rest of the utterance go into graph costs at both ends, so that probabilities within the chunk stay the same.

use std::collections::HashMap;
use std::ops::Range;

use kaldi_fst::{Algebra, Arc, EPSILON, State, StateId, ops};
use kaldi_hmm::TransitionModel;
use nnet3_decode::lattice::scale_checked;
use nnet3_decode::phones::checked;
use nnet3_decode::posterior::{ForwardBackward, forward_backward};
use nnet3_decode::times::state_times;
use nnet3_decode::{Error, Lattice, LatticeWeight, Result, Scale, order};

/// The most states of a determinized lattice, for each state of its input.
const GROWTH: usize = 1000;
/// The same, whatever the size of the input.
const LEAST_LIMIT: usize = 1_000_000;

/// Options of the lattices of chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitOptions {
    /// The scale of acoustic costs in training.
    pub acoustic_scale: f32,
    /// Determinize the lattices of chunks.
    pub determinize: bool,
    /// Minimize them, too.
    pub minimize: bool,
    /// Make one of all transition-ids that share frame and pdf.
    pub collapse_transition_ids: bool,
}

impl SplitOptions {
    /// Returns an error for a scale that cannot be undone.
    pub fn check(&self) -> Result<()> {
        let scale = self.acoustic_scale;
        if scale == 0.0 || !scale.is_finite() {
            return Err(Error::Option {
                name: "acoustic-scale",
                found: scale.to_string(),
                expected: "a number other than 0".to_owned(),
            });
        }
        Ok(())
    }
}

/// The lattice of an utterance, in the order of time, with its probabilities.
pub struct LatticeSplitter<'m> {
    options: &'m SplitOptions,
    model: &'m TransitionModel,
    /// Acoustic costs are scaled. States are sorted by time.
    lattice: Lattice,
    times: Vec<usize>,
    sums: ForwardBackward,
}

impl<'m> LatticeSplitter<'m> {
    /// Prepares a sorted lattice in which every state is on a path.
    ///
    /// # Errors
    /// The lattice is empty, or paths to a state differ in length. It has transition-ids that the model has not. Scaled costs
    /// are too large.
    pub fn new(
        options: &'m SplitOptions,
        model: &'m TransitionModel,
        mut lattice: Lattice,
    ) -> Result<LatticeSplitter<'m>> {
        options.check()?;
        for arc in lattice.states.iter().flat_map(|state| &state.arcs) {
            if arc.ilabel != EPSILON {
                checked(model, arc.ilabel)?;
            }
        }
        scale_checked(&mut lattice, Scale::new(1.0, options.acoustic_scale.into()))?;
        let times = sort_by_time(&mut lattice)?;
        let sums = forward_backward(&lattice)?;
        Ok(LatticeSplitter { options, model, lattice, times, sums })
    }

    /// The lattice of the output frames in `range`. With `normalize`, all its paths together have probability 1.
    ///
    /// # Errors
    /// The range is empty or goes beyond the lattice. Determinization would need too many states.
    pub fn part(&self, range: Range<usize>, normalize: bool) -> Result<Lattice> {
        let frames = self.times.last().copied().unwrap_or(0);
        if range.is_empty() || range.end > frames {
            return Err(Error::Data(format!(
                "the lattice has {frames} frames, but frames {} to {} were requested",
                range.start, range.end
            )));
        }
        let length = range.len();
        let mut part = self.range_lattice(range, normalize);
        ops::remove_epsilons(&mut part).map_err(fst_error)?;
        if self.options.collapse_transition_ids {
            self.collapse(&mut part)?;
        }
        if self.options.determinize {
            part = determinize(part, self.options.minimize)?;
        }
        order::sort(&mut part)?;
        let (_, found) = state_times(&part)?;
        if found != length {
            return Err(Error::AlignmentLength { found, expected: length });
        }
        let scale = 1.0 / self.options.acoustic_scale;
        scale_checked(&mut part, Scale::new(1.0, scale.into()))?;
        Ok(part)
    }

    /// Copies the states within the range, between a new start and a new end.
    fn range_lattice(&self, range: Range<usize>, normalize: bool) -> Lattice {
        let first = self.times.partition_point(|&time| time < range.start);
        let end = self.times.partition_point(|&time| time < range.end);
        let number = |state: usize| (state - first + 1) as StateId;
        let last = number(end);
        let mut out = Lattice { start: Some(0), states: vec![State::default()] };
        let total = if normalize { self.sums.total } else { 0.0 };
        for (state, data) in self.lattice.states.iter().enumerate().take(end).skip(first) {
            if self.times[state] == range.start {
                let graph = (total - self.sums.forward[state]) as f32;
                out.states[0].arcs.push(Arc::new(EPSILON, LatticeWeight::new(graph, 0.0), number(state)));
            }
            let arcs = data.arcs.iter().map(|arc| {
                let next = arc.next as usize;
                if next < end {
                    return Arc::new(arc.ilabel, arc.weight, number(next));
                }
                let graph = (f64::from(arc.weight.graph) - self.sums.backward[next]) as f32;
                Arc::new(arc.ilabel, LatticeWeight { graph, ..arc.weight }, last)
            });
            out.states.push(State { final_weight: LatticeWeight::zero(), arcs: arcs.collect() });
        }
        out.states.push(State { final_weight: LatticeWeight::ONE, arcs: Vec::new() });
        out
    }

    /// Replaces transition-ids that share frame and pdf by the first one.
    ///
    /// As the reference, takes the frame of a state from the list of the whole utterance. In chunks after the first that is
    /// another frame, and fewer ids are replaced. Probabilities stay the same.
    fn collapse(&self, part: &mut Lattice) -> Result<()> {
        let mut first_ids: HashMap<(usize, i32), i32> = HashMap::new();
        for (number, state) in part.states.iter_mut().enumerate() {
            let Some(&time) = self.times.get(number) else { continue };
            for arc in &mut state.arcs {
                let pdf = self.model.pdf(checked(self.model, arc.ilabel)?);
                let id = *first_ids.entry((time, pdf)).or_insert(arc.ilabel);
                (arc.ilabel, arc.olabel) = (id, id);
            }
        }
        Ok(())
    }
}

/// Sorts the states by the frames that lead to them. Returns these times.
fn sort_by_time(lattice: &mut Lattice) -> Result<Vec<usize>> {
    let (times, _) = state_times(lattice)?;
    let mut order: Vec<usize> = (0..times.len()).filter(|&state| times[state].is_some()).collect();
    order.sort_by_key(|&state| times[state]);
    let mut numbers = vec![0; times.len()];
    for (number, &state) in order.iter().enumerate() {
        numbers[state] = number as StateId;
    }
    let mut states: Vec<_> = order.iter().map(|&state| std::mem::take(&mut lattice.states[state])).collect();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = numbers[arc.next as usize];
    }
    let start = lattice.start.map(|start| numbers[start as usize]);
    *lattice = Lattice { start, states };
    Ok(order.iter().filter_map(|&state| times[state]).collect())
}

/// Determinizes an acceptor; with `minimize` from both ends, which leaves the fewest states.
fn determinize(lattice: Lattice, minimize: bool) -> Result<Lattice> {
    let limit = LEAST_LIMIT.max(GROWTH * lattice.states.len());
    let once = |lattice: &Lattice| ops::determinize_with_epsilons(lattice, limit).map_err(fst_error);
    if !minimize {
        return once(&lattice);
    }
    let backward = once(&ops::reverse(&lattice))?;
    let mut forward = once(&ops::reverse(&backward))?;
    ops::remove_epsilons(&mut forward).map_err(fst_error)?;
    Ok(forward)
}

fn fst_error(e: kaldi_fst::Error) -> Error {
    Error::Data(e.to_string())
}
