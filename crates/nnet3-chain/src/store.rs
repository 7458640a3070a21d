//! The form of chain examples in files.

use kaldi_fst::{Fst, store, text};
use kaldi_io::{IoError, KaldiObject, KaldiReader, KaldiWriter, Result, read_vector, write_vector};
use nnet3_core::index::{read_indexes, write_indexes};
use nnet3_train::NnetIo;
use nnet3_train::example::{check_finite, io_error};

use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::supervision::{Graph, Supervision};

/// More inputs or outputs than an example can have.
const MOST_IOS: i32 = 1_000_000;

/// An older form has weights of derivatives as bytes that stand for 0 to 1.
const BYTE_SCALE: f32 = 255.0;

fn read_fst(r: &mut KaldiReader) -> Result<Fst> {
    if r.binary() { store::read(r) } else { text::read(r) }
}

fn write_fst(w: &mut KaldiWriter, fst: &Fst) -> Result<()> {
    if w.binary() { store::write_compact_acceptor(w, fst) } else { text::write(w, fst) }
}

fn read_positive(r: &mut KaldiReader, token: &str) -> Result<i32> {
    r.expect_token(token)?;
    match r.read_i32()? {
        value if value > 0 => Ok(value),
        value => Err(r.error(format!("expected a number above 0 after {token}, found {value}"))),
    }
}

impl KaldiObject for Supervision {
    /// Reads without [`check`](Supervision::check); the containing object's reader checks.
    fn read(r: &mut KaldiReader) -> Result<Self> {
        r.expect_token("<Supervision>")?;
        r.expect_token("<Weight>")?;
        let weight = r.read_f32()?;
        let num_sequences = read_positive(r, "<NumSequences>")? as usize;
        let frames_per_sequence = read_positive(r, "<FramesPerSeq>")? as usize;
        let label_dim = read_positive(r, "<LabelDim>")?;
        r.expect_token("<End2End>")?;
        let graph = if r.read_bool()? {
            r.expect_token("<Fsts>")?;
            let mut fsts = Vec::new();
            for _ in 0..num_sequences {
                fsts.push(read_fst(r)?);
            }
            r.expect_token("</Fsts>")?;
            Graph::EndToEnd(fsts)
        } else {
            Graph::Constrained(read_fst(r)?)
        };
        let mut alignment_pdfs = Vec::new();
        if r.peek_token()? == Some(b'A') {
            r.expect_token("<AlignmentPdfs>")?;
            alignment_pdfs = r.read_i32_vector()?;
        }
        r.expect_token("</Supervision>")?;
        Ok(Supervision { weight, num_sequences, frames_per_sequence, label_dim, graph, alignment_pdfs })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Supervision>")?;
        w.write_token("<Weight>")?;
        w.write_f32(self.weight)?;
        for (token, value) in
            [("<NumSequences>", self.num_sequences), ("<FramesPerSeq>", self.frames_per_sequence)]
        {
            w.write_token(token)?;
            w.write_i32(value as i32)?;
        }
        w.write_token("<LabelDim>")?;
        w.write_i32(self.label_dim)?;
        w.write_token("<End2End>")?;
        w.write_bool(matches!(self.graph, Graph::EndToEnd(_)))?;
        match &self.graph {
            Graph::Constrained(fst) => write_fst(w, fst)?,
            Graph::EndToEnd(fsts) => {
                w.write_token("<Fsts>")?;
                fsts.iter().try_for_each(|fst| write_fst(w, fst))?;
                w.write_token("</Fsts>")?;
            }
        }
        if !self.alignment_pdfs.is_empty() {
            w.write_token("<AlignmentPdfs>")?;
            w.write_i32_vector(&self.alignment_pdfs)?;
        }
        w.write_token("</Supervision>")
    }
}

/// Reads the weights after the token of their form, and the closing token.
fn read_deriv_weights(r: &mut KaldiReader) -> Result<Vec<f32>> {
    const END: &str = "</NnetChainSup>";
    let weights = match r.read_token()?.as_str() {
        END => return Ok(Vec::new()),
        "<DW2>" => read_vector(r)?,
        "<DW>" if r.binary() => r.read_u8_vector()?.into_iter().map(|w| f32::from(w) / BYTE_SCALE).collect(),
        "<DW>" => read_vector(r)?,
        other => return Err(r.error(format!("expected token '<DW2>' or '{END}', found '{other}'"))),
    };
    r.expect_token(END)?;
    Ok(weights)
}

impl KaldiObject for NnetChainSupervision {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        r.expect_token("<NnetChainSup>")?;
        let name = r.read_token()?;
        let indexes = read_indexes(r).map_err(io_error)?;
        let supervision = Supervision::read(r)?;
        let deriv_weights = read_deriv_weights(r)?;
        let output = NnetChainSupervision { name, indexes, supervision, deriv_weights };
        output.check().map_err(|e| r.error(e.to_string()))?;
        Ok(output)
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.check().map_err(|e| IoError::Value(e.to_string()))?;
        w.write_token("<NnetChainSup>")?;
        w.write_token(&self.name)?;
        write_indexes(w, &self.indexes).map_err(io_error)?;
        self.supervision.write(w)?;
        w.write_token("<DW2>")?;
        write_vector(w, &self.deriv_weights)?;
        w.write_token("</NnetChainSup>")
    }
}

/// Reads a count and this count of objects. In text, each object ends its line.
fn read_list<T: KaldiObject>(r: &mut KaldiReader, token: &str) -> Result<Vec<T>> {
    r.expect_token(token)?;
    let count = r.read_i32()?;
    if !(1..=MOST_IOS).contains(&count) {
        return Err(r.error(format!("expected a number from 1 to {MOST_IOS} after {token}, found {count}")));
    }
    (0..count).map(|_| T::read(r)).collect()
}

fn write_list<T: KaldiObject>(w: &mut KaldiWriter, token: &str, list: &[T]) -> Result<()> {
    w.write_token(token)?;
    w.write_i32(list.len() as i32)?;
    w.newline_in_text()?;
    list.iter().try_for_each(|item| {
        item.write(w)?;
        w.newline_in_text()
    })
}

impl KaldiObject for NnetChainExample {
    fn read(r: &mut KaldiReader) -> Result<Self> {
        r.expect_token("<Nnet3ChainEg>")?;
        let inputs: Vec<NnetIo> = read_list(r, "<NumInputs>")?;
        let outputs = read_list(r, "<NumOutputs>")?;
        r.expect_token("</Nnet3ChainEg>")?;
        check_finite(&inputs)?;
        Ok(NnetChainExample { inputs, outputs })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Nnet3ChainEg>")?;
        write_list(w, "<NumInputs>", &self.inputs)?;
        write_list(w, "<NumOutputs>", &self.outputs)?;
        w.write_token("</Nnet3ChainEg>")
    }
}
