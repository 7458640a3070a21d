//! The loop of most programs: read a table, change each entry, write a table, count.
//!
//! A fault of one entry is a warning that names the key, and the entry is left out. Any other fault is an error that
//! names table and key. An empty entry (a matrix without rows, a lattice without states) is such a fault if the program
//! cannot use it. `tests/programs/empty_entries.rs` runs all programs on empty entries. If a program could not write
//! any entry, it leaves an existing output file unchanged.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_io::holder::{Holder, KaldiObject};
use kaldi_io::table::{Rspecifier, Wspecifier};
use kaldi_io::{RandomReader, SequentialReader, TableWriter};

use crate::json::{self, FormatOption};
use crate::{messages, progress};

/// True if an argument is a table to read, and not a file.
pub fn is_input(argument: &str) -> bool {
    Rspecifier::parse(argument).is_ok()
}

/// True if an argument is a table to write, and not a file.
pub fn is_output(argument: &str) -> bool {
    Wspecifier::parse(argument).is_ok()
}

/// True if unusable entries of a table may be skipped (`p`).
pub fn is_permissive(rspecifier: &str) -> bool {
    Rspecifier::parse(rspecifier).is_ok_and(|spec| spec.permissive)
}

/// True for the name of a table, including one with wrong options.
fn is_meant_as_table(argument: &str) -> bool {
    let options = argument.split_once(':').map_or("", |(options, _)| options);
    options.split([',', ' ']).any(|option| matches!(option, "ark" | "scp"))
}

/// True if both arguments are tables; if not, both must be files.
pub fn are_tables(input: &str, output: &str) -> Result<bool> {
    if is_meant_as_table(input) {
        Rspecifier::parse(input)?;
    }
    if is_meant_as_table(output) {
        Wspecifier::parse(output)?;
    }
    match (is_input(input), is_output(output)) {
        (true, false) => {
            let kind = unknown_kind(output);
            bail!("the input {input} is a table, so the output must be one, found {output}{kind}")
        }
        (false, true) => {
            let kind = unknown_kind(input);
            bail!("the output {output} is a table, so the input must be one, found {input}{kind}")
        }
        (true, true) => Ok(true),
        (false, false) => match unknown_kind(input) {
            // (A file may have such a name.)
            kind if !kind.is_empty() && !Path::new(input).exists() => bail!("{input}{kind}"),
            _ => Ok(false),
        },
    }
}

/// A clause about a name that looks like that of a table of a kind that there is not, such as `sc:feats.scp`; empty for others.
fn unknown_kind(argument: &str) -> String {
    match argument.split_once(':') {
        Some((kind, _))
            if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b',') =>
        {
            format!(": '{kind}' is no kind of table (expected ark or scp)")
        }
        _ => String::new(),
    }
}

/// A table for access by key, if its name is not empty.
pub fn open_optional<H: Holder>(rspecifier: &str) -> Result<Option<RandomReader<H>>> {
    if rspecifier.is_empty() { Ok(None) } else { Ok(Some(RandomReader::open(rspecifier)?)) }
}

/// A table that is read from beginning to end.
pub struct Input<H: Holder> {
    name: String,
    reader: SequentialReader<H>,
    progress: progress::Counter,
}

impl<H: Holder> Input<H> {
    pub fn open(rspecifier: &str) -> Result<Self> {
        let reader = SequentialReader::open(rspecifier)?;
        Ok(Input { name: rspecifier.to_owned(), reader, progress: progress::counter("entries", rspecifier) })
    }

    /// Calls `f` with keys and values. Its errors get table and key as context.
    pub fn for_each(mut self, mut f: impl FnMut(&str, H::T) -> Result<()>) -> Result<()> {
        while let Some((key, value)) = self.reader.next()? {
            f(&key, value).with_context(|| format!("{}, key '{key}'", self.name))?;
            self.progress.inc();
        }
        Ok(self.reader.close()?)
    }
}

/// A table to write, with counts.
pub struct Output<H: Holder> {
    name: String,
    writer: Writer<H>,
    /// Entries written.
    pub done: u64,
    /// Entries left out.
    pub failed: u64,
}

enum Writer<H: Holder> {
    Table(TableWriter<H>),
    Json(json::Lines<H>),
}

impl<H: Holder> Output<H> {
    pub fn open(wspecifier: &str) -> Result<Self> {
        Ok(Output::new(wspecifier, Writer::Table(TableWriter::open(wspecifier)?)))
    }

    /// Opens the output. With `--format=json` it gets lines of JSON in the place of an archive: the fields of each value.
    pub fn open_as(
        format: FormatOption,
        wspecifier: &str,
        fields: fn(&H::T) -> json::Fields,
    ) -> Result<Self> {
        match format.is_json() {
            true => Ok(Output::new(wspecifier, Writer::Json(json::Lines::open(wspecifier, fields)?))),
            false => Output::open(wspecifier),
        }
    }

    fn new(name: &str, writer: Writer<H>) -> Self {
        Output { name: name.to_owned(), writer, done: 0, failed: 0 }
    }

    /// Writes an entry. One that must not be written is left out, with a warning.
    pub fn write(&mut self, key: &str, value: &H::T) -> Result<()> {
        if let Some(flaw) = H::flaw(value) {
            self.skip(key, flaw);
            return Ok(());
        }
        match &mut self.writer {
            Writer::Table(table) => table.write(key, value)?,
            Writer::Json(lines) => lines.write(key, value)?,
        }
        self.done += 1;
        Ok(())
    }

    /// Leaves an entry out, with a warning.
    pub fn skip(&mut self, key: &str, reason: impl Display) {
        self.skip_as(&format!("{key}: {reason}"));
    }

    /// Leaves an entry out, with a warning, for the reason that a step has returned.
    pub fn leave_out(&mut self, key: &str, skip: &Skip) {
        self.skip_as(&skip.sentence(key));
    }

    /// Leaves an entry out, with a warning in a sentence that names its key, as Kaldi's do.
    pub fn skip_as(&mut self, sentence: &str) {
        messages::warn(sentence);
        self.failed += 1;
    }

    /// Returns status 0 if an entry was written, else 1.
    pub fn finish(self) -> Result<u8> {
        self.finish_or(NOTHING_DONE)
    }

    /// Returns status 0 if an entry was written, else `nothing`.
    pub fn finish_or(self, nothing: u8) -> Result<u8> {
        if self.done > 0 {
            return self.finish_any();
        }
        messages::error(&format!("{}: there was nothing to write{}", self.name, messages::warnings_so_far()));
        Ok(nothing)
    }

    /// Status 0, also for an empty table.
    pub fn finish_any(self) -> Result<u8> {
        match self.writer {
            Writer::Table(table) => table.close()?,
            Writer::Json(lines) => lines.close()?,
        }
        Ok(0)
    }
}

/// The reason for which an entry is left out.
#[derive(Debug)]
pub enum Skip {
    /// A clause behind the key.
    Reason(String),
    /// A sentence that names the key.
    Sentence(String),
}

impl Skip {
    /// The warning about the entry of this key.
    pub fn sentence(&self, key: &str) -> String {
        match self {
            Skip::Reason(reason) => format!("{key}: {reason}"),
            Skip::Sentence(sentence) => sentence.clone(),
        }
    }
}

/// The result of a step for an entry, or the reason for which the entry is left out. The program goes on with the next one.
pub type Outcome<T = ()> = std::result::Result<T, Skip>;

/// The reason to leave out features without frames.
pub const NO_FRAMES: &str = "empty feature matrix";

/// The warning about an utterance without frames, in Kaldi's words.
pub fn no_frames(key: &str) -> String {
    format!("Empty feature matrix for utterance {key}")
}

/// Returns a reason to leave an entry out.
pub fn skip<T>(reason: impl Display) -> Result<Outcome<T>> {
    Ok(Err(Skip::Reason(reason.to_string())))
}

/// Does the same, in a sentence that names the key.
pub fn skip_as<T>(sentence: impl Into<String>) -> Result<Outcome<T>> {
    Ok(Err(Skip::Sentence(sentence.into())))
}

/// Reads a table, and writes the result of `f` for each entry under the same key.
pub fn map<I: Holder, O: Holder>(
    from: &str,
    to: &str,
    f: impl FnMut(&str, I::T) -> Result<Outcome<O::T>>,
) -> Result<Output<O>> {
    map_into::<I, O>(from, || Output::open(to), f)
}

/// Does the same as [`map`] into a table that `open` opens after the first one.
pub fn map_into<I: Holder, O: Holder>(
    from: &str,
    open: impl FnOnce() -> Result<Output<O>>,
    mut f: impl FnMut(&str, I::T) -> Result<Outcome<O::T>>,
) -> Result<Output<O>> {
    let input = Input::<I>::open(from)?;
    let mut output = open()?;
    input.for_each(|key, value| {
        match f(key, value)? {
            Ok(value) => output.write(key, &value)?,
            Err(skip) => output.leave_out(key, &skip),
        }
        Ok(())
    })?;
    Ok(output)
}

/// Names of objects in the log, as Kaldi's programs have them.
pub struct Names<'n> {
    pub one: &'n str,
    /// Stands behind a number.
    pub several: &'n str,
}

/// Runs a program that changes objects in two tables (the status depends on the output) or in two files.
pub fn convert<H: Holder>(
    from: &str,
    to: &str,
    binary: bool,
    names: Names<'_>,
    read: impl FnOnce(&str) -> kaldi_io::Result<H::T>,
    mut change: impl FnMut(H::T) -> Result<H::T>,
) -> Result<u8>
where
    H::T: KaldiObject,
{
    if are_tables(from, to)? {
        let output = map::<H, H>(from, to, |_, value| Ok(Ok(change(value)?)))?;
        messages::log(&format!("Copied {} {}", output.done, names.several));
        return output.finish();
    }
    let value = change(read(from)?).with_context(|| from.to_owned())?;
    kaldi_io::write_object(to, binary, &value)?;
    messages::log(&format!("Copied {} to {to}", names.one));
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::are_tables;

    #[test]
    fn names_of_tables_of_no_known_kind_are_refused() {
        let says = |input: &str, output: &str| are_tables(input, output).unwrap_err().to_string();
        let kind = ": 'sc' is no kind of table (expected ark or scp)";
        assert!(says("sc:feats.scp", "ark:-").ends_with(kind));
        assert!(says("ark:a", "sc:b").ends_with(kind));
        assert_eq!(says("sc:feats.scp", "b"), format!("sc:feats.scp{kind}"));
        assert!(says("a.mat", "ark:-").ends_with("found a.mat"));
        assert!(!are_tables("a.mat", "b.mat").unwrap() && are_tables("scp:a", "ark:b").unwrap());
    }
}
