//! Faults as lines for people and as a table.

use std::collections::BTreeMap;
use std::path::Path;

use kaldi_io::KaldiWriter;

use crate::fault::{Counts, Fault, Kind};
use crate::{Error, Result};

/// The share of utterances, from 0 to 1, that may be lost without a permission.
pub const MOST_LOST: f64 = 0.02;

/// Faults of a kind that are written out.
const SHOWN: usize = 5;

/// A line for each of the first five faults of a kind, and one that counts the others.
pub fn report(faults: &[Fault]) -> Vec<String> {
    let mut kinds: BTreeMap<Kind, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        kinds.entry(fault.kind).or_default().push(fault);
    }
    let mut lines = Vec::new();
    for (kind, faults) in kinds {
        lines.extend(faults.iter().take(SHOWN).map(|fault| fault.to_string()));
        if faults.len() > SHOWN {
            lines.push(format!("… and {} more: {kind}", faults.len() - SHOWN));
        }
    }
    lines
}

impl Counts {
    /// The sentence of an error if more than 2 % of the utterances are lost: the reasons and the first five losses. Utterances that
    /// were left out as asked for do not count.
    pub fn too_many_lost(&self) -> Option<String> {
        if self.share_lost() <= MOST_LOST {
            return None;
        }
        let lost = self.unwanted_losses();
        let of = lost + self.kept.utterances;
        let mut text = format!(
            "{lost} of {of} utterances ({:.1} %; {}) would be lost: {}",
            100.0 * self.share_lost(),
            self.lost_sound[1],
            self.unwanted_reasons()
        );
        for sentence in &self.first {
            text += "\n  ";
            text += sentence;
        }
        if lost > self.first.len() {
            text += &format!("\n  … and {} more", lost - self.first.len());
        }
        Some(text)
    }
}

/// Writes all faults: a line each, with tabs between place, kind, lost utterances, their seconds, and the sentence.
///
/// # Errors
/// The file cannot be written.
pub fn write_faults(file: &Path, faults: &[Fault]) -> Result<()> {
    let name = file.to_str().ok_or_else(|| Error::Output {
        path: file.display().to_string(),
        message: "the name is not UTF-8".to_owned(),
    })?;
    let mut out = KaldiWriter::create(name, false)?;
    out.write_bytes(b"place\tkind\tlost utterances\tlost seconds\tfault\n")?;
    for Fault { place, kind, sentence, lost } in faults {
        let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let (utterances, seconds) = (lost.utterances, lost.seconds);
        let line = format!("{}\t{kind}\t{utterances}\t{seconds:.2}\t{}\n", plain(place), plain(sentence));
        out.write_bytes(line.as_bytes())?;
    }
    Ok(out.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Amount;

    #[test]
    fn utterances_that_are_left_out_by_an_option_are_not_against_the_limit() {
        let fault = |kind, i: usize| Fault::loss(kind, format!("{i}.txt"), "a reason", 2.0);
        let mut faults: Vec<Fault> = (0..30).map(|i| fault(Kind::UnknownWords, i)).collect();
        let kept = Amount { utterances: 70, seconds: 140.0 };
        let of = |faults: &[Fault]| Counts::new(Amount::default(), kept, faults);
        assert_eq!(of(&faults).too_many_lost(), None);
        assert_eq!((of(&faults).left_out().utterances, of(&faults).all_lost().utterances), (30, 30));
        assert!(
            of(&faults).to_string().contains("30 lost (60.0 s): 30 texts with words that the lexicon lacks")
        );
        faults.extend((0..3).map(|i| fault(Kind::EmptyText, 100 + i)));
        let text = of(&faults).too_many_lost().unwrap();
        assert!(
            text.starts_with("3 of 73 utterances (4.1 %; 6.0 s) would be lost: 3 empty texts\n  100.txt: "),
            "{text}"
        );
    }

    #[test]
    fn two_percent_may_be_lost() {
        let faults: Vec<Fault> = (0..7)
            .map(|i| Fault::loss(Kind::EmptyText, format!("{i}.txt"), "the text is empty", 2.0))
            .collect();
        let counts = |kept, lost: usize| {
            Counts::new(Amount::default(), Amount { utterances: kept, seconds: 1.0 }, &faults[..lost])
        };
        assert_eq!(counts(98, 2).too_many_lost(), None);
        let text = counts(98, 7).too_many_lost().unwrap();
        assert!(
            text.starts_with("7 of 105 utterances (6.7 %; 14.0 s) would be lost: 7 empty texts\n  0.txt: "),
            "{text}"
        );
        assert!(text.ends_with("… and 2 more"), "{text}");
        let lines = report(&faults);
        assert_eq!((lines.len(), lines[5].as_str()), (6, "… and 2 more: empty texts"));
    }
}
