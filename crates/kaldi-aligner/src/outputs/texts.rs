//! The table of texts with their scores.

use std::fmt::Write;
use std::path::Path;

use kaldi_io::text::{count, either};

use crate::Result;
use crate::listen::{TextScores, Verdict};
use crate::others::Beside;

/// Characters of another text that are shown.
const LONGEST: usize = 60;

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
    /// The number of its words that the lexicon lacks.
    pub unknown: usize,
}

/// Writes a line for each text, with tabs between score, verdict (`not aligned`, `wrong`, `doubtful` or `fits`), utterance, place, text
/// and reason. Texts that are not aligned come first, then wrong ones, then doubtful ones, each with the lowest scores first.
///
/// # Errors
/// The file cannot be written.
pub fn write_texts(file: &Path, rows: &[TextRow], scores: &TextScores) -> Result<()> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let key = |place: usize| scores.scores[place].unwrap_or(f64::NEG_INFINITY);
    let rank = |place: usize| match scores.verdict(place) {
        Verdict::NotAligned | Verdict::Wrong => 0,
        Verdict::Doubtful => 1,
        Verdict::Fits => 2,
    };
    order.sort_by(|&a, &b| {
        let by_score = || rank(a).cmp(&rank(b)).then_with(|| key(a).total_cmp(&key(b)));
        by_score().then_with(|| rows[a].utterance.cmp(rows[b].utterance))
    });
    let mut out = "score\tverdict\tutterance\tplace\ttext\treason\n".to_owned();
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    for place in order {
        let row = &rows[place];
        let score = scores.scores[place].map(|score| format!("{score:.3}")).unwrap_or_default();
        let verdict = match scores.verdict(place) {
            Verdict::NotAligned => "not aligned",
            Verdict::Wrong => "wrong",
            Verdict::Doubtful => "doubtful",
            Verdict::Fits => "fits",
        };
        let better = match &scores.beside[place] {
            Beside::Worse { text, gain } => {
                let shown: String = text.chars().take(LONGEST).collect();
                let more = if shown.len() < text.len() { " …" } else { "" };
                Some(format!("better by {gain:.3} a frame: {shown}{more}"))
            }
            Beside::Alone => Some("no other text can be aligned".to_owned()),
            // (Of texts that fit, none is compared.)
            Beside::Best if scores.is_doubtful(place) => {
                Some("far below most scores, but no other text fits better".to_owned())
            }
            Beside::Best => None,
        };
        let long = scores.long_sounds[place]
            .map(|seconds| format!("a sound takes {seconds:.1} s: more may be said than the text has"));
        let is_odd = scores.verdict(place) != Verdict::Fits;
        let unknown = (is_odd && row.unknown > 0).then(|| {
            format!("{} {} not in the lexicon", count(row.unknown, "word"), either(row.unknown, "is", "are"))
        });
        let reasons = row.reason.map(str::to_owned).or(better).into_iter().chain(long).chain(unknown);
        let reason = reasons.collect::<Vec<_>>().join("; ");
        let (reason, text) = (plain(&reason), plain(row.text));
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
        let row = |utterance, reason| TextRow { utterance, text: "a\tb", place: "x.txt", reason, unknown: 0 };
        let rows = [
            TextRow { unknown: 1, ..row("good", None) },
            row("noisy", None),
            row("none", Some("too short")),
            row("bad", None),
            TextRow { unknown: 3, ..row("alone", None) },
            row("unusual", None),
            row("short", None),
        ];
        let worse = |gain| Beside::Worse { text: "c".repeat(70), gain };
        let scores = TextScores {
            scores: vec![Some(-1.0), Some(-9.5), None, Some(-5.0), Some(-8.0), Some(-4.5), Some(-0.5)],
            doubtful_below: Some(-4.0),
            beside: vec![
                Beside::Best,
                worse(0.1),
                Beside::Best,
                worse(2.0),
                Beside::Alone,
                Beside::Best,
                Beside::Best,
            ],
            long_sounds: [vec![None; 6], vec![Some(2.8)]].concat(),
        };
        write_texts(&file, &rows, &scores).unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let shown = "c".repeat(60) + " …";
        assert_eq!(lines[0], "\tnot aligned\tnone\tx.txt\ta b\ttoo short");
        assert_eq!(
            lines[1],
            "-8.000\twrong\talone\tx.txt\ta b\tno other text can be aligned; 3 words are not in the lexicon"
        );
        assert_eq!(lines[2], format!("-5.000\twrong\tbad\tx.txt\ta b\tbetter by 2.000 a frame: {shown}"));
        assert_eq!(
            lines[3],
            format!("-9.500\tdoubtful\tnoisy\tx.txt\ta b\tbetter by 0.100 a frame: {shown}")
        );
        let unlike = "far below most scores, but no other text fits better";
        assert_eq!(lines[4], format!("-4.500\tdoubtful\tunusual\tx.txt\ta b\t{unlike}"));
        let long = "a sound takes 2.8 s: more may be said than the text has";
        assert_eq!(lines[5], format!("-0.500\tdoubtful\tshort\tx.txt\ta b\t{long}"));
        assert_eq!(lines[6], "-1.000\tfits\tgood\tx.txt\ta b\t");
    }
}
