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
    /// Columns by the first rows. The error is a clause that says what the first line lacks.
    pub fn find(first: &[String], second: Option<&[String]>) -> Result<Columns, String> {
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
        let is_path = looks_like_path(&first[0])
            && second.is_none_or(|row| row.first().is_some_and(|c| looks_like_path(c)));
        match first.len() {
            2 if is_path => Ok(columns(0, 1, false)),
            // LJSpeech: as it is written, as it is spoken. VITS' lists: speaker, text.
            3 if is_path => {
                let has_blank = |row: &[String]| row.get(1).is_some_and(|cell| cell.trim().contains(' '));
                let is_text = has_blank(first) || second.is_some_and(has_blank);
                let plain = columns(0, 2, false);
                Ok(match is_text {
                    true => Columns { other_text: Some(1), ..plain },
                    false => Columns { speaker: Some(1), ..plain },
                })
            }
            _ => Err(format!(
                "expected a header with a column of recordings ({}, …) and one of texts ({}, …), found '{}'",
                PATHS[..3].join(", "),
                TEXTS[..3].join(", "),
                shortened(&first.join(" "))
            )),
        }
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

    fn row(first: &str, second: &str) -> Row {
        let (first, second) = (cells(first), cells(second));
        Columns::find(&first, Some(&second)).unwrap().row(2, &second).unwrap()
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
        let error = Columns::find(&cells("a b|c"), None).unwrap_err();
        assert!(error.contains("expected a header"), "{error}");
        let error = Columns::find(&cells("path|speaker|age"), None).unwrap_err();
        assert!(error.contains("column with the text"), "{error}");
    }

    #[test]
    fn rows_of_another_width_are_faults() {
        let columns = Columns::find(&cells("path|text"), None).unwrap();
        assert_eq!(columns.row(3, &cells("a|b|c")), Err("expected 2 columns, found 3".to_owned()));
        assert!(columns.row(3, &cells("|b")).unwrap_err().contains("empty"));
    }
}
