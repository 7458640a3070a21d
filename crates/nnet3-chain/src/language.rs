//! Examples of several languages in one table: their keys end like `…?lang=english`.

use nnet3_train::{Error, Result};

use crate::example::NnetChainExample;

/// Returns the value of a parameter in the query part of a key, `…?name=value&name=value`. The query part follows the
/// last `?`.
pub fn query_value<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    let (_, query) = key.rsplit_once('?')?;
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// Gives the first output the name `output-LANGUAGE` with the language of the key.
pub fn rename_output(key: &str, example: &mut NnetChainExample) -> Result<()> {
    let language = query_value(key, "lang").filter(|language| !language.is_empty()).ok_or_else(|| {
        Error::data("expected a key that ends with ?lang=NAME, as `multilingual-eg`=true needs it")
    })?;
    let output = example.outputs.first_mut().ok_or_else(|| Error::data("the example has no output"))?;
    output.name = format!("output-{language}");
    Ok(())
}

/// The language of an output that is named after it, `output-LANGUAGE`.
pub(crate) fn language_of_output(name: &str) -> Option<&str> {
    name.strip_prefix("output-").filter(|language| is_language(language))
}

fn is_language(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Gives an output named `output` the name `output-LANGUAGE`, with the language of the key, or `default`. It is an
/// error if an output has the name of another language.
pub fn name_outputs(key: &str, example: &mut NnetChainExample) -> Result<()> {
    let language = query_value(key, "lang").unwrap_or("default");
    if !is_language(language) {
        return Err(Error::data(format!(
            "the key says that the language is '{language}': expected letters, digits and _"
        )));
    }
    for output in &mut example.outputs {
        if output.name == "output" {
            output.name = format!("output-{language}");
        } else if language_of_output(&output.name) != Some(language) {
            return Err(Error::data(format!(
                "the key says that the language is '{language}', but the example has the output '{}'",
                output.name
            )));
        }
    }
    Ok(())
}

/// Suffix of a minibatch's key that names the language: `?lang=LANGUAGE`.
pub fn key_suffix(minibatch: &NnetChainExample) -> String {
    let name = minibatch.outputs.first().map_or("", |output| output.name.as_str());
    format!("?lang={}", name.split_once('-').map_or(name, |(_, language)| language))
}
