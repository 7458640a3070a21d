//! Utterances of one recording that overlap.

use crate::corpus::Utterance;
use crate::fault::{Fault, Kind};

/// Overlaps below this are rounding, in seconds.
const ROUNDING: f64 = 0.01;

/// A warning for each utterance that begins before another one of its recording has ended.
pub(crate) fn overlaps(utterances: &[Utterance]) -> Vec<Fault> {
    let mut order: Vec<(usize, f64, f64, &Utterance)> = utterances
        .iter()
        .filter_map(|utterance| {
            let (begin, end) = utterance.span?;
            Some((utterance.recording, begin, end, utterance))
        })
        .collect();
    order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then_with(|| a.3.id.cmp(&b.3.id)));
    let mut faults = Vec::new();
    // The utterance of the recording so far that ends last.
    let mut last: Option<(usize, f64, &Utterance)> = None;
    for (recording, begin, end, utterance) in order {
        match last {
            Some((of, until, other)) if of == recording => {
                if begin + ROUNDING < until {
                    let same = if other.speaker == utterance.speaker {
                        "the same speaker"
                    } else {
                        "another speaker"
                    };
                    let sentence = format!(
                        "'{}' begins at {begin:.2} s, before '{}' of {same} has ended ({until:.2} s)",
                        utterance.id, other.id
                    );
                    faults.push(Fault::warning(Kind::Overlap, &utterance.place, sentence));
                }
                if end > until {
                    last = Some((recording, end, utterance));
                }
            }
            _ => last = Some((recording, end, utterance)),
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_late_one_is_named() {
        let utterance = |id: &str, recording, span| Utterance {
            id: id.to_owned(),
            recording,
            span,
            speaker: id[..1].to_owned(),
            text: String::new(),
            place: format!("{id}.eaf"),
        };
        let all = [
            utterance("a1", 0, Some((0.0, 2.0))),
            utterance("a2", 0, Some((2.0, 9.0))),
            utterance("b1", 0, Some((3.0, 4.0))),
            utterance("a3", 0, Some((8.0, 10.0))),
            utterance("c1", 1, Some((1.0, 2.0))),
            utterance("d1", 2, None),
        ];
        let sentences: Vec<String> = overlaps(&all).into_iter().map(|fault| fault.to_string()).collect();
        assert_eq!(
            sentences,
            [
                "b1.eaf: 'b1' begins at 3.00 s, before 'a2' of another speaker has ended (9.00 s)",
                "a3.eaf: 'a3' begins at 8.00 s, before 'a2' of the same speaker has ended (9.00 s)",
            ]
        );
    }
}
