//! Looking up objects of a table by key.

use super::loader::Loader;
use super::random_archive::RandomArchive;
use super::script::{ScriptEntry, read_entries};
use super::specifier::{Rspecifier, RspecifierKind};
use crate::error::{IoError, Result};
use crate::holder::Holder;
use crate::log::Site;
use crate::text::{excerpt, token_problem};

const SITE: Site = Site::new("HasKey", "util/kaldi-table-inl.h", 1);

/// A table with access by key. The options of the rspecifier determine the memory. `ark` and `ark,s` keep all objects
/// read so far. `scp`, `ark,s,cs` and option `o` (each key may be requested once) keep one object.
pub struct RandomReader<H: Holder> {
    inner: Inner<H>,
}

enum Inner<H: Holder> {
    Archive(Box<RandomArchive<H>>),
    Script(Box<RandomScript<H>>),
}

/// Fails if this cannot be the key of a table, for reading as for writing.
pub(super) fn check_key(key: &str) -> Result<()> {
    match token_problem(key) {
        None => Ok(()),
        Some(problem) => {
            let key = excerpt(key.as_bytes());
            Err(IoError::Value(format!("'{key}' cannot be the key of a table: {problem}")))
        }
    }
}

impl<H: Holder> RandomReader<H> {
    pub fn open(rspecifier: &str) -> Result<Self> {
        let spec = Rspecifier::parse(rspecifier)?;
        let inner = match spec.kind {
            RspecifierKind::Archive => Inner::Archive(Box::new(RandomArchive::open(&spec)?)),
            RspecifierKind::Script => Inner::Script(Box::new(RandomScript::open(&spec)?)),
        };
        Ok(RandomReader { inner })
    }

    /// True if the table has the key. For a script with option `p`, true if its object can be read.
    pub fn has(&mut self, key: &str) -> Result<bool> {
        check_key(key)?;
        match &mut self.inner {
            Inner::Archive(archive) => archive.has(key),
            Inner::Script(script) => script.has(key),
        }
    }

    /// Returns the object with the key, or `None` if the table does not have the key.
    pub fn get(&mut self, key: &str) -> Result<Option<&H::T>> {
        check_key(key)?;
        match &mut self.inner {
            Inner::Archive(archive) => archive.get(key),
            Inner::Script(script) => script.get(key),
        }
    }

    /// Returns a clause about a key that [`RandomReader::get`] did not find, if the options of the table may be the reason.
    pub(super) fn why_missing(&self, key: &str) -> String {
        match &self.inner {
            Inner::Archive(archive) => archive.why_missing(key),
            Inner::Script(_) => String::new(),
        }
    }

    /// Ends reading. An archive that was read to its end must have been complete, unless the rspecifier has `p`.
    /// Keys of a table with `s`, in which some were not found, must be in order as far as they were read, and one further.
    pub fn close(self) -> Result<()> {
        match self.inner {
            Inner::Archive(archive) => archive.close(),
            Inner::Script(_) => Ok(()),
        }
    }
}

struct RandomScript<H: Holder> {
    name: String,
    /// Sorted by key.
    entries: Vec<ScriptEntry>,
    loader: Loader<H>,
    current: Option<(usize, H::T)>,
    permissive: bool,
}

impl<H: Holder> RandomScript<H> {
    fn open(spec: &Rspecifier) -> Result<Self> {
        let (name, entries) = read_entries(&spec.rxfilename, spec.sorted)?;
        Ok(RandomScript { name, entries, loader: Loader::new(), current: None, permissive: spec.permissive })
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.key.as_str().cmp(key)).ok()
    }

    fn has(&mut self, key: &str) -> Result<bool> {
        match self.find(key) {
            Some(index) if self.permissive => self.load(index),
            found => Ok(found.is_some()),
        }
    }

    fn get(&mut self, key: &str) -> Result<Option<&H::T>> {
        match self.find(key) {
            Some(index) if self.load(index)? => Ok(self.current.as_ref().map(|(_, value)| value)),
            _ => Ok(None),
        }
    }

    /// Makes an entry the current one; false if it cannot be read and that is permitted.
    fn load(&mut self, index: usize) -> Result<bool> {
        if self.current.as_ref().is_some_and(|(current, _)| *current == index) {
            return Ok(true);
        }
        self.current = None;
        let entry = &self.entries[index];
        match self.loader.load(entry) {
            Ok(value) => {
                self.current = Some((index, value));
                Ok(true)
            }
            Err(e) if self.permissive && !e.is_specification() => {
                crate::log::kaldi_warn!(
                    SITE,
                    "{} (ignored in permissive mode)",
                    e.entry(&self.name, &entry.key).chain()
                );
                Ok(false)
            }
            Err(e) => Err(e.entry(&self.name, &entry.key)),
        }
    }
}
