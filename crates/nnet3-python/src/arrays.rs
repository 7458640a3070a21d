//! Numpy arrays and the types of this project.

use kaldi_io::DenseMatrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Imports numpy. Without it, the crate numpy would panic.
fn need_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy").map(drop)
}

/// Returns a vector of single precision.
pub fn vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f32>> {
    need_numpy(object.py())?;
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(array.as_array().iter().copied().collect());
    }
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(array.as_array().iter().map(|&x| x as f32).collect());
    }
    Err(unexpected(object, what, "a vector of float32 or float64"))
}

/// Returns samples with the values of wave files: of an array of float32, float64 or int16, or of bytes with 16 bits a
/// sample.
pub fn samples(object: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    need_numpy(object.py())?;
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, i16>>() {
        return Ok(array.as_array().iter().map(|&x| f32::from(x)).collect());
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let pairs = bytes.as_bytes().chunks_exact(2);
        return Ok(pairs.map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]]))).collect());
    }
    vector(object, "samples")
        .map_err(|_| unexpected(object, "samples", "a vector of float32, float64 or int16, or bytes"))
}

/// Returns a matrix of single precision.
pub fn matrix(object: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f32>> {
    need_numpy(object.py())?;
    let dense = |shape: &[usize], data: Vec<f32>| {
        let (rows, cols) = (shape[0], shape[1]);
        DenseMatrix { rows, cols, data }
    };
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f32>>() {
        return Ok(dense(array.shape(), array.as_array().iter().copied().collect()));
    }
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f64>>() {
        return Ok(dense(array.shape(), array.as_array().iter().map(|&x| x as f32).collect()));
    }
    Err(unexpected(object, what, "a matrix of float32 or float64"))
}

fn unexpected(object: &Bound<'_, PyAny>, what: &str, expected: &str) -> PyErr {
    let text = |name: &str| Some(object.getattr(name).ok()?.str().ok()?.to_string());
    let found = match (text("shape"), text("dtype")) {
        (Some(shape), Some(dtype)) => format!("an array of shape {shape} and type {dtype}"),
        _ => object.get_type().to_string(),
    };
    PyTypeError::new_err(format!("{what}: expected {expected}, found {found}"))
}

pub fn to_vector(py: Python<'_>, data: Vec<f32>) -> PyResult<Bound<'_, PyArray1<f32>>> {
    need_numpy(py)?;
    Ok(PyArray1::from_vec(py, data))
}

pub fn to_matrix(py: Python<'_>, matrix: DenseMatrix<f32>) -> PyResult<Bound<'_, PyArray2<f32>>> {
    need_numpy(py)?;
    PyArray1::from_vec(py, matrix.data).reshape([matrix.rows, matrix.cols])
}
