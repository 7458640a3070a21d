//! The columns of a table: by the names of a header, or by their contents.

use kaldi_io::text::count;

use super::Row;

const PATHS: [&str; 26] = [
    "path",
    "file",
    "filename",
    "file_name",
    "filepath",
    "file_path",
    "wav",
    "wavs",
    "wav_filename",
    "wav_path",
    "wav_file",
    "audio",
    "audio_path",
    "audio_file",
    "audio_filepath",
    "audio_filename",
    "sound",
    "soundfile",
    "sound_file",
    "recording",
    "clip",
    "media",
    "utterance_path",
    "fname",
    "mp3",
    "location",
];
const TEXTS: [&str; 17] = [
    "sentence",
    "text",
    "transcript",
    "transcription",
    "transcripts",
    "normalized_text",
    "normalized_transcription",
    "normalised_text",
    "raw_transcription",
    "words",
    "orthography",
    "utterance",
    "label",
    "raw_text",
    "content",
    "phrase",
    "prompt",
];
const SPEAKERS: [&str; 12] = [
    "client_id",
    "speaker",
    "speaker_id",
    "speakerid",
    "spk",
    "spk_id",
    "spkid",
    "speaker_name",
    "user_id",
    "participant",
    "reader",
    "actor",
];
const BEGINS: [&str; 8] = ["start", "begin", "start_time", "begin_time", "offset", "tmin", "xmin", "from"];
const ENDS: [&str; 7] = ["end", "stop", "end_time", "stop_time", "tmax", "xmax", "to"];
const DURATIONS: [&str; 4] = ["duration", "length", "dur", "seconds"];

/// Rows of a table without a header that are looked at.
const LOOKED_AT: usize = 1000;

/// The place of each column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub has_header: bool,
    pub count: usize,
    path: usize,
    text: usize,
    /// A column that counts if the text is empty (LJSpeech has the spoken form only where it differs).
    other_text: Option<usize>,
    speaker: Option<usize>,
    begin: Option<usize>,
    end: Option<usize>,
    duration: Option<usize>,
}

/// A name in lower case, with `_` between words.
pub(super) fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-', '.'], "_")
}

/// The first of the names that a list has.
pub(super) fn find(names: &[String], wanted: &[&str]) -> Option<usize> {
    wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted))
}

pub(super) const GROUPS: [&[&str]; 6] = [&PATHS, &TEXTS, &SPEAKERS, &BEGINS, &ENDS, &DURATIONS];

impl Columns {
    /// Columns by the rows, of which the first may be a header. The error is a clause that says what the first line lacks.
    pub fn find(rows: &[(usize, Vec<String>)]) -> Result<Columns, String> {
        let first: &[String] = rows.first().map_or(&[], |(_, row)| row);
        let names: Vec<String> = first.iter().map(|name| plain(name)).collect();
        let [path, text, speaker, begin, end, duration] = GROUPS.map(|group| find(&names, group));
        let columns = |path, text, has_header| Columns {
            has_header,
            count: first.len(),
            path,
            text,
            other_text: None,
            speaker: None,
            begin: None,
            end: None,
            duration: None,
        };
        match (path, text) {
            (Some(path), Some(text)) => {
                // A duration is a span's only beside a beginning.
                let duration = begin.and(duration);
                return Ok(Columns { speaker, begin, end, duration, ..columns(path, text, true) });
            }
            (Some(_), None) if speaker.is_some() || first.len() > 2 => {
                return Err(format!(
                    "expected a column with the text ({}, …), found {}",
                    TEXTS[..4].join(", "),
                    first.join(", ")
                ));
            }
            _ => {}
        }
        // Without a header: a path first, the text last.
        let looks_like_path = |cell: &str| !cell.is_empty() && !cell.trim().contains(char::is_whitespace);
        let is_path = rows.iter().take(2).all(|(_, row)| row.first().is_some_and(|c| looks_like_path(c)));
        match first.len() {
            2 if is_path => Ok(columns(0, 1, false)),
            // LJSpeech: as it is written, as it is spoken. VITS' lists: speaker, text.
            3 if is_path => {
                let rows = || rows.iter().take(LOOKED_AT).map(|(_, row)| row).filter(|row| row.len() == 3);
                let has_blank = |column: usize| rows().any(|row| row[column].trim().contains(' '));
                let same = rows().filter(|row| letters(&row[1]) == letters(&row[2])).count();
                match (has_blank(1), has_blank(2)) {
                    (true, true) => Ok(Columns { other_text: Some(1), ..columns(0, 2, false) }),
                    (true, false) if rows().all(|row| row[2].trim().is_empty()) => Ok(columns(0, 1, false)),
                    (true, false) => Ok(Columns { speaker: Some(2), ..columns(0, 1, false) }),
                    (false, true) => Ok(Columns { speaker: Some(1), ..columns(0, 2, false) }),
                    (false, false) if 2 * same >= rows().count() => {
                        Ok(Columns { other_text: Some(1), ..columns(0, 2, false) })
                    }
                    (false, false) => Err(format!(
                        "expected a header, such as file,text,speaker: it cannot be told which of '{}' and '{}' is a text and which a \
                         speaker",
                        shortened(first[1].trim()),
                        shortened(first[2].trim())
                    )),
                }
            }
            _ => Err(format!(
                "expected a header with a column of recordings ({}, …) and one of texts ({}, …), found '{}'",
                PATHS[..3].join(", "),
                TEXTS[..3].join(", "),
                shortened(&first.join(" "))
            )),
        }
    }

    /// A sentence about columns that are not used, if none has speakers; `header` is the first row.
    pub fn unused(&self, header: &[String]) -> Option<String> {
        let used = [Some(self.path), Some(self.text), self.other_text, self.begin, self.end, self.duration];
        let others = header.iter().enumerate().filter(|(place, _)| !used.contains(&Some(*place)));
        let others: Vec<String> = others.map(|(_, name)| format!("'{}'", name.trim())).collect();
        (self.has_header && self.speaker.is_none() && !others.is_empty()).then(|| {
            format!(
                "no column has the name of one of speakers ({}, …); not used: {}",
                SPEAKERS[..4].join(", "),
                others.join(", ")
            )
        })
    }

    /// The row of these cells, or a clause that says what it lacks.
    pub fn row(&self, line: usize, cells: &[String]) -> Result<Row, String> {
        if cells.len() != self.count {
            return Err(format!("expected {}, found {}", count(self.count, "column"), cells.len()));
        }
        let cell = |column: Option<usize>| column.map(|column| cells[column].trim().to_owned());
        let filled = |column| cell(column).filter(|cell| !cell.is_empty());
        let Some(path) = filled(Some(self.path)) else {
            return Err("the column of recordings is empty".to_owned());
        };
        let text = filled(Some(self.text)).or_else(|| filled(self.other_text)).unwrap_or_default();
        let (speaker, begin, end, duration) =
            (filled(self.speaker), filled(self.begin), filled(self.end), filled(self.duration));
        Ok(Row { line, path, text, speaker, begin, end, duration })
    }
}

/// The letters and digits of a text, without capitals.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<String> {
        line.split('|').map(str::to_owned).collect()
    }

    fn find(lines: &[&str]) -> Result<Columns, String> {
        Columns::find(&(1..).zip(lines.iter().map(|line| cells(line))).collect::<Vec<_>>())
    }

    fn row(first: &str, second: &str) -> Row {
        find(&[first, second]).unwrap().row(2, &cells(second)).unwrap()
    }

    #[test]
    fn headers_of_well_known_tables() {
        let voice =
            row("client_id|path|sentence_id|sentence|up_votes|age", "ab12|x.mp3|1|She said \"no\".|2|");
        assert_eq!((voice.path.as_str(), voice.text.as_str()), ("x.mp3", "She said \"no\"."));
        assert_eq!(voice.speaker.as_deref(), Some("ab12"));
        let deep = row("wav_filename|wav_filesize|transcript", "a.wav|12|hello there");
        assert_eq!((deep.path.as_str(), deep.text.as_str(), deep.speaker), ("a.wav", "hello there", None));
        let spans = row("File|Start|End|Speaker|Text", "a.wav|1.5|2|Anna|no");
        assert_eq!((spans.begin.as_deref(), spans.end.as_deref()), (Some("1.5"), Some("2")));
    }

    #[test]
    fn tables_without_a_header() {
        let speech = row("LJ001-0001|Dr. No in 1962|Doctor No in nineteen", "LJ001-0002|in being modern|");
        assert_eq!((speech.path.as_str(), speech.text.as_str()), ("LJ001-0002", "in being modern"));
        let list = row("a.wav|3|one two", "b.wav|4|three");
        assert_eq!((list.speaker.as_deref(), list.text.as_str()), (Some("4"), "three"));
        let other = row("a.wav|one two|3", "b.wav|three|4");
        assert_eq!((other.speaker.as_deref(), other.text.as_str()), (Some("4"), "three"));
        let spoken = row("a|1|one", "b|Two.|two");
        assert_eq!((spoken.speaker, spoken.text.as_str()), (None, "two"));
        let error = find(&["a/0.wav|Zero.|anna", "a/1.wav|One.|anna"]).unwrap_err();
        assert!(error.contains("which of 'Zero.' and 'anna' is a text and which a speaker"), "{error}");
        let error = find(&["a b|c"]).unwrap_err();
        assert!(error.contains("expected a header"), "{error}");
        let error = find(&["path|speaker|age"]).unwrap_err();
        assert!(error.contains("column with the text"), "{error}");
    }

    #[test]
    fn columns_that_are_not_used_are_said_if_speakers_are_missing() {
        let said = |header: &str| find(&[header, "a|b|c"]).unwrap().unused(&cells(header));
        assert_eq!(
            said("file|text|who").as_deref(),
            Some(
                "no column has the name of one of speakers (client_id, speaker, speaker_id, speakerid, …); not used: 'who'"
            )
        );
        assert_eq!((said("file|text|speaker"), said("file|text|start")), (None, None));
    }

    #[test]
    fn rows_of_another_width_are_faults() {
        let columns = find(&["path|text"]).unwrap();
        assert_eq!(columns.row(3, &cells("a|b|c")), Err("expected 2 columns, found 3".to_owned()));
        assert!(columns.row(3, &cells("|b")).unwrap_err().contains("empty"));
    }
}
