//! Numbers, lists of numbers and tokens as values in tables. In text each ends its line.

use super::Holder;
use crate::contents::Contents;
use crate::error::{IoError, Result};
use crate::reader::KaldiReader;
use crate::text::{excerpt, is_space, token_problem};
use crate::writer::KaldiWriter;

/// Skips blanks, but not the end of the line.
fn skip_blanks(r: &mut KaldiReader) -> Result<()> {
    while r.peek_byte()?.is_some_and(|b| is_space(b) && b != b'\n') {
        r.next_byte()?;
    }
    Ok(())
}

fn expect_newline(r: &mut KaldiReader) -> Result<()> {
    skip_blanks(r)?;
    if r.peek_byte()? != Some(b'\n') {
        return Err(r.error_expected("the end of the line"));
    }
    r.next_byte()?;
    Ok(())
}

/// Fails if more numbers follow a binary value. This is so if posteriors, or pairs or lists of integers, are read as plain
/// integers. The error comes before the wrong value is used. In an archive, bytes that have not arrived yet are not waited for; there
/// the next key is an error.
fn expect_end(r: &mut KaldiReader) -> Result<()> {
    let next = if r.is_archive() { r.buffered() } else { r.peek_bytes(4)? };
    // A size byte, or a vector as in posteriors of Gaussians. Keys and other objects begin with other bytes.
    if matches!(next, [4 | 8, ..] | [b'F' | b'D', b'V', b' ', 4, ..]) {
        return Err(r.error(
            "binary numbers follow the value, as they do in posteriors, or in pairs or lists of integers",
        ));
    }
    Ok(())
}

/// Returns the rest of a line of numbers. Without its line break the last number may be the beginning of another one.
fn rest_of_line(r: &mut KaldiReader) -> Result<String> {
    r.read_complete_line()?.ok_or_else(|| r.error("expected a line of values, found the end of the file"))
}

/// Words are text, also in a table that was written as binary.
fn begin_text(r: &mut KaldiReader) -> Result<()> {
    r.set_binary(false);
    match r.peek_byte()? {
        Some(0) => Err(r.error("expected text, found binary data")),
        _ => Ok(()),
    }
}

macro_rules! number_holder {
    ($(#[$doc:meta])* $name:ident, $type:ty, $read:ident, $write:ident) => {
        $(#[$doc])*
        pub struct $name;

        impl Holder for $name {
            type T = $type;

            fn read(r: &mut KaldiReader) -> Result<$type> {
                if r.detect_header()? {
                    let value = r.$read()?;
                    expect_end(r)?;
                    return Ok(value);
                }
                skip_blanks(r)?;
                if r.peek_byte()? == Some(b'\n') {
                    return Err(r.error("expected a value, found the end of the line"));
                }
                let value = r.$read()?;
                expect_newline(r)?;
                Ok(value)
            }

            fn reads(contents: &Contents) -> bool {
                matches!(contents, Contents::Number | Contents::Integers)
            }

            fn write(w: &mut KaldiWriter, value: &$type) -> Result<()> {
                w.write_header()?;
                w.$write(*value)?;
                w.newline_in_text()
            }
        }
    };
}

number_holder!(
    /// Integers.
    I32Holder, i32, read_i32, write_i32
);
number_holder!(
    /// Floats.
    FloatHolder, f32, read_f32, write_f32
);
number_holder!(
    /// Doubles.
    DoubleHolder, f64, read_f64, write_f64
);
number_holder!(
    /// Truth values.
    BoolHolder, bool, read_bool, write_bool
);

/// Reads a binary count and this count of integers, each with its size byte.
fn read_counted(r: &mut KaldiReader) -> Result<Vec<i32>> {
    let count = r.read_i32().and_then(|n| r.check_count(n, "elements"))?;
    let mut values = Vec::with_capacity(count.min(4096));
    for _ in 0..count {
        values.push(r.read_i32()?);
    }
    Ok(values)
}

fn write_counted(w: &mut KaldiWriter, values: &[i32]) -> Result<()> {
    w.write_i32(w.count(values.len())?)?;
    values.iter().try_for_each(|&v| w.write_i32(v))
}

fn parse_list<T: std::str::FromStr>(r: &KaldiReader, text: &str, of: &str) -> Result<Vec<T>> {
    let parse = |word: &str| {
        word.parse().map_err(|_| r.error(format!("expected {of}, found '{}'", excerpt(word.as_bytes()))))
    };
    text.split_ascii_whitespace().map(parse).collect()
}

/// The numbers of `[ 1 2 3 ]`, as kaldiio writes vectors of integers, and of `1 2 3`, as Kaldi does.
fn without_brackets(line: &str) -> &str {
    let line = line.trim_ascii();
    let inside = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    // (Posteriors of several frames have more brackets.)
    inside.filter(|inside| !inside.contains(['[', ']'])).unwrap_or(line)
}

macro_rules! vector_holder {
    ($(#[$doc:meta])* $name:ident, $type:ty, $read:ident, $write:ident, $of:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Holder for $name {
            type T = Vec<$type>;

            fn read(r: &mut KaldiReader) -> Result<Self::T> {
                if !r.detect_header()? {
                    let line = rest_of_line(r)?;
                    return parse_list(r, if $of == "integers" { without_brackets(&line) } else { &line }, $of);
                }
                let count = r.read_i32().and_then(|n| r.check_count(n, "elements"))?;
                let mut values = Vec::with_capacity(count.min(4096));
                for _ in 0..count {
                    values.push(r.$read()?);
                }
                expect_end(r)?;
                Ok(values)
            }

            fn reads(contents: &Contents) -> bool {
                *contents == Contents::Integers
            }

            fn write(w: &mut KaldiWriter, values: &Self::T) -> Result<()> {
                w.write_header()?;
                if w.binary() {
                    w.write_i32(w.count(values.len())?)?;
                }
                values.iter().try_for_each(|&v| w.$write(v))?;
                w.newline_in_text()
            }
        }
    };
}

vector_holder!(
    /// Lists of integers, such as alignments: `3 4 \n`.
    I32VectorHolder, i32, read_i32, write_i32, "integers"
);
vector_holder!(
    /// Lists of small integers.
    I8VectorHolder, i8, read_i8, write_i8, "integers"
);
vector_holder!(
    /// Lists of numbers, such as the hits of keywords: `1 35 42 0.25 \n`. (Vectors have brackets.)
    F64ListHolder, f64, read_f64, write_f64, "numbers"
);

/// Lists of lists of integers: `1 2 ; ; 3 ; \n`, where `;` ends each list.
pub struct I32VectorVectorHolder;

impl Holder for I32VectorVectorHolder {
    type T = Vec<Vec<i32>>;

    fn read(r: &mut KaldiReader) -> Result<Self::T> {
        if r.detect_header()? {
            let count = r.read_i32().and_then(|n| r.check_count(n, "lists"))?;
            let mut lists = Vec::with_capacity(count.min(4096));
            for _ in 0..count {
                lists.push(read_counted(r)?);
            }
            expect_end(r)?;
            return Ok(lists);
        }
        let line = rest_of_line(r)?;
        let mut parts: Vec<_> = line.split(';').collect();
        if parts.pop().is_some_and(|after| !after.trim().is_empty()) {
            return Err(r.error("expected ';' after the last list of the line"));
        }
        parts.into_iter().map(|part| parse_list(r, part, "integers")).collect()
    }

    fn write(w: &mut KaldiWriter, lists: &Self::T) -> Result<()> {
        w.write_header()?;
        if w.binary() {
            w.write_i32(w.count(lists.len())?)?;
            return lists.iter().try_for_each(|list| write_counted(w, list));
        }
        for list in lists {
            list.iter().try_for_each(|&v| w.write_i32(v))?;
            w.write_bytes(b"; ")?;
        }
        w.newline_in_text()
    }
}

macro_rules! pair_vector_holder {
    ($(#[$doc:meta])* $name:ident, $of:literal, $type:ty, $read:ident, $write:ident) => {
        $(#[$doc])*
        pub struct $name;

        impl Holder for $name {
            type T = Vec<($type, $type)>;

            fn read(r: &mut KaldiReader) -> Result<Self::T> {
                if r.detect_header()? {
                    let count = r.read_i32().and_then(|n| r.check_count(n, "pairs"))?;
                    let mut pairs = Vec::with_capacity(count.min(4096));
                    for _ in 0..count {
                        pairs.push((r.$read()?, r.$read()?));
                    }
                    expect_end(r)?;
                    return Ok(pairs);
                }
                let line = rest_of_line(r)?;
                if line.trim().is_empty() {
                    return Ok(Vec::new());
                }
                let pair = |part: &str| match parse_list(r, part, $of)?[..] {
                    [first, second] => Ok((first, second)),
                    _ => Err(r.error(format!("expected two {} between ';', found '{}'", $of, part.trim()))),
                };
                line.split(';').map(pair).collect()
            }

            fn write(w: &mut KaldiWriter, pairs: &Self::T) -> Result<()> {
                w.write_header()?;
                if w.binary() {
                    w.write_i32(w.count(pairs.len())?)?;
                }
                for (i, &(first, second)) in pairs.iter().enumerate() {
                    if i > 0 && !w.binary() {
                        w.write_bytes(b"; ")?;
                    }
                    w.$write(first)?;
                    w.$write(second)?;
                }
                w.newline_in_text()
            }
        }
    };
}

pair_vector_holder!(
    /// Lists of pairs of integers: `1 2 ; 3 4 \n`, where `;` separates pairs.
    I32PairVectorHolder, "integers", i32, read_i32, write_i32
);
pair_vector_holder!(
    /// Lists of pairs of floats.
    F32PairVectorHolder, "numbers", f32, read_f32, write_f32
);

/// Words, such as the speaker of an utterance. They are the same in both modes.
pub struct TokenHolder;

fn check_token(token: &str) -> Result<()> {
    match token_problem(token) {
        None => Ok(()),
        Some(problem) => {
            let token = excerpt(token.as_bytes());
            Err(IoError::Value(format!("'{token}' cannot be written as a token: {problem}")))
        }
    }
}

impl Holder for TokenHolder {
    type T = String;

    fn read(r: &mut KaldiReader) -> Result<String> {
        begin_text(r)?;
        skip_blanks(r)?;
        let mut word = Vec::new();
        r.read_word_into(&mut word)?;
        if word.is_empty() {
            return Err(r.error("expected a token, found the end of the line"));
        }
        let token = r.to_utf8(word, "token")?;
        expect_newline(r)?;
        Ok(token)
    }

    fn reads(contents: &Contents) -> bool {
        matches!(contents, Contents::Text | Contents::ScriptLine | Contents::Integers | Contents::Number)
    }

    fn write(w: &mut KaldiWriter, token: &String) -> Result<()> {
        check_token(token)?;
        w.write_str(token)?;
        w.write_bytes(b"\n")
    }
}

/// Lists of words, such as the utterances of a speaker. They are the same in both modes.
pub struct TokenVectorHolder;

impl Holder for TokenVectorHolder {
    type T = Vec<String>;

    fn read(r: &mut KaldiReader) -> Result<Vec<String>> {
        begin_text(r)?;
        // An editor may omit the last line break.
        let line =
            r.read_line()?.ok_or_else(|| r.error("expected a line of words, found the end of the file"))?;
        let words = line.split(|c: char| c.is_ascii() && is_space(c as u8));
        Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    fn reads(contents: &Contents) -> bool {
        matches!(contents, Contents::Text | Contents::ScriptLine | Contents::Integers | Contents::Number)
    }

    fn write(w: &mut KaldiWriter, tokens: &Vec<String>) -> Result<()> {
        for token in tokens {
            check_token(token)?;
            w.write_str(token)?;
            w.write_bytes(b" ")?;
        }
        w.write_bytes(b"\n")
    }
}
