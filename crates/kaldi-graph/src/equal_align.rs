//! Alignments that spread frames equally over the states of a random path (`EqualAlign` of
//! `fstext/fstext-utils-inl.h`), for untrained models.

use kaldi_fst::{EPSILON, Fst, StateId};

/// Random paths that are tried.
const TRIES: usize = 10;
/// Steps after which a path counts as one that does not end.
const MOST_STEPS: usize = 10_000_000;

/// Reasons why there is no equal alignment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EqualAlignError {
    /// No path was short enough.
    #[error("EqualAlign: utterance has too few frames {frames} to align.")]
    TooFewFrames {
        frames: usize,
        /// Labels on the paths that were tried.
        lengths: Vec<usize>,
    },
    #[error("No self-loops on chosen path; cannot match length.")]
    NoSelfLoops,
    /// A path came to a state that it cannot leave, or did not end.
    #[error("state {state} of the graph leads to no final state")]
    NoEnd { state: StateId },
}

/// Aligns `frames` frames with a graph that has a start. `rand` returns numbers between 0 and `i32::MAX`.
pub fn equal_align(
    fst: &Fst,
    start: StateId,
    frames: usize,
    rand: &mut dyn FnMut() -> i32,
) -> Result<Vec<i32>, EqualAlignError> {
    let mut lengths = Vec::new();
    for _ in 0..TRIES {
        let path = random_path(fst, start, rand)?;
        let length = path.labels(fst).filter(|&label| label != EPSILON).count();
        if length <= frames {
            return path.stretched(fst, frames - length);
        }
        lengths.push(length);
    }
    Err(EqualAlignError::TooFewFrames { frames, lengths })
}

/// States, and the position of the arc by which the path leaves each. The path ends in the last state.
struct Path {
    steps: Vec<(StateId, usize)>,
    last: StateId,
}

/// Draws one arc, or the end, after the other. Self-loops are drawn again.
fn random_path(fst: &Fst, start: StateId, rand: &mut dyn FnMut() -> i32) -> Result<Path, EqualAlignError> {
    let mut path = Path { steps: Vec::new(), last: start };
    loop {
        let (id, state) = (path.last, fst.state(path.last));
        let arcs = state.arcs.len();
        let choices = arcs + usize::from(state.is_final());
        let leaves = state.is_final() || state.arcs.iter().any(|arc| arc.next != id);
        if !leaves || path.steps.len() > MOST_STEPS {
            return Err(EqualAlignError::NoEnd { state: id });
        }
        let choice = if choices == 1 { 0 } else { rand() as usize % choices };
        match state.arcs.get(choice) {
            None => return Ok(path),
            Some(arc) if arc.next == id => {}
            Some(arc) => {
                path.steps.push((id, choice));
                path.last = arc.next;
            }
        }
    }
}

impl Path {
    fn labels<'a>(&'a self, fst: &'a Fst) -> impl Iterator<Item = i32> + 'a {
        self.steps.iter().map(|&(state, arc)| fst.state(state).arcs[arc].ilabel)
    }

    /// The labels of the path with self-loops of its states in between, which take `missing` frames.
    fn stretched(&self, fst: &Fst, missing: usize) -> Result<Vec<i32>, EqualAlignError> {
        let self_loop = |id: StateId| {
            let mut arcs = fst.state(id).arcs.iter();
            arcs.find(|arc| arc.next == id && arc.ilabel != EPSILON).map(|arc| arc.ilabel)
        };
        let states = self.steps.iter().map(|step| step.0).chain([self.last]);
        let loops: Vec<Option<i32>> = states.map(self_loop).collect();
        let count = loops.iter().flatten().count();
        if count == 0 && missing > 0 {
            return Err(EqualAlignError::NoSelfLoops);
        }
        let mut out = Vec::new();
        let mut labels = self.labels(fst);
        let mut number = 0;
        for self_loop in loops {
            if let Some(label) = self_loop {
                let frames = missing / count + usize::from(number < missing % count);
                number += 1;
                out.extend(std::iter::repeat_n(label, frames));
            }
            out.extend(labels.next().filter(|&label| label != EPSILON));
        }
        Ok(out)
    }
}

/// The seed of the random numbers of an utterance: h = 7853 h + byte over its key, and of that the lowest 32 bits.
pub fn seed(key: &str) -> i32 {
    key.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(7853).wrapping_add(byte.into())) as u32 as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::Arc;

    /// 0 -1-> 1 (loop 2) -3-> 2 (loop 4, final), and 0 -ε-> 2.
    fn graph() -> Fst {
        let mut fst = Fst::default();
        (0..3).for_each(|_| _ = fst.add_state());
        fst.start = Some(0);
        let mut arc = |from, label, to| fst.state_mut(from).arcs.push(Arc::new(label, 0.0, to));
        arc(0, 1, 1);
        arc(0, EPSILON, 2);
        arc(1, 2, 1);
        arc(1, 3, 2);
        arc(2, 4, 2);
        fst.state_mut(2).final_weight = 0.0;
        fst
    }

    #[test]
    fn frames_are_spread() {
        // From state 0 the first arc; from 1 the loop, which is drawn again, and the second arc; from 2 the end.
        let mut draws = [0, 0, 1, 1].into_iter();
        let alignment = equal_align(&graph(), 0, 7, &mut || draws.next().unwrap()).unwrap();
        assert_eq!(alignment, [1, 2, 2, 2, 3, 4, 4]);
        let mut draws = [1, 0, 1].into_iter();
        assert_eq!(equal_align(&graph(), 0, 2, &mut || draws.next().unwrap()).unwrap(), [4, 4]);
    }

    #[test]
    fn failures() {
        let mut draws = [0, 1, 1].into_iter().cycle();
        let error = equal_align(&graph(), 0, 1, &mut || draws.next().unwrap()).unwrap_err();
        assert_eq!(error, EqualAlignError::TooFewFrames { frames: 1, lengths: vec![2; 10] });
        let mut fst = graph();
        fst.state_mut(2).final_weight = f32::INFINITY;
        let mut draws = [0, 1].into_iter().cycle();
        let error = equal_align(&fst, 0, 9, &mut || draws.next().unwrap()).unwrap_err();
        assert_eq!(error, EqualAlignError::NoEnd { state: 2 });
        let mut line = Fst::default();
        let (from, to) = (line.add_state(), line.add_state());
        line.state_mut(from).arcs.push(Arc::new(5, 0.0, to));
        line.state_mut(to).final_weight = 0.0;
        assert_eq!(equal_align(&line, 0, 1, &mut || 0).unwrap(), [5]);
        assert_eq!(equal_align(&line, 0, 2, &mut || 0).unwrap_err(), EqualAlignError::NoSelfLoops);
    }

    #[test]
    fn seeds() {
        assert_eq!(seed(""), 0);
        assert_eq!(seed("a"), 97);
        assert_eq!(seed("ab"), 97 * 7853 + 98);
        assert_eq!(seed("utterance"), {
            let hash = b"utterance".iter().fold(0u128, |hash, &b| hash * 7853 + u128::from(b));
            (hash % (1 << 32)) as u32 as i32
        });
    }
}
