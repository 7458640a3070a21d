//! Graphones and their names: `ph=F`, `x=K+S`, `e=` (a silent letter), `=AH` (a phone without a letter).

use std::fmt::Write;
use std::ops::Range;

use rustc_hash::FxHashMap;

/// Numbers of names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the number of a name; `None` if it is not there.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the number of a name; a new name gets the next number.
    pub fn number_or_add(&mut self, name: &str) -> u32 {
        if let Some(number) = self.number(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Returns the name of a number, which must be one of these names.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// Goes through the names, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the names of numbers.
    pub fn of(&self, numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|&number| self.name(number).to_owned()).collect()
    }
}

/// Names of the letters and phones of a graphone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spelled {
    /// Its letters.
    pub letters: Vec<String>,
    /// Its phones.
    pub phones: Vec<String>,
}

impl Spelled {
    /// Returns the name in a model file. `%`, `=`, `+`, blanks and control characters within letters and phones are `%` and
    /// two hexadecimal digits for each byte.
    pub fn symbol(&self) -> String {
        let join = |names: &[String]| names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join("+");
        format!("{}={}", join(&self.letters), join(&self.phones))
    }

    /// Parses a name. `None` if it is no name of a graphone.
    pub fn parse(symbol: &str) -> Option<Spelled> {
        let (letters, phones) = symbol.split_once('=')?;
        if phones.contains('=') {
            return None;
        }
        let split = |names: &str| -> Option<Vec<String>> {
            if names.is_empty() { Some(Vec::new()) } else { names.split('+').map(unescaped).collect() }
        };
        let spelled = Spelled { letters: split(letters)?, phones: split(phones)? };
        (!spelled.letters.is_empty() || !spelled.phones.is_empty()).then_some(spelled)
    }
}

fn escaped(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        if matches!(character, '%' | '=' | '+') || character.is_whitespace() || character.is_control() {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

fn unescaped(name: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, behind @ ..] = rest {
        if *first == b'%' {
            let digits = behind.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &behind[2..];
        } else {
            out.push(*first);
            rest = behind;
        }
    }
    (!out.is_empty()).then(|| String::from_utf8(out).ok()).flatten()
}

/// A graphone in numbers of letters and phones.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Graphone {
    /// Numbers of its letters.
    pub letters: Vec<u32>,
    /// Numbers of its phones.
    pub phones: Vec<u32>,
}

/// The graphones of a model in the order of their letters.
#[derive(Debug, Clone, PartialEq)]
pub struct Inventory {
    /// All letters.
    pub letters: Names,
    /// All phones.
    pub phones: Names,
    graphones: Vec<Graphone>,
    /// Places in `graphones` by letters.
    by_letters: FxHashMap<Vec<u32>, Range<u32>>,
    /// The largest number of letters of a graphone.
    pub most_letters: usize,
}

impl Inventory {
    /// Sorts the graphones and removes double ones.
    pub fn new(mut spelled: Vec<Spelled>) -> Inventory {
        spelled.sort_unstable();
        spelled.dedup();
        let (mut letters, mut phones) = (Names::default(), Names::default());
        let mut graphones: Vec<Graphone> = Vec::with_capacity(spelled.len());
        let mut by_letters: FxHashMap<Vec<u32>, Range<u32>> = FxHashMap::default();
        for (number, graphone) in (0..).zip(&spelled) {
            let graphone = Graphone {
                letters: graphone.letters.iter().map(|name| letters.number_or_add(name)).collect(),
                phones: graphone.phones.iter().map(|name| phones.number_or_add(name)).collect(),
            };
            by_letters.entry(graphone.letters.clone()).or_insert(number..number).end = number + 1;
            graphones.push(graphone);
        }
        let most_letters = graphones.iter().map(|graphone| graphone.letters.len()).max().unwrap_or(0);
        Inventory { letters, phones, graphones, by_letters, most_letters }
    }

    /// Returns the number of graphones.
    pub fn len(&self) -> usize {
        self.graphones.len()
    }

    /// True if there are no graphones.
    pub fn is_empty(&self) -> bool {
        self.graphones.is_empty()
    }

    /// Returns a graphone by its number.
    pub fn graphone(&self, number: u32) -> &Graphone {
        &self.graphones[number as usize]
    }

    /// Returns the graphones with these letters, which have successive numbers.
    pub fn with_letters(&self, letters: &[u32]) -> Option<Range<u32>> {
        self.by_letters.get(letters).cloned()
    }

    /// Returns a graphone by its number, with names.
    pub fn spelled(&self, number: u32) -> Spelled {
        let graphone = self.graphone(number);
        Spelled { letters: self.letters.of(&graphone.letters), phones: self.phones.of(&graphone.phones) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(letters: &[&str], phones: &[&str]) -> Spelled {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Spelled { letters: own(letters), phones: own(phones) }
    }

    #[test]
    fn names_of_graphones_come_back_whatever_characters_they_have() {
        let cases = [
            (spelled(&["p", "h"], &["F"]), "p+h=F"),
            (spelled(&["x"], &["K", "S"]), "x=K+S"),
            (spelled(&["e"], &[]), "e="),
            (spelled(&[], &["AH"]), "=AH"),
            (spelled(&["=", "+"], &["n=", "50%", "\u{a0}"]), "%3D+%2B=n%3D+50%25+%C2%A0"),
        ];
        for (graphone, symbol) in cases {
            assert_eq!(graphone.symbol(), symbol);
            assert_eq!(Spelled::parse(symbol), Some(graphone));
        }
        for wrong in ["", "a", "<s>", "=", "a=b=c", "a+=b", "+=", "a=%", "a=%4", "a=%FF", "a=%+1"] {
            assert_eq!(Spelled::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn graphones_with_the_same_letters_are_neighbours() {
        let all = vec![
            spelled(&["b"], &["B"]),
            spelled(&["a"], &["X"]),
            spelled(&["a", "b"], &["C"]),
            spelled(&["a"], &["A"]),
            spelled(&["a"], &["A"]),
        ];
        let inventory = Inventory::new(all);
        assert_eq!((inventory.len(), inventory.most_letters), (4, 2));
        let a = inventory.letters.number("a").unwrap();
        assert_eq!(inventory.with_letters(&[a]), Some(0..2));
        assert_eq!(inventory.spelled(2), spelled(&["a", "b"], &["C"]));
        assert_eq!(inventory.with_letters(&[]), None);
    }
}
