//! Topologies: one state a phone for chain models; three states for sounds and five for silences for Gaussian ones.

use kaldi_hmm::{HmmState, HmmTopology};

use crate::error::Result;

/// States of a sound, and of a silence, in topologies of Gaussian models.
pub const SOUND_STATES: usize = 3;
/// States of a phone of silence.
pub const SILENCE_STATES: usize = 5;

/// One state a phone; its first frame has another pdf than the others, as chain models have it.
///
/// # Errors
/// There are no phones, or a phone comes twice.
pub fn chain(phones: Vec<i32>) -> Result<HmmTopology> {
    let state = HmmState {
        forward_pdf_class: Some(0),
        self_loop_pdf_class: Some(1),
        transitions: vec![(0, 0.5), (1, 0.5)],
    };
    Ok(HmmTopology::new(vec![(phones, vec![state, HmmState::default()])])?)
}

/// Sounds go from left to right. In a silence, the states between the first and the last are connected with each other.
///
/// # Errors
/// There are no phones, or a phone comes twice.
pub fn hmm(sounds: Vec<i32>, silences: Vec<i32>) -> Result<HmmTopology> {
    let mut entries = Vec::new();
    if !sounds.is_empty() {
        let state = |s: usize| HmmState::emitting(s as i32, vec![(s, 0.75), (s + 1, 0.25)]);
        let states = (0..SOUND_STATES).map(state).chain([HmmState::default()]).collect();
        entries.push((sounds, states));
    }
    if !silences.is_empty() {
        entries.push((silences, silence()));
    }
    Ok(HmmTopology::new(entries)?)
}

fn silence() -> Vec<HmmState> {
    let last = SILENCE_STATES - 1;
    let even = (1.0 / last as f64) as f32;
    let mut states = vec![HmmState::emitting(0, (0..last).map(|next| (next, even)).collect())];
    for s in 1..last {
        states.push(HmmState::emitting(s as i32, (1..=last).map(|next| (next, even)).collect()));
    }
    states.push(HmmState::emitting(last as i32, vec![(last, 0.75), (last + 1, 0.25)]));
    states.push(HmmState::default());
    states
}

/// The text of [`chain`], as scripts write it.
pub fn chain_text(phones: &[i32]) -> String {
    let phones: Vec<String> = phones.iter().map(i32::to_string).collect();
    format!(
        "<Topology>\n<TopologyEntry>\n<ForPhones> {} </ForPhones>\n\
         <State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>\n\
         <State> 1 </State>\n</TopologyEntry>\n</Topology>\n",
        phones.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_silence_has_three_frames_as_sounds_have() {
        let topology = hmm(vec![2, 3], vec![1]).unwrap();
        assert_eq!(topology.min_length(1), Some(3));
        assert_eq!(topology.min_length(2), Some(3));
        assert_eq!(topology.num_pdf_classes(1), 5);
        assert!(topology.warnings().is_empty(), "{:?}", topology.warnings());
    }

    #[test]
    fn the_text_is_that_topology() {
        let mut r = kaldi_io::KaldiReader::from_bytes("topo", chain_text(&[1, 2]).into_bytes());
        let read: HmmTopology = kaldi_io::KaldiObject::read(&mut r).unwrap();
        assert_eq!(read, chain(vec![1, 2]).unwrap());
    }
}
