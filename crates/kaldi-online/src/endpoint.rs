//! Rules that detect the end of an utterance (`online2/online-endpoint.cc`).

use std::collections::BTreeSet;

use kaldi_hmm::transitions::{TransitionId, TransitionModel};

/// Conditions of an endpoint. All of them must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndpointRule {
    /// The speaker must have said something besides silence.
    pub must_contain_nonsilence: bool,
    /// Silence at the end, in seconds, at least.
    pub min_trailing_silence: f32,
    /// By how much the best path that ends in a final state may be worse than the best path.
    pub max_relative_cost: f32,
    /// In seconds.
    pub min_utterance_length: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EndpointOptions {
    pub silence_phones: BTreeSet<i32>,
    /// One of them is enough.
    pub rules: [EndpointRule; 5],
}

impl EndpointOptions {
    /// The usual rules.
    pub const RULES: [EndpointRule; 5] = [
        EndpointRule {
            must_contain_nonsilence: false,
            min_trailing_silence: 5.0,
            max_relative_cost: f32::INFINITY,
            min_utterance_length: 0.0,
        },
        EndpointRule {
            must_contain_nonsilence: true,
            min_trailing_silence: 0.5,
            max_relative_cost: 2.0,
            min_utterance_length: 0.0,
        },
        EndpointRule {
            must_contain_nonsilence: true,
            min_trailing_silence: 1.0,
            max_relative_cost: 8.0,
            min_utterance_length: 0.0,
        },
        EndpointRule {
            must_contain_nonsilence: true,
            min_trailing_silence: 2.0,
            max_relative_cost: f32::INFINITY,
            min_utterance_length: 0.0,
        },
        EndpointRule {
            must_contain_nonsilence: false,
            min_trailing_silence: 0.0,
            max_relative_cost: f32::INFINITY,
            min_utterance_length: 20.0,
        },
    ];

    /// Number of frames in silence at the end of the best path, which is the beginning of `backwards`.
    pub fn trailing_silence(
        &self,
        transitions: &TransitionModel,
        backwards: impl IntoIterator<Item = TransitionId>,
    ) -> usize {
        let is_silence = |id: &TransitionId| self.silence_phones.contains(&transitions.phone(*id));
        backwards.into_iter().take_while(is_silence).count()
    }

    /// Returns the first rule (from 0) that detects an endpoint, if any. `frame_length` is the length of a frame in
    /// seconds.
    pub fn endpoint(&self, found: &SearchState, frame_length: f32) -> Option<usize> {
        if found.decoded == 0 {
            return None;
        }
        let seconds = |frames: usize| frames as f32 * frame_length;
        let (length, silence) = (seconds(found.decoded), seconds(found.trailing_silence));
        self.rules.iter().position(|rule| {
            (length > silence || !rule.must_contain_nonsilence)
                && silence >= rule.min_trailing_silence
                && found.relative_cost <= rule.max_relative_cost
                && length >= rule.min_utterance_length
        })
    }
}

/// The progress of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchState {
    /// Output frames.
    pub decoded: usize,
    /// Those of them that are silence at the end of the best path.
    pub trailing_silence: usize,
    /// By how much the best path that ends in a final state is worse than the best path; infinite if none does.
    pub relative_cost: f32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silence::tests::transitions;

    fn options() -> EndpointOptions {
        EndpointOptions { silence_phones: BTreeSet::from([1, 2]), rules: EndpointOptions::RULES }
    }

    #[test]
    fn silence_is_counted_from_the_end() {
        let model = transitions();
        let ids = |phones: &[i32]| {
            let id = |&phone: &i32| model.ids().find(|&id| model.phone(id) == phone).unwrap();
            phones.iter().rev().map(id).collect::<Vec<_>>()
        };
        let count = |phones: &[i32]| options().trailing_silence(&model, ids(phones));
        assert_eq!((count(&[]), count(&[1, 3, 1, 2, 2]), count(&[1, 3]), count(&[2, 1])), (0, 3, 0, 2));
    }

    #[test]
    fn rules() {
        // In frames of 30 ms: half a second is 17 frames, one 34, two 67, five 167, twenty 667.
        let cases = [
            (0, 0, 0.0, None),
            (166, 166, 0.0, None),
            (167, 167, 100.0, Some(0)),
            (200, 166, f32::INFINITY, Some(3)),
            // All is silence.
            (100, 100, 0.0, None),
            (101, 16, 0.0, None),
            (101, 17, 2.0, Some(1)),
            (101, 17, 2.1, None),
            (101, 33, 2.1, None),
            (101, 34, 8.0, Some(2)),
            (101, 34, 8.1, None),
            (101, 66, 8.1, None),
            (101, 67, f32::INFINITY, Some(3)),
            (666, 0, 0.0, None),
            (667, 0, f32::INFINITY, Some(4)),
            (667, 17, 0.0, Some(1)),
        ];
        for (decoded, trailing_silence, relative_cost, expected) in cases {
            let state = SearchState { decoded, trailing_silence, relative_cost };
            assert_eq!(options().endpoint(&state, 0.03), expected, "{state:?}");
        }
        let mut options = options();
        options.rules[4].min_utterance_length = 2.0;
        let state = SearchState { decoded: 67, trailing_silence: 0, relative_cost: f32::NAN };
        assert_eq!(options.endpoint(&state, 0.03), None);
        assert_eq!(options.endpoint(&SearchState { relative_cost: 5.0, ..state }, 0.03), Some(4));
    }
}
