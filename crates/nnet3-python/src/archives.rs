//! Tables of matrices and vectors: readers are iterators, writers context managers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kaldi_io::holder::{Holder, MatrixHolder, VectorHolder};
use kaldi_io::{SequentialReader, TableWriter};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays;
use crate::error::raised;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A reader until it is closed.
type Reader<H> = Mutex<Option<SequentialReader<H>>>;
type Writer<H> = Mutex<Option<TableWriter<H>>>;

fn open<H: Holder>(rspecifier: &str) -> PyResult<Reader<H>> {
    Ok(Mutex::new(Some(SequentialReader::open(rspecifier).map_err(raised)?)))
}

fn next<H: Holder>(reader: &Reader<H>) -> PyResult<Option<(String, H::T)>> {
    match &mut *locked(reader) {
        Some(reader) => reader.next().map_err(raised),
        None => Err(PyValueError::new_err("the table is closed")),
    }
}

fn close<H: Holder>(reader: &Reader<H>) -> PyResult<()> {
    locked(reader).take().map_or(Ok(()), |reader| reader.close().map_err(raised))
}

fn create<H: Holder>(wspecifier: &str) -> PyResult<Writer<H>> {
    Ok(Mutex::new(Some(TableWriter::open(wspecifier).map_err(raised)?)))
}

fn write<H: Holder>(writer: &Writer<H>, key: &str, value: &H::T) -> PyResult<()> {
    if key.is_empty() || key.split_ascii_whitespace().ne([key]) {
        return Err(PyValueError::new_err(format!(
            "the name of an utterance must be one word, found {key:?}"
        )));
    }
    match &mut *locked(writer) {
        Some(writer) => writer.write(key, value).map_err(raised),
        None => Err(PyValueError::new_err("the table is closed")),
    }
}

fn finish<H: Holder>(writer: &Writer<H>) -> PyResult<()> {
    locked(writer).take().map_or(Ok(()), |writer| writer.close().map_err(raised))
}

macro_rules! reader {
    ($name:ident, $holder:ty, $array:ty, $doc:literal, $convert:expr) => {
        #[doc = $doc]
        #[pyclass(module = "nnet3")]
        pub struct $name(Reader<$holder>);

        #[pymethods]
        impl $name {
            #[new]
            fn new(py: Python<'_>, rspecifier: &str) -> PyResult<Self> {
                Ok($name(py.detach(|| open(rspecifier))?))
            }

            fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(String, Bound<'py, $array>)>> {
                let Some((key, value)) = py.detach(|| next(&self.0))? else { return Ok(None) };
                Ok(Some((key, $convert(py, value)?)))
            }

            /// Closes the table. Raises Error if a command of the rspecifier failed.
            fn close(&self, py: Python<'_>) -> PyResult<()> {
                py.detach(|| close(&self.0))
            }

            fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            #[pyo3(signature = (*_exception))]
            fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
                py.detach(|| close(&self.0))
            }
        }
    };
}

macro_rules! writer {
    ($name:ident, $holder:ty, $doc:literal, $convert:expr) => {
        #[doc = $doc]
        #[pyclass(module = "nnet3")]
        pub struct $name(Writer<$holder>);

        #[pymethods]
        impl $name {
            #[new]
            fn new(py: Python<'_>, wspecifier: &str) -> PyResult<Self> {
                Ok($name(py.detach(|| create(wspecifier))?))
            }

            /// Writes an array under a name of one word, in single precision.
            fn write(&self, py: Python<'_>, key: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
                let value = $convert(array, key)?;
                py.detach(|| write(&self.0, key, &value))
            }

            /// Ends the table. Raises Error if it could not be written.
            fn close(&self, py: Python<'_>) -> PyResult<()> {
                py.detach(|| finish(&self.0))
            }

            fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }

            #[pyo3(signature = (*_exception))]
            fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
                py.detach(|| finish(&self.0))
            }
        }
    };
}

reader!(
    MatrixReader,
    MatrixHolder,
    PyArray2<f32>,
    "MatrixReader(rspecifier): iterates over (name, float32 array) of a table of matrices, compressed ones too.",
    arrays::to_matrix
);
reader!(
    VectorReader,
    VectorHolder,
    PyArray1<f32>,
    "VectorReader(rspecifier): iterates over (name, float32 array) of a table of vectors.",
    arrays::to_vector
);
writer!(
    MatrixWriter,
    MatrixHolder,
    "MatrixWriter(wspecifier): writes a table of matrices of single precision.",
    arrays::matrix
);
writer!(
    VectorWriter,
    VectorHolder,
    "VectorWriter(wspecifier): writes a table of vectors of single precision.",
    arrays::vector
);
