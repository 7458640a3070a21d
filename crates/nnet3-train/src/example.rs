//! Training examples (spec io §5.5): named matrices with an index for each row, and tables of them.

use std::hash::{Hash, Hasher};

use crate::error::{Error, Result};
use kaldi_io::holder::ObjectHolder;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use kaldi_io::{GeneralMatrix, IoError, KaldiObject, SequentialReader};
use nnet3_core::Index;
use nnet3_core::index::{read_indexes, write_indexes};

/// More inputs and outputs than an example can have.
const MOST_IOS: i32 = 1_000_000;

/// One input or output of an example, such as `input`, `ivector`, `output`: an index for each row of `features`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NnetIo {
    pub name: String,
    pub indexes: Vec<Index>,
    /// Features, or the targets of an output.
    pub features: GeneralMatrix,
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

    /// The times of the first and the last of its frames. `None` if it has no rows.
    pub fn time_range(&self) -> Option<(i32, i32)> {
        let times = self.indexes.iter().map(|index| index.t);
        times.clone().min().zip(times.max())
    }
}

impl NnetExample {
    /// The input or output of this name.
    pub fn io(&self, name: &str) -> Option<&NnetIo> {
        self.ios.iter().find(|io| io.name == name)
    }
    pub fn io_mut(&mut self, name: &str) -> Option<&mut NnetIo> {
        self.ios.iter_mut().find(|io| io.name == name)
    }

    /// The largest number of rows of its inputs and outputs: usually the input frames with their context.
    pub fn size(&self) -> usize {
        self.ios.iter().map(|io| io.indexes.len()).max().unwrap_or(0)
    }

    /// Compresses what is stored in full.
    pub fn compress(&mut self) -> Result<()> {
        self.ios.iter_mut().try_for_each(|io| io.features.compress()).map_err(Error::from)
    }

    /// How many sequences (values of n, counted from 0) it has. All inputs and outputs must agree.
    pub fn num_sequences(&self) -> Result<usize> {
        let mut first: Option<(&str, i32)> = None;
        for io in &self.ios {
            let numbers = io.indexes.iter().map(|index| index.n);
            let (Some(lowest), Some(highest)) = (numbers.clone().min(), numbers.max()) else {
                return Err(Error::data(format!("'{}' has no rows", io.name)));
            };
            if lowest != 0 {
                return Err(Error::data(format!(
                    "the sequences of '{}' begin at n={lowest}, not 0",
                    io.name
                )));
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

    /// Whether two examples can be in one minibatch: same names, dimensions and indexes.
    pub fn same_structure(&self, other: &NnetExample) -> bool {
        let same = |a: &NnetIo, b: &NnetIo| {
            a.name == b.name && a.features.cols() == b.features.cols() && a.indexes == b.indexes
        };
        self.ios.len() == other.ios.len() && self.ios.iter().zip(&other.ios).all(|(a, b)| same(a, b))
    }

    /// A hash of what [`same_structure`](Self::same_structure) compares.
    pub fn structure_hash(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for io in &self.ios {
            io.name.hash(&mut hasher);
            io.features.cols().hash(&mut hasher);
            io.indexes.hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn io_error(e: nnet3_core::Error) -> IoError {
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
        let ios = (0..count).map(|_| NnetIo::read(r)).collect::<kaldi_io::Result<_>>()?;
        r.expect_token("</Nnet3Eg>")?;
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

/// A table of examples, read in order, that knows for messages where each came from.
pub struct ExampleReader {
    reader: SequentialReader<ExampleHolder>,
    name: String,
    /// Read, but not asked for yet.
    ahead: Option<(String, NnetExample)>,
    key: String,
    count: u64,
}

impl ExampleReader {
    /// Opens a table; an archive's first example is read at once.
    pub fn open(rspecifier: &str) -> Result<ExampleReader> {
        let reader = SequentialReader::open(rspecifier)?;
        Ok(ExampleReader { reader, name: rspecifier.to_owned(), ahead: None, key: String::new(), count: 0 })
    }

    /// Whether there is no further example. So asks a program before it touches its outputs.
    pub fn at_end(&mut self) -> Result<bool> {
        if self.ahead.is_none() {
            self.ahead = self.reader.next()?;
        }
        Ok(self.ahead.is_none())
    }

    /// The next key and example; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(String, NnetExample)>> {
        if self.at_end()? {
            return Ok(None);
        }
        let Some((key, example)) = self.ahead.take() else { return Ok(None) };
        self.key.clone_from(&key);
        self.count += 1;
        Ok(Some((key, example)))
    }

    /// Examples read so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The rspecifier.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error about the example that was read last.
    pub fn blame(&self, e: impl Into<Error>) -> Error {
        e.into().entry(&self.name, &self.key)
    }

    /// Ends reading: the failure of a command that wrote the table is an error.
    pub fn close(self) -> Result<()> {
        Ok(self.reader.close()?)
    }
}
