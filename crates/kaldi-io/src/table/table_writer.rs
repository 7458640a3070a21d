//! Writing a table.

use std::marker::PhantomData;

use super::random::check_key;
use super::script::read_sorted_pairs;
use super::specifier::{Wspecifier, WspecifierKind};
use crate::error::{IoError, Result};
use crate::filename::WxFilename;
use crate::holder::Holder;
use crate::log::Site;
use crate::writer::KaldiWriter;

const SITE: Site = Site::new("Open", "util/kaldi-table-inl.h", 1);

/// Writes objects to an archive, to an archive and the script that lists its objects, or to the files of a script.
///
/// [`close`](Self::close) reports the last errors. A writer that is dropped instead, after a failure, leaves the
/// entries written so far. If a file existed before, it stays unchanged instead (with the option `f` it is overwritten
/// from the start).
pub struct TableWriter<H: Holder> {
    target: Target,
    binary: bool,
    flush: bool,
    /// An earlier write failed, so that the archive may be damaged.
    failed: bool,
    marker: PhantomData<H>,
}

enum Target {
    Archive(KaldiWriter),
    Both { archive: KaldiWriter, archive_name: String, script: KaldiWriter },
    Script { name: String, files: Vec<(String, String)>, permissive: bool },
}

impl<H: Holder> TableWriter<H> {
    /// Opens a table.
    pub fn open(wspecifier: &str) -> Result<Self> {
        let spec = Wspecifier::parse(wspecifier)?;
        let target = match spec.kind {
            WspecifierKind::Archive { archive } => Target::Archive(create(&archive, spec.flush)?),
            WspecifierKind::Script { script } => {
                let (name, files) = read_sorted_pairs(&script)?;
                Target::Script { name, files, permissive: spec.permissive }
            }
            WspecifierKind::Both { archive, script } => {
                match WxFilename::parse(&archive)? {
                    WxFilename::File(_) => {}
                    WxFilename::Stdout => crate::log::kaldi_warn!(
                        SITE,
                        "The script will only be right if standard output is a new file: wspecifier is {wspecifier}"
                    ),
                    WxFilename::Pipe(_) => {
                        let message =
                            "a script cannot list the objects in a pipe; write the archive to a file";
                        return Err(IoError::spec(wspecifier, message));
                    }
                }
                let mut script = create(&script, spec.flush)?;
                script.set_binary(false);
                Target::Both { archive: create(&archive, spec.flush)?, archive_name: archive, script }
            }
        };
        Ok(TableWriter { target, binary: spec.binary, flush: spec.flush, failed: false, marker: PhantomData })
    }

    /// Writes one object.
    pub fn write(&mut self, key: &str, value: &H::T) -> Result<()> {
        check_key(key)?;
        if let Some(flaw) = H::flaw(value) {
            return Err(IoError::Value(format!("key '{key}' is not written: {flaw}")));
        }
        if self.failed {
            return Err(IoError::Value(format!("key '{key}' is not written because an earlier one failed")));
        }
        let result = self.write_entry(key, value);
        // Files of a script do not depend on one another.
        self.failed = result.is_err() && !matches!(self.target, Target::Script { .. });
        result
    }

    fn write_entry(&mut self, key: &str, value: &H::T) -> Result<()> {
        let binary = self.binary;
        match &mut self.target {
            Target::Archive(archive) => {
                write_to_archive::<H>(archive, binary, key, value)?;
            }
            Target::Both { archive, archive_name, script } => {
                let offset = write_to_archive::<H>(archive, binary, key, value)?;
                script.write_str(&format!("{key} {archive_name}:{offset}\n"))?;
            }
            Target::Script { name, files, permissive } => {
                let found = files.binary_search_by(|(own, _)| own.as_str().cmp(key));
                return match found {
                    Ok(index) => {
                        write_file::<H>(&files[index].1, binary, value).map_err(|e| e.entry(name, key))
                    }
                    Err(_) if *permissive => Ok(()),
                    Err(_) => {
                        let message = format!("the script has no line for key '{key}'");
                        Err(IoError::Table { table: name.clone(), message })
                    }
                };
            }
        }
        if self.flush { self.flush() } else { Ok(()) }
    }

    /// Makes the entries written so far visible to readers.
    pub fn flush(&mut self) -> Result<()> {
        match &mut self.target {
            Target::Archive(archive) => archive.flush(),
            Target::Both { archive, script, .. } => {
                archive.flush()?;
                script.flush()
            }
            Target::Script { .. } => Ok(()),
        }
    }

    /// Writes the remaining data. For a pipe, waits for the command; its failure is an error.
    pub fn close(self) -> Result<()> {
        match self.target {
            Target::Archive(archive) => archive.finish()?,
            Target::Both { archive, script, .. } => {
                archive.finish()?;
                script.finish()?;
            }
            Target::Script { .. } => {}
        }
        if self.failed {
            Err(IoError::Value("the table is incomplete: an object could not be written".into()))
        } else {
            Ok(())
        }
    }
}

/// Creates a file. An existing file keeps its contents until the new ones are complete. A new or empty file, or one that is `visible`
/// to readers during writing, is written in place.
fn create(wxfilename: &str, visible: bool) -> Result<KaldiWriter> {
    match WxFilename::parse(wxfilename)? {
        WxFilename::File(path) if !visible && std::fs::metadata(&path).is_ok_and(|data| data.len() > 0) => {
            KaldiWriter::create(wxfilename, false)
        }
        _ => KaldiWriter::create_streaming(wxfilename),
    }
}

/// Returns the offset of the object, right after its key.
fn write_to_archive<H: Holder>(
    archive: &mut KaldiWriter,
    binary: bool,
    key: &str,
    value: &H::T,
) -> Result<u64> {
    archive.set_binary(binary);
    archive.write_str(key)?;
    archive.write_bytes(b" ")?;
    let offset = archive.position();
    H::write(archive, value).map_err(|e| e.entry(archive.name(), key))?;
    Ok(offset)
}

fn write_file<H: Holder>(wxfilename: &str, binary: bool, value: &H::T) -> Result<()> {
    // The holder writes the header, if there is to be one.
    let mut file = KaldiWriter::create(wxfilename, false)?;
    file.set_binary(binary);
    H::write(&mut file, value)?;
    file.finish()
}
