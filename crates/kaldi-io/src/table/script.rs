//! Script files: lines of key and file name.

use crate::error::{IoError, Result};
use crate::filename::split_range;
use crate::reader::KaldiReader;
use crate::text::{excerpt, split_first_word};

/// A line `key file` or `key file[range]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptEntry {
    pub key: String,
    /// The file, without the range.
    pub rxfilename: String,
    pub range: Option<String>,
}

/// Lines of a script, one after another.
pub(super) struct ScriptLines {
    reader: KaldiReader,
}

impl ScriptLines {
    pub(super) fn open(rxfilename: &str) -> Result<Self> {
        let mut reader = KaldiReader::open_raw(rxfilename)?;
        if reader.detect_header()? {
            return Err(reader.error("this is binary data (an archive?), not a script"));
        }
        if let Some((key, contents)) = reader.beginning()?.archive() {
            return Err(reader.error(format!(
                "expected a script, found an archive ('ark:' reads it), whose first entry is '{key}', {contents}"
            )));
        }
        Ok(ScriptLines { reader })
    }

    /// The next line as key and rest; `None` at the end.
    pub(super) fn next_pair(&mut self) -> Result<Option<(String, String)>> {
        let Some(line) = self.reader.read_line()? else { return Ok(None) };
        let (key, rest) = split_first_word(&line);
        if key.is_empty() || rest.is_empty() {
            let message = format!(
                "expected a key and a file, as in 'some_key 1.ark:10', found '{}'",
                excerpt(line.as_bytes())
            );
            return Err(self.reader.error(message));
        }
        Ok(Some((key.to_owned(), rest.to_owned())))
    }

    pub(super) fn name(&self) -> &str {
        self.reader.name()
    }

    /// Ends reading; reports the failure of a command.
    pub(super) fn close(self) -> Result<()> {
        self.reader.close()
    }
}

impl ScriptEntry {
    /// An entry from key and rest of a line.
    pub(super) fn new(key: String, rest: &str) -> Result<Self> {
        let (rxfilename, range) = split_range(rest)?;
        Ok(ScriptEntry { key, rxfilename: rxfilename.to_owned(), range: range.map(str::to_owned) })
    }
}

/// All lines of a script for writing, sorted by key; keys must differ.
pub(super) fn read_sorted_pairs(rxfilename: &str) -> Result<(String, Vec<(String, String)>)> {
    let mut lines = ScriptLines::open(rxfilename)?;
    let mut pairs = Vec::new();
    while let Some(pair) = lines.next_pair()? {
        pairs.push(pair);
    }
    let name = lines.name().to_owned();
    lines.close()?;
    pairs.sort();
    check_increasing(&name, &pairs, "key appears twice in the script")?;
    Ok((name, pairs))
}

/// Reads all lines of a script. If `sorted`, it is an error if they are not in order.
pub(super) fn read_entries(rxfilename: &str, sorted: bool) -> Result<(String, Vec<ScriptEntry>)> {
    let (name, pairs) = if sorted {
        let mut lines = ScriptLines::open(rxfilename)?;
        let mut pairs: Vec<(String, String)> = Vec::new();
        while let Some(pair) = lines.next_pair()? {
            pairs.push(pair);
        }
        let name = lines.name().to_owned();
        lines.close()?;
        check_increasing(&name, &pairs, "script is not sorted (remove 's', or sort with LC_ALL=C)")?;
        (name, pairs)
    } else {
        read_sorted_pairs(rxfilename)?
    };
    let entries: Result<Vec<_>> = pairs.into_iter().map(|(key, rest)| ScriptEntry::new(key, &rest)).collect();
    Ok((name, entries?))
}

fn check_increasing(name: &str, pairs: &[(String, String)], message: &str) -> Result<()> {
    match pairs.windows(2).find(|two| two[0].0 >= two[1].0) {
        Some(two) => Err(IoError::Table {
            table: name.to_owned(),
            message: format!("{message}: key is '{}'", two[1].0),
        }),
        None => Ok(()),
    }
}
