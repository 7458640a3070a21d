//! Numbers and names as text, the way C++ streams and Kaldi's `util/text-utils` see them.
//!
//! [`format_g`] is C's `%.*g`. Files are written with [`FILE_PRECISION`] digits, doubles included; log lines and
//! `*-info` output use [`LOG_PRECISION`].

/// Significant digits of numbers in text files and tables.
pub const FILE_PRECISION: usize = 7;
/// Significant digits of numbers in log lines and information output.
pub const LOG_PRECISION: usize = 6;

/// A number with the noun that it counts: `1 word`, `2 words`, `0 entries`. A noun of several words ends with the counted one.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// The form of a word that fits a number: `one` for 1, else `several`.
pub fn either<'w>(number: usize, one: &'w str, several: &'w str) -> &'w str {
    if number == 1 { one } else { several }
}

/// C's `isspace` in the C locale.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Formats like C's `%.{precision}g`, with `nan`, `-nan`, `inf`, `-inf` spelled as by the C library.
pub fn format_g(value: f64, precision: usize) -> String {
    let mut out = String::with_capacity(16);
    push_g(&mut out, value, precision);
    out
}

/// Appends the result of [`format_g`] to `out`.
pub fn push_g(out: &mut String, value: f64, precision: usize) {
    use std::fmt::Write;
    if value.is_nan() || value.is_infinite() {
        if value.is_sign_negative() {
            out.push('-');
        }
        out.push_str(if value.is_nan() { "nan" } else { "inf" });
        return;
    }
    if value == 0.0 {
        out.push_str(if value.is_sign_negative() { "-0" } else { "0" });
        return;
    }
    let precision = precision.max(1);
    // Digits and exponent after rounding, e.g. "-1.234568e7". Writing to a String cannot fail.
    let mut scientific = String::with_capacity(precision + 8);
    let _ = write!(scientific, "{value:.*e}", precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    let digits = digits.trim_end_matches('0');
    out.push_str(sign);
    if exponent < -4 || exponent >= precision as i32 {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{exponent_sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        out.push_str("0.");
        (1..-exponent).for_each(|_| out.push('0'));
        out.push_str(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.push_str(digits);
            (digits.len()..whole).for_each(|_| out.push('0'));
        } else {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    }
}

/// `ConvertStringToInteger`: base 10, surrounding blanks allowed, no other characters.
pub fn parse_integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8)).parse().ok()
}

/// `ConvertStringToReal`: a number, or `inf`, `infinity`, `nan` in any case with an optional sign (also the spellings
/// of old Windows C libraries), with blanks around it. Overflow is a failure.
pub fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "1.#inf" => return Some(f64::INFINITY),
        "-1.#inf" => return Some(f64::NEG_INFINITY),
        "1.#qnan" | "-1.#qnan" => return Some(f64::NAN),
        _ => {}
    }
    let value: f64 = lower.parse().ok()?;
    let spelled_out = lower.bytes().any(|b| matches!(b, b'i' | b'n'));
    (spelled_out || value.is_finite()).then_some(value)
}

/// `SplitStringToIntegers`: pieces between any of `delimiters`; an empty piece is a failure unless `omit_empty`.
pub fn split_integers(text: &str, delimiters: &[char], omit_empty: bool) -> Option<Vec<i32>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(delimiters)
        .filter(|piece| !(omit_empty && piece.is_empty()))
        .map(
            |piece| {
                if piece.ends_with(|c: char| c.is_ascii_whitespace()) { None } else { parse_integer(piece) }
            },
        )
        .collect()
}

/// Bytes of the longest word that readers take.
pub(crate) const LONGEST_WORD: usize = 1 << 20;

/// `IsToken`: true if the text may be a table key or be written as a token. It is not empty, has no blanks and no control
/// characters, and is no longer than readers take.
pub fn is_token(text: &str) -> bool {
    token_problem(text).is_none()
}

/// Says why a text cannot be a key or a token. `None` if it can.
pub fn token_problem(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("it is empty".to_owned());
    }
    if text.len() > LONGEST_WORD {
        return Some(format!("it has {} bytes, and no program reads more than {LONGEST_WORD}", text.len()));
    }
    let wrong = text.bytes().any(|b| b <= b' ' || b == 0x7f || b == 0xff);
    wrong.then(|| "it has blanks or control characters".to_owned())
}

/// Strips the characters that `isspace` accepts from both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// `SplitStringOnFirstSpace`: first word, and the trimmed rest with its inner spaces.
pub(crate) fn split_first_word(text: &str) -> (&str, &str) {
    let text = trim(text);
    match text.find(|c: char| c.is_ascii() && is_space(c as u8)) {
        Some(at) => (&text[..at], trim(&text[at..])),
        None => (text, ""),
    }
}

/// True of bytes that are no text in any encoding.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err()
        && bytes.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// Bytes of binary data in a message: as many as tell its kind, escaped.
pub(crate) fn binary_excerpt(bytes: &[u8]) -> String {
    const FEW: usize = 4;
    format!("binary data, '{}…'", bytes[..bytes.len().min(FEW)].escape_ascii())
}

/// Bytes for a message about what was found: those of text in quotes.
pub(crate) fn found(bytes: &[u8]) -> String {
    if is_binary(bytes) { binary_excerpt(bytes) } else { format!("'{}'", excerpt(bytes)) }
}

/// Bytes as they can be shown in a message: escaped, cut to a few dozen characters.
pub fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let mut out: String =
        bytes.iter().take(LONGEST).flat_map(|&b| std::ascii::escape_default(b)).map(char::from).collect();
    if bytes.len() > LONGEST {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2].map(|n| count(n, "word")), ["0 words", "1 word", "2 words"]);
        assert_eq!([1, 2].map(|n| count(n, "entry")), ["1 entry", "2 entries"]);
        assert_eq!(count(3, "new day"), "3 new days");
        assert_eq!([1, 2].map(|n| either(n, "has", "have")), ["has", "have"]);
    }

    /// Expected strings are the output of glibc's printf.
    #[test]
    fn format_g_is_c_percent_g() {
        let cases: &[(f64, usize, &str)] = &[
            (0.0, 7, "0"),
            (-0.0, 7, "-0"),
            (1.5, 7, "1.5"),
            (f64::from(1.0f32 / 3.0), 7, "0.3333333"),
            (12345678.0, 7, "1.234568e+07"),
            (1234567.0, 7, "1234567"),
            (0.1, 7, "0.1"),
            (1e-4, 7, "0.0001"),
            (1e-5, 7, "1e-05"),
            (9.9999999e-5, 7, "0.0001"),
            (9.999999e-5, 7, "9.999999e-05"),
            (999999.95, 7, "999999.9"),
            (9999999.5, 7, "1e+07"),
            (1e100, 7, "1e+100"),
            (-2.5e-300, 6, "-2.5e-300"),
            (100.0, 6, "100"),
            (1234567.0, 6, "1.23457e+06"),
            (2.5, 1, "2"),
            (3.5, 1, "4"),
            (1234566.5, 7, "1234566"),
            (1234567.5, 7, "1234568"),
            (0.125, 2, "0.12"),
            (0.375, 2, "0.38"),
            (f64::INFINITY, 7, "inf"),
            (f64::NEG_INFINITY, 7, "-inf"),
        ];
        for &(value, precision, expected) in cases {
            assert_eq!(format_g(value, precision), expected, "{value:?} with {precision} digits");
        }
        assert_eq!(format_g(f64::NAN.copysign(1.0), 7), "nan");
        assert_eq!(format_g(f64::NAN.copysign(-1.0), 7), "-nan");
    }

    #[test]
    fn reals_as_kaldi_converts_them() {
        for (text, value) in [(" 1e-3 ", 1e-3), ("+.5", 0.5), ("1.", 1.0), ("-INF", f64::NEG_INFINITY)] {
            assert_eq!(parse_real(text), Some(value), "{text}");
        }
        assert!(parse_real("NaN").is_some_and(f64::is_nan));
        for text in ["", "1 2", "x", "1e999", "0x"] {
            assert_eq!(parse_real(text), None, "{text}");
        }
    }

    #[test]
    fn integers_as_kaldi_converts_them() {
        assert_eq!(parse_integer::<i32>(" +7 "), Some(7));
        assert_eq!(parse_integer::<i32>("2147483648"), None);
        assert_eq!(parse_integer::<u32>("-1"), None);
        assert_eq!(parse_integer::<i32>("7x"), None);
        assert_eq!(split_integers("1:2,3", &[':', ','], false), Some(vec![1, 2, 3]));
        assert_eq!(split_integers("1::3", &[':'], false), None);
        assert_eq!(split_integers("1::3", &[':'], true), Some(vec![1, 3]));
        assert_eq!(split_integers("", &[':'], false), Some(vec![]));
    }

    #[test]
    fn tokens_and_words() {
        assert!(is_token("a-b_é"));
        assert!(!is_token("") && !is_token("a b") && !is_token("a\u{7f}"));
        assert!(is_token(&"a".repeat(LONGEST_WORD)) && !is_token(&"a".repeat(LONGEST_WORD + 1)));
        assert_eq!(split_first_word(" key  a b | \n"), ("key", "a b |"));
        assert_eq!(split_first_word("key"), ("key", ""));
    }
}
