//! Texts by two transducers over bytes: a tagger, and a verbalizer of its output (`postprocessor.cc` of vosk).

use kaldi_fst::ops::{compose_transducers, shortest_paths};
use kaldi_fst::store::read_fst;
use kaldi_fst::{Arc, Fst};

/// The transducers.
pub struct TextProcessor {
    tagger: Fst,
    verbalizer: Fst,
}

impl TextProcessor {
    /// Reads both transducers.
    pub fn open(tagger: &str, verbalizer: &str) -> kaldi_io::Result<TextProcessor> {
        Ok(TextProcessor { tagger: read_fst(tagger)?, verbalizer: read_fst(verbalizer)? })
    }

    /// Returns the text that the verbalizer makes of the best tags. Empty if a transducer does not accept its input. Fails
    /// for a transducer with a cycle of negative cost.
    pub fn convert(&self, text: &str) -> kaldi_fst::Result<Vec<u8>> {
        best(&best(text.as_bytes(), &self.tagger)?, &self.verbalizer)
    }
}

/// Returns the output of the cheapest path with this input.
fn best(input: &[u8], transducer: &Fst) -> kaldi_fst::Result<Vec<u8>> {
    if input.is_empty() {
        return Ok(Vec::new());
    }
    // A state has one arc, so the arcs of the first FST are sorted.
    let paths = compose_transducers(&line(input), transducer, true).unwrap_or_default();
    let best = shortest_paths(&paths, 1, 0.0)?;
    let labels = best.iter().flat_map(|(arcs, _)| arcs).map(|arc| arc.olabel);
    // The label 0 stands for no output, and labels of bytes are below 256.
    Ok(labels.filter_map(|label| u8::try_from(label).ok()).filter(|&byte| byte != 0).collect())
}

/// The FST that accepts these bytes alone. A byte 0 is an empty label.
fn line(bytes: &[u8]) -> Fst {
    let mut fst = Fst::default();
    let mut last = fst.add_state();
    fst.start = Some(last);
    for &byte in bytes {
        let (next, label) = (fst.add_state(), i32::from(byte));
        fst.state_mut(last).arcs.push(Arc { ilabel: label, olabel: label, weight: 0.0, next });
        last = next;
    }
    fst.state_mut(last).final_weight = 0.0;
    fst
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transducer of one state that turns letters into texts, at these costs.
    fn letters(rules: &[(u8, &str, f32)]) -> Fst {
        let mut fst = Fst::default();
        let start = fst.add_state();
        fst.start = Some(start);
        fst.state_mut(start).final_weight = 0.0;
        for &(letter, text, cost) in rules {
            let mut from = start;
            for (place, byte) in text.bytes().enumerate() {
                let next = if place + 1 == text.len() { start } else { fst.add_state() };
                let (ilabel, weight) = if place == 0 { (letter.into(), cost) } else { (0, 0.0) };
                fst.state_mut(from).arcs.push(Arc { ilabel, olabel: byte.into(), weight, next });
                from = next;
            }
        }
        fst
    }

    #[test]
    fn the_cheapest_texts_are_joined() {
        let tagger = letters(&[(b'a', "xy", 1.0), (b'a', "z", 2.0), (b'b', "z", 0.5)]);
        let verbalizer =
            letters(&[(b'x', "\u{b2}", 0.0), (b'y', "1", 3.0), (b'y', "2", 2.0), (b'z', "-", 0.0)]);
        let processor = TextProcessor { tagger, verbalizer };
        let convert = |text: &str| String::from_utf8(processor.convert(text).unwrap()).unwrap();
        assert_eq!(convert("ab"), "\u{b2}2-");
        assert_eq!(convert("abc"), "");
        assert_eq!(convert(""), "");
    }
}
