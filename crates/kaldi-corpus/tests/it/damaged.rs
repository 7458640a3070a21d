//! Damaged files of every form: an error or a result, never a panic.

use kaldi_corpus::eaf::Eaf;
use kaldi_corpus::textgrid::TextGrid;
use kaldi_corpus::{decode, read_table_bytes};

const SEEDS: [&str; 4] = [
    "File type = \"ooTextFile\"\n\"TextGrid\"\n0\n2.5\n<exists>\n1\n\"IntervalTier\"\n\"é\"\n0\n2.5\n2\n0\n1.25\n\"a \"\"b\"\"\"\n1.25\n2.5\n\"\"\n",
    "<ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID=\"t1\" TIME_VALUE=\"290\"/></TIME_ORDER><TIER TIER_ID=\"é\"><ANNOTATION>\
     <ALIGNABLE_ANNOTATION ANNOTATION_ID=\"a\" TIME_SLOT_REF1=\"t1\" TIME_SLOT_REF2=\"t1\"><ANNOTATION_VALUE>x</ANNOTATION_VALUE>\
     </ALIGNABLE_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>",
    "path,start,end,text\na.wav,0,1,\"é, \"\"b\"\"\"\n",
    "{\"audio_filepath\": \"a.wav\", \"text\": \"é\"}\nx|y|z\n",
];

/// A TextGrid of Praat's binary form.
const BINARY: &[u8] =
    b"ooBinaryFile\x08TextGrid\0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\x01\0\0\0\x01\x0cIntervalTier\0\x01A\
    \0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0@\x04\0\0\0\0\0\0\xff\xff\0\x01\0\xe9";

#[test]
fn no_damage_makes_a_reader_panic() {
    let seeds: Vec<&[u8]> = SEEDS.iter().map(|seed| seed.as_bytes()).chain([BINARY]).collect();
    let mut state = 1u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as usize % below
    };
    for round in 0..4000 {
        let mut bytes = seeds[round % seeds.len()].to_vec();
        for _ in 0..=random(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random(bytes.len());
            match random(4) {
                0 => bytes.truncate(at + 1),
                1 => bytes[at] = random(256) as u8,
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\"<!9-.|,\n\0"[random(10)]),
            }
        }
        read_table_bytes(&bytes);
        let _ = TextGrid::parse_binary(&bytes);
        if let Ok(text) = decode(&bytes) {
            let _ = TextGrid::parse(&text);
            if let Ok(eaf) = Eaf::parse(&text) {
                eaf.tiers.iter().for_each(|tier| drop(eaf.timed(tier)));
            }
        }
    }
}
