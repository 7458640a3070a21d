//! Rows of a table as cells, and manifests with an object of JSON a line.

use serde_json::Value;

use super::Row;
use super::columns::{GROUPS, find, plain};
use crate::fault::{Fault, Kind};
use crate::text;

/// Separators, the most certain first.
const SEPARATORS: [char; 4] = ['\t', '|', ';', ','];

/// Cells of each row with the number of its line. The separator is that of the first line. Quotes count in tables with
/// commas or semicolons alone: others have quotes as parts of their texts.
pub(super) fn separated(content: &str) -> Vec<(usize, Vec<String>)> {
    let first = content.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let separator = SEPARATORS.into_iter().find(|&separator| first.contains(separator)).unwrap_or(',');
    if matches!(separator, '\t' | '|') {
        let lines = content.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
        return lines
            .map(|(number, line)| {
                (number + 1, line.trim_end_matches('\r').split(separator).map(str::to_owned).collect())
            })
            .collect();
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator as u8)
        .from_reader(content.as_bytes());
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    let (mut seen, mut line) = (0, 1);
    // (The text is UTF-8 and rows may have any width, so no row fails.)
    while reader.read_record(&mut record).unwrap_or(false) {
        // (The reader's own number is one too small behind lines that end with CR LF, since it reads the LF with the next row.)
        let mut begin = record.position().map_or(seen, |position| position.byte() as usize);
        begin += content.len() - begin - content[begin..].trim_start_matches(['\r', '\n']).len();
        line += content[seen..begin].matches('\n').count();
        seen = begin;
        if record.iter().any(|cell| !cell.trim().is_empty()) {
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
    }
    rows
}

/// Rows of a manifest: an object a line, with the names of a table's columns as keys.
pub(super) fn of_json(content: &str, place: &str, faults: &mut Vec<Fault>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, object) in text::lines(content) {
        match json_row(line, object) {
            Ok(row) => rows.push(row),
            Err(sentence) => {
                faults.push(Fault::loss(Kind::BadRow, format!("{place}, line {line}"), sentence, 0.0));
            }
        }
    }
    rows
}

fn json_row(line: usize, text: &str) -> Result<Row, String> {
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err("expected an object of JSON".to_owned()),
        Err(error) => return Err(format!("expected an object of JSON ({error})")),
    };
    let names: Vec<String> = object.keys().map(|key| plain(key)).collect();
    let values: Vec<&Value> = object.values().collect();
    let value = |group: usize| {
        let value = values[find(&names, GROUPS[group])?];
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    };
    let Some(path) = value(0) else {
        return Err("expected a recording (audio_filepath, path, …), found none".to_owned());
    };
    let begin = value(3);
    // A duration is a span's only beside a beginning.
    let duration = begin.as_ref().and_then(|_| value(5));
    let text = value(1).unwrap_or_default();
    Ok(Row { line, path, text, speaker: value(2), begin, end: value(4), duration })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_count_in_tables_with_commas() {
        let rows = separated("path,text\na.wav,\"yes, \"\"no\"\"\nand\"\nb.wav,c\n");
        assert_eq!(rows[1], (2, vec!["a.wav".to_owned(), "yes, \"no\"\nand".to_owned()]));
        assert_eq!(rows[2].0, 4);
        let numbers = |content: &str| separated(content).iter().map(|row| row.0).collect::<Vec<_>>();
        assert_eq!(numbers("path,text\r\na,\"b\r\nc\"\r\n\r\nd,e\r\nf,g"), [1, 2, 5, 6]);
        assert_eq!(numbers("\npath,text\n\na,b\n"), [2, 4]);
        let rows = separated("path\ttext\r\na.mp3\t\"Yes\" she said\r\n");
        assert_eq!(rows[1], (2, vec!["a.mp3".to_owned(), "\"Yes\" she said".to_owned()]));
        assert_eq!(separated("a;b,c\n")[0].1, ["a", "b,c"]);
        assert_eq!(separated(""), []);
    }

    #[test]
    fn manifests_have_an_object_a_line() {
        let mut faults = Vec::new();
        let content = "{\"audio_filepath\": \"a.wav\", \"duration\": 2.5, \"text\": \"one\"}\n[]\n\
                       {\"audio_filepath\": \"b.wav\", \"offset\": 1, \"duration\": 2.5, \"text\": \"two\", \"speaker\": 3}\n{\"text\": \"x\"}\n";
        let rows = of_json(content, "m.jsonl", &mut faults);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].span(), Ok(None));
        assert_eq!(rows[1].span(), Ok(Some((1.0, 3.5))));
        assert_eq!(rows[1].speaker.as_deref(), Some("3"));
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(lines[0], "m.jsonl, line 2: expected an object of JSON");
        assert!(lines[1].starts_with("m.jsonl, line 4: expected a recording"));
    }
}
