//! Supervision from transcriptions with times: which phones are allowed in each frame, and in which order.

use kaldi_fst::{Algebra, Arc, EPSILON, Fst, StateId, ops};
use nnet3_decode::{CompactLattice, order, times};
use nnet3_train::{Error, Result};

use crate::supervision::{Graph, Supervision};
use crate::transition_graph::{PhoneModel, fst_error};

/// Options for turning transcripts into supervision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SupervisionOptions {
    /// Frames, before subsampling, by which phones may begin earlier and end later.
    pub left_tolerance: usize,
    pub right_tolerance: usize,
    /// Number of input frames for each output frame.
    pub frame_subsampling_factor: usize,
    /// Factor of the lattices' costs.
    pub lm_scale: f32,
}

impl Default for SupervisionOptions {
    fn default() -> SupervisionOptions {
        SupervisionOptions {
            left_tolerance: 5,
            right_tolerance: 5,
            frame_subsampling_factor: 1,
            lm_scale: 0.0,
        }
    }
}

impl SupervisionOptions {
    pub fn check(&self) -> Result<()> {
        let SupervisionOptions { left_tolerance, right_tolerance, frame_subsampling_factor, lm_scale } =
            *self;
        if frame_subsampling_factor == 0 {
            return Err(Error::options("`frame-subsampling-factor`=0: expected a number above 0"));
        }
        if left_tolerance + right_tolerance + 1 < frame_subsampling_factor {
            return Err(Error::options(format!(
                "`left-tolerance`={left_tolerance} and `right-tolerance`={right_tolerance}: with 1 more they must add up to \
                 `frame-subsampling-factor`={frame_subsampling_factor} at least, or phones could be left out"
            )));
        }
        if !(0.0..1.0).contains(&lm_scale) {
            return Err(Error::options(format!("`lm-scale`={lm_scale}: expected 0 or more and less than 1")));
        }
        Ok(())
    }

    /// Frames after subsampling in which a phone that lasts from `begin` to `end` of `length` frames may be.
    fn window(&self, begin: usize, end: usize, length: usize) -> std::ops::Range<usize> {
        let factor = self.frame_subsampling_factor;
        let first = begin.saturating_sub(self.left_tolerance).div_ceil(factor);
        first..(end + self.right_tolerance).min(length).div_ceil(factor)
    }
}

/// The allowed phones, with their times.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtoSupervision {
    /// For each frame after subsampling, the phones that may be there, sorted.
    pub allowed: Vec<Vec<i32>>,
    /// Acceptor of the phones.
    pub phones: Fst,
}

impl ProtoSupervision {
    fn new(length: usize, options: &SupervisionOptions) -> Result<ProtoSupervision> {
        if length == 0 {
            return Err(Error::data("there are no frames"));
        }
        let frames = length.div_ceil(options.frame_subsampling_factor);
        Ok(ProtoSupervision { allowed: vec![Vec::new(); frames], phones: Fst::default() })
    }

    fn allow(&mut self, phone: i32, frames: std::ops::Range<usize>) {
        self.allowed[frames].iter_mut().for_each(|phones| phones.push(phone));
    }

    fn sort(&mut self) {
        for phones in &mut self.allowed {
            phones.sort_unstable();
            phones.dedup();
        }
    }

    /// Makes the graph of phones that last the given numbers of frames.
    pub fn from_durations(segments: &[(i32, i32)], options: &SupervisionOptions) -> Result<ProtoSupervision> {
        options.check()?;
        if let Some((phone, frames)) = segments.iter().find(|(phone, frames)| *phone <= 0 || *frames <= 0) {
            return Err(Error::data(format!(
                "found phone {phone} with {frames} frames, expected numbers above 0"
            )));
        }
        let length = segments.iter().map(|(_, frames)| *frames as usize).sum();
        let mut proto = ProtoSupervision::new(length, options)?;
        let mut state = proto.phones.add_state();
        proto.phones.start = Some(state);
        let mut begin = 0;
        for &(phone, frames) in segments {
            let end = begin + frames as usize;
            proto.allow(phone, options.window(begin, end, length));
            let next = proto.phones.add_state();
            proto.phones.state_mut(state).arcs.push(Arc::new(phone, 0.0, next));
            (state, begin) = (next, end);
        }
        proto.phones.state_mut(state).final_weight = 0.0;
        proto.sort();
        Ok(proto)
    }

    /// Makes it of a lattice that has phones as labels, and on each arc a transition-id for each frame of the phone.
    pub fn from_lattice(
        mut lattice: CompactLattice,
        options: &SupervisionOptions,
    ) -> Result<ProtoSupervision> {
        options.check()?;
        let problem = |e: nnet3_decode::Error| Error::data(e.to_string());
        if lattice.start.is_none() {
            return Err(Error::data("the lattice is empty"));
        }
        order::sort(&mut lattice).map_err(problem)?;
        let (times, length) = times::state_times(&lattice).map_err(problem)?;
        let mut proto = ProtoSupervision::new(length, options)?;
        proto.phones.start = lattice.start;
        for (s, state) in lattice.numbered() {
            let id = proto.phones.add_state();
            let Some(begin) = times[s as usize] else { continue };
            if state.is_final() {
                if begin != length || !state.final_weight.string.is_empty() {
                    return Err(Error::data(format!(
                        "state {s} of the lattice is final after {begin} of {length} frames: its phones are not aligned"
                    )));
                }
                proto.phones.state_mut(id).final_weight = options.lm_scale * state.final_weight.weight.graph;
            }
            for arc in &state.arcs {
                if arc.ilabel == EPSILON {
                    return Err(Error::data(format!(
                        "an arc of state {s} of the lattice has no label: its phones are not aligned"
                    )));
                }
                let frames = arc.weight.string.len();
                proto.allow(arc.ilabel, options.window(begin, begin + frames, length));
                let cost = options.lm_scale * arc.weight.weight.graph;
                proto.phones.state_mut(id).arcs.push(Arc::new(arc.ilabel, cost, arc.next));
            }
        }
        if options.lm_scale != 0.0 {
            push_costs(&mut proto.phones)?;
        }
        proto.sort();
        Ok(proto)
    }

    /// Makes the supervision. `None` if no path has the number of frames. Labels are pdfs plus 1 or, without
    /// `convert_to_pdfs`, transition-ids.
    pub fn supervision(&self, model: PhoneModel<'_>, convert_to_pdfs: bool) -> Result<Option<Supervision>> {
        let mut graph = model.expand(self.phones.clone(), 0.0, |_, _| ())?;
        ops::remove_epsilons(&mut graph).map_err(fst_error)?;
        let mut fst = self.timed(&graph, model, convert_to_pdfs)?;
        ops::connect(&mut fst);
        if fst.start.is_none() {
            return Ok(None);
        }
        ops::breadth_first(&mut fst).map_err(fst_error)?;
        let transitions = model.transitions;
        let labels = if convert_to_pdfs { transitions.num_pdfs() } else { transitions.num_transition_ids() };
        Ok(Some(Supervision {
            weight: 1.0,
            num_sequences: 1,
            frames_per_sequence: self.allowed.len(),
            label_dim: labels as i32,
            graph: Graph::Constrained(fst),
            alignment_pdfs: Vec::new(),
        }))
    }

    /// The paths of a graph of transition-ids that have a transition-id of an allowed phone for each frame.
    fn timed(&self, graph: &Fst, model: PhoneModel<'_>, convert_to_pdfs: bool) -> Result<Fst> {
        let Some(start) = graph.start else { return Ok(Fst::default()) };
        let mut out = Fst { start: Some(0), ..Fst::default() };
        out.add_state();
        let mut level = vec![(start, 0)];
        let mut numbers: Vec<StateId> = vec![StateId::MAX; graph.states.len()];
        for allowed in &self.allowed {
            let mut next_level = Vec::new();
            for &(s, from) in &level {
                for arc in &graph.state(s).arcs {
                    let id = model.transitions.transition_id(arc.ilabel)?;
                    if allowed.binary_search(&model.transitions.phone(id)).is_err() {
                        continue;
                    }
                    let number = &mut numbers[arc.next as usize];
                    if *number == StateId::MAX {
                        *number = out.add_state();
                        next_level.push((arc.next, *number));
                    }
                    let label = if convert_to_pdfs { 1 + model.transitions.pdf(id) } else { arc.ilabel };
                    out.state_mut(from).arcs.push(Arc::new(label, arc.weight, *number));
                }
            }
            next_level.iter().for_each(|(s, _)| numbers[*s as usize] = StateId::MAX);
            level = next_level;
        }
        for (s, number) in level {
            out.state_mut(number).final_weight = graph.state(s).final_weight;
        }
        Ok(out)
    }
}

/// Pushes costs towards the start and subtracts the cost of the best path.
fn push_costs(fst: &mut Fst) -> Result<()> {
    ops::connect(fst);
    let mut distances = vec![f32::INFINITY; fst.states.len()];
    for s in ops::topological_order(fst).map_err(fst_error)?.into_iter().rev() {
        let state = fst.state(s);
        let costs = state.arcs.iter().map(|arc| arc.weight.times(&distances[arc.next as usize]));
        distances[s as usize] = costs.fold(state.final_weight, f32::min);
    }
    for (s, state) in fst.states.iter_mut().enumerate() {
        state.final_weight -= distances[s];
        for arc in &mut state.arcs {
            arc.weight += distances[arc.next as usize] - distances[s];
        }
    }
    Ok(())
}
