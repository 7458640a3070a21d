//! Reading a table's objects one after the other, on the thread that wants them.

use super::archive::ArchiveReader;
use super::loader::Loader;
use super::script::{ScriptEntry, ScriptLines};
use super::specifier::{Rspecifier, RspecifierKind};
use crate::error::{IoError, Result};
use crate::holder::Holder;
use crate::log::Site;

const SITE: Site = Site::new("Next", "util/kaldi-table-inl.h", 1);

fn warn_ignored(e: &IoError) {
    crate::log::kaldi_warn!(SITE, "{} (ignored in permissive mode)", e.chain());
}

/// A reader without thread.
pub(super) struct Foreground<H: Holder> {
    source: Source<H>,
    /// The first entry of an archive, read while opening.
    first: Option<(String, H::T)>,
    permissive: bool,
    finished: bool,
    /// Entries that could not be used, in permissive mode.
    left_out: u64,
}

enum Source<H: Holder> {
    Archive(ArchiveReader<H>),
    Script { lines: ScriptLines, loader: Loader<H> },
}

impl<H: Holder> Foreground<H> {
    pub(super) fn open(spec: &Rspecifier) -> Result<Self> {
        let (mut first, mut left_out) = (None, 0);
        let source = match spec.kind {
            RspecifierKind::Archive => {
                let mut archive = ArchiveReader::open(&spec.rxfilename)?;
                first = match archive.next() {
                    // `next` continues after this entry.
                    Err(e) if spec.permissive && e.is_refusal() => {
                        warn_ignored(&e);
                        left_out = 1;
                        None
                    }
                    other => other?,
                };
                Source::Archive(archive)
            }
            RspecifierKind::Script => {
                Source::Script { lines: ScriptLines::open(&spec.rxfilename)?, loader: Loader::new() }
            }
        };
        Ok(Foreground { source, first, permissive: spec.permissive, finished: false, left_out })
    }

    pub(super) fn next(&mut self) -> Result<Option<(String, H::T)>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            if self.finished {
                return Ok(None);
            }
            match self.try_next() {
                Ok(entry) => {
                    self.finished = entry.is_none();
                    return Ok(entry);
                }
                // A wrong range is a mistake in the script, not a missing object. An archive that could not be read has
                // no next entry, and `try_next` reports that.
                Err(e) if self.permissive && !e.is_specification() => {
                    warn_ignored(&e);
                    self.left_out += 1;
                }
                Err(e) => {
                    self.finished = true;
                    return Err(e);
                }
            }
        }
    }

    fn name(&self) -> &str {
        match &self.source {
            Source::Archive(archive) => archive.name(),
            Source::Script { lines, .. } => lines.name(),
        }
    }

    fn try_next(&mut self) -> Result<Option<(String, H::T)>> {
        match &mut self.source {
            Source::Archive(archive) => archive.next(),
            Source::Script { lines, loader } => {
                let Some((key, rest)) = lines.next_pair()? else { return Ok(None) };
                let load = ScriptEntry::new(key.clone(), &rest).and_then(|entry| loader.load(&entry));
                match load {
                    Ok(value) => Ok(Some((key, value))),
                    Err(e) => Err(e.entry(lines.name(), &key)),
                }
            }
        }
    }

    pub(super) fn close(self) -> Result<()> {
        if self.left_out > 0 {
            let entries = if self.left_out == 1 { "entry that" } else { "entries that" };
            crate::log::kaldi_warn!(
                SITE,
                "{}: left out {} {entries} could not be used",
                self.name(),
                self.left_out
            );
        }
        let result = match self.source {
            Source::Archive(archive) => archive.close(),
            Source::Script { lines, .. } if self.finished => lines.close(),
            Source::Script { .. } => Ok(()),
        };
        match result {
            Err(e) if self.permissive => {
                warn_ignored(&e);
                Ok(())
            }
            other => other,
        }
    }
}
