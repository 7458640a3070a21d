//! Output for machines (`docs/json.md`). `--format=json` prints a document on one line or, for a table, a line for each
//! key.

mod examples;
mod network;
mod objectives;

use std::io::Write;

use anyhow::{Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_io::KaldiWriter;
use kaldi_io::holder::Holder;
use kaldi_io::table::specifier::{Wspecifier, WspecifierKind};
use serde_json::{Map, Value};

pub use examples::Listed;
pub use network::{acoustic, network};
pub use nnet3_export::safetensors::single;
pub use objectives::{chain_objectives, frame_objectives};

/// The fields of an object.
pub type Fields = Map<String, Value>;

#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The usual text
    #[default]
    Text,
    /// JSON, as docs/json.md describes it
    Json,
}

// The format option, for programs whose output is small or is a table.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct FormatOption {
    /// Form of the output: text, or json: one object on a line; of tables a line for each key
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

impl FormatOption {
    pub fn is_json(self) -> bool {
        self.format == Format::Json
    }
}

/// The fields of an object made by `json!`.
///
/// # Panics
/// If it is no object.
pub fn fields(object: Value) -> Fields {
    match object {
        Value::Object(fields) => fields,
        other => panic!("expected an object, found {other}"),
    }
}

/// Prints a document to standard output.
pub fn print(document: &Value) -> Result<()> {
    let mut out = StandardOutput::open()?;
    writeln!(out, "{document}")?;
    Ok(out.flush()?)
}

/// The line of an entry of a table.
pub fn line(key: &str, fields: Fields) -> String {
    let mut all = Map::from_iter([("key".to_owned(), Value::from(key))]);
    all.extend(fields);
    format!("{}\n", Value::Object(all))
}

/// A table of lines of JSON, in place of an archive.
pub struct Lines<H: Holder> {
    writer: KaldiWriter,
    flush: bool,
    fields: fn(&H::T) -> Fields,
}

impl<H: Holder> Lines<H> {
    pub fn open(wspecifier: &str, fields: fn(&H::T) -> Fields) -> Result<Lines<H>> {
        let spec = Wspecifier::parse(wspecifier)?;
        let WspecifierKind::Archive { archive } = &spec.kind else {
            bail!(
                "{wspecifier}: with --format=json the output must be an archive (ark:…), which gets a line for each key"
            );
        };
        Ok(Lines { writer: KaldiWriter::create(archive, false)?, flush: spec.flush, fields })
    }

    pub fn write(&mut self, key: &str, value: &H::T) -> kaldi_io::Result<()> {
        self.writer.write_str(&line(key, (self.fields)(value)))?;
        if self.flush { self.writer.flush() } else { Ok(()) }
    }

    pub fn close(self) -> kaldi_io::Result<()> {
        self.writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_first_and_are_escaped() {
        let fields = fields(serde_json::json!({"rows": 1, "cols": 2}));
        assert_eq!(line("a\"b", fields), "{\"key\":\"a\\\"b\",\"rows\":1,\"cols\":2}\n");
    }
}
