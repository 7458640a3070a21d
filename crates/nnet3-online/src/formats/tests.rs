//! Tests of all forms.

use serde_json::json;

use super::*;

fn word(text: &str, start: f64, end: f64, confidence: f32) -> Word {
    Word { text: text.to_owned(), start, end, confidence }
}

fn segment(channel: usize, words: Vec<Word>) -> Segment {
    Segment { words, channel, ..Segment::default() }
}

fn segments() -> Vec<Segment> {
    vec![
        segment(1, vec![word("one", 0.5, 1.0, 0.75), word("two", 1.0, 1.25, 1.0)]),
        segment(1, vec![]),
        segment(1, vec![word("three", 3661.5, 3662.0, 0.5)]),
    ]
}

fn shown_as(format: Format, parts: Parts, name: &str, segments: &[Segment]) -> String {
    write(format, parts, &Recognized { name, segments, seconds: 4000.0 })
}

#[test]
fn all_forms() {
    let shown = |format| shown_as(format, Parts::default(), "u1", &segments());
    assert_eq!(shown(Format::Text), "u1 one two three\n");
    assert_eq!(
        shown(Format::Ctm),
        "u1 1 0.50 0.50 one 0.75\nu1 1 1.00 0.25 two 1.00\nu1 1 3661.50 0.50 three 0.50\n"
    );
    assert_eq!(
        shown(Format::Srt),
        "1\n00:00:00,500 --> 00:00:01,500\none two\n\n2\n01:01:01,500 --> 01:01:02,500\nthree\n\n"
    );
    assert_eq!(
        shown(Format::Vtt),
        "WEBVTT\n\n00:00:00.500 --> 00:00:01.500\none two\n\n01:01:01.500 --> 01:01:02.500\nthree\n\n"
    );
    let unknown = segment(1, vec![word("<unk>", 0.0, 1.0, 1.0)]);
    let shown_unknown = shown_as(Format::Vtt, Parts::default(), "u", &[unknown]);
    assert!(shown_unknown.ends_with("\n&lt;unk&gt;\n\n"));
    let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
    assert_eq!((&object["file"], &object["text"]), (&json!("u1"), &json!("one two three")));
    assert_eq!(object["segments"].as_array().unwrap().len(), 2);
    assert_eq!(
        object["segments"][0]["words"][1],
        json!({ "word": "two", "start": 1.0, "end": 1.25, "conf": 1.0 })
    );
    assert_eq!(shown_as(Format::Text, Parts::default(), "u2", &[]), "u2\n");
}

#[test]
fn channels_have_turns() {
    let parts = Parts { channels: true, ..Parts::default() };
    let segments = [
        segment(2, vec![word("one", 0.5, 1.0, 1.0)]),
        segment(2, vec![word("two", 2.0, 2.5, 1.0)]),
        segment(1, vec![word("three", 2.25, 3.0, 1.0)]),
        segment(2, vec![]),
    ];
    let shown = |format| shown_as(format, parts, "u", &segments);
    assert_eq!(shown(Format::Text), "u Channel 2: one two\nu Channel 1: three\n");
    assert_eq!(
        shown(Format::Ctm),
        "u 1 2.25 0.75 three 1.00\nu 2 0.50 0.50 one 1.00\nu 2 2.00 0.50 two 1.00\n"
    );
    // Speech of both channels at a time keeps its times.
    assert!(shown(Format::Srt).contains("3\n00:00:02,250 --> 00:00:03,250\nChannel 1: three\n"));
    assert!(shown(Format::Vtt).contains("00:00:00.500 --> 00:00:01.500\n<v Channel 2>one\n"));
    let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
    let channels: Vec<_> = (0..3).map(|i| object["segments"][i]["channel"].clone()).collect();
    assert_eq!(channels, [json!(2), json!(2), json!(1)]);
    assert_eq!(shown_as(Format::Text, parts, "u", &segments[3..]), "u\n");
    let live = write_sentence(Format::Json, parts, "-", &segments[2]);
    let object: serde_json::Value = serde_json::from_str(&live).unwrap();
    assert!(live.starts_with(r#"{"file":"-","start":2.25,"#), "{live}");
    assert_eq!((&object["text"], &object["channel"]), (&json!("three"), &json!(1)));
    assert_eq!(write_sentence(Format::Json, parts, "-", &segments[3]), "");
}

#[test]
fn sentences_have_alternatives() {
    let alternative = |words, probability| Alternative { words, log_likelihood: -7.5, probability };
    let words = vec![word("one", 0.5, 1.0, 0.75)];
    let alternatives = vec![alternative(words.clone(), 0.75), alternative(vec![], 0.25)];
    let segments = [Segment { words, start: 0.25, alternatives, channel: 1, ..Segment::default() }];
    let parts = Parts { alternatives: true, ..Parts::default() };
    assert_eq!(shown_as(Format::Text, parts, "u", &segments), "u 0.25 1 0.750 one\nu 0.25 2 0.250\n");
    let object: serde_json::Value =
        serde_json::from_str(&shown_as(Format::Json, parts, "u", &segments)).unwrap();
    assert_eq!(
        object["segments"][0]["alternatives"][1],
        json!({ "text": "", "confidence": -7.5, "probability": 0.25 })
    );
    assert_eq!(object["segments"][0]["alternatives"][0]["result"][0]["word"], "one");
}

/// Two speakers in the first sentence, an unknown one in the second.
fn spoken_by() -> Vec<Segment> {
    let words = vec![word("one", 0.5, 1.0, 0.75), word("two", 1.0, 1.25, 1.0), word("three", 1.5, 2.0, 0.5)];
    let speakers = vec![Some(2), Some(2), Some(1)];
    let last = Segment { speakers: vec![None], ..segment(1, vec![word("a,\"b", 3.0, 3.5, 1.0)]) };
    vec![Segment { speakers, ..segment(1, words) }, segment(1, vec![]), last]
}

#[test]
fn speakers_have_labels_as_people_write_them() {
    let parts = Parts { speakers: true, ..Parts::default() };
    let shown = |format| shown_as(format, parts, "u", &spoken_by());
    assert_eq!(shown(Format::Text), "u Speaker 2: one two\nu Speaker 1: three\nu Speaker ?: a,\"b\n");
    let srt = shown(Format::Srt);
    assert!(srt.starts_with("1\n00:00:00,500 --> 00:00:01,500\nSpeaker 2: one two\n\n2\n"), "{srt}");
    assert!(shown(Format::Vtt).contains("00:00:01.500 --> 00:00:02.500\n<v Speaker 1>three\n"));
    let ctm = shown(Format::Ctm);
    assert!(ctm.starts_with("u 1 0.50 0.50 one 0.75 lex speaker2\n"), "{ctm}");
    assert!(ctm.ends_with("u 1 3.00 0.50 a,\"b 1.00 lex unknown\n"), "{ctm}");
    let rttm = shown(Format::Rttm);
    let expected = "SPEAKER u 1 0.500 0.750 <NA> <NA> speaker2 <NA> <NA>\n\
                    SPEAKER u 1 1.500 0.500 <NA> <NA> speaker1 <NA> <NA>\n\
                    SPEAKER u 1 3.000 0.500 <NA> <NA> unknown <NA> <NA>\n";
    assert_eq!(rttm, expected);
    let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
    assert_eq!(object["segments"][0]["words"][2]["speaker"], 1);
    let timed = Parts { times: true, ..parts };
    let text = shown_as(Format::Text, timed, "", &spoken_by());
    assert!(text.starts_with("[00:00:00.500 --> 00:00:01.250] Speaker 2: one two\n["), "{text}");
    let plain = shown_as(Format::Text, Parts { times: true, ..Parts::default() }, "u", &spoken_by());
    assert_eq!(plain.lines().next(), Some("u [00:00:00.500 --> 00:00:02.000] one two three"));
}

#[test]
fn a_label_has_room_in_its_line() {
    let words: Vec<Word> =
        (0..8).map(|i| word("abcdefgh", f64::from(i) * 0.5, f64::from(i) * 0.5 + 0.5, 1.0)).collect();
    let one = Segment { speakers: vec![Some(1); 8], ..segment(1, words) };
    let srt = shown_as(Format::Srt, Parts { speakers: true, ..Parts::default() }, "u", &[one]);
    assert!(srt.lines().all(|line| line.chars().count() <= 42), "{srt}");
    assert_eq!(srt.matches("abcdefgh").count(), 8, "{srt}");
}

#[test]
fn tables_quote_what_needs_it_and_readers_read_it() {
    let parts = Parts { speakers: true, ..Parts::default() };
    for (format, delimiter) in [(Format::Csv, b','), (Format::Tsv, b'\t')] {
        let text = shown_as(format, parts, "a b,c", &spoken_by());
        assert!(text.starts_with(&format.head()));
        let mut table = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
        let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0], ["a b,c", "0.500", "1.250", "1", "2", "0.875", "one two"][..]);
        assert_eq!(rows[2], ["a b,c", "3.000", "3.500", "1", "", "1.000", "a,\"b"][..]);
    }
}

#[cfg(feature = "sound")]
#[test]
fn praats_reader_finds_tiers_to_the_end_of_the_sound() {
    use kaldi_corpus::textgrid::{Items, TextGrid};
    let read = |parts, segments: &[Segment]| {
        TextGrid::parse(&shown_as(Format::TextGrid, parts, "u", segments)).unwrap()
    };
    let names = |grid: &TextGrid| grid.tiers.iter().map(|tier| tier.name.clone()).collect::<Vec<_>>();
    let grid = read(Parts::default(), &spoken_by());
    assert_eq!((names(&grid), grid.end), (vec!["sentences".to_owned(), "words".to_owned()], 4000.0));
    let Items::Intervals(words) = &grid.tiers[1].items else { panic!() };
    let texts: Vec<&str> = words.iter().map(|word| &*word.text).collect();
    assert_eq!(texts, ["", "one", "two", "", "three", "", "a,\"b", ""]);
    let by = read(Parts { speakers: true, ..Parts::default() }, &spoken_by());
    assert_eq!(names(&by)[..2], ["Speaker ? - sentences", "Speaker ? - words"]);
    assert_eq!(by.tiers.len(), 6);
    assert_eq!(names(&read(Parts::default(), &[])), ["sentences", "words"]);
    // Times have at most six decimals, also those of numbers of single precision.
    let word =
        Word { text: "one".to_owned(), start: f64::from(0.33_f32), end: 1.0 / 3.0 + 1.0, confidence: 1.0 };
    let one = Segment { words: vec![word], ..spoken_by().remove(0) };
    let text = shown_as(Format::TextGrid, Parts::default(), "u", &[one]);
    assert!(text.contains("xmin = 0.33 \n") && text.contains("xmax = 1.333333 \n"), "{text}");
}

#[test]
fn endings_name_forms() {
    for format in Format::ALL {
        assert_eq!(Format::of_suffix(&format.suffix().to_uppercase()), Some(*format));
    }
    assert_eq!(Format::of_suffix("wav"), None);
}
