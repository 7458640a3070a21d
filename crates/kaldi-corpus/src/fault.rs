//! Faults of a corpus by kind, and counts of utterances in and out.

use std::collections::BTreeMap;
use std::fmt;

use kaldi_io::text::{count, either};

use crate::loss::Loss;

/// The kind of a fault. The display form is a noun phrase in plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A recording without a text.
    SoundWithoutText,
    /// A text without a recording.
    TextWithoutSound,
    /// A recording that cannot be decoded.
    UnreadableSound,
    /// A recording that ends early.
    Truncated,
    /// A file of texts that cannot be read.
    UnreadableText,
    /// A text without words.
    EmptyText,
    /// A file without a tier that is read.
    NoTier,
    /// A key that is there twice.
    Duplicate,
    /// A name that Kaldi's files cannot have.
    BadName,
    /// Times that make no sense.
    BadSpan,
    /// Times behind the end of the recording.
    BeyondEnd,
    /// A row that makes no sense.
    BadRow,
    /// A file that is the output of an aligner.
    AlignerOutput,
    /// Words that the lexicon lacks.
    UnknownWords,
    /// Another sampling rate than the others have.
    OtherRate,
    /// Samples without sound.
    Silent,
    // Faults that cost no utterance.
    /// A header that gives another length than the samples have.
    ShortHeader,
    /// A recording with damaged or missing parts.
    Damaged,
    /// Times that were cut at the end of the recording.
    SpanCut,
    /// Utterances of a speaker that overlap.
    Overlap,
    /// A recording with several channels, of which one is taken.
    SeveralChannels,
    /// A recording with several texts, of which one is taken.
    SeveralTexts,
    /// Tiers that are left out.
    IgnoredTiers,
    /// Columns of a table that are left out.
    IgnoredColumns,
    /// Recordings that are not where the input says.
    FoundElsewhere,
    /// Samples at the limit of their range.
    Clipping,
    /// Words of a text that were left out, whether they are heard in the recording or not.
    WordsLeftOut,
    /// A text that hardly fits the recording anywhere.
    TextDoesNotFit,
}

impl Kind {
    /// The name of one fault of this kind, and of several.
    fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Kind::SoundWithoutText => ("recording without a text", "recordings without a text"),
            Kind::TextWithoutSound => ("text without a recording", "texts without a recording"),
            Kind::UnreadableSound => ("recording that cannot be read", "recordings that cannot be read"),
            Kind::Truncated => ("recording that is cut off", "recordings that are cut off"),
            Kind::UnreadableText => ("text that cannot be read", "texts that cannot be read"),
            Kind::EmptyText => ("empty text", "empty texts"),
            Kind::NoTier => ("file without a tier that is read", "files without a tier that is read"),
            Kind::Duplicate => ("key or file that comes twice", "keys or files that come twice"),
            Kind::BadName => ("name that cannot be used", "names that cannot be used"),
            Kind::BadSpan => ("time that makes no sense", "times that make no sense"),
            Kind::BeyondEnd => {
                ("time behind the end of the recording", "times behind the end of the recording")
            }
            Kind::BadRow => ("row that cannot be used", "rows that cannot be used"),
            Kind::AlignerOutput => {
                ("output of an aligner in place of a text", "outputs of an aligner in place of texts")
            }
            Kind::UnknownWords => {
                ("text with words that the lexicon lacks", "texts with words that the lexicon lacks")
            }
            Kind::OtherRate => ("recording of another sampling rate", "recordings of another sampling rate"),
            Kind::Silent => ("recording of digital silence", "recordings of digital silence"),
            Kind::ShortHeader => (
                "header that promises more or fewer samples than there are",
                "headers that promise more or fewer samples than there are",
            ),
            Kind::Damaged => ("damaged recording", "damaged recordings"),
            Kind::SpanCut => (
                "utterance that was cut at the end of the recording",
                "utterances that were cut at the end of the recording",
            ),
            Kind::Overlap => ("utterance that overlaps", "utterances that overlap"),
            Kind::SeveralChannels => ("recording with several channels", "recordings with several channels"),
            Kind::SeveralTexts => ("recording with several texts", "recordings with several texts"),
            Kind::IgnoredTiers => ("tier that is not used", "tiers that are not used"),
            Kind::IgnoredColumns => {
                ("table with columns that are not used", "tables with columns that are not used")
            }
            Kind::FoundElsewhere => {
                ("table with recordings that are elsewhere", "tables with recordings that are elsewhere")
            }
            Kind::Clipping => ("clipped recording", "clipped recordings"),
            Kind::WordsLeftOut => ("text with words that are left out", "texts with words that are left out"),
            Kind::TextDoesNotFit => {
                ("text that does not fit its recording", "texts that do not fit their recordings")
            }
        }
    }
}

impl Kind {
    /// True for losses that were asked for: they do not count among those that are too many.
    fn is_wanted(self) -> bool {
        self == Kind::UnknownWords
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.nouns().1)
    }
}

/// Something that is wrong with the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The file, and the line or tier in it.
    pub place: String,
    /// Its kind.
    pub kind: Kind,
    /// The fault: a clause without a capital and a full stop.
    pub sentence: String,
    /// The loss, if the fault costs utterances.
    pub lost: Amount,
}

impl Fault {
    /// A fault that costs no utterance.
    pub fn warning(kind: Kind, place: impl Into<String>, sentence: impl Into<String>) -> Fault {
        Fault { place: place.into(), kind, sentence: sentence.into(), lost: Amount::default() }
    }

    /// A fault that costs one utterance of this length.
    pub fn loss(kind: Kind, place: impl Into<String>, sentence: impl Into<String>, seconds: f64) -> Fault {
        Fault { lost: Amount { utterances: 1, seconds }, ..Fault::warning(kind, place, sentence) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.sentence)
    }
}

/// A number of utterances, and their length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amount {
    /// The number of utterances.
    pub utterances: usize,
    /// Their length together, in seconds.
    pub seconds: f64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.utterances += other.utterances;
        self.seconds += other.seconds;
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", count(self.utterances, "utterance"), length(self.seconds))
    }
}

/// Seconds as `12.3 s`, `4.5 min` or `6.78 h`.
pub(crate) fn length(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds if seconds < 7200.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{:.2} h", seconds / 3600.0),
    }
}

/// Utterances in and out of a step, and the reasons for the difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// All utterances of the input.
    pub found: Amount,
    /// Utterances of the corpus.
    pub kept: Amount,
    /// Losses by kind.
    pub lost: BTreeMap<Kind, Amount>,
    /// The sound of all losses, and of those that were not asked for.
    pub lost_sound: [Loss; 2],
    /// Numbers of faults that cost no utterance.
    pub warnings: BTreeMap<Kind, usize>,
    /// The first losses that were not asked for, written out.
    pub first: Vec<String>,
}

/// Losses that are written out.
const SHOWN: usize = 5;

impl Counts {
    /// Counts what was found, kept and lost, by kinds of faults.
    pub fn new(found: Amount, kept: Amount, faults: &[Fault]) -> Counts {
        let mut counts = Counts {
            found,
            kept,
            lost: BTreeMap::new(),
            lost_sound: [Loss::default(); 2],
            warnings: BTreeMap::new(),
            first: Vec::new(),
        };
        for fault in faults {
            if fault.lost.utterances == 0 {
                *counts.warnings.entry(fault.kind).or_default() += 1;
                continue;
            }
            *counts.lost.entry(fault.kind).or_default() += fault.lost;
            let counted = if fault.kind.is_wanted() { 1 } else { 2 };
            counts.lost_sound[..counted].iter_mut().for_each(|sound| sound.add_amount(fault.lost));
            if counts.first.len() < SHOWN && !fault.kind.is_wanted() {
                counts.first.push(fault.to_string());
            }
        }
        counts
    }

    /// The sum of all losses.
    pub fn all_lost(&self) -> Amount {
        let mut sum = Amount::default();
        self.lost.values().for_each(|&amount| sum += amount);
        sum
    }

    /// Losses that nobody asked for. (Utterances with unknown words are left out only by an option.)
    pub fn unwanted_losses(&self) -> usize {
        let unwanted = self.lost.iter().filter(|(kind, _)| !kind.is_wanted());
        unwanted.map(|(_, amount)| amount.utterances).sum()
    }

    /// Utterances that were left out as asked for, because of unknown words.
    pub fn left_out(&self) -> Amount {
        self.lost.get(&Kind::UnknownWords).copied().unwrap_or_default()
    }

    /// The share of the utterances that is lost unasked, from 0 to 1.
    pub fn share_lost(&self) -> f64 {
        let lost = self.unwanted_losses() as f64;
        if lost == 0.0 { 0.0 } else { lost / (lost + self.kept.utterances as f64) }
    }

    /// The reasons of losses, the most frequent first: `12 recordings without a text, 3 empty texts`.
    pub fn reasons(&self) -> String {
        self.reasons_of(|_| true)
    }

    /// The reasons of losses that nobody asked for.
    pub(crate) fn unwanted_reasons(&self) -> String {
        self.reasons_of(|kind| !kind.is_wanted())
    }

    fn reasons_of(&self, counts: impl Fn(Kind) -> bool) -> String {
        let mut kinds: Vec<_> = self.lost.iter().filter(|(kind, _)| counts(**kind)).collect();
        kinds.sort_by_key(|(kind, amount)| (std::cmp::Reverse(amount.utterances), **kind));
        kinds
            .iter()
            .map(|(kind, amount)| {
                let (one, several) = kind.nouns();
                format!("{} {}", amount.utterances, either(amount.utterances, one, several))
            })
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl fmt::Display for Counts {
    /// `4,616 utterances (3.98 h) in, 4,600 utterances (3.96 h) out; 16 lost (12 empty texts, 4 …)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in, {} out", self.found, self.kept)?;
        match self.all_lost().utterances {
            0 => Ok(()),
            lost => write!(f, "; {lost} lost ({}): {}", self.lost_sound[0], self.reasons()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_name_losses_by_frequency_and_show_the_first_five() {
        let mut faults: Vec<Fault> = (0..6)
            .map(|i| Fault::loss(Kind::EmptyText, format!("{i}.txt"), "the text is empty", 2.0))
            .collect();
        faults.push(Fault::loss(Kind::SoundWithoutText, "a.wav", "there is no text", 3.0));
        faults.push(Fault::warning(Kind::Overlap, "b", "overlap"));
        let found = Amount { utterances: 100, seconds: 250.0 };
        let kept = Amount { utterances: 93, seconds: 235.0 };
        let counts = Counts::new(found, kept, &faults);
        assert_eq!(
            counts.to_string(),
            "100 utterances (4.2 min) in, 93 utterances (3.9 min) out; 7 lost (15.0 s): 6 empty texts, 1 recording without a text"
        );
        assert_eq!(counts.first.len(), 5);
        assert_eq!(counts.first[0], "0.txt: the text is empty");
        assert!((counts.share_lost() - 0.07).abs() < 1e-12);
        assert_eq!(counts.warnings[&Kind::Overlap], 1);
        assert_eq!(counts.all_lost().seconds, 15.0);
    }
}
