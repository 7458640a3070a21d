//! Reads TextGrids of both text forms.

use super::grid::{Result, Source, grid, short};
use super::{Malformed, Place, TextGrid};

/// A value of a file.
enum Value<'t> {
    Number(f64),
    /// Without its quotes.
    Text(String),
    /// Without its brackets.
    Flag(&'t str),
}

/// The values of a file, one after another.
struct Values<'t> {
    text: &'t str,
    /// Bytes that were read.
    at: usize,
    line: usize,
}

impl<'t> Values<'t> {
    /// The fault of a text or flag that has no end.
    fn without_end<T>(&self, message: &str) -> Result<T> {
        Err(Malformed { place: Place::Line(self.line), message: message.to_owned(), is_cut: true })
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let taken = &self.rest()[..bytes];
        self.line += taken.bytes().filter(|&byte| byte == b'\n').count();
        self.at += bytes;
        taken
    }

    /// The next value; `None` at the end. Words that are no values are passed over.
    fn next(&mut self) -> Result<Option<Value<'t>>> {
        loop {
            let blanks = self.rest().len() - self.rest().trim_start().len();
            self.take(blanks);
            let rest = self.rest();
            match rest.as_bytes().first() {
                None => return Ok(None),
                Some(b'"') => return self.string().map(|text| Some(Value::Text(text))),
                Some(b'!') => {
                    // A comment.
                    let end = rest.find('\n').unwrap_or(rest.len());
                    self.take(end);
                }
                Some(b'<') => {
                    let Some(end) = rest.find('>') else {
                        return self.without_end("expected '>' behind '<'");
                    };
                    let flag = self.take(end + 1);
                    return Ok(Some(Value::Flag(&flag[1..end])));
                }
                Some(_) => {
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    let word = self.take(end);
                    let digits = word.trim_start_matches(['-', '+']);
                    if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                        && let Ok(number) = word.trim_end_matches('%').parse()
                    {
                        return Ok(Some(Value::Number(number)));
                    }
                }
            }
        }
    }

    /// A string in quotes; two quotes within it stand for one.
    fn string(&mut self) -> Result<String> {
        let rest = self.rest();
        let mut text = String::new();
        let mut from = 1;
        loop {
            let Some(quote) = rest[from..].find('"') else {
                return self.without_end("expected '\"' at the end of a text, found the end of the file");
            };
            text.push_str(&rest[from..from + quote]);
            from += quote + 1;
            if !rest[from..].starts_with('"') {
                break;
            }
            text.push('"');
            from += 1;
        }
        self.take(from);
        Ok(text)
    }
}

impl Source for Values<'_> {
    fn fault<T>(&self, message: String) -> Result<T> {
        let is_cut = self.rest().trim_start().is_empty();
        Err(Malformed { place: Place::Line(self.line), message, is_cut })
    }

    fn number(&mut self, what: &str) -> Result<f64> {
        match self.next()? {
            Some(Value::Number(number)) if number.is_finite() => Ok(number),
            Some(Value::Text(text)) => self.fault(format!("expected {what}, found \"{}\"", short(&text))),
            Some(Value::Flag(flag)) => self.fault(format!("expected {what}, found <{}>", short(flag))),
            Some(Value::Number(number)) => self.fault(format!("expected {what}, found {number}")),
            None => self.fault(format!("expected {what}, found the end of the file")),
        }
    }

    fn text(&mut self, what: &str) -> Result<String> {
        match self.next()? {
            Some(Value::Text(text)) => Ok(text),
            Some(Value::Number(number)) => self.fault(format!("expected {what} in quotes, found {number}")),
            Some(Value::Flag(flag)) => {
                self.fault(format!("expected {what} in quotes, found <{}>", short(flag)))
            }
            None => self.fault(format!("expected {what}, found the end of the file")),
        }
    }

    fn class(&mut self, what: &str) -> Result<String> {
        self.text(what)
    }

    fn count(&mut self, what: &str) -> Result<usize> {
        let number = self.number(what)?;
        match number.fract() == 0.0 && (0.0..=1e9).contains(&number) {
            true => Ok(number as usize),
            false => self.fault(format!("expected {what}, found {number}")),
        }
    }

    fn has_tiers(&mut self) -> Result<bool> {
        match self.next()? {
            Some(Value::Flag("exists")) => Ok(true),
            Some(Value::Flag("absent")) => Ok(false),
            _ => self.fault("expected <exists> or <absent>".to_owned()),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<TextGrid> {
    let mut values = Values { text, at: 0, line: 1 };
    let kind = values.text("the type of the file, \"ooTextFile\"")?;
    if kind.trim_end_matches(" short") != "ooTextFile" {
        return values.fault(format!("expected the file type \"ooTextFile\", found \"{}\"", short(&kind)));
    }
    grid(&mut values)
}

#[cfg(test)]
mod tests {
    use super::super::{Items, Point};
    use super::*;

    const LONG: &str = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0 \nxmax = 2.5 \ntiers? <exists> \nsize = 2 \nitem []: \n    \
        item [1]:\n        class = \"IntervalTier\" \n        name = \"Anna\" \n        xmin = 0 \n        xmax = 2.5 \n        intervals: size = 2 \n        \
        intervals [1]:\n            xmin = 0 \n            xmax = 1.25 \n            text = \"she said \"\"no\"\" 3\" \n        intervals [2]:\n            \
        xmin = 1.25 \n            xmax = 2.5 \n            text = \"\" \n    item [2]:\n        class = \"TextTier\" \n        name = \"bell\" \n        \
        xmin = 0 \n        xmax = 2.5 \n        points: size = 1 \n        points [1]:\n            number = 0.5 \n            mark = \"x\" \n";
    const SHORT: &str = "File type = \"ooTextFile\"\n\"TextGrid\"\n\n0\n2.5\n<exists> ! a comment \"5\n2\n\"IntervalTier\"\n\"Anna\"\n0\n2.5\n2\n0\n1.25\n\
        \"she said \"\"no\"\" 3\"\n1.25\n2.5\n\"\"\n\"TextTier\"\n\"bell\"\n0\n2.5\n1\n0.5\n\"x\"\n";

    #[test]
    fn both_forms_have_the_same_tiers() {
        let long = parse(LONG).unwrap();
        assert_eq!(parse(SHORT).unwrap(), long);
        assert_eq!((long.begin, long.end, long.tiers.len()), (0.0, 2.5, 2));
        let Items::Intervals(intervals) = &long.tiers[0].items else { panic!("a tier of intervals") };
        let expected = [(0.0, 1.25, "she said \"no\" 3"), (1.25, 2.5, "")];
        let found: Vec<_> = intervals.iter().map(|i| (i.begin, i.end, i.text.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(long.tiers[1].items, Items::Points(vec![Point { time: 0.5, mark: "x".to_owned() }]));
    }

    #[test]
    fn what_is_no_text_grid_is_refused_with_its_line() {
        let fault = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            fault("hello"),
            "line 1: expected the type of the file, \"ooTextFile\", found the end of the file"
        );
        let sound = SHORT.replace("TextGrid", "Sound 2");
        assert_eq!(fault(&sound), "line 2: expected an object of the class \"TextGrid\", found \"Sound 2\"");
        let backwards = SHORT.replace("0\n1.25\n\"she", "1.5\n1.25\n\"she");
        assert_eq!(fault(&backwards), "line 14: the interval ends at 1.25, before it begins at 1.5");
        assert!(fault(&LONG[..LONG.len() - 40]).contains("found the end of the file"));
        assert!(fault(&LONG.replace("size = 2", "size = 1e300")).contains("expected the number of tiers"));
        assert!(fault(&LONG.replace("xmax = 2.5", "xmax = 1e999")).contains("found inf"));
        let huge = LONG.replace("intervals: size = 2", "intervals: size = 999999999");
        assert!(fault(&huge).contains("expected the beginning of the interval"));
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_told_from_one_that_is_wrong() {
        // (Cut inside the last number or mark, the last value may look whole.)
        let begin = LONG.find("class").unwrap();
        for end in begin..LONG.len() - 4 {
            let fault = parse(&LONG[..end]).unwrap_err();
            assert!(fault.is_cut, "{end}: {fault}");
        }
        let backwards = SHORT.replace("0\n1.25\n\"she", "1.5\n1.25\n\"she");
        assert!(!parse(&backwards).unwrap_err().is_cut);
    }
}
