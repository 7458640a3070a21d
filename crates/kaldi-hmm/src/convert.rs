//! Alignments of one model as alignments of another: another tree, other topologies, other phones, fewer frames
//! (`ConvertAlignment` of `hmm/hmm-utils.cc`).

use crate::alignment::PhoneSegment;
use crate::error::{Error, Result, listed};
use crate::topology::HmmState;
use crate::transitions::{TransitionId, TransitionModel, TransitionState};
use crate::tree::ContextDependency;

/// The two models between which alignments are converted, and how that is done.
pub struct Conversion<'a> {
    pub from: &'a TransitionModel,
    pub to: &'a TransitionModel,
    /// The tree of the model `to`.
    pub tree: &'a ContextDependency,
    /// The factor N of subsampling: one of N frames is kept.
    pub subsampling_factor: usize,
    /// True to keep the frames of all shifts of the alignment in turns, so that the number of frames stays.
    pub repeat_frames: bool,
    /// True if states of the result are left before their self-loops are taken.
    pub reorder: bool,
    /// Maps a phone; the result `None` means that there is no such phone.
    pub map_phone: Option<&'a dyn Fn(i32) -> Option<i32>>,
}

impl Conversion<'_> {
    /// Converts the alignment to the other model. If a phone's length or topology changes, its path is a random one:
    /// `rand` gives numbers as C's `rand()`.
    ///
    /// An [`Error::Alignment`], possibly at a frame, concerns only this alignment.
    pub fn convert(
        &self,
        alignment: &[TransitionId],
        rand: &mut dyn FnMut() -> i32,
    ) -> Result<Vec<TransitionId>> {
        let factor = self.subsampling_factor;
        if factor == 0 {
            return Err(Error::Value("the factor of subsampling must be positive".to_owned()));
        }
        if !self.repeat_frames || factor == 1 {
            return self.convert_shifted(alignment, factor - 1, rand);
        }
        let mut shifted = Vec::new();
        for shift in (0..factor).rev() {
            shifted.push(self.convert_shifted(alignment, shift, rand)?);
        }
        let most = alignment.len().div_ceil(factor);
        let frames = (0..most).flat_map(|t| shifted.iter().filter_map(move |shifted| shifted.get(t)));
        Ok(frames.copied().collect())
    }

    /// `shift` is added to times before they are divided by the factor.
    fn convert_shifted(
        &self,
        alignment: &[TransitionId],
        shift: usize,
        rand: &mut dyn FnMut() -> i32,
    ) -> Result<Vec<TransitionId>> {
        let is_reordered = self.from.is_reordered(alignment)?;
        let segments = self.from.split_to_complete_phones(alignment)?;
        let phones = segments.iter().map(|segment| self.map(segment.phone)).collect::<Result<Vec<i32>>>()?;
        let lengths: Vec<usize> =
            if self.subsampling_factor == 1 && self.from.topology() == self.to.topology() {
                segments.iter().map(|segment| segment.frames.len()).collect()
            } else {
                self.new_lengths(&phones, &segments, shift)?
            };
        let old: Vec<Option<&PhoneSegment>> = segments.iter().map(Some).collect();
        self.path(alignment, &phones, &lengths, &old, is_reordered, rand)
    }

    /// Converts the alignment of words, with silence before and after it: so many frames of this phone. No frames: no silence there.
    ///
    /// An [`Error::Alignment`] concerns only this alignment, as when a phone cannot be as short as its frames of silence.
    pub fn pad(
        &self,
        alignment: &[TransitionId],
        silence: i32,
        (before, after): (usize, usize),
        rand: &mut dyn FnMut() -> i32,
    ) -> Result<Vec<TransitionId>> {
        let is_reordered = self.from.is_reordered(alignment)?;
        let segments = self.from.split_to_complete_phones(alignment)?;
        let (mut phones, mut lengths, mut old) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |phone, length, segment| {
            phones.push(phone);
            lengths.push(length);
            old.push(segment);
        };
        if before > 0 {
            add(silence, before, None);
        }
        for segment in &segments {
            add(self.map(segment.phone)?, segment.frames.len(), Some(segment));
        }
        if after > 0 {
            add(silence, after, None);
        }
        self.path(alignment, &phones, &lengths, &old, is_reordered, rand)
    }

    /// The path through phones of these lengths. A phone that has the frames of an old one, in the same topology, has its transitions.
    fn path(
        &self,
        alignment: &[TransitionId],
        phones: &[i32],
        lengths: &[usize],
        old: &[Option<&PhoneSegment>],
        is_reordered: bool,
        rand: &mut dyn FnMut() -> i32,
    ) -> Result<Vec<TransitionId>> {
        let mut converted = Vec::new();
        for (at, ((&phone, &length), old)) in phones.iter().zip(lengths).zip(old).enumerate() {
            let pdfs = self.pdfs(phones, at)?;
            let kept = old.filter(|old| {
                length == old.frames.len()
                    && self.from.topology().entry(old.phone) == self.to.topology().entry(phone)
            });
            let same = kept.is_some();
            let mut new = if let Some(old) = kept {
                let ids = alignment[old.frames.clone()].iter();
                ids.map(|&id| self.transfer(id, phone, &pdfs)).collect::<Result<Vec<_>>>()?
            } else {
                self.random_path(phone, &pdfs, length, rand)?
            };
            if self.reorder != (same && is_reordered) {
                change_reordering(self.to, &mut new);
            }
            converted.append(&mut new);
        }
        Ok(converted)
    }

    fn map(&self, phone: i32) -> Result<i32> {
        let Some(map) = self.map_phone else { return Ok(phone) };
        map(phone).ok_or_else(|| Error::Value(format!("the map of phones does not have phone {phone}")))
    }

    /// The lengths of phones in frames that stay. A phone that would be too short gets frames of the nearest phone that can
    /// spare one.
    fn new_lengths(&self, phones: &[i32], segments: &[PhoneSegment], shift: usize) -> Result<Vec<usize>> {
        let time = |t: usize| (t + shift) / self.subsampling_factor;
        let mut lengths: Vec<usize> =
            segments.iter().map(|s| time(s.frames.end) - time(s.frames.start)).collect();
        let least = phones.iter().map(|&phone| {
            let least = self.to.topology().min_length(phone);
            least.ok_or_else(|| Error::model(format!("the new model has no phone {phone}")))
        });
        let least = least.collect::<Result<Vec<usize>>>()?;
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..lengths.len() {
                if lengths[at] >= least[at] {
                    continue;
                }
                let Some(giver) = nearest_giver(&lengths, &least, at) else {
                    return Err(Error::Alignment(
                        "the utterance has too few frames for its phones".to_owned(),
                    ));
                };
                lengths[at] += 1;
                lengths[giver] -= 1;
                changed = true;
            }
        }
        Ok(lengths)
    }

    /// The pdf of each pdf class of the phone at `at`.
    fn pdfs(&self, phones: &[i32], at: usize) -> Result<Vec<i32>> {
        let (width, central) = (self.tree.context_width(), self.tree.central_position());
        let phone = |position: usize| (at + position).checked_sub(central).and_then(|at| phones.get(at));
        let window: Vec<i32> = (0..width).map(|position| phone(position).copied().unwrap_or(0)).collect();
        let classes = 0..self.to.topology().num_pdf_classes(phones[at]);
        let pdf = |class| {
            self.tree.pdf(&window, class).ok_or_else(|| {
                Error::model(format!(
                    "the tree has no pdf for pdf class {class} in the window {}",
                    listed(&window)
                ))
            })
        };
        classes.map(pdf).collect()
    }

    /// The state of the new model with these pdfs.
    fn state(&self, phone: i32, hmm_state: usize, pdfs: &[i32]) -> Result<usize> {
        let entry = self.to.topology().entry(phone).unwrap_or_default();
        let missing = || {
            Error::model(format!(
                "the new model has no transition state for phone {phone}, state {hmm_state} with the pdfs {}: model and \
                 tree do not belong together",
                listed(pdfs)
            ))
        };
        let pdf = |class: Option<i32>| class.and_then(|class| pdfs.get(class as usize)).copied();
        let state = entry.get(hmm_state).ok_or_else(missing)?;
        let forward_pdf = pdf(state.forward_pdf_class).ok_or_else(missing)?;
        let self_loop_pdf = pdf(state.self_loop_pdf_class);
        let state = TransitionState { phone, hmm_state, forward_pdf, self_loop_pdf };
        self.to.find_state(&state).ok_or_else(missing)
    }

    /// Returns the same transition in the new model, which must have the same topologies.
    fn transfer(&self, id: TransitionId, phone: i32, pdfs: &[i32]) -> Result<TransitionId> {
        let state = self.state(phone, self.from.state(id).hmm_state, pdfs)?;
        let id = self.to.ids_of_state(state).nth(self.from.transition_index(id));
        id.ok_or_else(|| Error::model("a state of the new model has fewer transitions"))
    }

    /// A path of this length through a phone: at each state any transition with which the end can be reached in time, all
    /// with one probability.
    fn random_path(
        &self,
        phone: i32,
        pdfs: &[i32],
        length: usize,
        rand: &mut dyn FnMut() -> i32,
    ) -> Result<Vec<TransitionId>> {
        let entry = self.to.topology().entry(phone).unwrap_or_default();
        let steps: Vec<Vec<Step>> = (0..entry.len()).map(|state| steps_from(entry, state)).collect();
        // True for each state if it can reach the end in that many frames.
        let mut reaches = vec![(0..entry.len()).map(|state| state + 1 == entry.len()).collect::<Vec<bool>>()];
        for left in 1..length {
            let before = &reaches[left - 1];
            let now = steps.iter().map(|steps| steps.iter().any(|step| before[step.next])).collect();
            reaches.push(now);
        }
        let mut path = Vec::new();
        let mut state = 0;
        for left in (0..length).rev() {
            let choices: Vec<&Step> = steps[state].iter().filter(|step| reaches[left][step.next]).collect();
            if choices.is_empty() {
                return Err(Error::Alignment(format!("phone {phone} cannot have {length} frames")));
            }
            let choice = choices[usize::try_from(rand()).unwrap_or(0) % choices.len()];
            let transition_state = self.state(phone, choice.state, pdfs)?;
            let id = self.to.ids_of_state(transition_state).nth(choice.index);
            path.push(id.ok_or_else(|| Error::model("a state of the new model has fewer transitions"))?);
            state = choice.next;
        }
        Ok(path)
    }
}

/// A transition that emits a frame.
struct Step {
    state: usize,
    index: usize,
    next: usize,
}

/// The transitions that emit the next frame, from a state or from those to which it leads without a frame.
fn steps_from(entry: &[HmmState], state: usize) -> Vec<Step> {
    let (mut steps, mut seen, mut todo) = (Vec::new(), vec![false; entry.len()], vec![state]);
    while let Some(state) = todo.pop() {
        if std::mem::replace(&mut seen[state], true) {
            continue;
        }
        let next = entry[state].transitions.iter().map(|transition| transition.0);
        if entry[state].forward_pdf_class.is_some() {
            steps.extend(next.enumerate().map(|(index, next)| Step { state, index, next }));
        } else {
            todo.extend(next);
        }
    }
    steps
}

/// The phone nearest to `at`, in frames between them, that has more than its least frames; before it, if two are as near.
fn nearest_giver(lengths: &[usize], least: &[usize], at: usize) -> Option<usize> {
    let distance_to = |indexes: &mut dyn Iterator<Item = usize>| {
        let mut distance = 0;
        for other in indexes {
            if lengths[other] > least[other] {
                return Some((distance, other));
            }
            distance += lengths[other];
        }
        None
    };
    let before = distance_to(&mut (0..at).rev());
    let after = distance_to(&mut (at + 1..lengths.len()));
    let nearest = match (before, after) {
        (Some(before), Some(after)) if after.0 < before.0 => Some(after),
        (before, after) => before.or(after),
    };
    nearest.map(|nearest| nearest.1)
}

/// Brings self-loops from before to behind the other transition of their state, or the other way round.
fn change_reordering(model: &TransitionModel, alignment: &mut [TransitionId]) {
    let mut start = 0;
    while start < alignment.len() {
        let first = alignment[start];
        let mut end = start + 1;
        // Loops first: up to the transition that leaves the state. Else: all loops that follow.
        while end < alignment.len() && model.state_index(alignment[end]) == model.state_index(first) {
            let is_loop = model.is_self_loop(alignment[end]);
            if !is_loop && !model.is_self_loop(first) {
                break;
            }
            end += 1;
            if !is_loop {
                break;
            }
        }
        alignment.swap(start, end - 1);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    const THREE_STATES: &str = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
        <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
        <State> 1 <PdfClass> 1 <Transition> 1 0.5 <Transition> 2 0.5 </State> \
        <State> 2 <PdfClass> 2 <Transition> 2 0.5 <Transition> 3 0.5 </State> <State> 3 </State> \
        </TopologyEntry> </Topology> ";
    const ONE_STATE: &str = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
        <State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
        <State> 1 </State> </TopologyEntry> </Topology> ";
    /// Six pdfs without context.
    const MONO: &str = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL TE -1 3 ( CE 0 CE 1 CE 2 ) \
        TE -1 3 ( CE 3 CE 4 CE 5 ) ) EndContextDependency ";
    /// Pdfs that depend on whether phone 2 is before.
    const LEFT: &str = "ContextDependency 2 1 ToPdf SE 0 [ 2 ] { TE 1 3 ( NULL TE -1 3 ( CE 0 CE 1 CE 2 ) \
        TE -1 3 ( CE 3 CE 4 CE 5 ) ) TE 1 3 ( NULL TE -1 3 ( CE 6 CE 7 CE 8 ) TE -1 3 ( CE 9 CE 10 CE 11 ) ) } \
        EndContextDependency ";

    fn model(tree: &str, topology: &str) -> (ContextDependency, TransitionModel) {
        let tree = from_text(tree).unwrap();
        let model = TransitionModel::new(&tree, from_text(topology).unwrap()).unwrap();
        (tree, model)
    }

    /// Ids of the monophone model: 2 for each state, self-loop first. Phone 1 has 3 + 1 + 1 frames, phone 2 has 1 + 2 +
    /// 2, and phone 1 again has 1 + 1 + 1. States are left before their self-loops are taken.
    const ALIGNMENT: [i32; 13] = [2, 1, 1, 4, 6, 8, 10, 9, 12, 11, 2, 4, 6];

    fn convert(
        (tree, to): &(ContextDependency, TransitionModel),
        alignment: &[i32],
        subsampling_factor: usize,
        repeat_frames: bool,
        reorder: bool,
    ) -> Result<Vec<TransitionId>> {
        let (_, from) = model(MONO, THREE_STATES);
        let conversion =
            Conversion { from: &from, to, tree, subsampling_factor, repeat_frames, reorder, map_phone: None };
        let mut state = 0;
        let mut rand = || {
            state = (state * 75 + 74) % 65537;
            state
        };
        conversion.convert(&from.transition_ids(alignment)?, &mut rand)
    }

    #[test]
    fn another_tree() {
        let target = model(LEFT, THREE_STATES);
        let ids = convert(&target, &ALIGNMENT, 1, false, true).unwrap();
        let of = |f: &dyn Fn(TransitionId) -> i32| ids.iter().map(|&id| f(id)).collect::<Vec<i32>>();
        assert_eq!(of(&|id| target.1.pdf(id)), [6, 6, 6, 7, 8, 9, 10, 10, 11, 11, 0, 1, 2]);
        assert_eq!(of(&|id| target.1.phone(id)), [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
        assert_eq!(of(&|id| target.1.is_self_loop(id).into()), [0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]);
        let loops_first = convert(&target, &ALIGNMENT, 1, false, false).unwrap();
        let loops: Vec<bool> = loops_first.iter().map(|&id| target.1.is_self_loop(id)).collect();
        assert_eq!(loops[..4], [true, true, false, false]);
        assert_eq!(
            loops_first.iter().map(|&id| target.1.pdf(id)).collect::<Vec<_>>(),
            of(&|id| target.1.pdf(id))
        );
    }

    #[test]
    fn fewer_frames() {
        let target = model(LEFT, ONE_STATE);
        // 5, 5 and 3 frames: times 0, 5, 10, 13 become 0, 2, 4, 5.
        let ids = convert(&target, &ALIGNMENT, 3, false, true).unwrap();
        let segments = target.1.split_to_complete_phones(&ids).unwrap();
        let lengths: Vec<usize> = segments.iter().map(|segment| segment.frames.len()).collect();
        assert_eq!((lengths, ids.len()), (vec![2, 2, 1], 5));
        let pdfs: Vec<i32> = ids.iter().map(|&id| target.1.pdf(id)).collect();
        assert_eq!(pdfs, [6, 7, 9, 10, 0]);
        let repeated = convert(&target, &ALIGNMENT, 3, true, true).unwrap();
        assert_eq!(repeated.len(), ALIGNMENT.len());
        let phones: Vec<i32> = repeated.iter().map(|&id| target.1.phone(id)).collect();
        assert_eq!(phones, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
    }

    /// If all three states of a phone need a frame, the phone takes frames from its neighbours.
    #[test]
    fn too_few_frames_for_a_phone() {
        let target = model(LEFT, THREE_STATES);
        let mut long = ALIGNMENT.to_vec();
        long.splice(1..1, [1; 10]);
        // 15, 5 and 3 frames become 8, 2 and 2 at first (times 0, 8, 10, 12).
        let ids = convert(&target, &long, 2, false, true).unwrap();
        let segments = target.1.split_to_complete_phones(&ids).unwrap();
        let lengths: Vec<usize> = segments.iter().map(|segment| segment.frames.len()).collect();
        assert_eq!(lengths, [6, 3, 3]);
        let error = convert(&target, &ALIGNMENT, 2, false, true).unwrap_err();
        assert!(matches!(&error, Error::Alignment(why) if why.contains("too few frames")), "{error}");
        let cut = convert(&target, &ALIGNMENT[..12], 1, false, true).unwrap_err();
        assert!(matches!(cut, Error::Frame { frame: 10, .. }), "{cut}");
    }

    #[test]
    fn silence_around_changes_the_context_of_its_neighbours_only() {
        let (tree, to) = model(LEFT, THREE_STATES);
        let conversion = Conversion {
            from: &to,
            to: &to,
            tree: &tree,
            subsampling_factor: 1,
            repeat_frames: false,
            reorder: true,
            map_phone: None,
        };
        let words = convert(&(tree.clone(), to.clone()), &ALIGNMENT, 1, false, true).unwrap();
        let padded = conversion.pad(&words, 2, (4, 3), &mut || 1).unwrap();
        let segments = to.split_to_complete_phones(&padded).unwrap();
        let phones: Vec<(i32, usize)> = segments.iter().map(|s| (s.phone, s.frames.len())).collect();
        assert_eq!(phones, [(2, 4), (1, 5), (2, 5), (1, 3), (2, 3)]);
        // What has the same phone to its left has the same transitions.
        assert_eq!(padded[9..17], words[5..]);
        let pdfs = |ids: &[TransitionId]| ids.iter().map(|&id| to.pdf(id)).collect::<Vec<_>>();
        assert_ne!(pdfs(&padded[4..9]), pdfs(&words[..5]));
        let loops = |ids: &[TransitionId]| ids.iter().map(|&id| to.is_self_loop(id)).collect::<Vec<_>>();
        assert_eq!(loops(&padded[4..9]), loops(&words[..5]));
        assert_eq!(conversion.pad(&words, 2, (0, 0), &mut || 1).unwrap(), words);
        assert!(conversion.pad(&words, 2, (2, 0), &mut || 1).is_err());
    }

    #[test]
    fn other_phones() {
        let (tree, to) = model(LEFT, THREE_STATES);
        let (_, from) = model(MONO, THREE_STATES);
        let swap = |phone| (phone == 1).then_some(2);
        let conversion = Conversion {
            from: &from,
            to: &to,
            tree: &tree,
            subsampling_factor: 1,
            repeat_frames: false,
            reorder: true,
            map_phone: Some(&swap),
        };
        let convert = |ids: &[i32]| conversion.convert(&from.transition_ids(ids).unwrap(), &mut || 0);
        let phones: Vec<i32> = convert(&[2, 4, 6]).unwrap().into_iter().map(|id| to.phone(id)).collect();
        assert_eq!(phones, [2, 2, 2]);
        let error = convert(&[8, 10, 12]).unwrap_err();
        assert_eq!(error.to_string(), "the map of phones does not have phone 2");
    }
}
