//! Tables of examples of any kind.

use kaldi_io::SequentialReader;
use kaldi_io::holder::ObjectHolder;

use crate::error::{Error, Result};
use crate::example::{Example, NnetExample};

/// A source of examples, one after the other.
pub trait ExampleSource<E>: Send {
    /// The next key and example; `None` at the end.
    fn next(&mut self) -> Result<Option<(String, E)>>;

    /// Ends reading: the failure of a command that the examples came from is an error.
    fn close(self: Box<Self>) -> Result<()>;
}

impl<E: Example> ExampleSource<E> for SequentialReader<ObjectHolder<E>> {
    fn next(&mut self) -> Result<Option<(String, E)>> {
        Ok(SequentialReader::next(self)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(SequentialReader::close(*self)?)
    }
}

/// A table of plain examples.
pub type ExampleReader = EgsReader<NnetExample>;

/// A table of examples, read in order, that knows for messages where each came from.
pub struct EgsReader<E: Example> {
    source: Box<dyn ExampleSource<E>>,
    name: String,
    /// Read ahead, but not taken yet.
    ahead: Option<(String, E)>,
    key: String,
    count: u64,
}

impl<E: Example> EgsReader<E> {
    /// Opens a table; reads an archive's first example immediately.
    pub fn open(rspecifier: &str) -> Result<EgsReader<E>> {
        Ok(Self::new(rspecifier, Box::new(SequentialReader::<ObjectHolder<E>>::open(rspecifier)?)))
    }

    /// Examples of a source of this name.
    pub fn new(name: &str, source: Box<dyn ExampleSource<E>>) -> EgsReader<E> {
        EgsReader { source, name: name.to_owned(), ahead: None, key: String::new(), count: 0 }
    }

    /// True if there is no further example. Programs ask before they touch their outputs.
    pub fn at_end(&mut self) -> Result<bool> {
        if self.ahead.is_none() {
            self.ahead = self.source.next()?;
        }
        Ok(self.ahead.is_none())
    }

    /// The next key and example; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(String, E)>> {
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

    /// The rspecifier, or another name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error about the example that was read last.
    pub fn blame(&self, e: impl Into<Error>) -> Error {
        self.blame_key(&self.key, e)
    }

    /// An error about the example of this key.
    pub fn blame_key(&self, key: &str, e: impl Into<Error>) -> Error {
        e.into().entry(&self.name, key)
    }

    /// Ends reading: the failure of a command that wrote the table is an error.
    pub fn close(self) -> Result<()> {
        self.source.close()
    }
}
