//! Results as vosk prints them: JSON with sorted keys, ` : ` behind them, two blanks a level and six digits after the
//! point; or NLSML.

use std::fmt::Write;

use nnet3_online::speakers::SpeakerVector;
use nnet3_online::{Alternative, Word};

/// A value of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Pairs in the order of their keys.
    Object(Vec<(&'static str, Value)>),
    List(Vec<Value>),
    Text(String),
    Number(f64),
    Count(usize),
}

impl Value {
    /// The value as a document.
    pub fn print(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 1);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Value::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if place == 0 { "\n" } else { ",\n" });
                    indent(out, depth);
                    let _ = write!(out, "\"{key}\" : ");
                    value.write(out, depth + 1);
                }
                out.push('\n');
                indent(out, depth - 1);
                out.push('}');
            }
            Value::List(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    value.write(out, depth + 1);
                }
                out.push(']');
            }
            Value::Text(text) => quote(out, text),
            Value::Number(number) => {
                let _ = write!(out, "{number:.6}");
            }
            Value::Count(count) => {
                let _ = write!(out, "{count}");
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn text(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// The words with times, and confidences if `confidences`. `offset` seconds are added to the times.
fn words(words: &[Word], offset: f64, confidences: bool) -> Value {
    let word = |word: &Word| {
        let mut pairs = Vec::new();
        if confidences {
            pairs.push(("conf", Value::Number(word.confidence.into())));
        }
        pairs.push(("end", Value::Number(offset + word.end)));
        pairs.push(("start", Value::Number(offset + word.start)));
        pairs.push(("word", Value::Text(word.text.clone())));
        Value::Object(pairs)
    };
    Value::List(words.iter().map(word).collect())
}

fn speaker(pairs: &mut Vec<(&'static str, Value)>, vector: Option<&SpeakerVector>) {
    if let Some(SpeakerVector { values, frames }) = vector {
        pairs.push(("spk", Value::List(values.iter().map(|&x| Value::Number(x.into())).collect())));
        pairs.push(("spk_frames", Value::Count(*frames)));
    }
}

/// A sentence with its text, with its words if `with_words`, and with the vector of its speaker.
pub fn sentence(found: &[Word], offset: f64, with_words: bool, vector: Option<&SpeakerVector>) -> Value {
    let mut pairs = Vec::new();
    if with_words && !found.is_empty() {
        pairs.push(("result", words(found, offset, true)));
    }
    speaker(&mut pairs, vector);
    pairs.push(("text", Value::Text(text(found))));
    Value::Object(pairs)
}

/// The words so far, with their times if `with_words`.
pub fn partial(found: &[Word], offset: f64) -> Value {
    let mut pairs = vec![("partial", Value::Text(text(found)))];
    if !found.is_empty() {
        pairs.push(("partial_result", words(found, offset, true)));
    }
    Value::Object(pairs)
}

/// The text so far.
pub fn partial_text(text: String) -> Value {
    Value::Object(vec![("partial", Value::Text(text))])
}

/// The texts of a sentence, with log-likelihoods as confidences.
pub fn alternatives(
    found: &[Alternative],
    offset: f64,
    with_words: bool,
    vector: Option<&SpeakerVector>,
) -> Value {
    let alternative = |found: &Alternative| {
        let mut pairs = vec![("confidence", Value::Number(found.log_likelihood))];
        if with_words && !found.words.is_empty() {
            pairs.push(("result", words(&found.words, offset, false)));
        }
        pairs.push(("text", Value::Text(text(&found.words))));
        Value::Object(pairs)
    };
    let mut pairs = vec![("alternatives", Value::List(found.iter().map(alternative).collect()))];
    speaker(&mut pairs, vector);
    Value::Object(pairs)
}

/// Texts with confidences as NLSML.
pub fn nlsml<'t>(texts: impl IntoIterator<Item = (f64, &'t [Word])>) -> String {
    let mut out = "<?xml version=\"1.0\"?>\n<result grammar=\"default\">\n".to_owned();
    for (confidence, words) in texts {
        let text = text(words).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let confidence = kaldi_io::text::format_g(confidence, 6);
        let _ = write!(
            out,
            "<interpretation grammar=\"default\" confidence=\"{confidence}\">\n\
             <input mode=\"speech\">{text}</input>\n<instance>{text}</instance>\n</interpretation>\n"
        );
    }
    out + "</result>\n"
}

/// The result if there is no sentence.
pub fn empty(alternatives: bool, as_nlsml: bool) -> &'static str {
    match (alternatives, as_nlsml) {
        (false, _) => r#"{"text": ""}"#,
        (true, true) => {
            "<?xml version=\"1.0\"?>\n<result grammar=\"default\">\n<interpretation confidence=\"1.0\">\n<instance/>\n\
             <input><noinput/></input>\n</interpretation>\n</result>\n"
        }
        (true, false) => r#"{"alternatives" : [{"text": "", "confidence" : 1.0}] }"#,
    }
}
