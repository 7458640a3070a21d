//! Errors of xconfigs, with the place and the correct form.

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A wrong line. `layer` is the layer's type and name as far as they are known, or empty.
    #[error("{file}:{line}: {}{problem}\n  in the line: {text}", if layer.is_empty() { String::new() } else { format!("{layer}: ") })]
    Line { file: String, line: usize, layer: String, problem: Box<Problem>, text: String },

    #[error("{file}: no layer; expected lines such as 'input name=input dim=40'")]
    Empty { file: String },

    #[error("{file}: no layer of type output or output-layer; a network needs an output")]
    NoOutput { file: String },
}

/// The fault of a line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Syntax(String),

    #[error("unknown layer type '{found}'{}", hint(near))]
    UnknownType { found: String, near: Option<String> },

    #[error("key '{key}' is not known to this layer type{}; its keys are {known}", hint(near))]
    UnknownKey { key: String, near: Option<String>, known: String },

    #[error("key '{key}' is required: expected {key}=<{expected}>")]
    Missing { key: String, expected: &'static str },

    #[error("{key}={found}: expected {expected}")]
    Value { key: String, found: String, expected: String },

    #[error("{key}={found}: {message}")]
    Descriptor { key: String, found: String, message: String },
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// The one of `names` that is closest to `wrong`, if it is close.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = names.map(|name| (strsim::damerau_levenshtein(name, wrong), name)).min()?;
    (near.0 <= 1 + wrong.len() / 4).then(|| near.1.to_owned())
}
