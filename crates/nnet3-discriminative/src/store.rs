//! The form of the supervision in files.

use kaldi_io::holder::Holder;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};
use nnet3_decode::{LatticeHolder, order};

use crate::supervision::Supervision;

fn read_positive(r: &mut KaldiReader, token: &str) -> Result<usize> {
    r.expect_token(token)?;
    match r.read_i32()? {
        value if value > 0 => Ok(value as usize),
        value => Err(r.error(format!("expected a number above 0 after {token}, found {value}"))),
    }
}

impl KaldiObject for Supervision {
    /// Reads and sorts the lattice. The output that the supervision belongs to [checks](Supervision::check) it.
    fn read(r: &mut KaldiReader) -> Result<Self> {
        let binary = r.binary();
        r.expect_token("<DiscriminativeSupervision>")?;
        r.expect_token("<Weight>")?;
        let weight = r.read_f32()?;
        let num_sequences = read_positive(r, "<NumSequences>")?;
        let frames_per_sequence = read_positive(r, "<FramesPerSeq>")?;
        r.expect_token("<NumAli>")?;
        let alignment = r.read_i32_vector()?;
        r.expect_token("<DenLat>")?;
        let mut lattice = LatticeHolder::read(r)?;
        // (The lattice may be in the other form.)
        r.set_binary(binary);
        order::sort(&mut lattice).map_err(|e| r.error(e.to_string()))?;
        r.expect_token("</DiscriminativeSupervision>")?;
        Ok(Supervision { weight, num_sequences, frames_per_sequence, alignment, lattice })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<DiscriminativeSupervision>")?;
        w.write_token("<Weight>")?;
        w.write_f32(self.weight)?;
        for (token, value) in
            [("<NumSequences>", self.num_sequences), ("<FramesPerSeq>", self.frames_per_sequence)]
        {
            w.write_token(token)?;
            w.write_i32(value as i32)?;
        }
        w.write_token("<NumAli>")?;
        w.write_i32_vector(&self.alignment)?;
        w.write_token("<DenLat>")?;
        LatticeHolder::write(w, &self.lattice)?;
        w.write_token("</DiscriminativeSupervision>")
    }
}
