//! Objects in files of their own: one header, one object.

use crate::contents::Contents;
use crate::error::Result;
use crate::filename::split_range;
use crate::matrix::DenseMatrix;
use crate::number::Real;
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

/// Something with a Kaldi file format. Neither function handles the binary header.
pub trait KaldiObject: Sized {
    fn read(r: &mut KaldiReader) -> Result<Self>;
    fn write(&self, w: &mut KaldiWriter) -> Result<()>;

    /// True of kinds of objects that [`read`](Self::read) takes, as far as [`Contents`] knows them.
    fn reads(_: &Contents) -> bool {
        false
    }
}

/// Opens `rxfilename` and reads the header and one object. The failure of a command is an error.
pub fn read_object<T: KaldiObject>(rxfilename: &str) -> Result<T> {
    read_object_by::<T, T>(rxfilename, T::read)
}

/// Does the same as [`read_object`], and leaves the reading after the header to `read`.
pub fn read_object_by<T: KaldiObject, O>(
    rxfilename: &str,
    read: impl FnOnce(&mut KaldiReader) -> Result<O>,
) -> Result<O> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    let beginning = r.beginning()?;
    let read = r.detect_header().and_then(|_| read(&mut r));
    let out = read.map_err(|e| r.explain(e, &beginning, T::reads))?;
    r.finish()?;
    Ok(out)
}

/// Does the same as [`read_object`]. The name may end in a range, as in `foo.ark:123[0:10]`.
pub fn read_matrix<T: Real>(rxfilename: &str) -> Result<DenseMatrix<T>> {
    let (file, range) = split_range(rxfilename)?;
    let whole: DenseMatrix<T> = read_object(file)?;
    range.map_or(Ok(whole.clone()), |range| whole.extract_range(range))
}

/// Writes header and object; a regular file is complete or not there.
pub fn write_object<T: KaldiObject>(wxfilename: &str, binary: bool, value: &T) -> Result<()> {
    let mut w = KaldiWriter::create(wxfilename, binary)?;
    value.write(&mut w)?;
    w.finish()
}
