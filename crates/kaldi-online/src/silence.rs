//! Weights of frames for i-vectors, if the search takes the frames for silence (`OnlineSilenceWeighting` of
//! `online2/online-ivector-feature.cc`).

use std::collections::BTreeSet;

use kaldi_hmm::transitions::{TransitionId, TransitionModel};

/// Reach of changes into the past, in output frames.
const MOST_REVISED: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub struct SilenceWeightingOptions {
    pub silence_phones: BTreeSet<i32>,
    /// Weight of a frame of silence; others have weight 1.
    pub silence_weight: f32,
    /// If it is above 0, runs of at least this number of frames of one transition-id count as silence.
    pub max_state_duration: i32,
}

impl SilenceWeightingOptions {
    /// True if some weights differ from 1.
    pub fn is_active(&self) -> bool {
        !self.silence_phones.is_empty() && self.silence_weight != 1.0
    }
}

/// One output frame of a search's best path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedFrame {
    /// The token before this frame on the path. Tokens of one frame have different numbers.
    pub token: u32,
    pub transition_id: TransitionId,
}

/// An output frame, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    traced: Option<TracedFrame>,
    /// Its weight as last reported.
    weight: f32,
}

/// Follows the best path of a search through one utterance.
#[derive(Debug, Clone)]
pub struct SilenceWeighting {
    options: SilenceWeightingOptions,
    /// Input frames to an output frame.
    frame_subsampling_factor: usize,
    frames: Vec<Known>,
}

impl SilenceWeighting {
    pub fn new(options: SilenceWeightingOptions, frame_subsampling_factor: usize) -> Self {
        SilenceWeighting {
            options,
            frame_subsampling_factor: frame_subsampling_factor.max(1),
            frames: Vec::new(),
        }
    }

    pub fn is_active(&self) -> bool {
        self.options.is_active()
    }

    /// Takes the best path after `decoded` output frames, from its last frame backwards. It is followed until it meets
    /// the previous path.
    pub fn trace(&mut self, decoded: usize, backwards: impl IntoIterator<Item = TracedFrame>) {
        if self.frames.len() < decoded {
            self.frames.resize(decoded, Known::default());
        }
        for (known, traced) in self.frames[..decoded].iter_mut().rev().zip(backwards) {
            if known.traced.is_some_and(|before| before.token == traced.token) {
                break;
            }
            known.traced = Some(traced);
        }
    }

    /// Returns the changes of input frames' weights since the last call, as differences. Before the first call all
    /// weights are
    /// zero. `ready` input frames have weights. A frame after the end of the path has the weight of the path's last frame.
    pub fn changes(&mut self, transitions: &TransitionModel, ready: usize) -> Vec<(usize, f32)> {
        let factor = self.frame_subsampling_factor;
        let first = self.frames.len().saturating_sub(MOST_REVISED);
        let known = self.frames.len();
        if known < ready.div_ceil(factor) {
            self.frames.resize(ready.div_ceil(factor), Known::default());
        }
        let mut out = Vec::new();
        for (frame, weight) in (first..).zip(self.weights(transitions, first)) {
            let known = &mut self.frames[frame];
            let change = weight - known.weight;
            known.weight = weight;
            if change != 0.0 {
                out.extend((frame * factor..(frame + 1) * factor).map(|input| (input, change)));
            }
        }
        out
    }

    /// Returns the weights of the frames from `first` on.
    fn weights(&self, transitions: &TransitionModel, first: usize) -> Vec<f32> {
        let silence = self.options.silence_weight;
        let frames = &self.frames[first..];
        // The first frames have no traced path; then no later frame has one.
        let Some(Known { traced: Some(_), .. }) = frames.first() else {
            let last = first.checked_sub(1).map_or(silence, |before| self.frames[before].weight);
            return vec![last; frames.len()];
        };
        let mut out: Vec<f32> = Vec::with_capacity(frames.len());
        for same in frames.chunk_by(|a, b| transition_id(a) == transition_id(b)) {
            let weight = match transition_id(&same[0]) {
                None => out.last().copied().unwrap_or(silence),
                Some(id) => {
                    let is_silence = self.options.silence_phones.contains(&transitions.phone(id));
                    let most = usize::try_from(self.options.max_state_duration).unwrap_or(0);
                    if is_silence || (most > 0 && same.len() >= most) { silence } else { 1.0 }
                }
            };
            out.extend(same.iter().map(|_| weight));
        }
        out
    }
}

fn transition_id(frame: &Known) -> Option<TransitionId> {
    frame.traced.map(|traced| traced.transition_id)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kaldi_io::KaldiReader;

    /// A model of four phones with one state and two transition-ids each: a self-loop and an exit.
    pub fn transitions() -> TransitionModel {
        use kaldi_hmm::{ContextDependency, HmmTopology};
        use kaldi_io::KaldiObject;
        fn read<T: KaldiObject>(text: &str) -> T {
            T::read(&mut KaldiReader::from_bytes("test", text.as_bytes().to_vec())).unwrap()
        }
        let topology: HmmTopology = read(
            "<Topology> <TopologyEntry> <ForPhones> 1 2 3 4 </ForPhones> <State> 0 <PdfClass> 0 <Transition> 0 0.5 \
             <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> ",
        );
        let tree: ContextDependency =
            read("ContextDependency 1 0 ToPdf TE 0 5 ( NULL CE 0 CE 1 CE 2 CE 3 ) EndContextDependency ");
        TransitionModel::new(&tree, topology).unwrap()
    }

    /// The weights that frames have been given, by the reference's procedure written out: state by state, then runs.
    fn weights(ids: &[Option<i32>], model: &TransitionModel, options: &SilenceWeightingOptions) -> Vec<f32> {
        let mut out = vec![1.0; ids.len()];
        for t in 0..ids.len() {
            match ids[t] {
                None => out[t] = if t == 0 { options.silence_weight } else { out[t - 1] },
                Some(id) => {
                    let phone = model.phone(model.transition_id(id).unwrap());
                    if options.silence_phones.contains(&phone) {
                        out[t] = options.silence_weight;
                    }
                    let begin = (0..=t).rev().take_while(|&s| ids[s] == ids[t]).last().unwrap();
                    let end = (t..ids.len()).take_while(|&s| ids[s] == ids[t]).last().unwrap();
                    let most = options.max_state_duration;
                    if most > 0 && (end - begin + 1) as i32 >= most {
                        out[t] = options.silence_weight;
                    }
                }
            }
        }
        out
    }

    fn options(max_state_duration: i32) -> SilenceWeightingOptions {
        SilenceWeightingOptions {
            silence_phones: BTreeSet::from([1, 2]),
            silence_weight: 0.25,
            max_state_duration,
        }
    }

    /// A path of random transition-ids that changes at its end from time to time.
    #[test]
    fn changes_add_up_to_weights() {
        let model = transitions();
        for (max_state_duration, factor) in [(-1, 1), (3, 3), (1, 2)] {
            let mut random = fastrand::Rng::with_seed(1);
            let options = options(max_state_duration);
            let mut weighting = SilenceWeighting::new(options.clone(), factor);
            let mut told: Vec<f32> = Vec::new();
            let mut path: Vec<(u32, i32)> = Vec::new();
            for step in 0..30 {
                // Another path at the end: other tokens.
                path.truncate(path.len().saturating_sub(random.usize(0..8)));
                let longer = path.len() + random.usize(0..9);
                while path.len() < longer {
                    let last = path.last().map_or(1, |last| last.1);
                    path.push((step, if random.bool() { last } else { random.i32(1..=8) }));
                }
                // (The number of frames decoded does not fall.)
                let traced = |&(token, id): &(u32, i32)| TracedFrame {
                    token,
                    transition_id: model.transition_id(id).unwrap(),
                };
                if path.len() * factor >= told.len() {
                    weighting.trace(path.len(), path.iter().rev().map(traced));
                } else {
                    continue;
                }
                let ready = (path.len() + random.usize(0..3)) * factor;
                for (frame, change) in weighting.changes(&model, ready) {
                    told.resize(told.len().max(frame + 1), 0.0);
                    told[frame] += change;
                }
                let mut ids: Vec<Option<i32>> = path.iter().map(|p| Some(p.1)).collect();
                ids.resize(weighting.frames.len(), None);
                let expected = weights(&ids, &model, &options);
                let first = ids.len().saturating_sub(MOST_REVISED);
                for (t, expected) in expected.iter().enumerate().skip(first) {
                    assert!(told[t * factor..(t + 1) * factor].iter().all(|w| (w - expected).abs() < 1e-5));
                }
            }
        }
    }

    #[test]
    fn the_path_is_followed_until_it_meets_the_one_before() {
        let model = transitions();
        let mut weighting = SilenceWeighting::new(options(-1), 1);
        let traced = |token, id| TracedFrame { token, transition_id: model.transition_id(id).unwrap() };
        // Phones 3 and 4 are speech (ids 5 to 8).
        weighting.trace(3, [traced(2, 5), traced(1, 5), traced(0, 5)]);
        assert_eq!(weighting.changes(&model, 3), [(0, 1.0), (1, 1.0), (2, 1.0)]);
        assert_eq!(weighting.changes(&model, 3), []);
        // The same token at frame 1: earlier frames are not examined.
        weighting.trace(4, [traced(3, 1), traced(7, 1), traced(1, 1), traced(9, 1)]);
        assert_eq!(weighting.changes(&model, 5), [(2, -0.75), (3, 0.25), (4, 0.25)]);
        // No frame has a traced path.
        let mut weighting = SilenceWeighting::new(options(-1), 2);
        assert_eq!(weighting.changes(&model, 0), []);
        assert_eq!(weighting.changes(&model, 3), [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
        assert!(weighting.is_active());
        let none = SilenceWeightingOptions { silence_phones: BTreeSet::new(), ..options(-1) };
        assert!(
            !none.is_active() && !SilenceWeightingOptions { silence_weight: 1.0, ..options(5) }.is_active()
        );
    }

    #[test]
    fn what_is_long_past_stays() {
        let model = transitions();
        let mut weighting = SilenceWeighting::new(options(-1), 1);
        let traced = |token, id| TracedFrame { token, transition_id: model.transition_id(id).unwrap() };
        assert_eq!(weighting.changes(&model, 150).len(), 150);
        weighting.trace(150, (0..150).rev().map(|t| traced(t, 5)));
        let changes = weighting.changes(&model, 160);
        assert_eq!((changes[0], changes.len()), ((50, 0.75), 110));
        assert_eq!(changes[109], (159, 1.0));
    }
}
