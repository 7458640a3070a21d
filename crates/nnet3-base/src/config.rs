//! Config lines: an optional first token and `key=value` pairs, with their place for error messages.

use crate::error::{Error, Result};
use kaldi_io::Contents;
use kaldi_io::alike::{did_you_mean, nearest};
use kaldi_io::reader::KaldiReader;

/// One parsed line. Keys are marked as used when read; [`ConfigLine::finish`] refuses the rest.
#[derive(Clone, Debug)]
pub struct ConfigLine {
    /// The first word if it contains no `=`, else empty.
    pub first_token: String,
    pairs: Vec<Pair>,
    /// Keys that were asked for, and are not there.
    missing: Vec<String>,
    place: String,
    text: String,
}

#[derive(Clone, Debug)]
struct Pair {
    key: String,
    value: String,
    used: bool,
}

/// True for a letter or `_`, followed by letters, digits, `_`, `-` and `.`.
pub fn is_valid_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// The lines of a config without comments and blank lines, with their line numbers (from 1).
pub(crate) fn strip_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (number, line) in lines.enumerate() {
        let line = line.split('#').next().unwrap_or("").trim_matches([' ', '\t', '\r']);
        if !line.is_empty() {
            out.push((number + 1, line.to_string()));
        }
    }
    out
}

/// Reads and parses a whole config from a file, pipe or `-`.
pub fn read_config(rxfilename: &str) -> Result<Vec<ConfigLine>> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    if let Some(found) = reader.peek_contents()?.filter(|found| !may_be_config(found)) {
        return Err(reader
            .error(format!("expected lines of a word and key=value pairs, found {found}"))
            .into());
    }
    let mut lines = Vec::new();
    while let Some(line) = reader.read_line()? {
        lines.push(line);
    }
    reader.close()?;
    parse_config(rxfilename, lines.iter().map(String::as_str))
}

/// True of contents that may be lines of a config, whose faults are said line by line.
fn may_be_config(contents: &Contents) -> bool {
    matches!(contents, Contents::Config | Contents::Text | Contents::ScriptLine | Contents::Integers)
}

/// Parses the lines of `source` (a name for messages).
pub fn parse_config<'a>(source: &str, lines: impl Iterator<Item = &'a str>) -> Result<Vec<ConfigLine>> {
    strip_lines(lines)
        .into_iter()
        .map(|(number, text)| ConfigLine::parse(format!("{source}:{number}"), text))
        .collect()
}

impl ConfigLine {
    /// Parses a line. `place` (for example `file:3`) is quoted in errors.
    pub fn parse(place: impl Into<String>, text: impl Into<String>) -> Result<ConfigLine> {
        let mut line = ConfigLine {
            first_token: String::new(),
            pairs: Vec::new(),
            missing: Vec::new(),
            place: place.into(),
            text: text.into(),
        };
        let text = line.text.clone();
        line.fill(text.trim_matches([' ', '\t']))?;
        Ok(line)
    }

    fn fill(&mut self, text: &str) -> Result<()> {
        let word_end = text.find([' ', '\t']).unwrap_or(text.len());
        let mut rest = text;
        if !text[..word_end].contains('=') {
            self.first_token = text[..word_end].to_string();
            if !self.first_token.is_empty() && !is_valid_name(&self.first_token) {
                return Err(self.error(format!("'{}' is not a valid name for a directive", self.first_token)));
            }
            rest = &text[word_end..];
        }
        loop {
            rest = rest.trim_start_matches([' ', '\t']);
            if rest.is_empty() {
                return Ok(());
            }
            let Some(equals) = rest.find('=') else {
                return Err(self.error(format!("expected key=value, found '{rest}'")));
            };
            let key = &rest[..equals];
            if !is_valid_name(key) {
                return Err(
                    self.error(format!("'{key}' is not a valid key (a letter, then letters, digits, _ - .)"))
                );
            }
            let (value, after) = self.split_value(key, &rest[equals + 1..])?;
            if !self.has(key) {
                self.pairs.push(Pair { key: key.to_string(), value, used: false });
            }
            rest = after;
        }
    }

    /// Returns the value at the start of `rest`, and the text after it.
    fn split_value<'t>(&self, key: &str, rest: &'t str) -> Result<(String, &'t str)> {
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return match rest[1..].find(quote) {
                Some(end) => Ok((rest[1..1 + end].to_string(), &rest[end + 2..])),
                None => Err(self.error(format!("the value of '{key}' has no closing {quote}"))),
            };
        }
        let end = match rest.find('=') {
            Some(next) => match rest[..next].rfind([' ', '\t']) {
                Some(space) => space,
                None => return Err(self.error(format!("the value of '{key}' contains '=': quote it"))),
            },
            None => rest.len(),
        };
        Ok((rest[..end].trim_end_matches([' ', '\t']).to_string(), &rest[end..]))
    }

    /// An error that quotes this line.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::Config { place: self.place.clone(), text: self.text.clone(), message: message.into() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
    pub fn place(&self) -> &str {
        &self.place
    }
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|p| p.key == key)
    }

    pub fn get_string(&mut self, key: &str) -> Option<String> {
        let Some(pair) = self.pairs.iter_mut().find(|p| p.key == key) else {
            self.missing.push(key.to_owned());
            return None;
        };
        pair.used = true;
        Some(pair.value.clone())
    }

    fn get<T>(&mut self, key: &str, what: &str, convert: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        match self.get_string(key) {
            None => Ok(None),
            Some(value) => match convert(&value) {
                Some(v) => Ok(Some(v)),
                None => Err(self.error(format!("{key}={value}: expected {what}"))),
            },
        }
    }

    fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| {
            let unused = self.pairs.iter().filter(|pair| !pair.used).map(|pair| pair.key.as_str());
            let near = nearest(key, unused).map_or_else(String::new, |near| format!(" (there is '{near}')"));
            self.error(format!("'{key}' is missing{near}"))
        })
    }

    pub fn get_i32(&mut self, key: &str) -> Result<Option<i32>> {
        self.get(key, "an integer", |v| v.trim().parse().ok())
    }
    pub fn get_f32(&mut self, key: &str) -> Result<Option<f32>> {
        self.get(key, "a number", |v| v.trim().parse().ok())
    }
    pub fn get_bool(&mut self, key: &str) -> Result<Option<bool>> {
        self.get(key, "true or false", |v| match v.bytes().next() {
            Some(b't' | b'T') => Some(true),
            Some(b'f' | b'F') => Some(false),
            _ => None,
        })
    }
    /// Takes integers separated by `,` or `:`; empty pieces are dropped.
    pub fn get_i32_list(&mut self, key: &str) -> Result<Option<Vec<i32>>> {
        self.get(key, "a list of integers such as 1,2,3", |v| {
            v.split([',', ':']).filter(|p| !p.is_empty()).map(|p| p.trim().parse().ok()).collect()
        })
    }
    /// Takes an integer greater than 0.
    pub fn get_dim(&mut self, key: &str) -> Result<Option<usize>> {
        self.get(key, "an integer greater than 0", |v| {
            v.trim().parse::<i32>().ok().and_then(|i| usize::try_from(i).ok()).filter(|&i| i > 0)
        })
    }

    pub fn require_string(&mut self, key: &str) -> Result<String> {
        let value = self.get_string(key);
        self.required(key, value)
    }
    pub fn require_i32(&mut self, key: &str) -> Result<i32> {
        let value = self.get_i32(key)?;
        self.required(key, value)
    }
    pub fn require_f32(&mut self, key: &str) -> Result<f32> {
        let value = self.get_f32(key)?;
        self.required(key, value)
    }
    pub fn require_dim(&mut self, key: &str) -> Result<usize> {
        let value = self.get_dim(key)?;
        self.required(key, value)
    }

    /// Takes a `name` that must be there and be a valid name.
    pub fn require_name(&mut self, key: &str) -> Result<String> {
        let name = self.require_string(key)?;
        if is_valid_name(&name) {
            Ok(name)
        } else {
            Err(self.error(format!(
                "{key}={name}: not a valid name (a letter or _, then letters, digits, _ - .)"
            )))
        }
    }

    /// Fails if a key was never read.
    pub fn finish(&self) -> Result<()> {
        let mut unused: Vec<&Pair> = self.pairs.iter().filter(|pair| !pair.used).collect();
        unused.sort_by(|a, b| (&a.key, &a.value).cmp(&(&b.key, &b.value)));
        let Some(first) = unused.first() else { return Ok(()) };
        let hint = did_you_mean(&first.key, self.missing.iter().map(String::as_str));
        let all: Vec<String> = unused.iter().map(|pair| format!("{}={}", pair.key, pair.value)).collect();
        Err(self.error(format!("unknown or unused key: {}{hint}", all.join(" "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_hold_spaces() {
        let mut line =
            ConfigLine::parse("c:1", "component-node name=a input=Append(b, Offset(c, -1)) component=x y= ")
                .unwrap();
        assert_eq!(line.first_token, "component-node");
        assert_eq!(line.get_string("input").unwrap(), "Append(b, Offset(c, -1))");
        assert_eq!(line.get_string("y").unwrap(), "");
        let message = line.finish().unwrap_err().to_string();
        assert!(message.contains("component=x name=a"), "{message}");
    }

    #[test]
    fn quotes_and_repeats() {
        let mut line = ConfigLine::parse("c:1", "a='x=1 y' b=\"q\" a=2").unwrap();
        assert_eq!(line.first_token, "");
        assert_eq!(line.get_string("a").unwrap(), "x=1 y");
        assert_eq!(line.get_string("b").unwrap(), "q");
        line.finish().unwrap();
        assert!(ConfigLine::parse("c:1", "a='x").is_err());
        assert!(ConfigLine::parse("c:1", "x a b=1").is_err());
    }

    #[test]
    fn comments_and_blank_lines() {
        let lines = strip_lines(["# no", "", "  a b=1 # c", "\t"].into_iter());
        assert_eq!(lines, vec![(3, "a b=1".to_string())]);
    }

    #[test]
    fn errors_name_the_place() {
        let mut line = ConfigLine::parse("net.config:7", "component dim=x").unwrap();
        let message = line.require_dim("dim").unwrap_err().to_string();
        assert!(message.contains("net.config:7") && message.contains("dim=x"), "{message}");
    }
}
