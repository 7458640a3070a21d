//! Looking up objects of an archive, which can only be read forwards.

use std::collections::{HashMap, HashSet};

use super::archive::ArchiveReader;
use super::specifier::Rspecifier;
use crate::error::{IoError, Result};
use crate::holder::Holder;
use crate::log::Site;

const SITE: Site = Site::new("HasKey", "util/kaldi-table-inl.h", 1);

pub(super) struct RandomArchive<H: Holder> {
    archive: Option<ArchiveReader<H>>,
    name: String,
    sorted: bool,
    /// True to keep only the last object, as with `s,cs`.
    called_sorted: bool,
    once: bool,
    permissive: bool,
    /// Objects read and not dropped.
    kept: HashMap<String, H::T>,
    /// Keys of objects that were dropped after use, with `o` or `s,cs`.
    dropped: HashSet<String>,
    /// With the option `o`, the key that the next call drops.
    in_use: Option<String>,
    last_read: Option<String>,
    last_asked: Option<String>,
    /// True if a key was taken for absent because the option `s` promises that no such key follows.
    passed: bool,
    /// True for a file, of which more can be read at any time.
    is_file: bool,
}

impl<H: Holder> RandomArchive<H> {
    pub(super) fn open(spec: &Rspecifier) -> Result<Self> {
        let archive = ArchiveReader::open(&spec.rxfilename)?;
        Ok(RandomArchive {
            name: archive.name().to_owned(),
            archive: Some(archive),
            sorted: spec.sorted,
            called_sorted: spec.sorted && spec.called_sorted,
            once: spec.once,
            permissive: spec.permissive,
            kept: HashMap::new(),
            dropped: HashSet::new(),
            in_use: None,
            last_read: None,
            last_asked: None,
            passed: false,
            is_file: std::fs::metadata(&spec.rxfilename).is_ok_and(|data| data.is_file()),
        })
    }

    pub(super) fn has(&mut self, key: &str) -> Result<bool> {
        self.find(key)
    }

    pub(super) fn get(&mut self, key: &str) -> Result<Option<&H::T>> {
        if !self.find(key)? {
            return Ok(None);
        }
        if self.once && !self.called_sorted {
            self.in_use = Some(key.to_owned());
        }
        Ok(self.kept.get(key))
    }

    fn error(&self, message: String) -> IoError {
        IoError::Table { table: self.name.clone(), message }
    }

    /// Reads until it has found the key, or until the key cannot come any more. Returns true if it has found the key.
    fn find(&mut self, key: &str) -> Result<bool> {
        if self.in_use.as_ref().is_some_and(|in_use| in_use != key)
            && let Some(used) = self.in_use.take()
        {
            self.kept.remove(&used);
            self.dropped.insert(used);
        }
        if self.called_sorted {
            if let Some(last) = self.last_asked.as_ref().filter(|last| last.as_str() > key) {
                let why = "the option 'cs' promises that keys are asked for in order";
                return Err(self.error(format!("key '{key}' is requested after '{last}', but {why}")));
            }
            if self.last_asked.as_deref() != Some(key) {
                self.last_asked = Some(key.to_owned());
            }
        }
        if self.dropped.contains(key) {
            let why = "the option 'o' promises that each key is asked for once";
            return Err(self.error(format!("key '{key}' is requested again, but {why}")));
        }
        while !self.kept.contains_key(key) {
            if self.sorted && self.last_read.as_deref().is_some_and(|last| last > key) {
                self.passed = true;
                return Ok(false);
            }
            if !self.read_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads one more object; false at the end.
    fn read_next(&mut self) -> Result<bool> {
        let Some(archive) = &mut self.archive else { return Ok(false) };
        let entry = match archive.next() {
            Ok(Some(entry)) => Ok(entry),
            Ok(None) => {
                // At the end, entries that a failing command did not write would look like missing keys.
                let closed = self.archive.take().map_or(Ok(()), ArchiveReader::close);
                return self.permit(closed).map(|()| false);
            }
            Err(e) => Err(e),
        };
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(e) => {
                self.archive = None;
                return self.permit(Err(e)).map(|()| false);
            }
        };
        if self.sorted {
            self.check_order(&key)?;
            self.last_read = Some(key.clone());
            if self.called_sorted {
                self.kept.clear();
            }
        } else if self.kept.contains_key(&key) || self.dropped.contains(&key) {
            return Err(self.error(format!("key '{key}' appears twice")));
        }
        self.kept.insert(key, value);
        Ok(true)
    }

    /// Fails if a key that was read does not follow the one before it in a table with the option `s`.
    fn check_order(&self, key: &str) -> Result<()> {
        match self.last_read.as_ref().filter(|last| last.as_str() >= key) {
            None => Ok(()),
            Some(last) => {
                let why = "the option 's' promises that keys increase (sort with LC_ALL=C)";
                Err(self.error(format!("key '{key}' comes after '{last}', but {why}")))
            }
        }
    }

    /// Returns a clause for the message that `key` is missing, if the option `s` ended the search for it; else nothing.
    pub(super) fn why_missing(&self, key: &str) -> String {
        match &self.last_read {
            Some(last) if self.sorted && last.as_str() > key => format!(
                " before '{last}': the option 's' promises that keys increase, so the search ended there (is the table sorted with \
                 LC_ALL=C?)"
            ),
            _ => String::new(),
        }
    }

    /// Turns an error into a warning in permissive mode.
    fn permit(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(e) if self.permissive => {
                crate::log::kaldi_warn!(SITE, "{} (ignored in permissive mode)", e.chain());
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn close(mut self) -> Result<()> {
        // A table that breaks its promise right behind the last entry may have the keys that were not found.
        if self.passed
            && self.is_file
            && let Some(Ok(Some((key, _)))) = self.archive.as_mut().map(ArchiveReader::next)
        {
            self.permit(self.check_order(&key))?;
        }
        let closed = self.archive.take().map_or(Ok(()), ArchiveReader::close);
        self.permit(closed)
    }
}
