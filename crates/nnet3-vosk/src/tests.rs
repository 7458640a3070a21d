//! Layouts beside texts that vosk printed.

use nnet3_online::speakers::SpeakerVector;
use nnet3_online::{Alternative, Word};

use crate::layout;

fn word(text: &str, start: f64, confidence: f32) -> Word {
    Word { text: text.to_owned(), start, end: start + 0.25, confidence }
}

#[test]
fn sentences() {
    let words = [word("one", 0.5, 0.123_456_7), word("\"two\"", 1.0, 1.0)];
    let vector = SpeakerVector { values: vec![0.5, -1.0], frames: 63 };
    let expected = r#"{
  "result" : [{
      "conf" : 0.123457,
      "end" : 2.750000,
      "start" : 2.500000,
      "word" : "one"
    }, {
      "conf" : 1.000000,
      "end" : 3.250000,
      "start" : 3.000000,
      "word" : "\"two\""
    }],
  "spk" : [0.500000, -1.000000],
  "spk_frames" : 63,
  "text" : "one \"two\""
}"#;
    assert_eq!(layout::sentence(&words, 2.0, true, Some(&vector)).print(), expected);
    assert_eq!(layout::sentence(&[], 2.0, true, None).print(), "{\n  \"text\" : \"\"\n}");
    assert_eq!(layout::partial_text("one".to_owned()).print(), "{\n  \"partial\" : \"one\"\n}");
    let partial = layout::partial(&words[..1], 0.0).print();
    assert!(
        partial.starts_with("{\n  \"partial\" : \"one\",\n  \"partial_result\" : [{\n      \"conf\" : "),
        "{partial}"
    );
}

#[test]
fn alternatives() {
    let one = Alternative { words: vec![word("a & b", 0.0, 1.0)], log_likelihood: 151.25, probability: 0.5 };
    let none = Alternative { words: Vec::new(), log_likelihood: -1.5, probability: 0.1 };
    let found = [one, none];
    let expected = r#"{
  "alternatives" : [{
      "confidence" : 151.250000,
      "result" : [{
          "end" : 0.250000,
          "start" : 0.000000,
          "word" : "a & b"
        }],
      "text" : "a & b"
    }, {
      "confidence" : -1.500000,
      "text" : ""
    }]
}"#;
    assert_eq!(layout::alternatives(&found, 0.0, true, None).print(), expected);
    assert!(!layout::alternatives(&found, 0.0, false, None).print().contains("result"));
    let expected = "<?xml version=\"1.0\"?>\n<result grammar=\"default\">\n\
        <interpretation grammar=\"default\" confidence=\"151.25\">\n<input mode=\"speech\">a &amp; b</input>\n\
        <instance>a &amp; b</instance>\n</interpretation>\n</result>\n";
    let pairs = found[..1].iter().map(|found| (found.log_likelihood, &*found.words));
    assert_eq!(layout::nlsml(pairs), expected);
}
