//! FSTs as values of a table.

use std::marker::PhantomData;

use kaldi_io::Contents;
use kaldi_io::holder::Holder;
use kaldi_io::text::is_space;
use kaldi_io::{KaldiReader, KaldiWriter};

use crate::fst::Fst;
use crate::weight::Weight;
use crate::{store, text};

/// OpenFst's binary form without Kaldi's header, or text. Text begins with a blank.
pub struct FstHolder<W = f32>(PhantomData<W>);

impl<W: Weight> Holder for FstHolder<W> {
    type T = Fst<W>;

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Fst<W>> {
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

    fn reads(contents: &Contents) -> bool {
        *contents == Contents::Fst
    }

    fn write(w: &mut KaldiWriter, fst: &Fst<W>) -> kaldi_io::Result<()> {
        if w.binary() { store::write_vector(w, fst) } else { text::write(w, fst) }
    }
}
