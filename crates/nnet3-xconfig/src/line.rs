//! Lines of an xconfig: a layer type and `key=value` pairs.

use crate::error::Problem;

/// One line, without interpretation of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub layer_type: String,
    pub pairs: Vec<(String, String)>,
}

const ALLOWED: &str = "letters, digits and . - ( ) @ _ = , / + : \"";

/// Parses a line. `None` for an empty line, or a line with only a comment.
pub fn parse(text: &str) -> Result<Option<Line>, Problem> {
    let text = text.split('#').next().unwrap_or_default();
    check_characters(text)?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((layer_type, rest)) = words.split_first() else { return Ok(None) };
    if !is_type_name(layer_type) {
        return Err(Problem::Syntax(format!(
            "expected a layer type such as relu-layer at the beginning, found '{layer_type}'"
        )));
    }
    let pairs = split_pairs(&mark_quoted(&rest.join(" "))?)?;
    Ok(Some(Line { layer_type: layer_type.to_string(), pairs }))
}

/// A letter or `_`, then letters, digits, `_`, `-`, `.`.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn is_type_name(text: &str) -> bool {
    text.len() >= 2
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn check_characters(text: &str) -> Result<(), Problem> {
    let allowed = |c: char| {
        c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || c == '\u{b}' || ".-()@_=,/+:\"".contains(c)
    };
    match text.chars().enumerate().find(|&(_, c)| !allowed(c)) {
        None => Ok(()),
        Some((_, '\'')) => Err(Problem::Syntax(
            "a value with '=' in it is put between double quotes, not single ones".into(),
        )),
        Some((column, c)) => Err(Problem::Syntax(format!(
            "column {}: '{}' is not allowed; expected {ALLOWED}",
            column + 1,
            c.escape_debug()
        ))),
    }
}

/// Stands for an equals sign between quotes; not an allowed character.
const QUOTED_EQUALS: char = '\0';

/// Blanks in place of quotes, and [`QUOTED_EQUALS`] for `=` between them.
fn mark_quoted(text: &str) -> Result<String, Problem> {
    let mut quoted = false;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                out.push(' ');
            }
            '=' if quoted => out.push(QUOTED_EQUALS),
            _ => out.push(c),
        }
    }
    match quoted {
        true => Err(Problem::Syntax("a double quote is not closed".into())),
        false => Ok(out),
    }
}

/// A value extends to the key before the next `=`.
fn split_pairs(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut parts = text.split('=');
    let mut pairs: Vec<(String, String)> = Vec::new();
    // The text before an `=`: the value of the key before, and the next key.
    let mut before = parts.next().unwrap_or_default();
    let mut key: Option<&str> = None;
    for after in parts {
        let start = before.trim_end_matches(is_key).len();
        let (value, next) = before.split_at(start);
        finish(key, value, &mut pairs)?;
        if !next.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(Problem::Syntax(format!(
                "expected a key before '={}', found '{next}'",
                after.trim()
            )));
        }
        key = Some(next);
        before = after;
    }
    finish(key, before, &mut pairs)?;
    Ok(pairs)
}

fn finish(key: Option<&str>, value: &str, pairs: &mut Vec<(String, String)>) -> Result<(), Problem> {
    let value = value.trim().replace(QUOTED_EQUALS, "=");
    match key {
        None if value.is_empty() => Ok(()),
        None => Err(Problem::Syntax(format!("expected key=value after the layer type, found '{value}'"))),
        Some(key) if pairs.iter().any(|(known, _)| known == key) => {
            Err(Problem::Syntax(format!("key '{key}' occurs twice")))
        }
        Some(key) => {
            pairs.push((key.to_owned(), value));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().unwrap().pairs
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn values_extend_to_the_next_key() {
        let line = parse("  affine-layer  input=Append(foo,  bar) foo=bar   # c='x'").unwrap().unwrap();
        assert_eq!(line.layer_type, "affine-layer");
        assert_eq!(line.pairs, [pair("input", "Append(foo, bar)"), pair("foo", "bar")]);
        assert_eq!(pairs("x-layer a= b=1"), [pair("a", ""), pair("b", "1")]);
        assert_eq!(pairs("x-layer a=b c"), [pair("a", "b c")]);
        assert_eq!(pairs("x-layer"), []);
    }

    #[test]
    fn quotes_keep_equals_signs() {
        let expected = [pair("x", "y z"), pair("o", "a=1 b=2"), pair("p", "3")];
        assert_eq!(pairs(r#"x-layer x="y z" o=" a=1 b=2 " p=3"#), expected);
    }

    #[test]
    fn nothing() {
        assert_eq!(parse("").unwrap(), None);
        assert_eq!(parse("   # relu-layer").unwrap(), None);
    }

    #[test]
    fn refused() {
        let cases = [
            ("x-layer a='b=1'", "double quotes"),
            ("x-layer input=[-1]", "column 15: '['"),
            ("X-layer a=1", "found 'X-layer'"),
            ("x-layer foo a=1", "found 'foo'"),
            ("x-layer a=1 a=2", "'a' occurs twice"),
            ("x-layer a=\"b", "is not closed"),
            ("x-layer 1a=2", "expected a key before '=2', found '1a'"),
            ("x-layer a= =2", "expected a key"),
        ];
        for (text, message) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
