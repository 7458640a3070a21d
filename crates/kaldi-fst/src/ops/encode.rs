//! Encodes labels and costs of arcs as single labels, and decodes them; tables of codes in files.
//!
//! Facts: `fst/encode.h` of OpenFst.

use kaldi_io::{KaldiReader, KaldiWriter};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};
use crate::store::raw::{read_i32, read_i64, read_raw, read_string};

const MAGIC: i32 = 2_128_178_506;
const LABELS: u8 = 1;
const WEIGHTS: u8 = 2;
/// Input and output label of a final cost.
const NO_LABEL: i32 = -1;
/// No type has a name of this length.
const LONGEST_TYPE: i32 = 1000;

/// Input label, output label and cost, by their number from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Codes {
    /// True if output labels are encoded.
    pub labels: bool,
    /// True if costs are encoded.
    pub weights: bool,
    arc_type: String,
    all: Vec<(i32, i32, f32)>,
    numbers: FxHashMap<(i32, i32, u32), i32>,
}

impl Codes {
    pub fn new(labels: bool, weights: bool, arc_type: &str) -> Codes {
        Codes {
            labels,
            weights,
            arc_type: arc_type.to_owned(),
            all: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }

    fn number(&mut self, ilabel: i32, olabel: i32, weight: f32) -> i32 {
        let olabel = if self.labels || ilabel == NO_LABEL { olabel } else { 0 };
        let weight = if self.weights { weight } else { 0.0 };
        let key = (ilabel, olabel, weight.to_bits());
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push((ilabel, olabel, weight));
            self.all.len() as i32
        })
    }

    fn get(&self, number: i32) -> Option<(i32, i32, f32)> {
        self.all.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }

    /// Reads a table.
    pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<Codes> {
        r.set_binary(true);
        let magic = read_i32(r)?;
        if magic != MAGIC {
            return Err(r.error(format!(
                "expected a table of codes (fstencode), which begins with {MAGIC}, found {magic}"
            )));
        }
        let arc_type = read_string(r, LONGEST_TYPE)?;
        let [flags] = read_raw(r)?;
        if flags & !(LABELS | WEIGHTS) != 0 {
            return Err(r.error(format!("tables of codes with symbols are not read (flags {flags})")));
        }
        let count = read_i64(r)?;
        let mut codes = Codes::new(flags & LABELS != 0, flags & WEIGHTS != 0, &arc_type);
        for _ in 0..count {
            let (ilabel, olabel) = (read_i32(r)?, read_i32(r)?);
            let weight = f32::from_le_bytes(read_raw(r)?);
            codes.all.push((ilabel, olabel, weight));
            codes.numbers.insert((ilabel, olabel, weight.to_bits()), codes.all.len() as i32);
        }
        Ok(codes)
    }

    pub fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_bytes(&MAGIC.to_le_bytes())?;
        w.write_bytes(&(self.arc_type.len() as i32).to_le_bytes())?;
        w.write_str(&self.arc_type)?;
        w.write_bytes(&[(u8::from(self.labels) * LABELS) | (u8::from(self.weights) * WEIGHTS)])?;
        w.write_bytes(&(self.all.len() as i64).to_le_bytes())?;
        for &(ilabel, olabel, weight) in &self.all {
            w.write_bytes([ilabel, olabel].map(i32::to_le_bytes).as_flattened())?;
            w.write_bytes(&weight.to_le_bytes())?;
        }
        Ok(())
    }

    /// Encodes an FST. With costs, all paths end in one new state, and final costs are arcs to it.
    pub fn encode(&mut self, fst: &mut Fst) {
        let end = if self.weights && !fst.states.is_empty() { Some(fst.add_state()) } else { None };
        for s in 0..fst.states.len() as StateId {
            let state = fst.state_mut(s);
            for arc in &mut state.arcs {
                let code = self.number(arc.ilabel, arc.olabel, arc.weight);
                arc.ilabel = code;
                arc.olabel = if self.labels { code } else { arc.olabel };
                arc.weight = if self.weights { 0.0 } else { arc.weight };
            }
            if let Some(end) = end.filter(|&end| end != s && state.is_final()) {
                let code = self.number(NO_LABEL, NO_LABEL, state.final_weight);
                let olabel = if self.labels { code } else { 0 };
                state.arcs.push(Arc { olabel, ..Arc::new(code, 0.0, end) });
                state.final_weight = f32::INFINITY;
            }
        }
        if let Some(end) = end {
            fst.state_mut(end).final_weight = 0.0;
        }
    }

    /// Decodes an FST. Labels that have no code are an error.
    pub fn decode(&self, fst: &mut Fst) -> Result<()> {
        for s in 0..fst.states.len() {
            let arcs = std::mem::take(&mut fst.states[s].arcs);
            for mut arc in arcs {
                if arc.ilabel == 0 {
                    fst.states[s].arcs.push(arc);
                    continue;
                }
                let code = self.get(arc.ilabel);
                let (ilabel, olabel, weight) = code.ok_or(Error::NoCode { label: arc.ilabel })?;
                if ilabel == NO_LABEL {
                    let end = weight + arc.weight + fst.states[arc.next as usize].final_weight;
                    let known = &mut fst.states[s].final_weight;
                    *known = known.min(end);
                    continue;
                }
                arc.ilabel = ilabel;
                arc.olabel = if self.labels { olabel } else { arc.olabel };
                arc.weight += weight;
                fst.states[s].arcs.push(arc);
            }
        }
        super::connect(fst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_is_what_was_encoded() {
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(2, Default::default);
        fst.states[0].arcs = vec![
            Arc { ilabel: 1, olabel: 2, weight: 0.5, next: 1 },
            Arc { ilabel: 1, olabel: 2, weight: 0.25, next: 0 },
            Arc { ilabel: 0, olabel: 3, weight: 0.5, next: 1 },
        ];
        fst.states[1].final_weight = 2.0;
        for (labels, weights) in [(true, true), (true, false), (false, true)] {
            let mut codes = Codes::new(labels, weights, "standard");
            let mut encoded = fst.clone();
            codes.encode(&mut encoded);
            assert_eq!(encoded.check_acceptor().is_ok(), labels);
            codes.decode(&mut encoded).unwrap();
            assert_eq!(encoded, fst, "{labels} {weights}");
        }
        let mut codes = Codes::new(true, true, "standard");
        codes.encode(&mut fst.clone());
        let mut wrong = Fst { start: Some(0), ..Fst::default() };
        wrong.states.resize_with(1, Default::default);
        wrong.states[0].arcs = vec![Arc::new(99, 0.0, 0)];
        assert_eq!(codes.decode(&mut wrong), Err(Error::NoCode { label: 99 }));
    }
}
