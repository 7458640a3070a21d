//! Texts with times beside recordings: Praat's TextGrids and ELAN's files.

use kaldi_corpus::eaf::Eaf;
use kaldi_corpus::textgrid::{Form, TextGrid};

const GRID: &str = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0 \nxmax = 2.5 \ntiers? <exists> \nsize = 1 \n\
    item []: \n    item [1]:\n        class = \"IntervalTier\" \n        name = \"anna \"\"b\"\"\" \n        xmin = 0 \n        xmax = 2.5 \n        \
    intervals: size = 2 \n        intervals [1]:\n            xmin = 0 \n            xmax = 1.25 \n            text = \"one two\" \n        \
    intervals [2]:\n            xmin = 1.25 \n            xmax = 2.5 \n            text = \"\" \n";
const EAF: &str = "<?xml version=\"1.0\"?><ANNOTATION_DOCUMENT><HEADER TIME_UNITS=\"milliseconds\"/><TIME_ORDER>\
    <TIME_SLOT TIME_SLOT_ID=\"ts1\" TIME_VALUE=\"0\"/><TIME_SLOT TIME_SLOT_ID=\"ts2\" TIME_VALUE=\"1500\"/></TIME_ORDER>\
    <TIER TIER_ID=\"tx\" PARTICIPANT=\"anna\" LINGUISTIC_TYPE_REF=\"x\"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID=\"a1\" \
    TIME_SLOT_REF1=\"ts1\" TIME_SLOT_REF2=\"ts2\"><ANNOTATION_VALUE>one &amp; two</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\
    </TIER></ANNOTATION_DOCUMENT>";

/// A TextGrid that was read can be written in both forms and read again.
pub fn read_grid(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(grid) = TextGrid::parse(text) else { return };
    for form in [Form::Long, Form::Short] {
        let again = TextGrid::parse(&grid.to_text(form)).expect("what was just written");
        assert_eq!(again.tiers.len(), grid.tiers.len());
    }
}

pub fn corpus_grids() -> Vec<Vec<u8>> {
    let grid = TextGrid::parse(GRID).expect("a TextGrid");
    vec![GRID.as_bytes().to_vec(), grid.to_text(Form::Short).into_bytes()]
}

pub fn read_eaf(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(eaf) = Eaf::parse(text) else { return };
    for tier in &eaf.tiers {
        let _ = eaf.timed(tier);
    }
}

pub fn corpus_eafs() -> Vec<Vec<u8>> {
    assert!(Eaf::parse(EAF).is_ok_and(|eaf| !eaf.tiers.is_empty()), "a file of ELAN");
    vec![EAF.as_bytes().to_vec()]
}
