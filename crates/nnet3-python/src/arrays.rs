//! Numpy arrays and the types of this project.

use kaldi_io::DenseMatrix;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;

/// Imports numpy. Without it, the crate numpy would panic.
fn need_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy").map(drop)
}

/// Collects elements. Raises MemoryError if there is no memory for them: an array may be much larger than the memory that it takes,
/// such as one of `numpy.broadcast_to`.
fn collected<T>(elements: impl ExactSizeIterator<Item = T>, what: &str) -> PyResult<Vec<T>> {
    let mut out = Vec::new();
    kaldi_io::memory::reserve(&mut out, elements.len(), &format!("{what}, {} numbers", elements.len()))
        .map_err(raised)?;
    out.extend(elements);
    Ok(out)
}

/// Returns a vector of single precision.
pub fn vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f32>> {
    need_numpy(object.py())?;
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f32>>() {
        return collected(array.as_array().iter().copied(), what);
    }
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f64>>() {
        return collected(array.as_array().iter().map(|&x| x as f32), what);
    }
    Err(unexpected(object, what, "a vector of float32 or float64"))
}

/// Returns samples with the values of wave files: of an array of float32, float64 or int16, or of bytes with 16 bits a
/// sample, which `of_bytes` joins to those before.
pub fn samples(
    object: &Bound<'_, PyAny>,
    of_bytes: impl FnOnce(&[u8]) -> PyResult<Vec<f32>>,
) -> PyResult<Vec<f32>> {
    need_numpy(object.py())?;
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, i16>>() {
        return collected(array.as_array().iter().map(|&x| f32::from(x)), "samples");
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return of_bytes(bytes.as_bytes());
    }
    vector(object, "samples").map_err(|error| match error.is_instance_of::<PyTypeError>(object.py()) {
        true => unexpected(object, "samples", "a vector of float32, float64 or int16, or bytes"),
        false => error,
    })
}

/// The greatest absolute value of floats between −1 and 1, which may be a little louder. (Samples of such values in the scale of wave
/// files are digital silence.)
const UNIT: f32 = 2.0;

/// Returns the samples of a whole sound with the values of wave files, all channels of the first one first, and the number of
/// channels. The array has samples, or samples × channels.
pub fn sound(object: &Bound<'_, PyAny>) -> PyResult<(Vec<i16>, usize)> {
    need_numpy(object.py())?;
    let channels = |shape: &[usize]| match *shape {
        [_] => Ok(1),
        [samples, channels] if (1..=samples.max(1)).contains(&channels) => Ok(channels),
        [samples, channels] => Err(PyValueError::new_err(format!(
            "recording: expected an array of samples × channels, found one of {samples} × {channels}: is it turned (.T)?"
        ))),
        _ => Err(unexpected(object, "recording", "an array of samples, or of samples × channels")),
    };
    if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, i16>>() {
        return Ok((collected(array.as_array().iter().copied(), "samples")?, channels(array.shape())?));
    }
    let (values, channels) = if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        (collected(array.as_array().iter().copied(), "samples")?, channels(array.shape())?)
    } else if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        (collected(array.as_array().iter().map(|&x| x as f32), "samples")?, channels(array.shape())?)
    } else {
        let expected = "the name of a file, a file that is open for bytes, bytes, or an array of int16, float32 or float64";
        return Err(unexpected(object, "recording", expected));
    };
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        return Err(PyValueError::new_err(format!("recording: sample {at} is {}", values[at])));
    }
    let scale = if values.iter().all(|value| value.abs() < UNIT) { 32768.0 } else { 1.0 };
    // (A cast bounds what is too loud, as readers of wave files do.)
    Ok((values.iter().map(|value| (value * scale).round() as i16).collect(), channels))
}

/// Returns the samples of bytes that are a whole piece of sound. Raises ValueError if the number of bytes is odd.
pub fn whole_samples(bytes: &[u8]) -> PyResult<Vec<f32>> {
    if !bytes.len().is_multiple_of(2) {
        return Err(PyValueError::new_err(format!(
            "samples: expected two bytes a sample, found {} bytes",
            bytes.len()
        )));
    }
    let pairs = bytes.chunks_exact(2);
    collected(pairs.map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]]))), "samples")
}

/// Returns a matrix of single precision.
pub fn matrix(object: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f32>> {
    matrix_of(object, what, |x| x, |x| x as f32)
}

/// Returns a matrix of double precision.
pub fn double_matrix(object: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f64>> {
    matrix_of(object, what, f64::from, |x| x)
}

fn matrix_of<T>(
    object: &Bound<'_, PyAny>,
    what: &str,
    of_single: impl Fn(f32) -> T,
    of_double: impl Fn(f64) -> T,
) -> PyResult<DenseMatrix<T>> {
    need_numpy(object.py())?;
    let dense = |shape: &[usize], data: Vec<T>| DenseMatrix { rows: shape[0], cols: shape[1], data };
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f32>>() {
        return Ok(dense(array.shape(), collected(array.as_array().iter().map(|&x| of_single(x)), what)?));
    }
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f64>>() {
        return Ok(dense(array.shape(), collected(array.as_array().iter().map(|&x| of_double(x)), what)?));
    }
    Err(unexpected(object, what, "a matrix of float32 or float64"))
}

/// Returns a vector of double precision.
pub fn double_vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    need_numpy(object.py())?;
    match object.extract::<PyReadonlyArray1<'_, f64>>() {
        Ok(array) => collected(array.as_array().iter().copied(), what),
        Err(_) => collected(vector(object, what)?.into_iter().map(f64::from), what),
    }
}

/// True for float64, false for float32, which is the default. Raises ValueError for other types.
pub fn is_double(py: Python<'_>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(dtype) = dtype else { return Ok(false) };
    let name = py.import("numpy")?.getattr("dtype")?.call1((dtype,))?.getattr("name")?.extract::<String>()?;
    match name.as_str() {
        "float32" => Ok(false),
        "float64" => Ok(true),
        _ => Err(PyValueError::new_err(format!("dtype: expected float32 or float64, found {name}"))),
    }
}

fn unexpected(object: &Bound<'_, PyAny>, what: &str, expected: &str) -> PyErr {
    let text = |name: &str| Some(object.getattr(name).ok()?.str().ok()?.to_string());
    let found = match (text("shape"), text("dtype")) {
        (Some(shape), Some(dtype)) => format!("an array of shape {shape} and type {dtype}"),
        _ => object.get_type().to_string(),
    };
    PyTypeError::new_err(format!("{what}: expected {expected}, found {found}"))
}

pub fn to_vector<T: Element>(py: Python<'_>, data: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    need_numpy(py)?;
    Ok(PyArray1::from_vec(py, data))
}

pub fn to_matrix<T: Element>(py: Python<'_>, matrix: DenseMatrix<T>) -> PyResult<Bound<'_, PyArray2<T>>> {
    need_numpy(py)?;
    PyArray1::from_vec(py, matrix.data).reshape([matrix.rows, matrix.cols])
}
