//! `log/` and `events.jsonl` of a training. `nnet3-report` and other programs read them.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use serde_json::{Value, json};

/// Writes the events of a training to files.
pub struct LogFiles {
    folder: PathBuf,
}

impl LogFiles {
    /// Opens the logs. Entries after the first `epochs` epochs are removed, because the training continues from there.
    pub fn open(folder: &Path, epochs: u64) -> Result<LogFiles> {
        let files = LogFiles { folder: folder.to_owned() };
        let path = files.events();
        let old = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            old => old.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let earlier = |line: &&str| {
            let event: Option<Value> = serde_json::from_str(line).ok();
            event.and_then(|event| event["epoch"].as_u64()).is_some_and(|epoch| epoch <= epochs)
        };
        let kept: String = match epochs {
            0 => String::new(),
            _ => old.lines().filter(earlier).map(|line| format!("{line}\n")).collect(),
        };
        if kept != old {
            // A training that is killed here must not lose them.
            let new = path.with_extension("new");
            let replace = std::fs::write(&new, kept).and_then(|()| std::fs::rename(&new, &path));
            replace.with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(files)
    }

    fn events(&self) -> PathBuf {
        self.folder.join("events.jsonl")
    }

    /// Adds a line to the events.
    pub fn event(&self, event: &Value) -> Result<()> {
        let path = self.events();
        let cannot = || format!("cannot write {}", path.display());
        let mut file = OpenOptions::new().append(true).create(true).open(&path).with_context(cannot)?;
        file.write_all(format!("{event}\n").as_bytes()).with_context(cannot)
    }

    /// A log of this name, with these messages.
    pub fn log(&self, name: &str, messages: &[String]) -> Result<()> {
        let path = self.folder.join("log").join(name);
        let lines = messages.iter().map(|message| match message.starts_with("component name=") {
            true => format!("{message}\n"),
            false => kaldi_cli::log::log_line(&Site::PROGRAM, message),
        });
        std::fs::write(&path, lines.collect::<String>())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A number as JSON has it: infinite ones and NaN become `null`.
pub fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}
