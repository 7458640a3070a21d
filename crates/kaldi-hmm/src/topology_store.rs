//! Topologies in files (`hmm/hmm-topology.cc`). People write the text form. The binary form has the tables.

use crate::topology::{HmmState, HmmTopology};
use kaldi_io::{IoError, KaldiObject, KaldiReader, KaldiWriter, Result};

impl KaldiObject for HmmTopology {
    /// Reads and checks `<Topology> … </Topology>`.
    fn read(r: &mut KaldiReader) -> Result<HmmTopology> {
        r.expect_token("<Topology>")?;
        if r.binary() { read_binary(r) } else { read_text(r) }
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Topology>")?;
        if w.binary() {
            write_binary(self, w)?
        } else {
            write_text(self, w)?
        }
        w.write_token("</Topology>")?;
        w.newline_in_text()
    }
}

fn read_binary(r: &mut KaldiReader) -> Result<HmmTopology> {
    let phones = r.read_i32_vector()?;
    let entry_of_phone = r.read_i32_vector()?;
    let mut count = r.read_i32()?;
    // -1 announces the form whose self-loops have pdf classes of their own.
    let extended = count == -1;
    if extended {
        count = r.read_i32()?;
    }
    let mut entries = Vec::new();
    for _ in 0..r.check_count(count, "topology entries")? {
        let states = r.read_i32().and_then(|n| r.check_count(n, "states"))?;
        let mut entry = Vec::new();
        for _ in 0..states {
            entry.push(read_binary_state(r, extended)?);
        }
        entries.push(entry);
    }
    r.expect_token("</Topology>")?;
    let topology = HmmTopology { phones, entry_of_phone, entries };
    topology.check().map_err(|e| r.error(e.to_string()))?;
    Ok(topology)
}

fn read_binary_state(r: &mut KaldiReader, extended: bool) -> Result<HmmState> {
    let forward_pdf_class = read_class(r)?;
    let self_loop_pdf_class = if extended { read_class(r)? } else { forward_pdf_class };
    let mut state = HmmState { forward_pdf_class, self_loop_pdf_class, transitions: Vec::new() };
    let transitions = r.read_i32().and_then(|n| r.check_count(n, "transitions"))?;
    for _ in 0..transitions {
        state.transitions.push(read_transition(r)?);
    }
    Ok(state)
}

/// A pdf class; -1 means none.
fn read_class(r: &mut KaldiReader) -> Result<Option<i32>> {
    match r.read_i32()? {
        -1 => Ok(None),
        class if class >= 0 => Ok(Some(class)),
        class => Err(r.error(format!("invalid pdf class {class}"))),
    }
}

fn read_transition(r: &mut KaldiReader) -> Result<(usize, f32)> {
    let next = r.read_i32().and_then(|n| r.check_count(n, "states"))?;
    Ok((next, r.read_f32()?))
}

fn read_text(r: &mut KaldiReader) -> Result<HmmTopology> {
    let mut entries = Vec::new();
    // No more than the closing token may be wanted: it can be the last thing in the file.
    while r.peek_token()? != Some(b'/') {
        r.expect_token("<TopologyEntry>")?;
        entries.push((read_phones(r)?, read_text_states(r)?));
    }
    r.expect_token("</Topology>")?;
    HmmTopology::new(entries).map_err(|e| r.error(e.to_string()))
}

fn read_phones(r: &mut KaldiReader) -> Result<Vec<i32>> {
    r.expect_token("<ForPhones>")?;
    let mut phones = Vec::new();
    loop {
        let word = r.read_token()?;
        if word == "</ForPhones>" {
            return Ok(phones);
        }
        phones.push(
            word.parse().map_err(|_| {
                r.error(format!("expected phones as numbers or </ForPhones>, found '{word}'"))
            })?,
        );
    }
}

fn read_text_states(r: &mut KaldiReader) -> Result<Vec<HmmState>> {
    let mut states: Vec<HmmState> = Vec::new();
    loop {
        match r.read_token()?.as_str() {
            "</TopologyEntry>" => return Ok(states),
            "<State>" => {}
            other => return Err(r.error(format!("expected <State> or </TopologyEntry>, found '{other}'"))),
        }
        let number = r.read_i32()?;
        if usize::try_from(number) != Ok(states.len()) {
            return Err(
                r.error(format!("expected state {}, found {number}: states are in order", states.len()))
            );
        }
        states.push(read_text_state(r)?);
    }
}

fn read_text_state(r: &mut KaldiReader) -> Result<HmmState> {
    let mut state = HmmState::default();
    let mut token = r.read_token()?;
    if token == "<PdfClass>" {
        state.forward_pdf_class = read_class(r)?;
        state.self_loop_pdf_class = state.forward_pdf_class;
        token = r.read_token()?;
    } else if token == "<ForwardPdfClass>" {
        state.forward_pdf_class = read_class(r)?;
        r.expect_token("<SelfLoopPdfClass>")?;
        state.self_loop_pdf_class = read_class(r)?;
        token = r.read_token()?;
    }
    while token == "<Transition>" {
        state.transitions.push(read_transition(r)?);
        token = r.read_token()?;
    }
    match token.as_str() {
        "</State>" => Ok(state),
        "<Final>" => Err(r.error("<Final>: this is an obsolete form of topologies, without a last state")),
        other => Err(r.error(format!("expected <Transition> or </State>, found '{other}'"))),
    }
}

fn write_binary(topology: &HmmTopology, w: &mut KaldiWriter) -> Result<()> {
    w.write_i32_vector(&topology.phones)?;
    w.write_i32_vector(&topology.entry_of_phone)?;
    let extended = !topology.is_hmm();
    if extended {
        w.write_i32(-1)?;
    }
    w.write_i32(topology.entries.len() as i32)?;
    for entry in &topology.entries {
        w.write_i32(entry.len() as i32)?;
        for state in entry {
            w.write_i32(state.forward_pdf_class.unwrap_or(-1))?;
            if extended {
                w.write_i32(state.self_loop_pdf_class.unwrap_or(-1))?;
            }
            w.write_i32(state.transitions.len() as i32)?;
            for &(next, probability) in &state.transitions {
                w.write_i32(next as i32)?;
                w.write_f32(probability)?;
            }
        }
    }
    Ok(())
}

fn write_text(topology: &HmmTopology, w: &mut KaldiWriter) -> Result<()> {
    let extended = !topology.is_hmm();
    w.write_str("\n")?;
    for (index, entry) in topology.entries.iter().enumerate() {
        w.write_str("<TopologyEntry> \n<ForPhones> \n")?;
        for (phone, &of) in topology.entry_of_phone.iter().enumerate() {
            if of == index as i32 {
                w.write_i32(phone as i32)?;
            }
        }
        w.write_str("\n</ForPhones> \n")?;
        for (number, state) in entry.iter().enumerate() {
            write_text_state(w, number, state, extended)?;
        }
        w.write_str("</TopologyEntry> \n")?;
    }
    Ok(())
}

fn write_text_state(w: &mut KaldiWriter, number: usize, state: &HmmState, extended: bool) -> Result<()> {
    w.write_token("<State>")?;
    w.write_i32(number as i32)?;
    if let Some(class) = state.forward_pdf_class {
        w.write_token(if extended { "<ForwardPdfClass>" } else { "<PdfClass>" })?;
        w.write_i32(class)?;
        if extended {
            let class = state.self_loop_pdf_class.ok_or_else(|| {
                IoError::Value(format!(
                    "{}: state {number} has no pdf class for a self-loop; only binary files can say so",
                    w.name()
                ))
            })?;
            w.write_token("<SelfLoopPdfClass>")?;
            w.write_i32(class)?;
        }
    }
    for &(next, probability) in &state.transitions {
        w.write_token("<Transition>")?;
        w.write_i32(next as i32)?;
        w.write_f32(probability)?;
    }
    w.write_str("</State> \n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{from_text, in_both_forms};

    const TEXT: &str = "<Topology> \n<TopologyEntry> \n<ForPhones> \n1 3 \n</ForPhones> \n\
        <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \n\
        <State> 1 <Transition> 2 0.75 <Transition> 3 0.25 </State> \n\
        <State> 2 <PdfClass> 1 <Transition> 4 1 </State> \n\
        <State> 3 <PdfClass> 2 <Transition> 4 1 </State> \n<State> 4 </State> \n</TopologyEntry> \n\
        <TopologyEntry> \n<ForPhones> \n2 \n</ForPhones> \n\
        <State> 0 <PdfClass> 0 <Transition> 1 1 </State> \n<State> 1 </State> \n</TopologyEntry> \n</Topology> \n";

    #[test]
    fn text_and_binary() {
        let topology = from_text::<HmmTopology>(TEXT).unwrap();
        assert_eq!(topology.phones(), [1, 2, 3]);
        assert_eq!(topology.entry(3).unwrap()[1].transitions, [(2, 0.75), (3, 0.25)]);
        assert_eq!(in_both_forms(&topology).0, TEXT);
        assert_eq!(from_text::<HmmTopology>(TEXT.trim_end()).unwrap(), topology);

        let extended = TEXT
            .replace("<PdfClass> 0", "<ForwardPdfClass> 0 <SelfLoopPdfClass> 3")
            .replace("<PdfClass> 1", "<ForwardPdfClass> 1 <SelfLoopPdfClass> 1")
            .replace("<PdfClass> 2", "<ForwardPdfClass> 2 <SelfLoopPdfClass> 2")
            .replace("2 \n</ForPhones>", "4 \n</ForPhones>")
            .replacen("<SelfLoopPdfClass> 3 <Transition> 1 1", "<SelfLoopPdfClass> 1 <Transition> 1 1", 1);
        let topology = from_text::<HmmTopology>(&extended).unwrap();
        assert!(!topology.is_hmm());
        assert_eq!(in_both_forms(&topology).0, extended);
    }

    /// The bytes that the reference wrote.
    #[test]
    fn the_binary_form_of_the_specification() {
        let text = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones> <State> 0 <PdfClass> 0 \
            <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> </Topology> ";
        let binary = in_both_forms(&from_text::<HmmTopology>(text).unwrap()).1;
        let mut expected = b"<Topology> ".to_vec();
        expected.extend([4, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        expected.extend([4, 3, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [1i32, 2, 0, 2, 0] {
            expected.push(4);
            expected.extend(number.to_le_bytes());
        }
        expected.extend([4, 0, 0, 0, 0x3f, 4, 1, 0, 0, 0, 4, 0, 0, 0, 0x3f]);
        expected.extend([4, 255, 255, 255, 255, 4, 0, 0, 0, 0]);
        expected.extend(b"</Topology> ");
        assert_eq!(binary, expected);
    }

    #[test]
    fn wrong_files() {
        let refused = |old: &str, new: &str, words: &str| {
            assert!(TEXT.contains(old));
            let error = from_text::<HmmTopology>(&TEXT.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("<State> 1", "<State> 2", "line 7: expected state 1, found 2");
        refused("1 3 ", "1 x ", "found 'x'");
        refused("<Transition> 2 0.75 <Transition> 3 0.25", "<Final>", "obsolete");
        refused("<Transition> 4 1 ", "<Transition> 5 1 ", "which does not exist");
        refused("2 \n</For", "3 \n</For", "phone 3 appears in two");
        for end in 0..TEXT.len() - 2 {
            assert!(from_text::<HmmTopology>(&TEXT[..end]).is_err(), "{end}");
        }
    }
}
