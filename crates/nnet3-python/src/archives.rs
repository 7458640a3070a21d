//! Tables of matrices and vectors, of single or double precision: readers are iterators, which find entries by name too, and writers are
//! context managers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kaldi_io::holder::{DoubleMatrixHolder, DoubleVectorHolder, Holder, MatrixHolder, VectorHolder};
use kaldi_io::table::RandomReader;
use kaldi_io::{SequentialReader, TableWriter};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays;
use crate::commands::Specifier;
use crate::stack::detach;
use crate::tables::{self, TableName};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Table<H: Holder> {
    Open(SequentialReader<H>),
    /// All entries have been read, and the commands that wrote them have not failed.
    Ended,
    Closed,
}

/// A table that is read from its beginning, and another view of it for entries by name, once one was asked for.
struct Reader<H: Holder> {
    specifier: Specifier,
    table: Mutex<Table<H>>,
    lookup: Mutex<Option<RandomReader<H>>>,
    entries: AtomicUsize,
}

struct Writer<H: Holder> {
    specifier: Specifier,
    table: Mutex<Option<TableWriter<H>>>,
    entries: AtomicUsize,
}

fn closed() -> PyErr {
    PyValueError::new_err("the table is closed")
}

impl<H: Holder> Reader<H> {
    fn open(name: TableName, commands: bool) -> PyResult<Reader<H>> {
        let specifier = Specifier::to_read(name, commands)?;
        let table = Mutex::new(Table::Open(specifier.open(SequentialReader::open)?));
        Ok(Reader { specifier, table, lookup: Mutex::new(None), entries: AtomicUsize::new(0) })
    }

    /// The next entry. At the end, the failure of a command that wrote the table is an error, so that a loop does not end as if it
    /// had seen all entries.
    fn next(&self) -> PyResult<Option<(String, H::T)>> {
        let mut table = locked(&self.table);
        let entry = match &mut *table {
            Table::Open(reader) => reader.next().map_err(|error| self.specifier.raised(error))?,
            Table::Ended => return Ok(None),
            Table::Closed => return Err(closed()),
        };
        match entry.is_some() {
            true => drop(self.entries.fetch_add(1, Ordering::Relaxed)),
            false => self.end(&mut table, Table::Ended)?,
        }
        Ok(entry)
    }

    fn end(&self, table: &mut Table<H>, end: Table<H>) -> PyResult<()> {
        match std::mem::replace(table, end) {
            Table::Open(reader) => reader.close().map_err(|error| self.specifier.raised(error)),
            Table::Ended | Table::Closed => Ok(()),
        }
    }

    fn close(&self) -> PyResult<()> {
        *locked(&self.lookup) = None;
        let closed = self.end(&mut locked(&self.table), Table::Closed);
        self.specifier.release();
        closed
    }

    /// Looks an entry up. Raises TypeError if the table is no file.
    fn look_up<T>(
        &self,
        look: impl FnOnce(&mut RandomReader<H>) -> kaldi_io::error::Result<T>,
    ) -> PyResult<T> {
        if matches!(*locked(&self.table), Table::Closed) {
            return Err(closed());
        }
        if !self.specifier.is_file() {
            return Err(PyTypeError::new_err(format!(
                "{}: only tables in files have entries by name; this one is read from its beginning to its end",
                self.specifier.given()
            )));
        }
        let mut lookup = locked(&self.lookup);
        let reader = match &mut *lookup {
            Some(reader) => reader,
            none => none.insert(self.specifier.open(RandomReader::open)?),
        };
        look(reader).map_err(|error| self.specifier.raised(error))
    }

    fn has(&self, key: &str) -> PyResult<bool> {
        // (No other text can be the name of an entry.)
        Ok(is_one_word(key) && self.look_up(|reader| reader.has(key))?)
    }

    fn get(&self, key: &str) -> PyResult<H::T>
    where
        H::T: Clone,
    {
        let found = match is_one_word(key) {
            true => self.look_up(|reader| Ok(reader.get(key)?.cloned()))?,
            false => None,
        };
        found.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
    }

    fn state(&self) -> String {
        let entries = self.entries.load(Ordering::Relaxed);
        let end = match &*locked(&self.table) {
            Table::Open(_) => "",
            Table::Ended => ", at the end",
            Table::Closed => ", closed",
        };
        format!("{:?}: {entries} read{end}", self.specifier.given())
    }
}

fn is_one_word(key: &str) -> bool {
    !key.is_empty() && key.split_ascii_whitespace().eq([key])
}

impl<H: Holder> Writer<H> {
    fn create(name: TableName, commands: bool) -> PyResult<Writer<H>> {
        let specifier = Specifier::to_write(name, commands)?;
        let table = Mutex::new(Some(specifier.open(TableWriter::open)?));
        Ok(Writer { specifier, table, entries: AtomicUsize::new(0) })
    }

    fn write(&self, key: &str, value: &H::T) -> PyResult<()> {
        if !is_one_word(key) {
            return Err(PyValueError::new_err(format!(
                "the name of an utterance must be one word, found {key:?}"
            )));
        }
        let mut table = locked(&self.table);
        let writer = table.as_mut().ok_or_else(closed)?;
        writer.write(key, value).map_err(|error| self.specifier.raised(error))?;
        self.entries.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&self) -> PyResult<()> {
        let closed = match locked(&self.table).take() {
            Some(writer) => writer.close().map_err(|error| self.specifier.raised(error)),
            None => Ok(()),
        };
        self.specifier.release();
        closed
    }

    /// Drops the table after an exception: entries that are written stay in a new file, and an existing file keeps its contents.
    fn abandon(&self) {
        drop(locked(&self.table).take());
        self.specifier.release();
    }

    fn state(&self) -> String {
        let entries = self.entries.load(Ordering::Relaxed);
        let end = if locked(&self.table).is_some() { "" } else { ", closed" };
        format!("{:?}: {entries} written{end}", self.specifier.given())
    }
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
                    Precision::Single(reader) => reader.close(),
                    Precision::Double(reader) => reader.close(),
                })
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (rspecifier, dtype = None, *, commands = true))]
            #[pyo3(text_signature = "(rspecifier, dtype='float32', *, commands=True)")]
            fn new(
                py: Python<'_>,
                rspecifier: &Bound<'_, PyAny>,
                dtype: Option<&Bound<'_, PyAny>>,
                commands: bool,
            ) -> PyResult<Self> {
                let is_double = arrays::is_double(py, dtype)?;
                let name = tables::to_read(rspecifier)?;
                Ok($name(match is_double {
                    false => Precision::Single(detach(py, || Reader::open(name, commands))?),
                    true => Precision::Double(detach(py, || Reader::open(name, commands))?),
                }))
            }

            fn __repr__(&self) -> String {
                let (kind, state) = match &self.0 {
                    Precision::Single(reader) => ("float32", reader.state()),
                    Precision::Double(reader) => ("float64", reader.state()),
                };
                format!("<nnet3.{} of {kind} from {state}>", stringify!($name))
            }

            /// The array of a name. Raises KeyError if the table does not have it.
            fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
                match &self.0 {
                    Precision::Single(reader) => {
                        let value = detach(py, || reader.get(key))?;
                        Ok($convert(py, value)?.into_any())
                    }
                    Precision::Double(reader) => {
                        let value = detach(py, || reader.get(key))?;
                        Ok($convert(py, value)?.into_any())
                    }
                }
            }

            fn __contains__(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
                detach(py, || match &self.0 {
                    Precision::Single(reader) => reader.has(key),
                    Precision::Double(reader) => reader.has(key),
                })
            }

            fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
                match &self.0 {
                    Precision::Single(reader) => {
                        let Some((key, value)) = detach(py, || reader.next())? else { return Ok(None) };
                        Ok(Some((key, $convert(py, value)?.into_any())))
                    }
                    Precision::Double(reader) => {
                        let Some((key, value)) = detach(py, || reader.next())? else { return Ok(None) };
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
                    Precision::Single(writer) => writer.finish(),
                    Precision::Double(writer) => writer.finish(),
                })
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (wspecifier, dtype = None, *, commands = true))]
            #[pyo3(text_signature = "(wspecifier, dtype='float32', *, commands=True)")]
            fn new(
                py: Python<'_>,
                wspecifier: &Bound<'_, PyAny>,
                dtype: Option<&Bound<'_, PyAny>>,
                commands: bool,
            ) -> PyResult<Self> {
                let is_double = arrays::is_double(py, dtype)?;
                let name = tables::to_write(wspecifier)?;
                Ok($name(match is_double {
                    false => Precision::Single(detach(py, || Writer::create(name, commands))?),
                    true => Precision::Double(detach(py, || Writer::create(name, commands))?),
                }))
            }

            fn __repr__(&self) -> String {
                let (kind, state) = match &self.0 {
                    Precision::Single(writer) => ("float32", writer.state()),
                    Precision::Double(writer) => ("float64", writer.state()),
                };
                format!("<nnet3.{} of {kind} to {state}>", stringify!($name))
            }

            /// Writes an array under a name of one word, in the precision of the table.
            fn write(&self, py: Python<'_>, key: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
                match &self.0 {
                    Precision::Single(writer) => {
                        let value = $of_single(array, key)?;
                        detach(py, || writer.write(key, &value))
                    }
                    Precision::Double(writer) => {
                        let value = $of_double(array, key)?;
                        detach(py, || writer.write(key, &value))
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
                    Precision::Single(writer) => writer.abandon(),
                    Precision::Double(writer) => writer.abandon(),
                });
                Ok(())
            }
        }
    };
}

reader!(
    MatrixReader,
    [MatrixHolder, DoubleMatrixHolder],
    "Iterates over the names and arrays of a table of matrices of any precision, compressed ones too.\n\n\
     `rspecifier` is the name of an archive or a script, which its contents tell apart, or else its ending (.ark, .scp); or an\n\
     rspecifier of Kaldi, such as scp:feats.scp or ark:command |. Arrays have the type `dtype`, float32 or float64. An rspecifier, or\n\
     a line of a script, that ends with `|` is run as a shell command; with commands=False it raises ValueError.\n\n\
     reader[name] is the array of a name, and `name in reader` says if there is one, beside the iteration and until close(): of\n\
     tables in files. A script is the better choice: of an archive, all arrays up to that one are read, and stay in memory. A table\n\
     that is no file raises TypeError.",
    arrays::to_matrix
);
reader!(
    VectorReader,
    [VectorHolder, DoubleVectorHolder],
    "Iterates over the names and arrays of a table of vectors of any precision, and finds them by name.\n\n\
     All else is as in MatrixReader.",
    arrays::to_vector
);
writer!(
    MatrixWriter,
    [MatrixHolder, DoubleMatrixHolder],
    "Writes a table of matrices of single precision, or with dtype float64 of double precision.\n\n\
     `wspecifier` is one of Kaldi, such as ark,scp:out.ark,out.scp, or the name of an archive that ends with .ark. A number that\n\
     float32 cannot hold raises ValueError. A wspecifier, or a line of a script, that begins with `|` is run as a shell command; with\n\
     commands=False it raises ValueError. If a `with` block ends with an exception, the table replaces no file.",
    [arrays::stored_matrix, arrays::stored_double_matrix]
);
writer!(
    VectorWriter,
    [VectorHolder, DoubleVectorHolder],
    "Writes a table of vectors of single precision, or with dtype float64 of double precision.\n\n\
     All else is as in MatrixWriter.",
    [arrays::vector, arrays::double_vector]
);
