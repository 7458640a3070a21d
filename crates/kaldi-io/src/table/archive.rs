//! Reading an archive from beginning to end.

use std::marker::PhantomData;

use crate::error::Result;
use crate::holder::Holder;
use crate::reader::KaldiReader;
use crate::reader::input::Beginning;
use crate::text::{excerpt, is_token};

pub(super) struct ArchiveReader<H> {
    reader: KaldiReader,
    at_end: bool,
    /// The beginning of the object that was read last.
    last: Option<Beginning>,
    marker: PhantomData<fn() -> H>,
}

impl<H: Holder> ArchiveReader<H> {
    pub(super) fn open(rxfilename: &str) -> Result<Self> {
        let mut reader = KaldiReader::open_raw(rxfilename)?;
        reader.set_archive();
        Ok(ArchiveReader { reader, at_end: false, last: None, marker: PhantomData })
    }

    pub(super) fn name(&self) -> &str {
        self.reader.name()
    }

    /// The next key and object; `None` at the end. After an error the archive is at its end, unless the object was only
    /// refused.
    pub(super) fn next(&mut self) -> Result<Option<(String, H::T)>> {
        if self.at_end {
            return Ok(None);
        }
        let entry = self.read_entry();
        self.at_end = match &entry {
            Ok(entry) => entry.is_none(),
            Err(e) => !e.is_refusal(),
        };
        entry
    }

    fn read_entry(&mut self) -> Result<Option<(String, H::T)>> {
        let r = &mut self.reader;
        r.set_binary(false);
        r.skip_whitespace()?;
        let begin = if self.last.is_none() { Some(r.beginning()?) } else { None };
        let mut key = Vec::new();
        r.read_word_into(&mut key)?;
        if key.is_empty() {
            return Ok(None);
        }
        // Positions after the key are best given as bytes: entries can be binary.
        r.set_binary(true);
        let last = self.last.take();
        let before = || {
            let kind = last.as_ref()?.contents().filter(|kind| !H::reads(kind))?;
            Some(format!("the entry before looks like {kind}"))
        };
        // (An object without a key before it.)
        let alone = || Some(format!("this looks like {}, not like an archive", begin.as_ref()?.contents()?));
        let key = match r.to_utf8(key, "key") {
            Ok(key) if is_token(&key) && key != "[" && key != "]" => key,
            Ok(key) => {
                return Err(r
                    .error(format!("'{}' is not a key", excerpt(key.as_bytes())))
                    .remark(before)
                    .remark(alone));
            }
            Err(e) => return Err(e.remark(before).remark(alone)),
        };
        match r.peek_byte()? {
            Some(b' ' | b'\t') => {
                r.next_byte()?;
            }
            // A line with only a key, such as an empty list of tokens.
            Some(b'\n') => {}
            Some(b'\r') if r.peek_bytes(2)?.ends_with(b"\n") => {
                r.next_byte()?;
            }
            Some(_) => {
                return Err(r.error_expected(&format!("a space after key '{}'", excerpt(key.as_bytes()))));
            }
            None => {
                return Err(r.error(format!("the archive ends right after '{}'", excerpt(key.as_bytes()))));
            }
        }
        let beginning = r.beginning()?;
        match H::read(r) {
            Ok(value) => {
                self.last = Some(beginning);
                Ok(Some((key, value)))
            }
            Err(e) => {
                let e = r.explain(e.remark(before), &beginning, H::reads);
                Err(e.entry(r.name(), &key))
            }
        }
    }

    /// Ends reading. If the archive has been read to its end, a failure of the command that wrote it is an error.
    /// Otherwise it is only a warning, because our closing of the pipe may have caused it.
    pub(super) fn close(self) -> Result<()> {
        if self.at_end { self.reader.close() } else { Ok(()) }
    }
}
