//! Tables of matrices and vectors, of single or double precision: readers are iterators, writers context managers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kaldi_io::holder::{DoubleMatrixHolder, DoubleVectorHolder, Holder, MatrixHolder, VectorHolder};
use kaldi_io::{SequentialReader, TableWriter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays;
use crate::commands::Specifier;
use crate::stack::detach;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Table<H: Holder> {
    Open(SequentialReader<H>, Specifier),
    /// All entries have been read, and the commands that wrote them have not failed.
    Ended,
    Closed,
}

type Reader<H> = Mutex<Table<H>>;
type Writer<H> = Mutex<Option<(TableWriter<H>, Specifier)>>;

fn open<H: Holder>(rspecifier: &str, commands: bool) -> PyResult<Reader<H>> {
    let specifier = Specifier::to_read(rspecifier, commands)?;
    let reader = SequentialReader::open(specifier.text()).map_err(|error| specifier.raised(error))?;
    Ok(Mutex::new(Table::Open(reader, specifier)))
}

/// The next entry. At the end, the failure of a command that wrote the table is an error, so that a loop does not end as if it had
/// seen all entries.
fn next<H: Holder>(reader: &Reader<H>) -> PyResult<Option<(String, H::T)>> {
    let mut table = locked(reader);
    let entry = match &mut *table {
        Table::Open(reader, specifier) => reader.next().map_err(|error| specifier.raised(error))?,
        Table::Ended => return Ok(None),
        Table::Closed => return Err(PyValueError::new_err("the table is closed")),
    };
    if entry.is_none()
        && let Table::Open(reader, specifier) = std::mem::replace(&mut *table, Table::Ended)
    {
        reader.close().map_err(|error| specifier.raised(error))?;
    }
    Ok(entry)
}

fn close<H: Holder>(reader: &Reader<H>) -> PyResult<()> {
    match std::mem::replace(&mut *locked(reader), Table::Closed) {
        Table::Open(reader, specifier) => reader.close().map_err(|error| specifier.raised(error)),
        Table::Ended | Table::Closed => Ok(()),
    }
}

fn create<H: Holder>(wspecifier: &str, commands: bool) -> PyResult<Writer<H>> {
    let specifier = Specifier::to_write(wspecifier, commands)?;
    let writer = TableWriter::open(specifier.text()).map_err(|error| specifier.raised(error))?;
    Ok(Mutex::new(Some((writer, specifier))))
}

fn write<H: Holder>(writer: &Writer<H>, key: &str, value: &H::T) -> PyResult<()> {
    if key.is_empty() || key.split_ascii_whitespace().ne([key]) {
        return Err(PyValueError::new_err(format!(
            "the name of an utterance must be one word, found {key:?}"
        )));
    }
    match &mut *locked(writer) {
        Some((writer, specifier)) => writer.write(key, value).map_err(|error| specifier.raised(error)),
        None => Err(PyValueError::new_err("the table is closed")),
    }
}

fn finish<H: Holder>(writer: &Writer<H>) -> PyResult<()> {
    match locked(writer).take() {
        Some((writer, specifier)) => writer.close().map_err(|error| specifier.raised(error)),
        None => Ok(()),
    }
}

/// Drops a table after an exception: entries that are written stay in a new file, and an existing file keeps its contents.
fn abandon<H: Holder>(writer: &Writer<H>) {
    drop(locked(writer).take());
}

/// True if a `with` block ends with an exception, which then is the one to tell.
fn is_exception(exception: &Bound<'_, PyTuple>) -> bool {
    exception.get_item(0).is_ok_and(|kind| !kind.is_none())
}

/// A table of the one or the other precision.
enum Precision<S, D> {
    Single(S),
    Double(D),
}

macro_rules! reader {
    ($name:ident, [$single:ty, $double:ty], $doc:literal, $convert:path) => {
        #[doc = $doc]
        #[pyclass(module = "nnet3")]
        pub struct $name(Precision<Reader<$single>, Reader<$double>>);

        impl $name {
            fn end(&self, py: Python<'_>) -> PyResult<()> {
                detach(py, || match &self.0 {
                    Precision::Single(reader) => close(reader),
                    Precision::Double(reader) => close(reader),
                })
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (rspecifier, dtype = None, *, commands = true))]
            fn new(
                py: Python<'_>,
                rspecifier: &str,
                dtype: Option<&Bound<'_, PyAny>>,
                commands: bool,
            ) -> PyResult<Self> {
                Ok($name(match arrays::is_double(py, dtype)? {
                    false => Precision::Single(detach(py, || open(rspecifier, commands))?),
                    true => Precision::Double(detach(py, || open(rspecifier, commands))?),
                }))
            }

            fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
                match &self.0 {
                    Precision::Single(reader) => {
                        let Some((key, value)) = detach(py, || next(reader))? else { return Ok(None) };
                        Ok(Some((key, $convert(py, value)?.into_any())))
                    }
                    Precision::Double(reader) => {
                        let Some((key, value)) = detach(py, || next(reader))? else { return Ok(None) };
                        Ok(Some((key, $convert(py, value)?.into_any())))
                    }
                }
            }

            /// Closes the table. Raises Error if a command of the rspecifier failed.
            fn close(&self, py: Python<'_>) -> PyResult<()> {
                self.end(py)
            }

            fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            /// Closes the table. An exception of the block stays the one that is raised.
            #[pyo3(signature = (*exception))]
            fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
                let closed = self.end(py);
                if is_exception(exception) { Ok(()) } else { closed }
            }
        }
    };
}

macro_rules! writer {
    ($name:ident, [$single:ty, $double:ty], $doc:literal, [$of_single:path, $of_double:path]) => {
        #[doc = $doc]
        #[pyclass(module = "nnet3")]
        pub struct $name(Precision<Writer<$single>, Writer<$double>>);

        impl $name {
            fn end(&self, py: Python<'_>) -> PyResult<()> {
                detach(py, || match &self.0 {
                    Precision::Single(writer) => finish(writer),
                    Precision::Double(writer) => finish(writer),
                })
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (wspecifier, dtype = None, *, commands = true))]
            fn new(
                py: Python<'_>,
                wspecifier: &str,
                dtype: Option<&Bound<'_, PyAny>>,
                commands: bool,
            ) -> PyResult<Self> {
                Ok($name(match arrays::is_double(py, dtype)? {
                    false => Precision::Single(detach(py, || create(wspecifier, commands))?),
                    true => Precision::Double(detach(py, || create(wspecifier, commands))?),
                }))
            }

            /// Writes an array under a name of one word, in the precision of the table.
            fn write(&self, py: Python<'_>, key: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
                match &self.0 {
                    Precision::Single(writer) => {
                        let value = $of_single(array, key)?;
                        detach(py, || write(writer, key, &value))
                    }
                    Precision::Double(writer) => {
                        let value = $of_double(array, key)?;
                        detach(py, || write(writer, key, &value))
                    }
                }
            }

            /// Ends the table. Raises Error if it could not be written.
            fn close(&self, py: Python<'_>) -> PyResult<()> {
                self.end(py)
            }

            fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            /// Ends the table. After an exception in the block, an existing file keeps its contents.
            #[pyo3(signature = (*exception))]
            fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
                if !is_exception(exception) {
                    return self.end(py);
                }
                py.detach(|| match &self.0 {
                    Precision::Single(writer) => abandon(writer),
                    Precision::Double(writer) => abandon(writer),
                });
                Ok(())
            }
        }
    };
}

reader!(
    MatrixReader,
    [MatrixHolder, DoubleMatrixHolder],
    "MatrixReader(rspecifier, dtype=\"float32\", *, commands=True): iterates over (name, array) of a table of matrices of any \
     precision, compressed ones too. Arrays have the type `dtype`, float32 or float64. An rspecifier, or a line of a script, that ends \
     with `|` is run as a shell command; with commands=False it raises ValueError.",
    arrays::to_matrix
);
reader!(
    VectorReader,
    [VectorHolder, DoubleVectorHolder],
    "VectorReader(rspecifier, dtype=\"float32\", *, commands=True): iterates over (name, array) of a table of vectors of any \
     precision. Arrays have the type `dtype`, float32 or float64. An rspecifier, or a line of a script, that ends with `|` is run as a \
     shell command; with commands=False it raises ValueError.",
    arrays::to_vector
);
writer!(
    MatrixWriter,
    [MatrixHolder, DoubleMatrixHolder],
    "MatrixWriter(wspecifier, dtype=\"float32\", *, commands=True): writes a table of matrices of single or (float64) double \
     precision. A number that float32 cannot hold raises ValueError. A wspecifier, or a line of a script, that begins with `|` is run \
     as a shell command; with commands=False it raises ValueError.",
    [arrays::stored_matrix, arrays::stored_double_matrix]
);
writer!(
    VectorWriter,
    [VectorHolder, DoubleVectorHolder],
    "VectorWriter(wspecifier, dtype=\"float32\", *, commands=True): writes a table of vectors of single or (float64) double \
     precision. A number that float32 cannot hold raises ValueError. A wspecifier, or a line of a script, that begins with `|` is run \
     as a shell command; with commands=False it raises ValueError.",
    [arrays::vector, arrays::double_vector]
);
