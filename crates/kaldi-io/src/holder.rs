//! Holders: the types of values in tables, and their form there (`util/kaldi-holder-inl.h`).
//!
//! Most values are a binary header followed by the object; numbers and lists of numbers have forms of their own, and
//! tokens are always text. Each entry may be text or binary. Lists and tokens are in `holder/basic.rs`.

mod basic;

use std::marker::PhantomData;

use crate::compressed::CompressedMatrix;
use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::general::GeneralMatrix;
use crate::matrix::DenseMatrix;
pub use crate::object::KaldiObject;
use crate::posterior::{
    GaussPost, Posterior, read_gauss_post, read_posterior, write_gauss_post, write_posterior,
};
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;
pub use basic::{
    BoolHolder, DoubleHolder, F32PairVectorHolder, F64ListHolder, FloatHolder, I8VectorHolder, I32Holder,
    I32PairVectorHolder, I32VectorHolder, I32VectorVectorHolder, TokenHolder, TokenVectorHolder,
};

/// A type of table. `read` begins right after the key and its blank; `write` writes everything after those.
pub trait Holder: 'static {
    type T: Send + 'static;

    fn read(r: &mut KaldiReader) -> Result<Self::T>;

    /// Writes in the mode of `w`, with the header if that is binary.
    fn write(w: &mut KaldiWriter, value: &Self::T) -> Result<()>;

    /// Says why a value must not be written, such as a weight that is no number. `None` if it may be.
    fn flaw(_value: &Self::T) -> Option<String> {
        None
    }

    /// True of kinds of objects that [`read`](Self::read) takes, as far as [`Contents`] knows them.
    fn reads(_: &Contents) -> bool {
        false
    }

    /// The part of a value that a range in a script file, such as `0:9`, means.
    fn extract_range(_value: &Self::T, range: &str) -> Result<Self::T> {
        Err(IoError::spec(format!("[{range}]"), "ranges are not supported for this type of object"))
    }
}

/// The holder of an object with its own file format.
pub struct ObjectHolder<T>(PhantomData<T>);

impl<T: KaldiObject + Send + 'static> Holder for ObjectHolder<T> {
    type T = T;

    fn read(r: &mut KaldiReader) -> Result<T> {
        r.detect_header()?;
        T::read(r)
    }

    fn reads(contents: &Contents) -> bool {
        T::reads(contents)
    }

    fn write(w: &mut KaldiWriter, value: &T) -> Result<()> {
        w.write_header()?;
        value.write(w)
    }
}

macro_rules! object_holder {
    ($(#[$doc:meta])* $name:ident, $type:ty, $value:ident, $range:ident => $extract:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl Holder for $name {
            type T = $type;

            fn read(r: &mut KaldiReader) -> Result<Self::T> {
                ObjectHolder::<$type>::read(r)
            }

            fn reads(contents: &Contents) -> bool {
                <$type as KaldiObject>::reads(contents)
            }

            fn write(w: &mut KaldiWriter, value: &Self::T) -> Result<()> {
                ObjectHolder::<$type>::write(w, value)
            }

            fn extract_range($value: &Self::T, $range: &str) -> Result<Self::T> {
                $extract
            }
        }
    };
}

object_holder!(
    /// Float matrices.
    MatrixHolder, DenseMatrix<f32>, m, range => m.extract_range(range)
);
object_holder!(
    /// Double matrices.
    DoubleMatrixHolder, DenseMatrix<f64>, m, range => m.extract_range(range)
);
object_holder!(
    /// Float vectors.
    VectorHolder, Vec<f32>, v, range => vector_part(v, range)
);
object_holder!(
    /// Double vectors.
    DoubleVectorHolder, Vec<f64>, v, range => vector_part(v, range)
);
object_holder!(
    /// Matrices in the form in which they are stored. A range of a matrix is a full matrix.
    GeneralMatrixHolder, GeneralMatrix, m, range => Ok(GeneralMatrix::Full(m.to_dense().extract_range(range)?))
);
object_holder!(
    /// Compressed matrices; ranges are not supported.
    CompressedMatrixHolder, CompressedMatrix, _m, range => ObjectHolder::extract_range(_m, range)
);

fn vector_part<T: Copy>(v: &[T], range: &str) -> Result<Vec<T>> {
    let (first, count) = crate::filename::vector_range(range, v.len())?;
    Ok(v[first..first + count].to_vec())
}

/// Posteriors: per frame, pairs of an id and its probability.
pub struct PosteriorHolder;

impl Holder for PosteriorHolder {
    type T = Posterior;

    fn read(r: &mut KaldiReader) -> Result<Posterior> {
        r.detect_header()?;
        read_posterior(r)
    }

    fn reads(contents: &Contents) -> bool {
        *contents == Contents::Posterior
    }

    fn write(w: &mut KaldiWriter, value: &Posterior) -> Result<()> {
        w.write_header()?;
        write_posterior(w, value)
    }
}

/// Posteriors of Gaussians: per frame, pairs of an id and the probabilities of its Gaussians.
pub struct GaussPostHolder;

impl Holder for GaussPostHolder {
    type T = GaussPost;

    fn read(r: &mut KaldiReader) -> Result<GaussPost> {
        r.detect_header()?;
        read_gauss_post(r)
    }

    fn write(w: &mut KaldiWriter, value: &GaussPost) -> Result<()> {
        w.write_header()?;
        write_gauss_post(w, value)
    }
}
