//! Transcripts as JSON, with vosk's names: `word`, `start`, `end`, `conf`, `text`. Times are seconds. Numbers have three
//! digits after the point.

use serde_json::{Value, json};

use crate::transcript::{Alternative, Word, text};

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Returns a word: `word`, `start`, `end`, `conf`.
pub fn word(word: &Word) -> Value {
    json!({
        "word": word.text,
        "start": rounded(word.start),
        "end": rounded(word.end),
        "conf": rounded(word.confidence.into()),
    })
}

/// Returns a sentence: `start` and `end` of its words (null without words), `text` and `words`.
pub fn sentence(words: &[Word]) -> Value {
    json!({
        "start": words.first().map(|word| rounded(word.start)),
        "end": words.last().map(|word| rounded(word.end)),
        "text": text(words),
        "words": words.iter().map(word).collect::<Vec<_>>(),
    })
}

/// Returns the sentences of a recording: `file`, its name, `text` and `segments`. Sentences without words are left out.
pub fn recording(name: &str, sentences: &[Vec<Word>]) -> Value {
    let spoken = || sentences.iter().filter(|words| !words.is_empty());
    json!({
        "file": name,
        "text": spoken().map(|words| text(words)).collect::<Vec<_>>().join(" "),
        "segments": spoken().map(|words| sentence(words)).collect::<Vec<_>>(),
    })
}

/// Returns the final result of a sentence in the form of vosk's recogniser: `result`, a list of words, and `text`.
/// Without words there is only `text`.
pub fn result(words: &[Word]) -> Value {
    match words {
        [] => json!({ "text": "" }),
        words => json!({ "result": words.iter().map(word).collect::<Vec<_>>(), "text": text(words) }),
    }
}

/// Returns the texts of a sentence in the form of vosk's recogniser with `max_alternatives`. `alternatives` is a list of
/// objects with `result`, `text` and `confidence`, the log-likelihood. `result` has words with `word`, `start` and `end`;
/// it is left out if there are no words. Without texts there is an empty one with the confidence 1.
pub fn alternatives(alternatives: &[Alternative]) -> Value {
    match alternatives {
        [] => json!({ "alternatives": [{ "text": "", "confidence": 1.0 }] }),
        some => json!({ "alternatives": some.iter().map(alternative).collect::<Vec<_>>() }),
    }
}

/// Returns one text of a sentence in the form of vosk.
pub fn alternative(alternative: &Alternative) -> Value {
    let word =
        |word: &Word| json!({ "word": word.text, "start": rounded(word.start), "end": rounded(word.end) });
    let mut object = serde_json::Map::new();
    if !alternative.words.is_empty() {
        object.insert("result".to_owned(), alternative.words.iter().map(word).collect());
    }
    object.insert("text".to_owned(), alternative.text().into());
    object.insert("confidence".to_owned(), rounded(alternative.log_likelihood).into());
    object.into()
}

/// Returns the words so far in the form of vosk's recogniser: `partial`.
pub fn partial(text: &str) -> Value {
    json!({ "partial": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_vosk() {
        let word =
            |text: &str, start| Word { text: text.to_owned(), start, end: start + 0.25, confidence: 0.12345 };
        let words = [word("one", 0.5), word("two", 1.0)];
        let one = r#"{"word":"one","start":0.5,"end":0.75,"conf":0.123}"#;
        let two = r#"{"word":"two","start":1.0,"end":1.25,"conf":0.123}"#;
        assert_eq!(result(&words).to_string(), format!(r#"{{"result":[{one},{two}],"text":"one two"}}"#));
        assert_eq!(result(&[]).to_string(), r#"{"text":""}"#);
        assert_eq!(partial("one").to_string(), r#"{"partial":"one"}"#);
        let one_alone =
            Alternative { words: words[..1].to_vec(), log_likelihood: -12.34567, probability: 0.5 };
        let silent = Alternative { log_likelihood: -15.0, ..Alternative::default() };
        assert_eq!(
            alternatives(&[one_alone, silent]).to_string(),
            r#"{"alternatives":[{"result":[{"word":"one","start":0.5,"end":0.75}],"text":"one","confidence":-12.346},{"text":"","confidence":-15.0}]}"#
        );
        assert_eq!(alternatives(&[]).to_string(), r#"{"alternatives":[{"text":"","confidence":1.0}]}"#);
        let sentence = format!(r#"{{"start":0.5,"end":1.25,"text":"one two","words":[{one},{two}]}}"#);
        let whole = recording("a", &[words.to_vec(), Vec::new(), words.to_vec()]).to_string();
        let expected =
            format!(r#"{{"file":"a","text":"one two one two","segments":[{sentence},{sentence}]}}"#);
        assert_eq!(whole, expected);
    }
}
