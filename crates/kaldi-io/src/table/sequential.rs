//! Reading a table from beginning to end.

use super::background::Background;
use super::foreground::Foreground;
use super::specifier::Rspecifier;
use crate::error::Result;
use crate::holder::Holder;

/// Objects of a table in the order in which they are there.
pub struct SequentialReader<H: Holder> {
    inner: Inner<H>,
}

enum Inner<H: Holder> {
    Foreground(Box<Foreground<H>>),
    Background(Background<H>),
}

impl<H: Holder> SequentialReader<H> {
    /// Opens a table. An archive's first object is read at once, so that a wrong file is noticed here, even
    /// with option `p`.
    pub fn open(rspecifier: &str) -> Result<Self> {
        let spec = Rspecifier::parse(rspecifier)?;
        let reader = Box::new(Foreground::open(&spec)?);
        let inner = match spec.background {
            true => Background::start(reader).map_or_else(Inner::Foreground, Inner::Background),
            false => Inner::Foreground(reader),
        };
        Ok(SequentialReader { inner })
    }

    /// Returns the next key and object; `None` at the end. An unreadable entry is an error, and the table then ends.
    /// With the option `p` of the rspecifier it is skipped with a warning.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(String, H::T)>> {
        match &mut self.inner {
            Inner::Foreground(reader) => reader.next(),
            Inner::Background(reader) => reader.next(),
        }
    }

    /// Ends reading. After the end of the table, the failure of a command that wrote it is an error, unless the
    /// rspecifier has the option `p`.
    pub fn close(self) -> Result<()> {
        match self.inner {
            Inner::Foreground(reader) => reader.close(),
            Inner::Background(reader) => reader.close(),
        }
    }
}
