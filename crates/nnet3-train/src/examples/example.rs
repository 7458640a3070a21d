//! Training examples: named matrices with an index for each row, and tables of them.

use std::hash::{DefaultHasher, Hash};

use crate::error::{Error, Result};
use crate::merge::merge;
use kaldi_io::holder::ObjectHolder;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use kaldi_io::{GeneralMatrix, IoError, KaldiObject};
use nnet3_core::Index;
use nnet3_core::index::{read_indexes, write_indexes};

/// More inputs and outputs than an example can have.
pub(crate) const MOST_IOS: i32 = 1_000_000;

/// One input or output of an example, such as `input`, `ivector`, `output`: an index for each row of `features`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NnetIo {
    pub name: String,
    pub indexes: Vec<Index>,
    /// Features, or the targets of an output.
    pub features: GeneralMatrix,
}

/// Refuses an example with a value that is not finite. The error names the input or output, and the frame.
pub fn check_finite(ios: &[NnetIo]) -> kaldi_io::Result<()> {
    for io in ios {
        if let Some(found) = io.features.not_finite() {
            let (name, index) = (&io.name, io.indexes[found.row]);
            let sequence = if index.n == 0 { String::new() } else { format!(", n={}", index.n) };
            let value = if found.value.is_nan() { "nan".to_owned() } else { found.value.to_string() };
            return Err(IoError::Refused(format!(
                "'{name}' has the value {value} at t={}{sequence}, in column {}",
                index.t, found.column
            )));
        }
    }
    Ok(())
}

/// One training example: a chunk of an utterance or, once merged, a minibatch of them (told apart by `n`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NnetExample {
    pub ios: Vec<NnetIo>,
}

/// Examples as values of a table.
pub type ExampleHolder = ObjectHolder<NnetExample>;

impl NnetIo {
    /// Rows at times `first_t`, `first_t + step`, … of sequence 0.
    pub fn new(name: &str, features: GeneralMatrix, first_t: i32, step: i32) -> NnetIo {
        let indexes = (0..features.rows() as i32).map(|row| Index::new(0, first_t + row * step, 0)).collect();
        NnetIo { name: name.to_owned(), indexes, features }
    }

    /// Feeds a hasher with the fields that [`same_structures`] compares.
    pub fn hash_structure(&self, hasher: &mut DefaultHasher) {
        self.name.hash(hasher);
        self.features.cols().hash(hasher);
        self.indexes.hash(hasher);
    }

    /// Name, dimension and indexes: the matrix becomes one row of zeros.
    pub fn without_values(&self) -> NnetIo {
        NnetIo {
            name: self.name.clone(),
            indexes: self.indexes.clone(),
            features: kaldi_io::DenseMatrix::new(1, self.features.cols()).into(),
        }
    }

    /// The times of the first and the last of its frames. `None` if it has no rows.
    pub fn time_range(&self) -> Option<(i32, i32)> {
        let times = self.indexes.iter().map(|index| index.t);
        times.clone().min().zip(times.max())
    }
}

/// The largest number of rows of inputs and outputs.
pub fn largest_io(ios: &[NnetIo]) -> usize {
    ios.iter().map(|io| io.indexes.len()).max().unwrap_or(0)
}

/// True if inputs and outputs have the same names, dimensions and indexes.
pub fn same_structures(a: &[NnetIo], b: &[NnetIo]) -> bool {
    let same = |a: &NnetIo, b: &NnetIo| {
        a.name == b.name && a.features.cols() == b.features.cols() && a.indexes == b.indexes
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// Returns the number of sequences (values of n, counted from 0) of inputs and outputs. All of them must agree.
pub fn num_sequences(ios: &[NnetIo]) -> Result<usize> {
    let mut first: Option<(&str, i32)> = None;
    for io in ios {
        let numbers = io.indexes.iter().map(|index| index.n);
        let (Some(lowest), Some(highest)) = (numbers.clone().min(), numbers.max()) else {
            return Err(Error::data(format!("'{}' has no rows", io.name)));
        };
        if lowest != 0 {
            return Err(Error::data(format!("the sequences of '{}' begin at n={lowest}, not 0", io.name)));
        }
        let count = highest + 1;
        match first {
            Some((name, number)) if number != count => {
                return Err(Error::data(format!(
                    "'{name}' has {number} sequences, but '{}' has {count}",
                    io.name
                )));
            }
            _ => first = Some((io.name.as_str(), count)),
        }
    }
    first.map(|(_, count)| count as usize).ok_or_else(|| Error::data("the example is empty"))
}

/// Methods of one kind of example (plain or chain) that reading, merging, shuffling, selecting and training need.
pub trait Example: KaldiObject + Clone + Send + Sync + 'static {
    /// Its inputs, with or without its outputs.
    fn inputs(&self) -> &[NnetIo];

    /// The largest number of rows of its inputs and outputs: usually the input frames with their context.
    fn size(&self) -> usize;

    /// True if two examples can be in one minibatch: same names, dimensions and indexes.
    fn same_structure(&self, other: &Self) -> bool;

    /// Feeds a hasher with the fields that [`same_structure`](Self::same_structure) compares.
    fn hash_structure(&self, hasher: &mut DefaultHasher);

    /// A small example of the same structure.
    fn without_values(&self) -> Self;

    /// Returns the number of sequences (values of n, counted from 0). All parts must agree.
    fn num_sequences(&self) -> Result<usize>;

    /// Merges examples of equal structure into one minibatch: the sequences of each get new numbers, in the given
    /// order. `compress` compresses features that are stored in full.
    fn merge(examples: Vec<Self>, compress: bool) -> Result<Self>;
}

impl NnetExample {
    /// The input or output of this name.
    pub fn io(&self, name: &str) -> Option<&NnetIo> {
        self.ios.iter().find(|io| io.name == name)
    }
    pub(crate) fn io_mut(&mut self, name: &str) -> Option<&mut NnetIo> {
        self.ios.iter_mut().find(|io| io.name == name)
    }

    /// Compresses matrices that are stored in full.
    pub fn compress(&mut self) -> Result<()> {
        self.ios.iter_mut().try_for_each(|io| io.features.compress()).map_err(Error::from)
    }
}

impl Example for NnetExample {
    fn inputs(&self) -> &[NnetIo] {
        &self.ios
    }

    fn size(&self) -> usize {
        largest_io(&self.ios)
    }

    fn same_structure(&self, other: &NnetExample) -> bool {
        same_structures(&self.ios, &other.ios)
    }

    fn hash_structure(&self, hasher: &mut DefaultHasher) {
        self.ios.iter().for_each(|io| io.hash_structure(hasher));
    }

    fn without_values(&self) -> NnetExample {
        NnetExample { ios: self.ios.iter().map(NnetIo::without_values).collect() }
    }

    fn num_sequences(&self) -> Result<usize> {
        num_sequences(&self.ios)
    }

    fn merge(examples: Vec<NnetExample>, compress: bool) -> Result<NnetExample> {
        merge(examples, compress)
    }
}

/// Errors of reading and writing indexes as errors of the file.
pub fn io_error(e: nnet3_core::Error) -> IoError {
    match e {
        nnet3_core::Error::Io(e) => e,
        other => IoError::Value(other.to_string()),
    }
}

impl KaldiObject for NnetIo {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<NnetIo>")?;
        let name = r.read_token()?;
        let indexes = read_indexes(r).map_err(io_error)?;
        let features = GeneralMatrix::read(r)?;
        r.expect_token("</NnetIo>")?;
        if features.rows() != indexes.len() {
            let (rows, count) = (features.rows(), indexes.len());
            return Err(r.error(format!("'{name}' has {count} indexes, but a matrix of {rows} rows")));
        }
        Ok(NnetIo { name, indexes, features })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<NnetIo>")?;
        w.write_token(&self.name)?;
        write_indexes(w, &self.indexes).map_err(io_error)?;
        self.features.write(w)?;
        w.write_token("</NnetIo>")
    }
}

impl KaldiObject for NnetExample {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<Nnet3Eg>")?;
        r.expect_token("<NumIo>")?;
        let count = r.read_i32()?;
        if !(1..=MOST_IOS).contains(&count) {
            return Err(r.error(format!("expected the number of inputs and outputs, found {count}")));
        }
        let ios: Vec<_> = (0..count).map(|_| NnetIo::read(r)).collect::<kaldi_io::Result<_>>()?;
        r.expect_token("</Nnet3Eg>")?;
        check_finite(&ios)?;
        Ok(NnetExample { ios })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<Nnet3Eg>")?;
        w.write_token("<NumIo>")?;
        w.write_i32(self.ios.len() as i32)?;
        self.ios.iter().try_for_each(|io| io.write(w))?;
        w.write_token("</Nnet3Eg>")
    }
}
