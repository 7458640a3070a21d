//! Errors with the name of their file.

/// An error with the name of a file before it, unless it begins with that already.
pub fn named(file: &str, error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    if error.to_string().starts_with(file) { error } else { error.context(file.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_file_is_named_once() {
        for error in ["a.arpa: line 2: bad", "line 2: bad"] {
            assert_eq!(format!("{:#}", named("a.arpa", anyhow::anyhow!(error))), "a.arpa: line 2: bad");
        }
    }
}
