//! FSTs as values of a table.

use kaldi_io::holder::Holder;
use kaldi_io::text::is_space;
use kaldi_io::{KaldiReader, KaldiWriter};

use crate::fst::Fst;
use crate::{store, text};

/// OpenFst's binary form as it is, without Kaldi's header, or text; text begins with a blank.
pub struct FstHolder;

impl Holder for FstHolder {
    type T = Fst;

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Fst> {
        match r.peek_byte()? {
            None => Err(r.error("expected an FST, found the end of the file")),
            Some(byte) if is_space(byte) => {
                r.set_binary(false);
                text::read(r)
            }
            Some(_) => {
                r.set_binary(true);
                store::read(r)
            }
        }
    }

    fn write(w: &mut KaldiWriter, fst: &Fst) -> kaldi_io::Result<()> {
        if w.binary() { store::write_vector(w, fst) } else { text::write(w, fst) }
    }
}
