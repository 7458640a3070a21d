//! Alignments, a transition-id a frame, cut into phones (`hmm/hmm-utils.cc`).

use crate::error::{Error, Result};
use crate::transitions::{TransitionId, TransitionModel};
use std::ops::Range;

/// A phone in an alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhoneSegment {
    pub phone: i32,
    pub frames: Range<usize>,
}

impl TransitionModel {
    /// True if states of this alignment are left before their self-loops are taken, as in decoding graphs. False if
    /// they are left after them, or if the alignment does not tell.
    pub(crate) fn is_reordered(&self, alignment: &[TransitionId]) -> Result<bool> {
        for (t, pair) in alignment.windows(2).enumerate() {
            if self.state_index(pair[0]) == self.state_index(pair[1]) {
                continue;
            }
            match (self.is_self_loop(pair[0]), self.is_self_loop(pair[1])) {
                (true, true) => {
                    let message = "a self-loop is followed by a self-loop of another state";
                    return Err(Error::Alignment(message.to_owned()).at_frame(t));
                }
                (true, false) => return Ok(true),
                (false, true) => return Ok(false),
                (false, false) => {}
            }
        }
        // One state all the way.
        let loops = |id: Option<&TransitionId>| id.is_some_and(|&id| self.is_self_loop(id));
        Ok(!loops(alignment.first()) && loops(alignment.last()))
    }

    /// Returns the phones of an alignment with their frames, in order. If an alignment begins or ends within a phone,
    /// it is cut at the changes of phones.
    pub fn split_to_phones(&self, alignment: &[TransitionId]) -> Result<Vec<PhoneSegment>> {
        let reordered = self.is_reordered(alignment)?;
        let mut segments: Vec<PhoneSegment> = Vec::new();
        let mut t = 0;
        while let Some(&id) = alignment.get(t) {
            t += 1;
            let next = alignment.get(t).copied();
            let ends = if self.is_final(id) {
                while reordered && alignment.get(t).is_some_and(|&next| self.is_self_loop(next)) {
                    if self.state_index(alignment[t]) != self.state_index(id) {
                        let message = "a self-loop of another state follows the end of a phone";
                        return Err(Error::Alignment(message.to_owned()).at_frame(t));
                    }
                    t += 1;
                }
                true
            } else {
                next.is_none_or(|next| self.phone(next) != self.phone(id))
            };
            if ends {
                let start = segments.last().map_or(0, |last| last.frames.end);
                segments.push(PhoneSegment { phone: self.phone(alignment[start]), frames: start..t });
            }
        }
        Ok(segments)
    }

    /// Does the same as [`TransitionModel::split_to_phones`], but it is an error if a phone has no beginning or no end.
    pub fn split_to_complete_phones(&self, alignment: &[TransitionId]) -> Result<Vec<PhoneSegment>> {
        let segments = self.split_to_phones(alignment)?;
        for segment in &segments {
            let frames = &alignment[segment.frames.clone()];
            let first_state = self.state(frames[0]).hmm_state;
            let begins = first_state == 0 || self.entry(segment.phone)[0].forward_pdf_class.is_none();
            let ends = frames.iter().any(|&id| self.is_final(id));
            if !begins || !ends {
                let what = if begins { "end" } else { "beginning" };
                let message = format!("phone {} has no {what} in the alignment", segment.phone);
                return Err(Error::Alignment(message).at_frame(segment.frames.start));
            }
        }
        Ok(segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    /// Two phones of two states. Ids of phone 1: 1 loop, 2 on, 3 loop, 4 end; of phone 2: 5 to 8.
    fn model() -> TransitionModel {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
            <State> 1 <PdfClass> 1 <Transition> 1 0.5 <Transition> 2 0.5 </State> <State> 2 </State> \
            </TopologyEntry> </Topology> ";
        let tree = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 2 CE 3 ) ) \
            EndContextDependency ";
        TransitionModel::new(&from_text(tree).unwrap(), from_text(topology).unwrap()).unwrap()
    }

    fn split(ids: &[i32]) -> Result<Vec<(i32, Range<usize>)>> {
        let model = model();
        let segments = model.split_to_phones(&model.transition_ids(ids)?)?;
        Ok(segments.into_iter().map(|s| (s.phone, s.frames)).collect())
    }

    #[test]
    fn loops_before_leaving() {
        assert_eq!(split(&[1, 1, 2, 3, 4, 2, 4, 5, 6, 8]).unwrap(), [(1, 0..5), (1, 5..7), (2, 7..10)]);
    }

    #[test]
    fn loops_after_leaving() {
        let model = model();
        let alignment = [2, 1, 1, 4, 3, 2, 4, 6, 5, 8, 7];
        assert!(model.is_reordered(&model.transition_ids(&alignment).unwrap()).unwrap());
        assert_eq!(split(&alignment).unwrap(), [(1, 0..5), (1, 5..7), (2, 7..11)]);
    }

    #[test]
    fn parts_of_phones() {
        assert_eq!(split(&[]).unwrap(), []);
        assert_eq!(split(&[1, 1]).unwrap(), [(1, 0..2)]);
        assert_eq!(split(&[4, 6]).unwrap(), [(1, 0..1), (2, 1..2)]);
        assert_eq!(split(&[2, 6, 8]).unwrap(), [(1, 0..1), (2, 1..3)]);
    }

    #[test]
    fn impossible_alignments() {
        let error = |ids: &[i32]| {
            let error = split(ids).unwrap_err();
            format!("{error}: {}", std::error::Error::source(&error).unwrap())
        };
        assert_eq!(error(&[1, 9]), "frame 1: 9 is not a transition-id of the model, which has 1 to 8");
        assert_eq!(error(&[0]), "frame 0: 0 is not a transition-id of the model, which has 1 to 8");
        assert!(error(&[2, 1, 7]).starts_with("frame 1: a self-loop is followed by"));
        assert!(error(&[2, 1, 4, 5]).starts_with("frame 3: a self-loop of another state"));
    }
}
