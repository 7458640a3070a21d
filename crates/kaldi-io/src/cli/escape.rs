//! Words as a shell would need them quoted (`ParseOptions::Escape`).

/// Unchanged if it consists of letters, digits and ``[]~#^_-+=:.,/``; otherwise in single quotes, or in double quotes
/// if it contains single quotes but nothing that double quotes would not protect.
pub(crate) fn shell_escape(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "[]~#^_-+=:.,/".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        word.to_owned()
    } else if word.contains('\'') && !word.contains(['"', '`', '$', '\\']) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_escape;

    #[test]
    fn quotes_like_kaldi() {
        assert_eq!(shell_escape("--a_b=c:d.e,f/g[1:2]"), "--a_b=c:d.e,f/g[1:2]");
        assert_eq!(shell_escape(""), "''");
        assert_eq!(shell_escape("ark:gunzip -c x|"), "'ark:gunzip -c x|'");
        assert_eq!(shell_escape("it's"), "\"it's\"");
        assert_eq!(shell_escape("it's $x"), r"'it'\''s $x'");
    }
}
