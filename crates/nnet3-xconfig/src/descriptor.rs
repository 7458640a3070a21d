//! Descriptors as xconfigs write them: the descriptors of configs, over layers instead of nodes,
//! and with `name@t`, plain offsets and `[-n]`.

use crate::error::nearest;
use crate::line::is_name;
use crate::value::float_text;

#[derive(Clone, Debug, PartialEq)]
pub enum Descriptor {
    /// A layer, or one of its auxiliary outputs: `name` or `name.auxiliary`.
    Layer(String),
    Offset {
        of: Box<Descriptor>,
        t: i64,
        x: Option<i64>,
    },
    Round {
        of: Box<Descriptor>,
        modulus: i64,
    },
    ReplaceIndex {
        of: Box<Descriptor>,
        index: char,
        value: i64,
    },
    Scale {
        factor: f64,
        of: Box<Descriptor>,
    },
    Const {
        value: f64,
        dim: i64,
    },
    /// The parts side by side.
    Append(Vec<Descriptor>),
    /// `Sum`, `Switch`, `Failover`, `IfDefined`: all parts have the same dimension.
    Combine(&'static str, Vec<Descriptor>),
}

/// Operators on parts of equal dimension, with their smallest and largest numbers of parts.
const COMBINE: &[(&str, usize, usize)] =
    &[("Sum", 1, usize::MAX), ("Switch", 1, usize::MAX), ("Failover", 2, 2), ("IfDefined", 1, 1)];

/// The other operators.
const OPERATORS: [&str; 6] = ["Offset", "Round", "ReplaceIndex", "Scale", "Const", "Append"];

impl Descriptor {
    /// `previous`: names of the preceding layers, the last one is `[-1]`.
    pub fn parse(text: &str, previous: &[&str]) -> Result<Descriptor, String> {
        let mut parser = Parser { tokens: tokenize(text), next: 0, previous };
        let descriptor = parser.descriptor()?;
        match parser.tokens.get(parser.next) {
            None => Ok(descriptor),
            Some(token) => Err(format!("expected the end of the descriptor, found '{token}'")),
        }
    }

    /// Returns the descriptor, with each layer under the name that `name` returns.
    pub fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        let list =
            |parts: &[Descriptor]| parts.iter().map(|part| part.text(name)).collect::<Vec<_>>().join(", ");
        match self {
            Descriptor::Layer(layer) => name(layer),
            Descriptor::Offset { of, t, x: None } => format!("Offset({}, {t})", of.text(name)),
            Descriptor::Offset { of, t, x: Some(x) } => format!("Offset({}, {t}, {x})", of.text(name)),
            Descriptor::Round { of, modulus } => format!("Round({}, {modulus})", of.text(name)),
            Descriptor::ReplaceIndex { of, index, value } => {
                format!("ReplaceIndex({}, {index}, {value})", of.text(name))
            }
            Descriptor::Scale { factor, of } => format!("Scale({}, {})", float_text(*factor), of.text(name)),
            Descriptor::Const { value, dim } => format!("Const({}, {dim})", float_text(*value)),
            Descriptor::Append(parts) => format!("Append({})", list(parts)),
            Descriptor::Combine(operator, parts) => format!("{operator}({})", list(parts)),
        }
    }

    /// Returns the number of columns. `dim` returns the number of columns of a layer.
    pub fn dim(&self, dim: &dyn Fn(&str) -> Result<i64, String>) -> Result<i64, String> {
        match self {
            Descriptor::Layer(layer) => dim(layer),
            Descriptor::Offset { of, .. }
            | Descriptor::Round { of, .. }
            | Descriptor::ReplaceIndex { of, .. }
            | Descriptor::Scale { of, .. } => of.dim(dim),
            Descriptor::Const { dim, .. } => Ok(*dim),
            Descriptor::Append(parts) => parts.iter().try_fold(0_i64, |sum, part| {
                sum.checked_add(part.dim(dim)?).ok_or("the dimension of Append is too large".to_owned())
            }),
            Descriptor::Combine(operator, parts) => {
                let dims = parts.iter().map(|part| part.dim(dim)).collect::<Result<Vec<_>, _>>()?;
                match dims.iter().find(|&&d| d != dims[0]) {
                    None => Ok(dims[0]),
                    Some(other) => Err(format!(
                        "the parts of {operator} have different dimensions: {} and {other}",
                        dims[0]
                    )),
                }
            }
        }
    }

    /// Returns all layers that occur.
    pub fn layers(&self) -> Vec<&str> {
        match self {
            Descriptor::Layer(layer) => vec![layer],
            Descriptor::Offset { of, .. }
            | Descriptor::Round { of, .. }
            | Descriptor::ReplaceIndex { of, .. }
            | Descriptor::Scale { of, .. } => of.layers(),
            Descriptor::Const { .. } => Vec::new(),
            Descriptor::Append(parts) | Descriptor::Combine(_, parts) => {
                parts.iter().flat_map(Descriptor::layers).collect()
            }
        }
    }
}

/// Splits a text into the characters `()[],@` and the words between them and blanks.
fn tokenize(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match "()[],@".contains(first) {
            true => 1,
            false => rest.find(|c: char| c.is_whitespace() || "()[],@".contains(c)).unwrap_or(rest.len()),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<&'a str>,
    next: usize,
    previous: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn take(&mut self) -> Option<&'a str> {
        let token = self.tokens.get(self.next).copied();
        self.next += 1;
        token
    }

    fn wrong(expected: &str, found: Option<&str>) -> String {
        match found {
            Some(token) => format!("expected {expected}, found '{token}'"),
            None => format!("expected {expected} at the end"),
        }
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        let found = self.take();
        if found == Some(wanted) { Ok(()) } else { Err(Self::wrong(&format!("'{wanted}'"), found)) }
    }

    fn int(&mut self) -> Result<i64, String> {
        let found = self.take();
        found.and_then(|token| token.parse().ok()).ok_or_else(|| Self::wrong("an integer", found))
    }

    fn float(&mut self) -> Result<f64, String> {
        let found = self.take();
        found.and_then(|token| token.parse().ok()).ok_or_else(|| Self::wrong("a number", found))
    }

    fn boxed(&mut self) -> Result<Box<Descriptor>, String> {
        self.descriptor().map(Box::new)
    }

    fn descriptor(&mut self) -> Result<Descriptor, String> {
        let first = self.take();
        let Some(token) = first else { return Err(Self::wrong("a descriptor", None)) };
        match token {
            "Offset" => {
                self.expect("(")?;
                let of = self.boxed()?;
                self.expect(",")?;
                let t = self.int()?;
                let x = match self.tokens.get(self.next) {
                    Some(&",") => {
                        self.next += 1;
                        Some(self.int()?)
                    }
                    _ => None,
                };
                self.expect(")")?;
                Ok(Descriptor::Offset { of, t, x })
            }
            "Round" => {
                self.expect("(")?;
                let of = self.boxed()?;
                self.expect(",")?;
                let modulus = self.int()?;
                if modulus <= 0 {
                    return Err(format!("expected a positive second argument of Round, found {modulus}"));
                }
                self.expect(")")?;
                Ok(Descriptor::Round { of, modulus })
            }
            "ReplaceIndex" => {
                self.expect("(")?;
                let of = self.boxed()?;
                self.expect(",")?;
                let index = match self.take() {
                    Some("t") => 't',
                    Some("x") => 'x',
                    found => return Err(Self::wrong("t or x", found)),
                };
                self.expect(",")?;
                let value = self.int()?;
                self.expect(")")?;
                Ok(Descriptor::ReplaceIndex { of, index, value })
            }
            "Scale" => {
                self.expect("(")?;
                let factor = self.float()?;
                self.expect(",")?;
                let of = self.boxed()?;
                self.expect(")")?;
                Ok(Descriptor::Scale { factor, of })
            }
            "Const" => {
                self.expect("(")?;
                let value = self.float()?;
                self.expect(",")?;
                let dim = self.int()?;
                self.expect(")")?;
                Ok(Descriptor::Const { value, dim })
            }
            "Append" => Ok(Descriptor::Append(self.parts()?)),
            _ => match COMBINE.iter().find(|(operator, ..)| *operator == token) {
                Some(&(operator, least, most)) => {
                    let parts = self.parts()?;
                    if parts.len() < least || parts.len() > most {
                        return Err(format!("{operator} takes {least} argument(s), found {}", parts.len()));
                    }
                    Ok(Descriptor::Combine(operator, parts))
                }
                None if self.tokens.get(self.next) == Some(&"(") && is_name(token) => {
                    let operators =
                        OPERATORS.into_iter().chain(COMBINE.iter().map(|(operator, ..)| *operator));
                    let near = nearest(token, operators);
                    let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                    Err(format!("there is no operator '{token}'{hint}"))
                }
                None => self.layer(token),
            },
        }
    }

    /// `(d, d, …)`.
    fn parts(&mut self) -> Result<Vec<Descriptor>, String> {
        self.expect("(")?;
        let mut parts = vec![self.descriptor()?];
        loop {
            match self.take() {
                Some(")") => return Ok(parts),
                Some(",") => parts.push(self.descriptor()?),
                found => return Err(Self::wrong("',' or ')'", found)),
            }
        }
    }

    /// A layer by name, by its place or as the offset of the previous one.
    fn layer(&mut self, token: &str) -> Result<Descriptor, String> {
        let (layer, t) = if token == "[" {
            let back = self.int()?;
            self.expect("]")?;
            (self.back(back)?, self.at()?)
        } else if token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            (token.to_owned(), self.at()?)
        } else if let Ok(t) = token.parse() {
            (self.back(-1)?, t)
        } else {
            return Err(Self::wrong("a layer, an operator or a time offset", Some(token)));
        };
        let layer = Descriptor::Layer(layer);
        Ok(if t == 0 { layer } else { Descriptor::Offset { of: Box::new(layer), t, x: None } })
    }

    /// The number of `@t` if that follows, else 0.
    fn at(&mut self) -> Result<i64, String> {
        if self.tokens.get(self.next) != Some(&"@") {
            return Ok(0);
        }
        self.next += 1;
        self.int()
    }

    fn back(&self, n: i64) -> Result<String, String> {
        let index = self.previous.len() as i64 + n;
        match usize::try_from(index).ok().and_then(|index| self.previous.get(index)) {
            Some(name) if n < 0 => Ok((*name).to_owned()),
            _ => Err("there is no layer before this one".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> Result<String, String> {
        Descriptor::parse(text, &["before", "last"]).map(|d| d.text(&str::to_owned))
    }

    #[test]
    fn normal_forms() {
        let cases = [
            ("foo", "foo"),
            ("foo.aux", "foo.aux"),
            ("foo@-3", "Offset(foo, -3)"),
            ("foo@0", "foo"),
            ("-1", "Offset(last, -1)"),
            ("0", "last"),
            ("[-1]", "last"),
            ("[-2]@3", "Offset(before, 3)"),
            ("Append(-3,0 , 3)", "Append(Offset(last, -3), last, Offset(last, 3))"),
            ("Sum(foo1,bar-3_4)", "Sum(foo1, bar-3_4)"),
            ("Scale(2,foo)", "Scale(2.0, foo)"),
            ("Const(1e-5,500)", "Const(1e-05, 500)"),
            ("Offset(foo,0)", "Offset(foo, 0)"),
            ("Offset(foo, 1 ,2)", "Offset(foo, 1, 2)"),
            ("Failover(foo, Offset(bar, -1))", "Failover(foo, Offset(bar, -1))"),
            ("IfDefined(Round(baz, 3))", "IfDefined(Round(baz, 3))"),
            ("Switch(a, ReplaceIndex(ivector, t, 0))", "Switch(a, ReplaceIndex(ivector, t, 0))"),
        ];
        for (text, expected) in cases {
            assert_eq!(normal(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn dimensions() {
        let dim = |text: &str| {
            let layer = |name: &str| match name {
                "a" => Ok(3),
                "b" => Ok(5),
                _ => Err(format!("no {name}")),
            };
            Descriptor::parse(text, &["a"]).unwrap().dim(&layer)
        };
        assert_eq!(dim("Append(-1, 0, b, Const(1, 7))"), Ok(18));
        assert_eq!(dim("Sum(a, Scale(2, Offset(a, 1)))"), Ok(3));
        assert_eq!(dim("IfDefined(Round(ReplaceIndex(b, x, 1), 2))"), Ok(5));
        assert_eq!(
            dim("Failover(a, b)"),
            Err("the parts of Failover have different dimensions: 3 and 5".into())
        );
        assert_eq!(dim("Append(a, c)"), Err("no c".into()));
    }

    #[test]
    fn refused() {
        let cases = [
            ("Append(foo", "expected ',' or ')' at the end"),
            ("Append()", "found ')'"),
            ("foo bar", "expected the end of the descriptor, found 'bar'"),
            ("Round(foo, 0)", "positive"),
            ("ReplaceIndex(foo, n, 0)", "expected t or x, found 'n'"),
            ("Failover(a)", "Failover takes 2"),
            ("IfDefined(a, b)", "IfDefined takes 1"),
            ("Offset(a)", "expected ',', found ')'"),
            ("foo@x", "expected an integer, found 'x'"),
            ("[-3]", "no layer before"),
            ("+a", "found '+a'"),
            ("", "expected a descriptor at the end"),
        ];
        for (text, message) in cases {
            let error = normal(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert_eq!(Descriptor::parse("-1", &[]), Err("there is no layer before this one".into()));
    }
}
