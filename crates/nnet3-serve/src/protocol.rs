//! The messages of vosk-server's WebSocket protocol.
//!
//! A client sends text and binary messages. Text is a JSON object: `{"config": {…}}` before the first samples, `{"reset": 1}`
//! for the end of a sound, `{"eof": 1}` for the end of all. Binary messages are samples of 16 bits, the low byte first. Each
//! message but `config` has one answer: `partial`, or `result` and `text` at the end of a sentence. `{"error": …}` is ours.

use serde_json::{Map, Value, json};

/// Rates of sound, in Hz.
pub use kaldi_sound::RATES;
/// The largest number of alternatives.
pub const MOST_ALTERNATIVES: u64 = 100;
/// The largest number of phrases.
pub const MOST_PHRASES: usize = 10_000;

/// A text message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Config(Config),
    /// The sound ends; another one may follow.
    Reset,
    /// No more sound comes.
    Eof,
}

/// Settings of a session. Those that a client does not name stay as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// In Hz.
    pub sample_rate: Option<u32>,
    /// True if results have times and confidences of words.
    pub words: Option<bool>,
    /// Sentences of a result, the best first; with 0 a result is one sentence with confidences.
    pub max_alternatives: Option<usize>,
    /// The phrases of which sentences consist; an empty list for the model's own language.
    pub phrase_list: Option<Vec<String>>,
    /// True if the last result of a sound has the speakers of all words.
    pub speakers: Option<bool>,
    /// Keys that have no meaning here, separated by commas.
    pub unknown: Option<String>,
}

/// The keys of `config`.
const KEYS: [&str; 5] = ["sample_rate", "words", "max_alternatives", "phrase_list", "speakers"];
/// Longest list of unknown keys, in characters.
const MOST_KEYS: usize = 200;

/// A message that the server cannot obey. The text is for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

fn fault<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault(text.into()))
}

/// Longest part of a client's text in a fault, in characters.
const SHOWN: usize = 60;

/// The beginning of a text or value, on one line.
fn shown(value: &str) -> String {
    let mut begin: String = value.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if value.chars().nth(SHOWN).is_some() {
        begin.push('…');
    }
    begin
}

impl Message {
    /// Reads a text message. Fails if it is no JSON object with `config`, `reset` or `eof`.
    pub fn parse(text: &str) -> Result<Message, Fault> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Fault(format!("expected JSON, found '{}' ({error})", shown(text))))?;
        let Some(object) = value.as_object() else {
            return fault(format!("expected a JSON object, found {}", shown(&value.to_string())));
        };
        if let Some(config) = object.get("config") {
            return Config::read(config).map(Message::Config);
        }
        if object.get("eof").is_some_and(is_true) {
            return Ok(Message::Eof);
        }
        if object.get("reset").is_some_and(is_true) {
            return Ok(Message::Reset);
        }
        fault(format!("expected config, eof or reset, found {}", shown(text)))
    }
}

/// True as in Python: a number other than 0, or true. Texts that say no are false.
fn is_true(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no")
        }
        Value::Bool(value) => *value,
        value => value.as_f64().is_some_and(|number| number != 0.0),
    }
}

/// A whole number, which may be written as a text, as in Python's `float("16000")`.
fn whole(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    number.filter(|number: &f64| number.fract() == 0.0)
}

impl Config {
    /// Reads the value of `config`. Keys that have no meaning here are passed over, as in vosk-server, and noted.
    fn read(value: &Value) -> Result<Config, Fault> {
        let Some(config) = value.as_object() else {
            return fault(format!("config: expected an object, found {}", shown(&value.to_string())));
        };
        if config.contains_key("model") {
            return fault("config: model: this server has one model, which clients cannot change");
        }
        Ok(Config {
            sample_rate: sample_rate(config)?,
            words: switch(config, "words")?,
            max_alternatives: max_alternatives(config)?,
            phrase_list: phrase_list(config)?,
            speakers: switch(config, "speakers")?,
            unknown: unknown(config),
        })
    }
}

/// The value of a key; null is no value.
fn given<'c>(config: &'c Map<String, Value>, key: &str) -> Option<&'c Value> {
    config.get(key).filter(|value| !value.is_null())
}

fn sample_rate(config: &Map<String, Value>) -> Result<Option<u32>, Fault> {
    let Some(value) = given(config, "sample_rate") else { return Ok(None) };
    match whole(value).map(|rate| rate as u32).filter(|rate| RATES.contains(rate)) {
        Some(rate) => Ok(Some(rate)),
        None => fault(format!(
            "config: sample_rate: expected a whole number from {} to {}, found {}",
            RATES.start(),
            RATES.end(),
            shown(&value.to_string())
        )),
    }
}

fn switch(config: &Map<String, Value>, key: &str) -> Result<Option<bool>, Fault> {
    match given(config, key) {
        None => Ok(None),
        Some(value) if !(value.is_array() || value.is_object()) => Ok(Some(is_true(value))),
        Some(value) => {
            fault(format!("config: {key}: expected true or false, found {}", shown(&value.to_string())))
        }
    }
}

fn max_alternatives(config: &Map<String, Value>) -> Result<Option<usize>, Fault> {
    let Some(value) = given(config, "max_alternatives") else { return Ok(None) };
    match whole(value).filter(|number| (0.0..=MOST_ALTERNATIVES as f64).contains(number)) {
        Some(number) => Ok(Some(number as usize)),
        None => fault(format!(
            "config: max_alternatives: expected a number from 0 to {MOST_ALTERNATIVES}, found {}",
            shown(&value.to_string())
        )),
    }
}

/// Reads a list of phrases. A text is a list in JSON, or else one phrase a line.
fn phrase_list(config: &Map<String, Value>) -> Result<Option<Vec<String>>, Fault> {
    let Some(value) = given(config, "phrase_list") else { return Ok(None) };
    let phrase = |value: &Value| value.as_str().map(str::to_owned);
    let list = |list: &Vec<Value>| list.iter().map(phrase).collect::<Option<Vec<_>>>();
    let found = match value {
        Value::String(text) => match serde_json::from_str::<Vec<String>>(text) {
            Ok(phrases) => Some(phrases),
            Err(_) => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                Some(lines.map(str::to_owned).collect())
            }
        },
        value => value.as_array().and_then(list),
    };
    match found {
        Some(list) if list.len() <= MOST_PHRASES => Ok(Some(list)),
        Some(list) => fault(format!(
            "config: phrase_list: expected at most {MOST_PHRASES} phrases, found {}",
            list.len()
        )),
        None => fault(format!(
            "config: phrase_list: expected a list of strings, found {}",
            shown(&value.to_string())
        )),
    }
}

/// Lists the keys without a meaning.
fn unknown(config: &Map<String, Value>) -> Option<String> {
    let mut keys = String::new();
    for key in config.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        if !keys.is_empty() {
            keys.push_str(", ");
        }
        keys.push_str(&shown(key));
        if keys.chars().count() > MOST_KEYS {
            keys.push_str(", …");
            break;
        }
    }
    Some(keys).filter(|keys| !keys.is_empty())
}

/// Returns the message about a fault.
pub fn error(text: &str) -> Value {
    json!({ "error": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_clients_of_vosk() {
        let parse = |text: &str| Message::parse(text).unwrap();
        assert_eq!(parse("{\"eof\" : 1}"), Message::Eof);
        assert_eq!(parse("{\"reset\" : 1}"), Message::Reset);
        assert_eq!(
            parse(r#"{ "config" : { "sample_rate" : 8000 } }"#),
            Message::Config(Config { sample_rate: Some(8000), ..Config::default() })
        );
        // Like the client test_words.py.
        let all = r#"{"config": {"phrase_list": ["one two", "oh"], "sample_rate": 16000.0, "words": 0,
                                 "max_alternatives": 3, "speakers": true, "x": 1}}"#;
        let expected = Config {
            sample_rate: Some(16000),
            words: Some(false),
            max_alternatives: Some(3),
            phrase_list: Some(vec!["one two".to_owned(), "oh".to_owned()]),
            speakers: Some(true),
            unknown: Some("x".to_owned()),
        };
        assert_eq!(parse(all), Message::Config(expected.clone()));
        // Values as texts, as in forms and environments; vosk-server converts them.
        let texts = r#"{"config": {"phrase_list": "[\"one two\", \"oh\"]", "sample_rate": "16000", "words": "0",
                                   "max_alternatives": "3", "speakers": "1", "x": "1"}}"#;
        assert_eq!(parse(texts), Message::Config(expected));
        let phrases = |value: &str| {
            let Message::Config(config) = parse(&format!(r#"{{"config": {{"phrase_list": {value}}}}}"#))
            else {
                panic!("{value}")
            };
            config.phrase_list
        };
        assert_eq!(phrases(r#""one two""#), Some(vec!["one two".to_owned()]));
        assert_eq!(phrases(r#""one two\n\noh\n""#), Some(vec!["one two".to_owned(), "oh".to_owned()]));
        assert_eq!(phrases(r#""""#), Some(Vec::new()));
        assert_eq!(phrases("null"), None);
        let many: Vec<String> = (0..1000).map(|i| format!("\"key{i}\": 1")).collect();
        let Message::Config(config) = parse(&format!("{{\"config\": {{{}}}}}", many.join(","))) else {
            panic!()
        };
        let unknown = config.unknown.unwrap();
        assert!(unknown.starts_with("key0, key1, ") && unknown.len() < 300, "{unknown}");
        assert_eq!(parse(r#"{"config": {}}"#), Message::Config(Config::default()));
    }

    #[test]
    fn faults_name_what_was_found() {
        for (text, words) in [
            ("", "expected JSON, found ''"),
            ("hello\nworld", "expected JSON, found 'hello world'"),
            ("[1]", "expected a JSON object, found [1]"),
            ("{\"eof\": 0}", "expected config, eof or reset, found {\"eof\": 0}"),
            (r#"{"config": 3}"#, "config: expected an object, found 3"),
            (r#"{"config": {"model": "/etc"}}"#, "config: model: this server has one model"),
            (
                r#"{"config": {"phrase_list": ["a b", 1]}}"#,
                "config: phrase_list: expected a list of strings, found [",
            ),
            (
                r#"{"config": {"sample_rate": "8k"}}"#,
                "sample_rate: expected a whole number from 1000 to 192000",
            ),
            (r#"{"config": {"sample_rate": 8000.5}}"#, "found 8000.5"),
            (r#"{"config": {"sample_rate": -1}}"#, "found -1"),
            (r#"{"config": {"sample_rate": 1e99}}"#, "found 1e+99"),
            (r#"{"config": {"sample_rate": ""}}"#, "found \"\""),
            (r#"{"config": {"sample_rate": "1e99"}}"#, "found \"1e99\""),
            (r#"{"config": {"sample_rate": "nan"}}"#, "found \"nan\""),
            (r#"{"config": {"words": []}}"#, "words: expected true or false, found []"),
            (r#"{"config": {"speakers": {}}}"#, "speakers: expected true or false, found {}"),
            (r#"{"config": {"max_alternatives": "-1"}}"#, "from 0 to 100, found \"-1\""),
            (r#"{"config": {"phrase_list": 3}}"#, "phrase_list: expected a list of strings, found 3"),
            (r#"{"config": {"max_alternatives": 101}}"#, "from 0 to 100, found 101"),
            (r#"{"config": {"max_alternatives": -1}}"#, "from 0 to 100, found -1"),
        ] {
            let fault = Message::parse(text).unwrap_err().to_string();
            assert!(fault.contains(words), "{text}: {fault}");
        }
        let long = Message::parse(&"x".repeat(100_000)).unwrap_err().to_string();
        assert!(long.len() < 200, "{long}");
        // Deep nesting is an error of the parser, not the end of the stack.
        assert!(Message::parse(&"[".repeat(100_000)).is_err());
    }
}
