//! The form of chain supervision in files.

use kaldi_fst::{Fst, store, text};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};

use crate::supervision::{Graph, Supervision};

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
