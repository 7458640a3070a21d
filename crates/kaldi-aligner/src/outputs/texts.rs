//! The table of texts with their scores.

use std::fmt::Write;
use std::path::Path;

use crate::Result;
use crate::listen::TextScores;

/// A text of the table.
#[derive(Debug, Clone, Copy)]
pub struct TextRow<'r> {
    /// The key of the utterance.
    pub utterance: &'r str,
    /// Its words.
    pub text: &'r str,
    /// The file, and the place in it.
    pub place: &'r str,
    /// The reason if the utterance is not aligned.
    pub reason: Option<&'r str>,
}

/// Writes a line for each text, with tabs between score, verdict (`not aligned`, `doubtful` or `fits`), utterance, place, text and
/// reason. Texts that are not aligned come first, then those with the lowest scores.
///
/// # Errors
/// The file cannot be written.
pub fn write_texts(file: &Path, rows: &[TextRow], scores: &TextScores) -> Result<()> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let key = |place: usize| scores.scores[place].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then_with(|| rows[a].utterance.cmp(rows[b].utterance)));
    let mut out = "score\tverdict\tutterance\tplace\ttext\treason\n".to_owned();
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    for place in order {
        let row = &rows[place];
        let score = scores.scores[place].map(|score| format!("{score:.3}")).unwrap_or_default();
        let verdict = match scores.scores[place] {
            None => "not aligned",
            Some(_) if scores.is_doubtful(place) => "doubtful",
            Some(_) => "fits",
        };
        let (reason, text) = (plain(row.reason.unwrap_or_default()), plain(row.text));
        let _ =
            writeln!(out, "{score}\t{verdict}\t{}\t{}\t{text}\t{reason}", row.utterance, plain(row.place));
    }
    super::write_file(file, &out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_texts_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("texts.tsv");
        let row = |utterance, reason| TextRow { utterance, text: "a\tb", place: "x.txt", reason };
        let rows = [row("good", None), row("bad", None), row("none", Some("too short"))];
        let scores = TextScores { scores: vec![Some(-1.0), Some(-9.5), None], doubtful_below: Some(-4.0) };
        write_texts(&file, &rows, &scores).unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "\tnot aligned\tnone\tx.txt\ta b\ttoo short");
        assert_eq!(lines[1], "-9.500\tdoubtful\tbad\tx.txt\ta b\t");
        assert_eq!(lines[2], "-1.000\tfits\tgood\tx.txt\ta b\t");
    }
}
