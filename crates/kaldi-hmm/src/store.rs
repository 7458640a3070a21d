//! Transition models in files. The extended form, in which self-loops have pdfs of their own, lists the states as
//! `<Tuples>`. The other form lists them as `<Triples>`.

use crate::transitions::{TransitionModel, TransitionState};
use kaldi_io::matrix::{read_vector, write_vector};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};

impl KaldiObject for TransitionModel {
    /// Reads `<TransitionModel> … </TransitionModel>`, and checks it. The rest of a `.mdl` stays unread.
    fn read(r: &mut KaldiReader) -> Result<TransitionModel> {
        r.expect_token("<TransitionModel>")?;
        let topology = KaldiObject::read(r)?;
        let extended = match r.read_token()?.as_str() {
            "<Triples>" => false,
            "<Tuples>" => true,
            other => return Err(r.error(format!("expected <Triples> or <Tuples>, found '{other}'"))),
        };
        let count = r.read_i32().and_then(|n| r.check_count(n, "transition-states"))?;
        // A file that claims many states must have them.
        let mut states = Vec::with_capacity(count.min(1 << 13));
        for _ in 0..count {
            states.push(read_state(r, extended)?);
        }
        r.expect_token(if extended { "</Tuples>" } else { "</Triples>" })?;
        r.expect_token("<LogProbs>")?;
        let log_probs = read_vector(r)?;
        r.expect_token("</LogProbs>")?;
        r.expect_token("</TransitionModel>")?;
        TransitionModel::from_parts(topology, states, Some(log_probs)).map_err(|e| r.error(e.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<TransitionModel>")?;
        w.newline_in_text()?;
        self.topology().write(w)?;
        let extended = !self.topology().is_hmm();
        w.write_token(if extended { "<Tuples>" } else { "<Triples>" })?;
        w.write_i32(self.states().len() as i32)?;
        w.newline_in_text()?;
        for state in self.states() {
            w.write_i32(state.phone)?;
            w.write_i32(state.hmm_state as i32)?;
            w.write_i32(state.forward_pdf)?;
            if extended {
                w.write_i32(state.self_loop_pdf.unwrap_or(-1))?;
            }
            w.newline_in_text()?;
        }
        w.write_token(if extended { "</Tuples>" } else { "</Triples>" })?;
        w.newline_in_text()?;
        w.write_token("<LogProbs>")?;
        w.newline_in_text()?;
        write_vector(w, self.log_probs())?;
        w.write_token("</LogProbs>")?;
        w.newline_in_text()?;
        w.write_token("</TransitionModel>")?;
        w.newline_in_text()
    }
}

fn read_state(r: &mut KaldiReader, extended: bool) -> Result<TransitionState> {
    let phone = r.read_i32()?;
    let hmm_state = r.read_i32().and_then(|n| r.check_count(n, "states"))?;
    let forward_pdf = r.read_i32()?;
    let self_loop_pdf = match if extended { r.read_i32()? } else { forward_pdf } {
        -1 => None,
        pdf => Some(pdf),
    };
    Ok(TransitionState { phone, hmm_state, forward_pdf, self_loop_pdf })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{from_binary, from_text, in_both_forms};

    const TEXT: &str = "<TransitionModel> \n<Topology> \n<TopologyEntry> \n<ForPhones> \n1 2 \n</ForPhones> \n\
        <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \n<State> 1 </State> \n\
        </TopologyEntry> \n</Topology> \n<Triples> 2 \n1 0 0 \n2 0 1 \n</Triples> \n<LogProbs> \n\
        \x20[ 0 -0.6931472 -0.6931472 -0.6931472 -0.6931472 ]\n</LogProbs> \n</TransitionModel> \n";

    /// The 247 bytes that the reference wrote.
    #[test]
    fn the_binary_form() {
        let model = from_text::<TransitionModel>(TEXT).unwrap();
        let (text, binary) = in_both_forms(&model);
        assert_eq!(text, TEXT);
        let mut expected = Vec::new();
        let integers = |out: &mut Vec<u8>, numbers: &[i32]| {
            for number in numbers {
                out.push(4);
                out.extend(number.to_le_bytes());
            }
        };
        expected.extend(b"<TransitionModel> <Topology> ");
        expected.extend([4, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        expected.extend([4, 3, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]);
        integers(&mut expected, &[1, 2, 0, 2, 0]);
        expected.extend([4, 0, 0, 0, 0x3f]);
        integers(&mut expected, &[1]);
        expected.extend([4, 0, 0, 0, 0x3f]);
        integers(&mut expected, &[-1, 0]);
        expected.extend(b"</Topology> <Triples> ");
        integers(&mut expected, &[2, 1, 0, 0, 2, 0, 1]);
        expected.extend(b"</Triples> <LogProbs> FV \x04\x05\0\0\0\0\0\0\0");
        expected.extend([0x18, 0x72, 0x31, 0xbf].repeat(4));
        expected.extend(b"</LogProbs> </TransitionModel> ");
        assert_eq!(expected.len(), 247);
        assert_eq!(binary, expected);
    }

    #[test]
    fn the_extended_form() {
        let text = TEXT
            .replace("<PdfClass> 0", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 1")
            .replace("Triples", "Tuples")
            .replace("1 0 0 \n2 0 1 \n", "1 0 0 1 \n2 0 2 3 \n");
        let model = from_text::<TransitionModel>(&text).unwrap();
        assert_eq!(in_both_forms(&model).0, text);
        assert_eq!(model.num_pdfs(), 4);
        let pdfs: Vec<i32> = model.ids().map(|id| model.pdf(id)).collect();
        assert_eq!(pdfs, [1, 0, 3, 2]);
    }

    #[test]
    fn wrong_files() {
        let refused = |old: &str, new: &str, words: &str| {
            assert!(TEXT.contains(old));
            let error = from_text::<TransitionModel>(&TEXT.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("2 0 1", "3 0 1", "phone 3 is not in the topology");
        refused("2 0 1", "2 1 1", "phone 2 has no state 1");
        refused("2 0 1", "2 0 -2", "invalid pdf-id -2");
        refused("2 0 1", "1 0 0", "1 and 2 are not in order");
        refused("[ 0 ", "[ ", "expected 5 logarithms");
        refused("[ 0 -0.69", "[ 0 0.69", "not a log-probability (transition-id 1)");
        refused("<Triples>", "<Quadruples>", "found '<Quadruples>'");
        refused("2 \n1 0 0 \n2 0 1 \n", "0 \n", "has no states");
        for end in 0..TEXT.len() - 2 {
            assert!(from_text::<TransitionModel>(&TEXT[..end]).is_err(), "{end}");
        }
        let binary = in_both_forms(&from_text::<TransitionModel>(TEXT).unwrap()).1;
        for end in 0..binary.len() - 1 {
            assert!(from_binary::<TransitionModel>(&binary[..end]).is_err(), "{end}");
        }
    }
}
