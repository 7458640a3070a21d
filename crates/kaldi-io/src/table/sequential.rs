//! Reading a table from beginning to end.

use super::background::Background;
use super::foreground::Foreground;
use super::specifier::Rspecifier;
use crate::error::Result;
use crate::holder::Holder;

/// Reads the objects of a table in the table's order.
pub struct SequentialReader<H: Holder> {
    inner: Inner<H>,
}

enum Inner<H: Holder> {
    Foreground(Box<Foreground<H>>),
    Background(Background<H>),
}

impl<H: Holder> SequentialReader<H> {
    /// Opens a table. The first object of an archive is read at once, so a wrong file is an error here, even with
    /// option `p`.
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
