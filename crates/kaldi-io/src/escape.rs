//! Words as a shell would need them quoted (`ParseOptions::Escape`).

/// Quotes a word for the shell. Words of letters, digits and ``[]~#^_-+=:.,/`` stay. Other words get single quotes;
/// words with single quotes get double quotes if those protect all their characters.
pub fn shell_escape(word: &str) -> String {
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
