//! ELAN's files (`.eaf`): tiers of annotations, some with times, others that belong to another annotation.

mod write;

use rustc_hash::FxHashMap;

pub use write::{Document, TimedTier};

/// A file's media and tiers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Eaf {
    /// Files of sound.
    pub media: Vec<Media>,
    /// Annotations.
    pub tiers: Vec<Tier>,
}

/// A sound or a film that the annotations are about.
#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    /// The address that the author of the file gave it, such as `file:///C:/…/a.wav`.
    pub url: String,
    /// The same from the file's folder, if known.
    pub relative: Option<String>,
    /// The media's time at time 0 of the annotations, in seconds.
    pub origin: f64,
}

/// Annotations of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// The speaker, if the file names it.
    pub participant: Option<String>,
    /// The tier whose annotations those of this one divide or explain.
    pub parent: Option<String>,
    /// In the order of the file.
    pub annotations: Vec<Annotation>,
}

/// A text with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Its name in the file.
    pub id: String,
    /// Beginning and end in seconds. `None` if it has none of its own, or if they are not known.
    pub span: Option<(f64, f64)>,
    /// The annotation that this one belongs to, if it has no times of its own.
    pub owner: Option<String>,
    /// Its text.
    pub text: String,
}

/// Beginning and end in seconds, and a text.
pub type Timed = ((f64, f64), String);

/// Elements and attributes that a file may have.
const MOST_NODES: u32 = 20_000_000;

impl Eaf {
    /// Reads the text of a file. The error is a clause behind the file's name.
    ///
    /// # Errors
    /// The text is no file of ELAN. The error is a clause behind the file's name.
    pub fn parse(text: &str) -> Result<Eaf, String> {
        let options = roxmltree::ParsingOptions { nodes_limit: MOST_NODES, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(text, options)
            .map_err(|error| format!("this is no valid XML ({error})"))?;
        let root = document.root_element();
        if !root.has_tag_name("ANNOTATION_DOCUMENT") {
            let found = root.tag_name().name();
            return Err(format!("expected ELAN's element 'ANNOTATION_DOCUMENT', found '{found}'"));
        }
        let mut eaf = Eaf::default();
        let mut times = FxHashMap::default();
        for child in root.children() {
            match child.tag_name().name() {
                "HEADER" => eaf.media.extend(child.children().filter_map(media)),
                "TIME_ORDER" => {
                    let (factor, divisor) = unit(root);
                    for slot in child.children().filter(|slot| slot.has_tag_name("TIME_SLOT")) {
                        let value =
                            slot.attribute("TIME_VALUE").and_then(|value| value.trim().parse::<f64>().ok());
                        if let (Some(id), Some(value)) = (slot.attribute("TIME_SLOT_ID"), value)
                            && value.is_finite()
                        {
                            times.insert(id, value * factor / divisor);
                        }
                    }
                }
                "TIER" => eaf.tiers.push(tier(child, &times)),
                _ => {}
            }
        }
        Ok(eaf)
    }

    /// True if a text begins as ELAN's files do.
    pub fn is_like(text: &str) -> bool {
        let begin: String = text.chars().take(2000).collect();
        begin.trim_start().starts_with('<') && begin.contains("<ANNOTATION_DOCUMENT")
    }

    /// The spans and texts of a tier. An annotation without times of its own has those of its owner. Several that belong
    /// to one owner are joined in the order of the file. Returns them with the number of those whose times are not known.
    pub fn timed(&self, tier: &Tier) -> (Vec<Timed>, usize) {
        let mut owners: FxHashMap<&str, &Annotation> = FxHashMap::default();
        for annotation in self.tiers.iter().flat_map(|tier| &tier.annotations) {
            owners.insert(&annotation.id, annotation);
        }
        let mut found: Vec<Timed> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        let mut unknown = 0;
        for annotation in &tier.annotations {
            let mut timed = annotation;
            // (A chain of owners that is longer than the number of tiers goes round in a circle.)
            for _ in 0..self.tiers.len() {
                match &timed.owner {
                    Some(owner) => match owners.get(owner.as_str()) {
                        Some(owner) => timed = owner,
                        None => break,
                    },
                    None => break,
                }
            }
            let Some(span) = timed.span else {
                unknown += 1;
                continue;
            };
            if annotation.owner.is_some() {
                if let Some(&place) = places.get(timed.id.as_str()) {
                    found[place].1.push(' ');
                    found[place].1.push_str(&annotation.text);
                    continue;
                }
                places.insert(&timed.id, found.len());
            }
            found.push((span, annotation.text.clone()));
        }
        found.sort_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
        (found, unknown)
    }
}

/// The factor and divisor that make seconds of a time.
fn unit(root: roxmltree::Node) -> (f64, f64) {
    let header = root.children().find(|child| child.has_tag_name("HEADER"));
    match header.and_then(|header| header.attribute("TIME_UNITS")) {
        Some("NTSC-frames") => (1001.0, 30000.0),
        Some("PAL-frames") => (1.0, 25.0),
        _ => (1.0, 1000.0),
    }
}

fn media(node: roxmltree::Node) -> Option<Media> {
    if !node.has_tag_name("MEDIA_DESCRIPTOR") {
        return None;
    }
    let filled = |name| node.attribute(name).map(str::trim).filter(|value| !value.is_empty());
    let origin = filled("TIME_ORIGIN").and_then(|origin| origin.parse::<f64>().ok());
    Some(Media {
        url: filled("MEDIA_URL").unwrap_or_default().to_owned(),
        relative: filled("RELATIVE_MEDIA_URL").map(str::to_owned),
        origin: origin.filter(|origin| origin.is_finite()).unwrap_or(0.0) / 1000.0,
    })
}

/// Returns times for the slots that have none. Such slots lie between annotations into which a person has divided a longer one; ELAN
/// shows these parts equally long. `slots` has the first and the last slot of each annotation of a tier.
fn spread<'a>(slots: &[(&'a str, &'a str)], times: &FxHashMap<&str, f64>) -> FxHashMap<&'a str, f64> {
    let next: FxHashMap<&str, &str> = slots.iter().copied().collect();
    let mut found = FxHashMap::default();
    for &(first, _) in slots {
        let Some(begin) = times.get(first) else { continue };
        let mut inner: Vec<&str> = Vec::new();
        // (A chain that is longer than the tier goes round in a circle.)
        while inner.len() < slots.len()
            && let Some(&slot) = next.get(inner.last().copied().unwrap_or(first))
        {
            if let Some(end) = times.get(slot) {
                let part = (end - begin) / (inner.len() + 1) as f64;
                found.extend((1..).zip(inner).map(|(count, slot)| (slot, begin + f64::from(count) * part)));
                break;
            }
            inner.push(slot);
        }
    }
    found
}

/// The names of the first and the last time slot of an annotation.
fn slots<'d>(annotation: roxmltree::Node<'d, '_>) -> Option<(&'d str, &'d str)> {
    annotation.attribute("TIME_SLOT_REF1").zip(annotation.attribute("TIME_SLOT_REF2"))
}

fn tier(node: roxmltree::Node, times: &FxHashMap<&str, f64>) -> Tier {
    let filled = |name| node.attribute(name).map(str::trim).filter(|value| !value.is_empty());
    let all: Vec<(&str, &str)> = node.descendants().filter_map(slots).collect();
    let spread = spread(&all, times);
    let time = |slot: &str| times.get(slot).or_else(|| spread.get(slot)).copied();
    let annotations = node.descendants().filter_map(|annotation| {
        let is_reference = annotation.has_tag_name("REF_ANNOTATION");
        if !is_reference && !annotation.has_tag_name("ALIGNABLE_ANNOTATION") {
            return None;
        }
        let span = slots(annotation).and_then(|(first, last)| time(first).zip(time(last)));
        let value = annotation.children().find(|child| child.has_tag_name("ANNOTATION_VALUE"));
        let text = value.map(|value| {
            let parts = value.descendants().filter(|part| part.is_text());
            parts.filter_map(|part| part.text()).collect::<String>()
        });
        Some(Annotation {
            id: annotation.attribute("ANNOTATION_ID").unwrap_or_default().to_owned(),
            span,
            owner: is_reference
                .then(|| annotation.attribute("ANNOTATION_REF").unwrap_or_default().to_owned()),
            text: text.unwrap_or_default(),
        })
    });
    let annotations = annotations.collect();
    Tier {
        name: filled("TIER_ID").unwrap_or_default().to_owned(),
        participant: filled("PARTICIPANT").map(str::to_owned),
        parent: filled("PARENT_REF").map(str::to_owned),
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT FORMAT="3.0">
  <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/x/a.wav" MIME_TYPE="audio/x-wav" RELATIVE_MEDIA_URL="./a.wav" TIME_ORIGIN="500"/>
  </HEADER>
  <TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="290"/><TIME_SLOT TIME_SLOT_ID="t2" TIME_VALUE="1910"/><TIME_SLOT TIME_SLOT_ID="t3"/></TIME_ORDER>
  <TIER TIER_ID="ref" PARTICIPANT="SL" LINGUISTIC_TYPE_REF="d">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>001</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="t2" TIME_SLOT_REF2="t3"><ANNOTATION_VALUE>002</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER TIER_ID="tx" PARENT_REF="ref" LINGUISTIC_TYPE_REF="t">
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1"><ANNOTATION_VALUE>di &amp; kaai</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a4" ANNOTATION_REF="a1" PREVIOUS_ANNOTATION="a3"><ANNOTATION_VALUE>hada</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a5" ANNOTATION_REF="a2"><ANNOTATION_VALUE>muila</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a6" ANNOTATION_REF="a6"><ANNOTATION_VALUE>circle</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
  </TIER>
</ANNOTATION_DOCUMENT>"#;

    #[test]
    fn annotations_have_their_own_times_or_those_of_their_owner() {
        let eaf = Eaf::parse(FILE).unwrap();
        assert!(Eaf::is_like(FILE));
        let media = &eaf.media[0];
        assert_eq!((media.relative.as_deref(), media.origin), (Some("./a.wav"), 0.5));
        assert_eq!(eaf.timed(&eaf.tiers[0]), (vec![((0.29, 1.91), "001".to_owned())], 1));
        assert_eq!(eaf.timed(&eaf.tiers[1]), (vec![((0.29, 1.91), "di & kaai hada".to_owned())], 2));
        assert_eq!(eaf.tiers[0].participant.as_deref(), Some("SL"));
        assert_eq!(eaf.tiers[1].parent.as_deref(), Some("ref"));
    }

    #[test]
    fn parts_of_a_divided_annotation_are_equally_long() {
        let times: FxHashMap<&str, f64> = [("t1", 1.0), ("t4", 4.0), ("t6", 9.0)].into_iter().collect();
        let slots = [("t1", "t2"), ("t2", "t3"), ("t3", "t4"), ("t4", "t5"), ("t6", "t7"), ("t7", "t7")];
        let mut found: Vec<(&str, f64)> = spread(&slots, &times).into_iter().collect();
        found.sort_by_key(|(slot, _)| *slot);
        assert_eq!(found, [("t2", 2.0), ("t3", 3.0)]);
        let text = FILE.replace(r#"TIME_SLOT_ID="t2" TIME_VALUE="1910""#, r#"TIME_SLOT_ID="t2""#);
        let text = text.replace(r#"TIME_SLOT_ID="t3""#, r#"TIME_SLOT_ID="t3" TIME_VALUE="1290""#);
        let eaf = Eaf::parse(&text).unwrap();
        let expected = vec![((0.29, 0.79), "001".to_owned()), ((0.79, 1.29), "002".to_owned())];
        assert_eq!(eaf.timed(&eaf.tiers[0]), (expected, 0));
    }

    #[test]
    fn other_xml_is_refused() {
        assert_eq!(
            Eaf::parse("<a/>").unwrap_err(),
            "expected ELAN's element 'ANNOTATION_DOCUMENT', found 'a'"
        );
        assert!(Eaf::parse("<a").unwrap_err().starts_with("this is no valid XML"));
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\">]><ANNOTATION_DOCUMENT>&b;</ANNOTATION_DOCUMENT>";
        assert!(Eaf::parse(bomb).unwrap_err().contains("DTD"));
    }
}
