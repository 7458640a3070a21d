//! Grammars of vosk: a list of phrases as JSON, such as `["turn on the light", "[unk]"]`.

use nnet3_online::{Error, Phrases};

use crate::log;
use crate::session::Session;

/// Makes the phrases the grammar of a session; an empty list returns to the model's language model. As in vosk, a model
/// whose graph is one file keeps its language model, with a warning.
///
/// # Errors
/// The text is no list of texts, or no word of it is in the vocabulary of the model, or a sentence has begun.
pub fn set(function: &str, session: &mut Session, grammar: &str) -> Result<(), Error> {
    let phrases: Vec<String> = serde_json::from_str(grammar)
        .map_err(|error| Error::Data(format!("expected the grammar as a JSON list of texts: {error}")))?;
    let phrases = match session.model().phrases(&phrases) {
        _ if phrases.is_empty() => None,
        Err(error @ (Error::OneGraph | Error::GaussianGraph)) => {
            log::warning(function, format_args!("the grammar has no effect: {error}"));
            return Ok(());
        }
        other => Some(other?),
    };
    for ignored in phrases.iter().flat_map(Phrases::ignored) {
        log::warning(
            function,
            format_args!("the model cannot recognise '{}': its phrase goes on without it", ignored.word),
        );
    }
    session.set_phrases(phrases)
}
