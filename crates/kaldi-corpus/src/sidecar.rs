//! Files with the text of one recording: plain text, TextGrids, ELAN's files.

use std::path::Path;

use crate::eaf::{self, Eaf};
use crate::fault::{Fault, Kind};
use crate::text;
use crate::textgrid::{Items, Malformed, TextGrid};
use crate::tiers::{self, TierRule};

/// An utterance of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spoken {
    pub span: Option<(f64, f64)>,
    pub speaker: Option<String>,
    pub text: String,
    pub place: String,
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sidecar {
    pub spoken: Vec<Spoken>,
    /// Recordings that the file names.
    pub media: Vec<eaf::Media>,
    pub faults: Vec<Fault>,
}

impl Sidecar {
    fn fault(kind: Kind, place: &str, sentence: impl Into<String>) -> Sidecar {
        Sidecar { faults: vec![Fault::loss(kind, place, sentence, 0.0)], ..Sidecar::default() }
    }
}

/// Reads a file of any kind: its contents say which.
pub(crate) fn read(path: &Path, rule: &TierRule) -> Sidecar {
    let place = path.display().to_string();
    let bytes = match text::read_bytes(path) {
        Ok(bytes) if TextGrid::is_binary(&bytes) => {
            return of_parsed(TextGrid::parse_binary(&bytes), &place, rule);
        }
        read => read,
    };
    match bytes.and_then(|bytes| text::decode(&bytes)) {
        Ok(text) => parse(&text, &place, rule),
        Err(message) => Sidecar::fault(Kind::UnreadableText, &place, message),
    }
}

fn of_parsed(grid: Result<TextGrid, Malformed>, place: &str, rule: &TierRule) -> Sidecar {
    let sentence = match grid {
        Ok(grid) => return of_grid(&grid, place, rule),
        Err(error) if error.is_cut => format!("the TextGrid is cut off: it ends in {error}"),
        Err(error) => format!("the TextGrid has a fault in {error}"),
    };
    Sidecar::fault(Kind::UnreadableText, place, sentence)
}

pub(crate) fn parse(text: &str, place: &str, rule: &TierRule) -> Sidecar {
    if TextGrid::is_like(text) {
        return of_parsed(TextGrid::parse(text), place, rule);
    }
    if Eaf::is_like(text) {
        return match Eaf::parse(text) {
            Ok(eaf) => of_eaf(eaf, place, rule),
            Err(message) => Sidecar::fault(Kind::UnreadableText, place, message),
        };
    }
    if text.trim_start().starts_with("<?xml") {
        return Sidecar::fault(Kind::UnreadableText, place, "expected text, a TextGrid or a file of ELAN");
    }
    let words = text::single_blanks(text);
    if words.is_empty() {
        return Sidecar::fault(Kind::EmptyText, place, "the text is empty");
    }
    if are_labels(text) {
        let sentence = "each line has two times and a label, as the output of an aligner; expected a text";
        return Sidecar::fault(Kind::AlignerOutput, place, sentence);
    }
    let spoken = Spoken { span: None, speaker: None, text: words, place: place.to_owned() };
    Sidecar { spoken: vec![spoken], ..Sidecar::default() }
}

/// True for lines of two times and a label (of HTK, Audacity, wavesurfer), more than one.
fn are_labels(text: &str) -> bool {
    let mut count = 0;
    let all = text::lines(text).all(|(_, line)| {
        let mut words = line.split_whitespace();
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
        count += 1;
        number().zip(number()).is_some_and(|(begin, end)| begin <= end)
    });
    all && count > 1
}

/// The tiers that a rule chooses, with the speaker that each names; the names of the others.
struct Chosen<'t, T> {
    tiers: Vec<(&'t T, Option<String>)>,
    aligners: Vec<&'t str>,
    others: Vec<&'t str>,
}

/// `usable` says if a tier can have utterances, and `texts` gives those of the tier.
fn choose<'t, T>(
    all: &'t [T],
    rule: &TierRule,
    name: impl Fn(&T) -> &str,
    usable: impl Fn(&T) -> bool,
    texts: impl Fn(&T) -> Vec<&str>,
) -> Chosen<'t, T> {
    let mut chosen = Chosen { tiers: Vec::new(), aligners: Vec::new(), others: Vec::new() };
    for tier in all {
        let of_tier = name(tier);
        match rule {
            TierRule::Texts if !usable(tier) => chosen.others.push(name(tier)),
            TierRule::Texts if tiers::is_of_aligner(of_tier, texts(tier).into_iter()) => {
                chosen.aligners.push(name(tier))
            }
            TierRule::Texts => chosen.tiers.push((tier, tiers::speaker(of_tier).map(str::to_owned))),
            TierRule::Named(names) => match names.iter().find_map(|pattern| tiers::matched(pattern, of_tier))
            {
                Some("") => chosen.tiers.push((tier, tiers::speaker(of_tier).map(str::to_owned))),
                Some(star) => {
                    chosen
                        .tiers
                        .push((tier, Some(star.trim_matches([' ', '-', '_', '@', '/', ':']).to_owned())));
                }
                None => chosen.others.push(name(tier)),
            },
        }
    }
    chosen
}

/// Spans of texts that a tier must have to be compared with others, and the share of equal ones that tells of a translation.
const FEWEST_SPANS: usize = 3;
const EQUAL: f64 = 0.9;

/// Beginnings and ends in seconds.
type Spans = Vec<(f64, f64)>;

/// Seconds by which equal times may differ.
const NEAR: f64 = 2e-3;

/// True if a tier has the spans of another one, which are sorted. (Speakers do not take turns at the same times.)
fn is_translation(of: &Spans, other: &Spans) -> bool {
    let is_there = |span: &&(f64, f64)| {
        let first = other.partition_point(|one| one.0 < span.0 - NEAR);
        other[first..]
            .iter()
            .take_while(|one| one.0 < span.0 + NEAR)
            .any(|one| (one.0 - span.0).abs() < NEAR && (one.1 - span.1).abs() < NEAR)
    };
    let same = of.iter().filter(is_there).count();
    of.len() >= FEWEST_SPANS && same as f64 >= EQUAL * of.len() as f64
}

impl<T> Chosen<'_, T> {
    /// Leaves out tiers that have the spans of an earlier one, unless the rule names them. Returns warnings about them.
    fn leave_out_translations(
        &mut self,
        rule: &TierRule,
        place: &str,
        name: impl Fn(&T) -> &str,
        spans: impl Fn(&T) -> Spans,
    ) -> Vec<Fault> {
        let mut faults = Vec::new();
        if *rule != TierRule::Texts {
            return faults;
        }
        let mut known: Vec<(String, Spans)> = Vec::new();
        self.tiers.retain(|(tier, _)| {
            let mut own = spans(tier);
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            let of_one = known.iter().find(|(_, other)| is_translation(&own, other));
            // (A tier may have the translations of all speakers.)
            let of_all = || -> Option<String> {
                let mut all: Spans = known.iter().flat_map(|(_, spans)| spans).copied().collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0));
                let names: Vec<String> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
                (names.len() > 1 && is_translation(&own, &all)).then(|| names.join(" and "))
            };
            match of_one.map(|(other, _)| format!("'{other}'")).or_else(of_all) {
                Some(other) => {
                    let sentence = format!(
                        "not used: the tier '{}' has the times of {other}, as a translation has them (`tiers`=NAMES takes tiers \
                         nevertheless)",
                        name(tier)
                    );
                    faults.push(Fault::warning(Kind::IgnoredTiers, place, sentence));
                    false
                }
                None => {
                    known.push((name(tier).to_owned(), own));
                    true
                }
            }
        });
        faults
    }
}

impl<T> Chosen<'_, T> {
    /// The fault of a file without a usable tier, or a warning that names the tiers that are not used.
    fn fault(&self, place: &str, rule: &TierRule) -> Option<Fault> {
        let quoted =
            |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        if !self.tiers.is_empty() {
            let ignored: Vec<&str> = self.others.iter().chain(&self.aligners).copied().collect();
            let sentence = || format!("not used: the tiers {}", quoted(&ignored));
            return (!ignored.is_empty()).then(|| Fault::warning(Kind::IgnoredTiers, place, sentence()));
        }
        Some(match rule {
            TierRule::Named(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let found = if self.others.is_empty() { "none".to_owned() } else { quoted(&self.others) };
                let sentence = format!("expected the tiers {}, found {found}", quoted(&names));
                Fault::loss(Kind::NoTier, place, sentence, 0.0)
            }
            TierRule::Texts if !self.aligners.is_empty() => {
                let sentence = format!(
                    "expected utterances, found words or phones as an aligner writes them: {} (`tiers`=NAME takes a tier nevertheless)",
                    quoted(&self.aligners)
                );
                Fault::loss(Kind::AlignerOutput, place, sentence, 0.0)
            }
            TierRule::Texts => {
                let found = if self.others.is_empty() { "none".to_owned() } else { quoted(&self.others) };
                let sentence = format!("expected a tier with texts and times, found {found}");
                Fault::loss(Kind::NoTier, place, sentence, 0.0)
            }
        })
    }
}

fn of_grid(grid: &TextGrid, place: &str, rule: &TierRule) -> Sidecar {
    let is_interval = |items: &Items| matches!(items, Items::Intervals(_));
    let mut chosen = choose(
        &grid.tiers,
        rule,
        |tier| &tier.name,
        |tier| is_interval(&tier.items),
        |tier| match &tier.items {
            Items::Intervals(intervals) => intervals.iter().map(|interval| interval.text.as_str()).collect(),
            Items::Points(_) => Vec::new(),
        },
    );
    let translations = chosen.leave_out_translations(
        rule,
        place,
        |tier| &tier.name,
        |tier| match &tier.items {
            Items::Intervals(intervals) => {
                let with_text = intervals.iter().filter(|interval| !interval.text.trim().is_empty());
                with_text.map(|interval| (interval.begin, interval.end)).collect()
            }
            Items::Points(_) => Vec::new(),
        },
    );
    let mut sidecar =
        Sidecar { faults: chosen.fault(place, rule).into_iter().collect(), ..Sidecar::default() };
    sidecar.faults.extend(translations);
    for (tier, speaker) in &chosen.tiers {
        let Items::Intervals(intervals) = &tier.items else {
            let sentence = format!("the tier '{}' has points, not intervals", tier.name);
            sidecar.faults.push(Fault::loss(Kind::BadSpan, place, sentence, 0.0));
            continue;
        };
        for interval in intervals {
            let span = (interval.begin - grid.begin, interval.end - grid.begin);
            sidecar.spoken.extend(spoken(place, &tier.name, speaker, span, &interval.text));
        }
    }
    sidecar.complete(place)
}

fn of_eaf(eaf: Eaf, place: &str, rule: &TierRule) -> Sidecar {
    let has_times = |tier: &eaf::Tier| tier.annotations.iter().any(|annotation| annotation.owner.is_none());
    let mut chosen = choose(
        &eaf.tiers,
        rule,
        |tier| &tier.name,
        |tier| tier.parent.is_none() && has_times(tier),
        |tier| tier.annotations.iter().map(|annotation| annotation.text.as_str()).collect(),
    );
    let translations = chosen.leave_out_translations(
        rule,
        place,
        |tier| &tier.name,
        |tier| {
            let with_text = eaf.timed(tier).0.into_iter().filter(|(_, text)| !text.trim().is_empty());
            with_text.map(|(span, _)| span).collect()
        },
    );
    let mut sidecar =
        Sidecar { faults: chosen.fault(place, rule).into_iter().collect(), ..Sidecar::default() };
    sidecar.faults.extend(translations);
    for (tier, speaker) in &chosen.tiers {
        let speaker = tier.participant.clone().or_else(|| speaker.clone());
        let (timed, unknown) = eaf.timed(tier);
        for (span, text) in timed {
            sidecar.spoken.extend(spoken(place, &tier.name, &speaker, span, &text));
        }
        for _ in 0..unknown {
            let sentence = format!("an annotation of the tier '{}' has no times", tier.name);
            sidecar.faults.push(Fault::loss(Kind::BadSpan, place, sentence, 0.0));
        }
    }
    sidecar.media = eaf.media.clone();
    sidecar.complete(place)
}

impl Sidecar {
    /// Adds the fault of a file that has neither utterances nor another loss.
    fn complete(mut self, place: &str) -> Sidecar {
        if self.spoken.is_empty() && self.faults.iter().all(|fault| fault.lost.utterances == 0) {
            self.faults.push(Fault::loss(Kind::EmptyText, place, "all tiers are empty", 0.0));
        }
        self
    }
}

fn spoken(place: &str, tier: &str, speaker: &Option<String>, span: (f64, f64), text: &str) -> Option<Spoken> {
    let text = text::single_blanks(text);
    let place = tiers::place(place, tier, span.0);
    (!text.is_empty()).then(|| Spoken { span: Some(span), speaker: speaker.clone(), text, place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::textgrid::{Form, Interval, Tier};

    type Texts<'t> = &'t [(f64, f64, &'t str)];

    fn grid(tiers: &[(&str, Texts)]) -> String {
        let tiers = tiers.iter().map(|(name, intervals)| {
            let intervals =
                intervals.iter().map(|&(begin, end, text)| Interval { begin, end, text: text.to_owned() });
            Tier::of_intervals(*name, intervals, 10.0)
        });
        TextGrid { begin: 0.0, end: 10.0, tiers: tiers.collect() }.to_text(Form::Short)
    }

    #[test]
    fn tiers_are_speakers_and_an_aligners_tiers_are_not_read() {
        let file = grid(&[
            ("Anna", &[(1.0, 2.0, "a  b"), (3.0, 4.0, " ")]),
            ("Bert", &[(2.0, 3.0, "c")]),
            ("Anna - words", &[(1.0, 1.5, "a"), (1.5, 2.0, "b")]),
        ]);
        let sidecar = parse(&file, "x", &TierRule::Texts);
        let found: Vec<_> =
            sidecar.spoken.iter().map(|s| (s.speaker.as_deref(), s.span.unwrap(), s.text.as_str())).collect();
        assert_eq!(found, [(Some("Anna"), (1.0, 2.0), "a b"), (Some("Bert"), (2.0, 3.0), "c")]);
        assert_eq!(sidecar.spoken[0].place, "x, tier 'Anna', 1.00 s");
        assert_eq!(sidecar.faults.len(), 1);
        assert_eq!(sidecar.faults[0].sentence, "not used: the tiers 'Anna - words'");
        let words = parse(&file, "x", &"* - words".parse().unwrap());
        assert_eq!(words.spoken.len(), 2);
        assert_eq!(words.spoken[0].speaker.as_deref(), Some("Anna"));
    }

    #[test]
    fn a_tier_with_the_times_of_another_is_a_translation() {
        let times = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)];
        let texts = |words: [&'static str; 3]| -> Vec<(f64, f64, &'static str)> {
            times.iter().zip(words).map(|(&(begin, end), word)| (begin, end, word)).collect()
        };
        let (anna, french) = (texts(["a", "b", "c"]), texts(["x", "y", "z"]));
        let file = grid(&[("Anna", &anna), ("Bert", &[(2.0, 3.0, "d")]), ("traduction", &french)]);
        let sidecar = parse(&file, "x", &TierRule::Texts);
        assert_eq!(sidecar.spoken.len(), 4);
        let sentence = &sidecar.faults[0].sentence;
        assert!(
            sentence.starts_with("not used: the tier 'traduction' has the times of 'Anna', as a translation"),
            "{sentence}"
        );
        assert_eq!(parse(&file, "x", &"Anna,Bert,traduction".parse().unwrap()).spoken.len(), 7);
    }

    #[test]
    fn a_tier_may_have_the_translations_of_several_speakers() {
        let anna = [(1.0, 2.0, "a"), (5.0, 6.0, "b")];
        let bert = [(2.5, 4.0, "c"), (6.0, 8.0, "d")];
        let french = [(1.0, 2.0, "x"), (2.5, 4.0, "y"), (5.0, 6.0, "z"), (6.0, 8.0, "w")];
        let sidecar =
            parse(&grid(&[("Anna", &anna), ("Bert", &bert), ("fr", &french)]), "x", &TierRule::Texts);
        assert_eq!(sidecar.spoken.len(), 4);
        let sentence = &sidecar.faults[0].sentence;
        assert!(
            sentence.starts_with("not used: the tier 'fr' has the times of 'Anna' and 'Bert', as"),
            "{sentence}"
        );
    }

    #[test]
    fn files_without_a_text_are_a_loss_that_says_why() {
        let loss = |text: &str, rule: &str| {
            let sidecar = parse(text, "x", &rule.parse().unwrap());
            assert_eq!((sidecar.spoken.len(), sidecar.faults.len()), (0, 1), "{text}");
            assert_eq!(sidecar.faults[0].lost.utterances, 1);
            (sidecar.faults[0].kind, sidecar.faults[0].sentence.clone())
        };
        let aligned = grid(&[("words", &[(1.0, 2.0, "a")]), ("phones", &[(1.0, 2.0, "a")])]);
        let (kind, sentence) = loss(&aligned, "");
        assert_eq!(kind, Kind::AlignerOutput);
        assert!(sentence.contains("'words', 'phones'"), "{sentence}");
        let (kind, sentence) = loss(&aligned, "Anna");
        assert!(
            kind == Kind::NoTier && sentence.contains("expected the tiers 'Anna', found 'words', 'phones'")
        );
        assert_eq!(loss(&grid(&[("Anna", &[])]), "").0, Kind::EmptyText);
        assert_eq!(loss(&grid(&[]), "").0, Kind::NoTier);
        assert_eq!(loss(" \n", "").0, Kind::EmptyText);
        assert_eq!(loss("0 5000 a\n5000 7000 b\n", "").0, Kind::AlignerOutput);
        let (kind, sentence) = loss("File type = \"ooTextFile\"\n", "");
        assert!(
            kind == Kind::UnreadableText
                && sentence.starts_with("the TextGrid is cut off: it ends in line 2"),
            "{sentence}"
        );
        assert_eq!(loss("<?xml version=\"1.0\"?><a/>", "").0, Kind::UnreadableText);
        assert_eq!(parse("0 5 words of one line", "x", &TierRule::Texts).spoken.len(), 1);
    }
}
