//! Writes ELAN's files, in version 3.0 of their form.

use std::fmt::Write;

use super::{Media, Timed};

/// A file that is written: annotations with times of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The sound or film.
    pub media: Option<Media>,
    /// Annotations.
    pub tiers: Vec<TimedTier>,
}

/// A tier whose annotations have times of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedTier {
    /// Its name, unique in the file.
    pub name: String,
    /// The name of its linguistic type. Tiers of one type all have a parent, or none.
    pub kind: &'static str,
    /// The speaker.
    pub participant: Option<String>,
    /// The tier whose annotations include those of this one, maybe with gaps between them.
    pub parent: Option<String>,
    /// They do not overlap.
    pub annotations: Vec<Timed>,
}

/// The beginning of each file. (The date is the same in all, so that equal annotations have equal files.)
const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
"#;

/// The end of each file: ELAN's constraints of dependent tiers.
const TAIL: &str = r#"    <CONSTRAINT DESCRIPTION="Time subdivision of parent annotation's time interval, no time gaps allowed within this interval" STEREOTYPE="Time_Subdivision"/>
    <CONSTRAINT DESCRIPTION="Symbolic subdivision of a parent annotation. Annotations refering to the same parent are ordered" STEREOTYPE="Symbolic_Subdivision"/>
    <CONSTRAINT DESCRIPTION="1-1 association with a parent annotation" STEREOTYPE="Symbolic_Association"/>
    <CONSTRAINT DESCRIPTION="Time alignable annotations within the parent annotation's time interval, gaps are allowed" STEREOTYPE="Included_In"/>
</ANNOTATION_DOCUMENT>
"#;

/// The two ends of an annotation in the list of time slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    /// In milliseconds.
    time: u64,
    /// An end comes before the beginnings at its time.
    is_begin: bool,
    /// The number of the annotation.
    annotation: usize,
}

impl Document {
    /// The file's text. Times are rounded to milliseconds; an annotation whose length is then 0 is left out, since ELAN has no such
    /// annotations. Characters that XML does not allow become U+FFFD.
    pub fn to_text(&self) -> String {
        let tiers: Vec<Vec<(u64, u64, &str)>> =
            self.tiers.iter().map(|tier| rounded(&tier.annotations)).collect();
        let (mut slots, mut number) = (Vec::new(), 0);
        for &(begin, end, _) in tiers.iter().flatten() {
            slots.push(Slot { time: begin, is_begin: true, annotation: number });
            slots.push(Slot { time: end, is_begin: false, annotation: number });
            number += 1;
        }
        slots.sort_unstable();
        let mut places = vec![[0; 2]; number];
        for (place, slot) in slots.iter().enumerate() {
            places[slot.annotation][usize::from(!slot.is_begin)] = place + 1;
        }
        let mut out = HEAD.to_owned();
        self.header(&mut out, number);
        out.push_str("    <TIME_ORDER>\n");
        for (place, slot) in slots.iter().enumerate() {
            let _ = writeln!(
                out,
                "        <TIME_SLOT TIME_SLOT_ID=\"ts{}\" TIME_VALUE=\"{}\"/>",
                place + 1,
                slot.time
            );
        }
        out.push_str("    </TIME_ORDER>\n");
        let mut next = places.into_iter().zip(1..);
        for (tier, annotations) in self.tiers.iter().zip(&tiers) {
            tier.write(&mut out, annotations, &mut next);
        }
        self.types(&mut out);
        out.push_str(TAIL);
        out
    }

    fn header(&self, out: &mut String, annotations: usize) {
        out.push_str("    <HEADER MEDIA_FILE=\"\" TIME_UNITS=\"milliseconds\">\n");
        if let Some(Media { url, relative, origin }) = &self.media {
            let kind = mime_type(url);
            let _ =
                write!(out, "        <MEDIA_DESCRIPTOR MEDIA_URL=\"{}\" MIME_TYPE=\"{kind}\"", escaped(url));
            if let Some(relative) = relative {
                let _ = write!(out, " RELATIVE_MEDIA_URL=\"{}\"", escaped(relative));
            }
            let origin = (origin * 1000.0).round();
            if origin > 0.0 {
                let _ = write!(out, " TIME_ORIGIN=\"{origin}\"");
            }
            out.push_str("/>\n");
        }
        let _ = writeln!(out, "        <PROPERTY NAME=\"lastUsedAnnotationId\">{annotations}</PROPERTY>");
        out.push_str("    </HEADER>\n");
    }

    /// The linguistic types of the tiers, in the order of their first tiers.
    fn types(&self, out: &mut String) {
        let mut written: Vec<&str> = Vec::new();
        for tier in &self.tiers {
            if written.contains(&tier.kind) {
                continue;
            }
            written.push(tier.kind);
            let constraint = if tier.parent.is_some() { "CONSTRAINTS=\"Included_In\" " } else { "" };
            let kind = escaped(tier.kind);
            let _ = writeln!(
                out,
                "    <LINGUISTIC_TYPE {constraint}GRAPHIC_REFERENCES=\"false\" LINGUISTIC_TYPE_ID=\"{kind}\" TIME_ALIGNABLE=\"true\"/>"
            );
        }
    }
}

impl TimedTier {
    /// `next` has the slots and the number of each annotation.
    fn write(
        &self,
        out: &mut String,
        annotations: &[(u64, u64, &str)],
        next: &mut impl Iterator<Item = ([usize; 2], usize)>,
    ) {
        let _ = write!(out, "    <TIER LINGUISTIC_TYPE_REF=\"{}\"", escaped(self.kind));
        for (name, value) in [("PARENT_REF", &self.parent), ("PARTICIPANT", &self.participant)] {
            if let Some(value) = value {
                let _ = write!(out, " {name}=\"{}\"", escaped(value));
            }
        }
        let _ = write!(out, " TIER_ID=\"{}\"", escaped(&self.name));
        if annotations.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push_str(">\n");
        for ((_, _, text), ([first, last], number)) in annotations.iter().zip(next) {
            let _ = write!(
                out,
                "        <ANNOTATION>\n            <ALIGNABLE_ANNOTATION ANNOTATION_ID=\"a{number}\" TIME_SLOT_REF1=\"ts{first}\" \
                 TIME_SLOT_REF2=\"ts{last}\">\n                <ANNOTATION_VALUE>{}</ANNOTATION_VALUE>\n            \
                 </ALIGNABLE_ANNOTATION>\n        </ANNOTATION>\n",
                escaped(text)
            );
        }
        out.push_str("    </TIER>\n");
    }
}

/// Annotations with times in milliseconds, without those that have no length.
fn rounded(annotations: &[Timed]) -> Vec<(u64, u64, &str)> {
    let milliseconds = |seconds: f64| (seconds.max(0.0) * 1000.0).round() as u64;
    let all = annotations
        .iter()
        .map(|((begin, end), text)| (milliseconds(*begin), milliseconds(*end), text.as_str()));
    all.filter(|(begin, end, _)| end > begin).collect()
}

/// ELAN's name for the kind of a file.
fn mime_type(url: &str) -> &'static str {
    let ending = url.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "wav" => "audio/x-wav",
        "mp4" | "m4v" => "video/mp4",
        "mov" => "video/quicktime",
        "mpg" | "mpeg" => "video/mpeg",
        "mkv" | "webm" | "avi" | "wmv" => "video/*",
        _ => "audio/*",
    }
}

/// Text for an element or an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c if (c as u32) < 32 || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Eaf;
    use super::*;

    fn document() -> Document {
        let timed = |begin, end, text: &str| ((begin, end), text.to_owned());
        let tier = |name: &str, kind, parent: Option<&str>, annotations| TimedTier {
            name: name.to_owned(),
            kind,
            participant: Some("Anna & Co".to_owned()),
            parent: parent.map(str::to_owned),
            annotations,
        };
        let words =
            vec![timed(0.29, 0.5, "she"), timed(0.5, 0.9004, "said<\"no\">"), timed(0.9, 0.9003, "x")];
        let phones = vec![timed(0.29, 0.4, "S"), timed(0.4, 0.5, "i"), timed(0.52, 0.9, "o")];
        Document {
            media: Some(Media {
                url: "file:///c/a b.wav".to_owned(),
                relative: Some("../a b.wav".to_owned()),
                origin: 0.0,
            }),
            tiers: vec![
                tier("words", "words", None, words),
                tier("phones", "phones", Some("words"), phones),
                tier("B - words", "words", None, Vec::new()),
            ],
        }
    }

    #[test]
    fn a_file_as_elan_writes_it() {
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">
        <MEDIA_DESCRIPTOR MEDIA_URL="file:///c/a b.wav" MIME_TYPE="audio/x-wav" RELATIVE_MEDIA_URL="../a b.wav"/>
        <PROPERTY NAME="lastUsedAnnotationId">5</PROPERTY>
    </HEADER>
    <TIME_ORDER>
        <TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="290"/>
        <TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="290"/>
        <TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="400"/>
        <TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="400"/>
        <TIME_SLOT TIME_SLOT_ID="ts5" TIME_VALUE="500"/>
        <TIME_SLOT TIME_SLOT_ID="ts6" TIME_VALUE="500"/>
        <TIME_SLOT TIME_SLOT_ID="ts7" TIME_VALUE="500"/>
        <TIME_SLOT TIME_SLOT_ID="ts8" TIME_VALUE="520"/>
        <TIME_SLOT TIME_SLOT_ID="ts9" TIME_VALUE="900"/>
        <TIME_SLOT TIME_SLOT_ID="ts10" TIME_VALUE="900"/>
    </TIME_ORDER>
    <TIER LINGUISTIC_TYPE_REF="words" PARTICIPANT="Anna &amp; Co" TIER_ID="words">
        <ANNOTATION>
            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts5">
                <ANNOTATION_VALUE>she</ANNOTATION_VALUE>
            </ALIGNABLE_ANNOTATION>
        </ANNOTATION>
        <ANNOTATION>
            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts7" TIME_SLOT_REF2="ts9">
                <ANNOTATION_VALUE>said&lt;&quot;no&quot;&gt;</ANNOTATION_VALUE>
            </ALIGNABLE_ANNOTATION>
        </ANNOTATION>
    </TIER>
    <TIER LINGUISTIC_TYPE_REF="phones" PARENT_REF="words" PARTICIPANT="Anna &amp; Co" TIER_ID="phones">
        <ANNOTATION>
            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a3" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
                <ANNOTATION_VALUE>S</ANNOTATION_VALUE>
            </ALIGNABLE_ANNOTATION>
        </ANNOTATION>
        <ANNOTATION>
            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a4" TIME_SLOT_REF1="ts4" TIME_SLOT_REF2="ts6">
                <ANNOTATION_VALUE>i</ANNOTATION_VALUE>
            </ALIGNABLE_ANNOTATION>
        </ANNOTATION>
        <ANNOTATION>
            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a5" TIME_SLOT_REF1="ts8" TIME_SLOT_REF2="ts10">
                <ANNOTATION_VALUE>o</ANNOTATION_VALUE>
            </ALIGNABLE_ANNOTATION>
        </ANNOTATION>
    </TIER>
    <TIER LINGUISTIC_TYPE_REF="words" PARTICIPANT="Anna &amp; Co" TIER_ID="B - words"/>
    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="words" TIME_ALIGNABLE="true"/>
    <LINGUISTIC_TYPE CONSTRAINTS="Included_In" GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="phones" TIME_ALIGNABLE="true"/>
"#;
        let text = document().to_text();
        assert_eq!(text.strip_suffix(TAIL), Some(expected), "{text}");
    }

    #[test]
    fn the_reader_reads_the_same_times_and_texts() {
        let document = document();
        let eaf = Eaf::parse(&document.to_text()).unwrap();
        assert!(Eaf::is_like(&document.to_text()));
        assert_eq!(eaf.media, document.media.into_iter().collect::<Vec<_>>());
        for (read, written) in eaf.tiers.iter().zip(&document.tiers) {
            let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
            let expected: Vec<Timed> = written
                .annotations
                .iter()
                .map(|((begin, end), text)| ((rounded(*begin), rounded(*end)), text.clone()))
                .filter(|((begin, end), _)| end > begin)
                .collect();
            assert_eq!(eaf.timed(read), (expected, 0));
            assert_eq!((&read.name, &read.parent), (&written.name, &written.parent));
            assert_eq!(read.participant, written.participant);
        }
        // Characters that XML does not have, and those that attributes lose.
        let odd = Document {
            tiers: vec![TimedTier {
                name: "a\tb".to_owned(),
                kind: "words",
                participant: None,
                parent: None,
                annotations: vec![((0.0, 1.0), "a\u{1}\r\n\u{ffff}".to_owned())],
            }],
            ..Document::default()
        };
        let eaf = Eaf::parse(&odd.to_text()).unwrap();
        assert_eq!((eaf.tiers[0].name.as_str(), eaf.media.len()), ("a\tb", 0));
        assert_eq!(eaf.tiers[0].annotations[0].text, "a\u{fffd}\r\n\u{fffd}");
    }
}
