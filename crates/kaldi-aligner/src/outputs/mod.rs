//! Files of the results, in a folder.

mod csv;
mod ctm;
mod elan;
mod json;
mod names;
mod picture;
mod subtitles;
mod table;
mod textgrid;
mod texts;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use kaldi_corpus::Corpus;
use kaldi_io::KaldiWriter;

use crate::aligned::{AlignedUtterance, Results};
use crate::{Error, Result};

pub use names::file_names;
pub use picture::write_picture;
pub use textgrid::grid;
pub use texts::{TextRow, write_texts};

/// The table with a line for each recording. It is written last.
pub const TABLE: &str = "files.tsv";

/// Tables of all words and phones, and of words whose sound does not fit.
const CSV: &str = "alignment.csv";
const DOUBTFUL: &str = "doubtful.tsv";
/// The table of words of long recordings that are not aligned.
pub const LEFT_OUT: &str = "left_out.tsv";
/// The table of sound of long recordings that no word belongs to.
pub const UNTEXTED: &str = "untexted.tsv";

/// All tables that [`write()`] may write.
pub(crate) const TABLES: [&str; 7] = [CSV, ctm::NAMES[0], ctm::NAMES[1], DOUBTFUL, LEFT_OUT, UNTEXTED, TABLE];
/// All folders that it may write, with the endings of their files.
pub(crate) const FOLDERS: [(&str, &[&str]); 4] =
    [("textgrids", &["TextGrid"]), ("eaf", &["eaf"]), ("json", &["json"]), ("subtitles", &["srt", "vtt"])];

/// The forms of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A TextGrid of Praat for each recording, in `textgrids`; with names before the values.
    TextGrid,
    /// The same without names.
    ShortTextGrid,
    /// A file of ELAN for each recording, in `eaf`.
    Eaf,
    /// `words.ctm` and `phones.ctm`.
    Ctm,
    /// An object for each recording, in `json`.
    Json,
    /// `alignment.csv`: a line for each word and phone.
    Csv,
    /// Subtitles, in `subtitles`.
    Srt,
    /// The same in the form of WebVTT.
    Vtt,
}

/// The words of a subtitle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subtitles {
    /// One word.
    #[default]
    Words,
    /// The words between two pauses, as far as they can be read at once.
    Phrases,
}

/// Names of forms on command lines.
pub const FORMATS: [(&str, Format); 8] = [
    ("textgrid", Format::TextGrid),
    ("short-textgrid", Format::ShortTextGrid),
    ("eaf", Format::Eaf),
    ("ctm", Format::Ctm),
    ("json", Format::Json),
    ("csv", Format::Csv),
    ("srt", Format::Srt),
    ("vtt", Format::Vtt),
];

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Format, String> {
        // (The Montreal Forced Aligner calls them long_textgrid and short_textgrid.)
        let plain = name.to_ascii_lowercase().replace('_', "-");
        let plain = match plain.as_str() {
            "long-textgrid" => "textgrid",
            "elan" => "eaf",
            plain => plain,
        };
        let found = FORMATS.iter().find(|(known, _)| *known == plain);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
            format!("expected {}, found '{name}'", names.join(", "))
        })
    }
}

/// The results of a recording.
pub(crate) struct OfRecording<'r> {
    /// The number of the recording.
    pub recording: usize,
    /// Numbers of utterances with their results, in the order of time.
    pub utterances: Vec<(usize, &'r std::result::Result<AlignedUtterance, String>)>,
}

impl<'r> OfRecording<'r> {
    /// Aligned utterances.
    pub fn aligned(&self) -> impl Iterator<Item = (usize, &'r AlignedUtterance)> + '_ {
        self.utterances.iter().filter_map(|(number, result)| Some((*number, result.as_ref().ok()?)))
    }
}

/// Results by recordings.
pub(crate) fn by_recording<'r>(corpus: &Corpus, results: &'r Results) -> Vec<OfRecording<'r>> {
    let mut all: Vec<OfRecording> = (0..corpus.recordings.len())
        .map(|recording| OfRecording { recording, utterances: Vec::new() })
        .collect();
    for (number, result) in results.utterances.iter().enumerate() {
        all[corpus.utterances[number].recording].utterances.push((number, result));
    }
    let begin = |number: usize| corpus.utterances[number].span.map_or(0.0, |(begin, _)| begin);
    for of in &mut all {
        of.utterances.sort_by(|(a, _), (b, _)| begin(*a).total_cmp(&begin(*b)));
    }
    all
}

/// A result that [`write()`] has written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Written {
    /// Files of recordings, in a folder within that of the results.
    #[allow(missing_docs)] // The comment of the variant explains its fields.
    Files { folder: &'static str, ending: &'static str, count: usize },
    /// A table of all recordings, by its name.
    Table(&'static str),
    /// The table of words whose sound does not fit, with their number.
    #[allow(missing_docs)] // The comment of the variant explains its fields.
    Doubtful { name: &'static str, words: usize },
    /// The table of words of long recordings that are not aligned, with their number.
    #[allow(missing_docs)] // The comment of the variant explains its fields.
    LeftOut { name: &'static str, words: usize },
    /// The table of sound of long recordings that no word belongs to, with its length.
    #[allow(missing_docs)] // The comment of the variant explains its fields.
    Untexted { name: &'static str, places: usize, seconds: f64 },
}

/// Writes all files into a folder: those of `formats`, `doubtful.tsv` if there are scores, `left_out.tsv` if words of long recordings
/// were left out, `untexted.tsv` if sound of such recordings has no words, and last the table of files. Every file appears whole. Returns what was written, in this order.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    folder: &Path,
    corpus: &Corpus,
    results: &Results,
    formats: &[Format],
    subtitles: Subtitles,
) -> Result<Vec<Written>> {
    let names = file_names(corpus);
    let all = by_recording(corpus, results);
    let mut written = Vec::new();
    for &format in formats {
        let (name, ending) = match format {
            Format::TextGrid | Format::ShortTextGrid => ("textgrids", "TextGrid"),
            Format::Eaf => ("eaf", "eaf"),
            Format::Json => ("json", "json"),
            Format::Srt => ("subtitles", "srt"),
            Format::Vtt => ("subtitles", "vtt"),
            Format::Ctm => {
                ctm::write(folder, corpus, &all)?;
                written.extend(ctm::NAMES.map(Written::Table));
                continue;
            }
            Format::Csv => {
                write_file(&folder.join(CSV), &csv::text(corpus, &all))?;
                written.push(Written::Table(CSV));
                continue;
            }
        };
        let subfolder = folder.join(name);
        let mut count = 0;
        std::fs::create_dir_all(&subfolder).map_err(|source| Error::io(&subfolder, source))?;
        for of in &all {
            let file = subfolder.join(format!("{}.{ending}", names[of.recording]));
            let text = match format {
                Format::TextGrid => grid(corpus, of.recording, of.aligned()).to_text(textgrid::Form::Long),
                Format::ShortTextGrid => {
                    grid(corpus, of.recording, of.aligned()).to_text(textgrid::Form::Short)
                }
                Format::Eaf => elan::text(corpus, of, &file),
                Format::Json => json::text(corpus, of),
                _ if of.aligned().next().is_none() => continue,
                _ => subtitles::text(of, subtitles, format == Format::Vtt),
            };
            let parent = file.parent().unwrap_or(&subfolder);
            std::fs::create_dir_all(parent).map_err(|source| Error::io(parent, source))?;
            write_file(&file, &text)?;
            count += 1;
        }
        written.push(Written::Files { folder: name, ending, count });
    }
    if let Some(words) = results.doubtful {
        write_file(&folder.join(DOUBTFUL), &table::doubtful(corpus, &all))?;
        written.push(Written::Doubtful { name: DOUBTFUL, words });
    }
    if !results.left_out.is_empty() {
        write_file(&folder.join(LEFT_OUT), &table::left_out(corpus, &results.left_out))?;
        let words = results.left_out.iter().map(|gap| gap.words.len()).sum();
        written.push(Written::LeftOut { name: LEFT_OUT, words });
    }
    if !results.untexted.is_empty() {
        write_file(&folder.join(UNTEXTED), &table::untexted(corpus, &results.untexted))?;
        let seconds = results.untexted.iter().map(|part| part.end - part.begin).sum();
        written.push(Written::Untexted { name: UNTEXTED, places: results.untexted.len(), seconds });
    }
    write_file(&folder.join(TABLE), &table::files(corpus, &all))?;
    written.push(Written::Table(TABLE));
    Ok(written)
}

/// The first file of `formats` that a folder of results lacks. (Recordings without an alignment have no subtitles.)
pub fn missing(folder: &Path, corpus: &Corpus, formats: &[Format]) -> Option<PathBuf> {
    let names = file_names(corpus);
    let of_recordings = |name: &str, ending: &str| -> Vec<PathBuf> {
        names.iter().map(|file| folder.join(name).join(format!("{file}.{ending}"))).collect()
    };
    let files = |format: &Format| match format {
        Format::TextGrid | Format::ShortTextGrid => of_recordings("textgrids", "TextGrid"),
        Format::Eaf => of_recordings("eaf", "eaf"),
        Format::Json => of_recordings("json", "json"),
        Format::Ctm => ctm::NAMES.map(|name| folder.join(name)).into(),
        Format::Csv => vec![folder.join(CSV)],
        Format::Srt | Format::Vtt => vec![folder.join("subtitles")],
    };
    formats.iter().flat_map(files).find(|file| !file.exists())
}

/// The object of each recording, as the form `json` has it.
pub fn objects(corpus: &Corpus, results: &Results) -> Vec<serde_json::Value> {
    by_recording(corpus, results).iter().map(|of| json::object(corpus, of)).collect()
}

/// The TextGrid of each recording with the path of its file (see [`file_names`]) without the ending, in the form that Praat writes or in the short
/// one.
pub fn textgrids(corpus: &Corpus, results: &Results, short: bool) -> Vec<(String, String)> {
    let form = if short { textgrid::Form::Short } else { textgrid::Form::Long };
    let all = by_recording(corpus, results);
    let text = |of: &OfRecording| grid(corpus, of.recording, of.aligned()).to_text(form);
    file_names(corpus).into_iter().zip(all.iter().map(text)).collect()
}

fn write_file(file: &Path, text: &str) -> Result<()> {
    let name = file.to_str().ok_or_else(|| Error::file(file, "the name is not UTF-8"))?;
    let mut out = KaldiWriter::create(name, false)?;
    out.write_bytes(text.as_bytes())?;
    Ok(out.finish()?)
}
