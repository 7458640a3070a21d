//! The places of texts: standard output, a file for all recordings, a file for each one.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kaldi_cli::StandardOutput;
use kaldi_io::KaldiWriter;
use nnet3_online::formats::{Format, Parts};

use super::Sound;
use super::lattices::archive;
use super::names::{self, Name, is_live};

/// The forms of texts and their places, as options have them.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// Without them, the form that the ending of `file` names, or plain text.
    pub formats: Vec<Format>,
    /// A file for the texts of all recordings; empty for none. With several forms each one gets its own ending.
    pub file: String,
    /// A folder for a file of each text.
    pub folder: Option<String>,
}

/// Parses the names of forms for clap, with explanations for the help.
pub fn forms() -> impl TypedValueParser<Value = Format> {
    let possible = |format: &Format| {
        let value = PossibleValue::new(format.name()).help(meaning(*format));
        if *format == Format::Text { value.alias("txt") } else { value }
    };
    let names = PossibleValuesParser::new(Format::ALL.iter().map(possible));
    names.map(|name| Format::of_suffix(&name).unwrap_or(Format::Text))
}

fn meaning(format: Format) -> &'static str {
    match format {
        Format::Text => {
            "A line for each file: its name without suffix, then the words. With speakers, channels or times a line for each turn"
        }
        Format::Json => {
            "An object on a line for each file: its text, and its segments with the times and confidences of their words"
        }
        Format::Srt => {
            "Subtitles in SubRip's form: at most two lines of 42 characters, split at pauses. Several files need --output-dir"
        }
        Format::Vtt => "Subtitles in the form of the web (WebVTT), split likewise",
        Format::Ctm => {
            "A line for each word: file, channel, begin and length in seconds, the word, its confidence"
        }
        Format::Csv => {
            "A table with a line for each sentence: file, begin, end, channel, speaker, confidence, text, with commas between"
        }
        Format::Tsv => "The same table with tabs",
        Format::Rttm => {
            "A line for each turn: SPEAKER, file, channel, begin and length in seconds, and who speaks, as NIST's tools read it"
        }
        Format::TextGrid => {
            "A TextGrid for Praat: tiers of sentences and words, for each speaker if there are several. Several files need --output-dir"
        }
    }
}

/// Forms and places that fit each other.
pub struct Outputs {
    pub formats: Vec<Format>,
    /// A file for the texts of all recordings in each form.
    joined: Vec<String>,
    folder: Option<String>,
}

impl Texts {
    /// Fails if texts are for standard output, and it is closed.
    pub fn check_standard_output(&self) -> Result<()> {
        match self.folder.is_none() && matches!(self.file.as_str(), "" | "-") {
            true => Ok(StandardOutput::check()?),
            false => Ok(()),
        }
    }

    /// Fails if a folder is given in the place of a file, or a file in that of a folder.
    fn check_kinds(&self) -> Result<()> {
        let file = &self.file;
        if file.ends_with('/') || Path::new(file).is_dir() {
            bail!(
                "--output={file}: expected a file, found a folder; --output-dir={file} writes a file for each recording"
            );
        }
        if let Some(folder) = self.folder.as_ref().filter(|folder| Path::new(folder).is_file()) {
            bail!(
                "--output-dir={folder}: expected a folder, found a file; --output={folder} writes one file"
            );
        }
        Ok(())
    }

    /// Checks forms and places for so many recordings.
    pub fn outputs(&self, recordings: usize) -> Result<Outputs> {
        let file = if self.file == "-" { "" } else { &self.file };
        self.check_kinds()?;
        let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let mut formats: Vec<Format> = Vec::new();
        self.formats.iter().for_each(|format| {
            if !formats.contains(format) {
                formats.push(*format);
            }
        });
        if let ([format], Some(named)) = (&formats[..], Format::of_suffix(ending))
            && ![*format, Format::Text].contains(&named)
        {
            let (format, named) = (format.name(), named.name());
            nnet3::messages::warn(&format!(
                "--output={file}: the name is that of {named}, the form is {format} (--format)"
            ));
        }
        if formats.is_empty() {
            let named = Format::of_suffix(ending);
            if named.is_none() && !ending.is_empty() && !is_special(file) {
                bail!(
                    "--output={file}: the ending .{ending} names no form; expected {}, or the form as --format",
                    Format::suffixes()
                );
            }
            formats.push(named.unwrap_or(Format::Text));
        }
        if !self.file.is_empty() && self.folder.is_some() {
            bail!("--output and --output-dir: expected one of them");
        }
        let single = formats.iter().find(|format| format.is_of_one_file());
        if let (None, Some(single)) = (&self.folder, single.filter(|_| recordings > 1)) {
            bail!(
                "--format={} is for one file, found {recordings}; --output-dir=FOLDER writes a file for each",
                single.name()
            );
        }
        if self.folder.is_none() && file.is_empty() && formats.len() > 1 {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            bail!(
                "--format={}: standard output takes one form; --output=FILE or --output-dir=FOLDER writes a file for each",
                names.join(",")
            );
        }
        let stem = match formats.iter().any(|format| format.suffix().eq_ignore_ascii_case(ending)) {
            true => &file[..file.len() - ending.len() - 1],
            false => file,
        };
        let joined = match (&formats[..], file) {
            (_, "") => Vec::new(),
            ([_], file) => vec![file.to_owned()],
            (all, _) => all.iter().map(|format| format!("{stem}.{}", format.suffix())).collect(),
        };
        Ok(Outputs { formats, joined, folder: self.folder.clone() })
    }
}

/// True of a device or a pipe, whose name has no meaning.
fn is_special(file: &str) -> bool {
    Path::new(file).exists() && !Path::new(file).is_file()
}

impl Outputs {
    /// The only form, if sentences may be written one by one to standard output.
    pub fn by_sentences(&self) -> Option<Format> {
        match self.formats[..] {
            [format] if format.comes_by_sentences() && self.joined.is_empty() && self.folder.is_none() => {
                Some(format)
            }
            _ => None,
        }
    }

    /// Fails if sentences of these forms and parts cannot be written one by one.
    pub fn check_sentences(&self, parts: Parts) -> Result<()> {
        if self.folder.is_some() || !self.joined.is_empty() {
            bail!(
                "--as-it-comes is for standard output: files of --output and --output-dir appear when they are whole"
            );
        }
        if self.by_sentences().is_none() {
            let names = Format::ALL.iter().filter(|format| format.comes_by_sentences());
            bail!(
                "--as-it-comes: expected --format={}, found --format={}",
                names.map(|format| format.name()).collect::<Vec<_>>().join("|"),
                self.names()
            );
        }
        if parts.speakers {
            bail!("--as-it-comes is not for --speakers: who speaks is known at the end of a recording");
        }
        if parts.channels && self.formats.contains(&Format::Ctm) {
            bail!(
                "--as-it-comes is not for --format=ctm with --channels=each, which has one channel after the other"
            );
        }
        Ok(())
    }

    fn names(&self) -> String {
        self.formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(",")
    }

    /// Gives each path a name, and its texts a place. Lines of the only live sound have no name.
    /// `lattices` is a folder for them.
    pub fn sounds<'p>(&self, paths: &'p [String], lattices: Option<&str>) -> Result<Vec<Sound<'p>>> {
        let form_of = |format: Format| match format {
            _ if format.has_columns() => Name::OfColumn,
            _ if format.is_of_one_file() => Name::OfFile,
            _ => Name::Plain,
        };
        let nameless = |format| format == Format::Text && paths.len() == 1 && is_live(&paths[0]);
        let names: Vec<Vec<String>> = self
            .formats
            .iter()
            .map(|&format| match nameless(format) {
                true => vec![String::new()],
                false => names::distinct(paths, form_of(format)),
            })
            .collect();
        if let Some(folder) = &self.folder {
            std::fs::create_dir_all(folder).with_context(|| format!("--output-dir={folder}"))?;
        }
        if let Some(folder) = lattices {
            std::fs::create_dir_all(folder).with_context(|| format!("--lattices={folder}"))?;
        }
        let of_files = names::distinct(paths, Name::OfFile);
        let keys = names::distinct(paths, Name::OfColumn);
        let sound = |(i, path): (usize, &'p String)| {
            let to = self
                .folder
                .iter()
                .flat_map(|folder| self.formats.iter().map(move |format| (folder, format.suffix())));
            Sound {
                path,
                names: names.iter().map(|names| names[i].clone()).collect(),
                to: to.map(|(folder, suffix)| format!("{folder}/{}.{suffix}", of_files[i])).collect(),
                lattices: lattices.map(|folder| (archive(folder, &of_files[i]), keys[i].clone())),
            }
        };
        Ok(paths.iter().enumerate().map(sound).collect())
    }

    /// Fails if a text cannot be written, or would take the place of a recording.
    pub fn check(&self, sounds: &[Sound]) -> Result<()> {
        let real = |path: &str| std::fs::canonicalize(path).ok();
        let recordings: Vec<_> = sounds.iter().filter_map(|sound| real(sound.path)).collect();
        let lattices = sounds.iter().filter_map(|sound| sound.lattices.as_ref().map(|(file, _)| file));
        for file in self.joined.iter().chain(sounds.iter().flat_map(|sound| &sound.to)).chain(lattices) {
            if real(file).is_some_and(|file| recordings.contains(&file)) {
                bail!("{file}: expected a file to write, found one of the recordings");
            }
            KaldiWriter::check(file)?;
        }
        Ok(())
    }

    /// Begins to write.
    pub fn writer(&self) -> Result<Writer<'_>> {
        let open = |file: &String| Ok(KaldiWriter::create(file, false)?);
        let joined: Result<Vec<KaldiWriter>> = self.joined.iter().map(open).collect();
        Ok(Writer { outputs: self, joined: joined?, written: 0 })
    }
}

/// Writes texts. Files appear whole.
pub struct Writer<'o> {
    outputs: &'o Outputs,
    joined: Vec<KaldiWriter>,
    /// Recordings whose texts were written.
    written: usize,
}

impl Writer<'_> {
    /// Writes the texts of a recording, one in each form. `to` has a file for each, if each has one.
    pub fn write(&mut self, to: &[String], texts: &[String]) -> Result<()> {
        for (i, (text, format)) in texts.iter().zip(&self.outputs.formats).enumerate() {
            if let Some(file) = to.get(i) {
                write_file(file, text)?;
                continue;
            }
            let head = format.head();
            let text = if self.written > 0 { text.strip_prefix(&head).unwrap_or(text) } else { text };
            match self.joined.get_mut(i) {
                Some(writer) => writer.write_str(text)?,
                None => StandardOutput::print(text)?,
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the files, unless there was no text for them.
    pub fn finish(self) -> Result<()> {
        if self.written > 0 {
            self.joined.into_iter().try_for_each(KaldiWriter::finish)?;
            self.outputs.joined.iter().for_each(|file| forget_incomplete(file));
        }
        Ok(())
    }

    /// Ends the files of an interrupted work under [other names](incomplete), unless there was no text for them. Returns their own names.
    pub fn finish_incomplete(self) -> Result<Vec<String>> {
        if self.written == 0 {
            return Ok(Vec::new());
        }
        for (writer, file) in self.joined.into_iter().zip(&self.outputs.joined) {
            writer.finish_as(&incomplete(file))?;
        }
        let is_file = |file: &&String| Path::new(&incomplete(file)).exists();
        Ok(self.outputs.joined.iter().filter(is_file).cloned().collect())
    }
}

/// Writes a file, whole.
fn write_file(file: &str, text: &str) -> Result<()> {
    let mut writer = KaldiWriter::create(file, false)?;
    writer.write_str(text)?;
    writer.finish()?;
    forget_incomplete(file);
    Ok(())
}

/// The name of a file with a part of a text.
pub fn incomplete(file: &str) -> String {
    format!("{file}.incomplete")
}

/// Removes what an interrupted call has left of a file that is now whole.
fn forget_incomplete(file: &str) {
    // (In most cases there is no such file.)
    let _ = std::fs::remove_file(incomplete(file));
}
