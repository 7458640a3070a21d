//! Loading the objects that script lines name.

use std::io;
use std::marker::PhantomData;

use super::script::ScriptEntry;
use crate::error::{IoError, Result};
use crate::holder::Holder;
use crate::reader::KaldiReader;

/// Keeps the file of the last entry open. If a range of an object was requested, it keeps the whole object, because the
/// next entry is often another part of it.
pub(super) struct Loader<H: Holder> {
    reader: Option<KaldiReader>,
    whole: Option<(String, H::T)>,
    marker: PhantomData<fn() -> H>,
}

impl<H: Holder> Loader<H> {
    pub(super) fn new() -> Self {
        Loader { reader: None, whole: None, marker: PhantomData }
    }

    pub(super) fn load(&mut self, entry: &ScriptEntry) -> Result<H::T> {
        let Some(range) = &entry.range else {
            self.whole = None;
            return self.read(&entry.rxfilename);
        };
        if self.whole.as_ref().is_none_or(|(name, _)| name != &entry.rxfilename) {
            self.whole = None;
            self.whole = Some((entry.rxfilename.clone(), self.read(&entry.rxfilename)?));
        }
        match &self.whole {
            Some((name, whole)) => H::extract_range(whole, range).map_err(|e| match e {
                IoError::Spec { spec, message } => IoError::Spec { spec: format!("{name}{spec}"), message },
                e => e,
            }),
            None => self.read(&entry.rxfilename),
        }
    }

    fn read(&mut self, rxfilename: &str) -> Result<H::T> {
        let opened = match self.reader.take() {
            Some(mut reader) => reader.reopen(rxfilename).map(|()| reader),
            None => KaldiReader::open_raw(rxfilename),
        };
        let mut reader = opened.map_err(|e| match e {
            // A name that makes no sense is one more file that cannot be opened.
            e @ IoError::Spec { .. } => {
                IoError::Open { name: rxfilename.to_owned(), source: io::Error::other(e) }
            }
            e => e,
        })?;
        let beginning = reader.beginning()?;
        let value = H::read(&mut reader).map_err(|e| reader.explain(e, &beginning, H::reads))?;
        if reader.is_pipe() {
            reader.finish()?;
        } else {
            self.reader = Some(reader);
        }
        Ok(value)
    }
}
