//! Numpy arrays and the types of this project.

use kaldi_io::DenseMatrix;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::type_name;
use crate::error::raised;
use crate::scale::Samples;

/// Imports numpy. Without it, the crate numpy would panic.
fn need_numpy(py: Python<'_>) -> PyResult<()> {
    let Err(error) = py.import("numpy") else { return Ok(()) };
    if !error.is_instance_of::<PyModuleNotFoundError>(py) {
        return Err(error);
    }
    let clear =
        PyModuleNotFoundError::new_err("numpy is not installed, and nnet3 needs it: pip install numpy");
    clear.set_cause(py, Some(error));
    Err(clear)
}

/// The memory of an object that is no array of numpy.
pub enum Buffer<'py> {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Numbers, as an array of numpy.
    Array(Bound<'py, PyAny>),
}

/// The memory of bytes, bytearray, memoryview, array.array and the like; `None` of other objects and of arrays of numpy.
pub fn buffer<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Buffer<'py>>> {
    let py = object.py();
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(Buffer::Bytes(bytes.as_bytes().to_vec())));
    }
    if is_array(object)? {
        return Ok(None);
    }
    let builtins = py.import("builtins")?;
    let view = match builtins.getattr("memoryview")?.call1((object,)) {
        Ok(view) => view,
        Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    let format = view.getattr("format")?.extract::<String>()?;
    Ok(Some(match format.as_str() {
        "B" | "b" | "c" => Buffer::Bytes(builtins.getattr("bytes")?.call1((view,))?.extract()?),
        _ => {
            need_numpy(py)?;
            Buffer::Array(py.import("numpy")?.getattr("asarray")?.call1((view,))?)
        }
    }))
}

/// True of arrays of numpy. (Who has one has imported numpy.)
fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    match modules.call_method1("get", ("numpy",))? {
        module if module.is_none() => Ok(false),
        module => object.is_instance(&module.getattr("ndarray")?),
    }
}

/// The array of an object that can be one, such as a tensor or a column of a table; other objects are returned as they are.
fn array_of<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    need_plain(object, what)?;
    match !is_array(object)? && object.hasattr("__array__")? {
        true => object.py().import("numpy")?.getattr("asarray")?.call1((object,)),
        false => Ok(object.clone()),
    }
}

/// Imports numpy, and raises ValueError for an array with a mask: its elements are read without it.
fn need_plain(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    need_numpy(object.py())?;
    // (Who has such an array has imported its module. The import needs more stack than a thread may have.)
    let modules = object.py().import("sys")?.getattr("modules")?;
    let is_masked = match modules.call_method1("get", ("numpy.ma",))? {
        module if module.is_none() => false,
        module => object.is_instance(&module.getattr("MaskedArray")?)?,
    };
    match is_masked {
        true => Err(PyValueError::new_err(format!(
            "{what}: expected an array without a mask, found a masked one (its method filled makes one without)"
        ))),
        false => Ok(()),
    }
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

/// Raises ValueError if a double is finite and its single is not. `place` names the element of an index.
fn check_range(
    singles: &[f32],
    doubles: impl Iterator<Item = f64>,
    what: &str,
    place: impl Fn(usize) -> String,
) -> PyResult<()> {
    let beyond = |(single, double): (&f32, f64)| single.is_infinite() && double.is_finite();
    match singles.iter().zip(doubles).enumerate().find(|(_, pair)| beyond(*pair)) {
        None => Ok(()),
        Some((at, (_, double))) => Err(PyValueError::new_err(format!(
            "{what}: element {} is {double:e}, which float32 cannot hold",
            place(at)
        ))),
    }
}

/// Returns a vector of single precision. Raises ValueError if a number is too large for that.
pub fn vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f32>> {
    let object = &array_of(object, what)?;
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f32>>() {
        return collected(array.as_array().iter().copied(), what);
    }
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f64>>() {
        let singles = collected(array.as_array().iter().map(|&x| x as f32), what)?;
        check_range(&singles, array.as_array().iter().copied(), what, |at| at.to_string())?;
        return Ok(singles);
    }
    Err(unexpected(object, what, "a vector of float32 or float64"))
}

/// Raises ValueError if a sample is NaN or infinite.
fn check_finite(values: &[f32], what: &str) -> PyResult<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(PyValueError::new_err(format!("{what}: sample {at} is {}", values[at]))),
    }
}

/// Returns the samples of an array (of samples, or of samples × 1) of float32, float64 or int16, or of bytes with 16 bits a
/// sample, which `of_bytes` joins to those before.
pub fn samples(
    object: &Bound<'_, PyAny>,
    of_bytes: impl FnOnce(&[u8]) -> PyResult<Vec<f32>>,
) -> PyResult<Samples> {
    const WHAT: &str = "samples";
    let object = &match buffer(object)? {
        Some(Buffer::Bytes(bytes)) => return Ok(Samples::Wave(of_bytes(&bytes)?)),
        Some(Buffer::Array(array)) => array,
        None => only_channel(array_of(object, WHAT)?)?,
    };
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, i16>>() {
        return Ok(Samples::Wave(collected(array.as_array().iter().map(|&x| f32::from(x)), WHAT)?));
    }
    let values =
        vector(object, WHAT).map_err(|error| match error.is_instance_of::<PyTypeError>(object.py()) {
            true => {
                unexpected(object, WHAT, "a vector of float32, float64 or int16, or bytes or another buffer")
            }
            false => error,
        })?;
    check_finite(&values, WHAT)?;
    Ok(Samples::Floats(values))
}

/// The samples of an array of samples × 1, as recorders give them; other objects are returned as they are.
fn only_channel(object: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let shape = object.getattr("shape").and_then(|shape| shape.extract::<Vec<usize>>());
    match shape.as_deref() {
        Ok([_, 1]) => object.call_method1("reshape", (-1,)),
        _ => Ok(object),
    }
}

/// Returns the samples of a whole sound with the values of wave files, all channels of the first one first, and the number of
/// channels. The array has samples, or samples × channels.
pub fn sound(object: &Bound<'_, PyAny>) -> PyResult<(Vec<i16>, usize)> {
    const WHAT: &str = "recording";
    let object = &array_of(object, WHAT)?;
    let channels = |shape: &[usize]| match *shape {
        [_] => Ok(1),
        [samples, channels] if samples == 0 || channels == 0 => {
            Err(PyValueError::new_err(format!("{WHAT}: the array of {samples} × {channels} is empty")))
        }
        [samples, channels] if channels <= samples => Ok(channels),
        [samples, channels] => Err(PyValueError::new_err(format!(
            "{WHAT}: expected an array of samples × channels, found one of {samples} × {channels}: is it turned (.T)?"
        ))),
        _ => Err(unexpected(object, WHAT, "an array of samples, or of samples × channels")),
    };
    if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, i16>>() {
        return Ok((collected(array.as_array().iter().copied(), "samples")?, channels(array.shape())?));
    }
    let (values, channels) = if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        (collected(array.as_array().iter().copied(), "samples")?, channels(array.shape())?)
    } else if let Ok(array) = object.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        let singles = collected(array.as_array().iter().map(|&x| x as f32), "samples")?;
        check_range(&singles, array.as_array().iter().copied(), WHAT, |at| at.to_string())?;
        (singles, channels(array.shape())?)
    } else {
        let expected = "the name of a file, a file that is open for bytes, bytes, or an array of int16, float32 or float64";
        return Err(unexpected(object, WHAT, expected));
    };
    check_finite(&values, WHAT)?;
    let values = Samples::Floats(values).alone()?;
    // (A cast bounds what is too loud, as readers of wave files do.)
    Ok((values.iter().map(|value| value.round() as i16).collect(), channels))
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

/// Returns a matrix of single precision. Raises ValueError if a number is too large for that.
pub fn matrix(object: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f32>> {
    let object = &array_of(object, what)?;
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f32>>() {
        return Ok(dense(array.shape(), collected(array.as_array().iter().copied(), what)?));
    }
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f64>>() {
        let singles = collected(array.as_array().iter().map(|&x| x as f32), what)?;
        let place = |at: usize| format!("({}, {})", at / array.shape()[1], at % array.shape()[1]);
        check_range(&singles, array.as_array().iter().copied(), what, place)?;
        return Ok(dense(array.shape(), singles));
    }
    Err(unexpected(object, what, "a matrix of float32 or float64"))
}

/// Returns a matrix of double precision.
pub fn double_matrix(object: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f64>> {
    let object = &array_of(object, what)?;
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f32>>() {
        return Ok(dense(array.shape(), collected(array.as_array().iter().map(|&x| f64::from(x)), what)?));
    }
    if let Ok(array) = object.extract::<PyReadonlyArray2<'_, f64>>() {
        return Ok(dense(array.shape(), collected(array.as_array().iter().copied(), what)?));
    }
    Err(unexpected(object, what, "a matrix of float32 or float64"))
}

fn dense<T>(shape: &[usize], data: Vec<T>) -> DenseMatrix<T> {
    DenseMatrix { rows: shape[0], cols: shape[1], data }
}

/// Returns a matrix of single precision that is to be written under a name.
pub fn stored_matrix(object: &Bound<'_, PyAny>, key: &str) -> PyResult<DenseMatrix<f32>> {
    storable(object.py(), key, matrix(object, key)?)
}

/// Returns a matrix of double precision that is to be written under a name.
pub fn stored_double_matrix(object: &Bound<'_, PyAny>, key: &str) -> PyResult<DenseMatrix<f64>> {
    storable(object.py(), key, double_matrix(object, key)?)
}

/// The matrix as files have it. One without elements loses its one dimension, with a warning: Kaldi's programs refuse it otherwise.
fn storable<T>(py: Python<'_>, key: &str, matrix: DenseMatrix<T>) -> PyResult<DenseMatrix<T>> {
    match (matrix.rows, matrix.cols) {
        (0, 1..) | (1.., 0) => {
            warn(
                py,
                &format!(
                    "{key}: a matrix of {} × {} is written as 0 × 0: Kaldi's files have no other empty matrix",
                    matrix.rows, matrix.cols
                ),
            )?;
            Ok(DenseMatrix { rows: 0, cols: 0, data: Vec::new() })
        }
        _ => Ok(matrix),
    }
}

/// Raises a UserWarning.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    py.import("warnings")?.getattr("warn")?.call1((text,)).map(drop)
}

/// Returns a vector of double precision.
pub fn double_vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let object = &array_of(object, what)?;
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
        _ => type_name(object),
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
