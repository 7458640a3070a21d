//! The form of examples with supervision in files.

use kaldi_io::{IoError, KaldiObject, KaldiReader, KaldiWriter, Result, read_vector, write_vector};
use nnet3_core::index::{read_indexes, write_indexes};

use super::{SequenceExample, SequenceOutput, SequenceSupervision, WeightForm};
use crate::example::{MOST_IOS, NnetIo, check_finite, io_error};

/// The byte that stands for a weight of 1.
const BYTE_SCALE: f32 = 255.0;

/// The weights after the token that says how they are stored, and the closing token `end`.
fn read_deriv_weights(r: &mut KaldiReader, end: &str) -> Result<Vec<f32>> {
    let weights = match r.read_token()?.as_str() {
        token if token == end => return Ok(Vec::new()),
        "<DW2>" => read_vector(r)?,
        "<DW>" if r.binary() => r.read_u8_vector()?.into_iter().map(|w| f32::from(w) / BYTE_SCALE).collect(),
        "<DW>" => read_vector(r)?,
        other => return Err(r.error(format!("expected token '<DW2>', '<DW>' or '{end}', found '{other}'"))),
    };
    r.expect_token(end)?;
    Ok(weights)
}

fn write_deriv_weights(w: &mut KaldiWriter, weights: &[f32], form: WeightForm) -> Result<()> {
    match form {
        WeightForm::Floats => {
            w.write_token("<DW2>")?;
            write_vector(w, weights)
        }
        WeightForm::Bytes => {
            w.write_token("<DW>")?;
            if !w.binary() {
                return write_vector(w, weights);
            }
            // (Weights from 0 to 1, as they have been checked to be.)
            let bytes: Vec<u8> = weights.iter().map(|weight| (BYTE_SCALE * weight).round() as u8).collect();
            w.write_u8_vector(&bytes)
        }
    }
}

impl<S: SequenceSupervision> KaldiObject for SequenceOutput<S> {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        let [begin, end] = S::OUTPUT_TOKENS;
        r.expect_token(begin)?;
        let name = r.read_token()?;
        let indexes = read_indexes(r).map_err(io_error)?;
        let supervision = S::read(r)?;
        let deriv_weights = read_deriv_weights(r, end)?;
        let output = SequenceOutput { name, indexes, supervision, deriv_weights };
        output.check().map_err(|e| r.error(e.to_string()))?;
        Ok(output)
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let [begin, end] = S::OUTPUT_TOKENS;
        self.check().map_err(|e| IoError::Value(e.to_string()))?;
        w.write_token(begin)?;
        w.write_token(&self.name)?;
        write_indexes(w, &self.indexes).map_err(io_error)?;
        self.supervision.write(w)?;
        write_deriv_weights(w, &self.deriv_weights, S::WEIGHT_FORM)?;
        w.write_token(end)
    }
}

/// Reads a count and as many objects.
fn read_list<T: KaldiObject>(r: &mut KaldiReader, token: &str) -> Result<Vec<T>> {
    r.expect_token(token)?;
    let count = r.read_i32()?;
    if !(1..=MOST_IOS).contains(&count) {
        return Err(r.error(format!("expected a number from 1 to {MOST_IOS} after {token}, found {count}")));
    }
    (0..count).map(|_| T::read(r)).collect()
}

/// Writes a count and the objects. In text each ends its line.
fn write_list<T: KaldiObject>(w: &mut KaldiWriter, token: &str, list: &[T]) -> Result<()> {
    w.write_token(token)?;
    w.write_i32(list.len() as i32)?;
    w.newline_in_text()?;
    list.iter().try_for_each(|item| {
        item.write(w)?;
        w.newline_in_text()
    })
}

impl<S: SequenceSupervision> KaldiObject for SequenceExample<S> {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        let [begin, end] = S::EXAMPLE_TOKENS;
        r.expect_token(begin)?;
        let inputs: Vec<NnetIo> = read_list(r, "<NumInputs>")?;
        let outputs = read_list(r, "<NumOutputs>")?;
        r.expect_token(end)?;
        check_finite(&inputs)?;
        Ok(SequenceExample { inputs, outputs })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let [begin, end] = S::EXAMPLE_TOKENS;
        w.write_token(begin)?;
        write_list(w, "<NumInputs>", &self.inputs)?;
        write_list(w, "<NumOutputs>", &self.outputs)?;
        w.write_token(end)
    }
}
