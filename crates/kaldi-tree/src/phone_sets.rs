//! Lists of phones in text files: sets, roots, maps and counts.

use crate::error::{Error, Result};
use kaldi_io::text::split_integers;
use kaldi_io::{KaldiReader, KaldiWriter};

/// More phones than anyone has; tables by phone must not fill the memory.
pub(crate) const MOST_PHONES: i32 = 1 << 20;

/// A set of phones that have a root together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Sorted.
    pub phones: Vec<i32>,
    /// True if all pdf classes share a root, too.
    pub shared: bool,
    /// True if it may be split.
    pub split: bool,
}

/// Counts of phones and of pairs of phones, and the minimum counts for pdfs of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct PhoneCounts {
    /// Frames of each phone.
    pub phones: Vec<i64>,
    /// Frames of each pair of a left phone (0 at the start of an utterance) and a phone.
    pub pairs: Vec<Vec<i64>>,
    pub min_phone: i64,
    pub min_pair: i64,
}

/// Fails if a phone is in two sets, or a set is empty, unsorted or has a number below 1.
pub(crate) fn check_disjoint<'a>(sets: impl IntoIterator<Item = &'a [i32]>) -> Result<()> {
    let mut phones = Vec::new();
    for set in sets {
        if set.is_empty() {
            return Err(Error::value("a set of phones is empty"));
        }
        phones.extend_from_slice(set);
    }
    phones.sort_unstable();
    if let Some(&phone) = phones.iter().find(|phone| !(1..MOST_PHONES).contains(*phone)) {
        return Err(Error::value(format!("invalid phone {phone}: expected a number above 0")));
    }
    match phones.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::value(format!("phone {} appears twice in the sets of phones", pair[0]))),
        None => Ok(()),
    }
}

/// Calls `f` with each line and a reader that makes errors there.
fn for_each_line(r: &mut KaldiReader, mut f: impl FnMut(&KaldiReader, &str) -> Result<()>) -> Result<()> {
    while let Some(line) = r.read_line()? {
        f(r, &line)?;
    }
    Ok(())
}

fn integers(r: &KaldiReader, line: &str) -> Result<Vec<i32>> {
    let list = split_integers(line, &[' ', '\t', '\r'], true);
    list.ok_or_else(|| r.error(format!("expected integers, found '{line}'")).into())
}

/// A list of integers a line.
pub fn read_lists(r: &mut KaldiReader) -> Result<Vec<Vec<i32>>> {
    let mut lists = Vec::new();
    for_each_line(r, |r, line| {
        lists.push(integers(r, line)?);
        Ok(())
    })?;
    Ok(lists)
}

/// Sets of phones, one a line: sorted, none twice in one.
pub fn read_sets(r: &mut KaldiReader) -> Result<Vec<Vec<i32>>> {
    let mut sets = Vec::new();
    for_each_line(r, |r, line| {
        let mut set = integers(r, line)?;
        set.sort_unstable();
        if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(r.error(format!("phone {} appears twice in a set", pair[0])).into());
        }
        sets.push(set);
        Ok(())
    })?;
    Ok(sets)
}

pub fn write_lists(w: &mut KaldiWriter, lists: &[Vec<i32>]) -> Result<()> {
    for list in lists {
        let words: Vec<String> = list.iter().map(i32::to_string).collect();
        w.write_str(&words.join(" "))?;
        w.write_str("\n")?;
    }
    Ok(())
}

/// Roots: lines of `shared` or `not-shared`, `split` or `not-split`, and phones.
pub fn read_roots(r: &mut KaldiReader) -> Result<Vec<Root>> {
    let mut roots = Vec::new();
    for_each_line(r, |r, line| {
        let mut words = line.split_ascii_whitespace();
        let shared = one_of(r, words.next(), "shared", "not-shared")?;
        let split = one_of(r, words.next(), "split", "not-split")?;
        let mut phones = Vec::new();
        for word in words {
            match word.parse() {
                Ok(phone) if phone > 0 => phones.push(phone),
                _ => return Err(r.error(format!("expected a phone, found '{word}'")).into()),
            }
        }
        phones.sort_unstable();
        if phones.is_empty() {
            return Err(r.error("a root has no phones").into());
        }
        if let Some(pair) = phones.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(r.error(format!("phone {} appears twice in a root", pair[0])).into());
        }
        roots.push(Root { phones, shared, split });
        Ok(())
    })?;
    if roots.is_empty() {
        return Err(r.error("there are no roots").into());
    }
    Ok(roots)
}

fn one_of(r: &KaldiReader, word: Option<&str>, yes: &str, no: &str) -> Result<bool> {
    match word {
        Some(word) if word == yes => Ok(true),
        Some(word) if word == no => Ok(false),
        other => {
            Err(r.error(format!("expected {yes} or {no}, found '{}'", other.unwrap_or_default())).into())
        }
    }
}

/// Mapping of phones to another set of phones: lines of an old and a new phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhoneMap(Vec<Option<i32>>);

impl PhoneMap {
    pub fn read(r: &mut KaldiReader) -> Result<PhoneMap> {
        let mut map = Vec::new();
        for_each_line(r, |r, line| {
            let (old, new) = match integers(r, line)?[..] {
                [old, new] if (1..MOST_PHONES).contains(&old) && new > 0 => (old as usize, new),
                _ => return Err(r.error(format!("expected an old and a new phone, found '{line}'")).into()),
            };
            if map.len() <= old {
                map.resize(old + 1, None);
            }
            if map[old].replace(new).is_some() {
                return Err(r.error(format!("phone {old} is mapped twice")).into());
            }
            Ok(())
        })?;
        if map.is_empty() {
            return Err(r.error("the map of phones is empty").into());
        }
        Ok(PhoneMap(map))
    }

    /// The new phone, if there is one.
    pub fn get(&self, phone: i32) -> Option<i32> {
        *self.0.get(usize::try_from(phone).ok()?)?
    }
}

/// Reads counts of phones (`phone count`) and pairs (`left-phone phone count`), for `num_phones` phones numbered from
/// 1.
pub fn read_counts(
    r: &mut KaldiReader,
    num_phones: usize,
    min_phone: i32,
    min_pair: i32,
) -> Result<PhoneCounts> {
    let mut counts = PhoneCounts {
        phones: vec![0; num_phones + 1],
        pairs: vec![vec![0; num_phones + 1]; num_phones + 1],
        min_phone: min_phone.into(),
        min_pair: min_pair.into(),
    };
    for_each_line(r, |r, line| {
        let numbers: Option<Vec<i64>> = line.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let at = |phone: i64, least: i64| {
            let phone = Some(phone).filter(|phone| (least..=num_phones as i64).contains(phone));
            phone.map(|phone| phone as usize)
        };
        let place = match numbers.as_deref() {
            Some(&[phone, count]) => at(phone, 1).map(|phone| (&mut counts.phones[phone], count)),
            Some(&[left, phone, count]) => {
                at(left, 0).zip(at(phone, 1)).map(|(left, phone)| (&mut counts.pairs[left][phone], count))
            }
            _ => None,
        };
        match place.filter(|place| place.1 >= 0) {
            Some((place, count)) => *place = count,
            None => {
                let message = format!(
                    "expected one or two phones, up to {num_phones}, and how often they occur, found '{line}'"
                );
                return Err(r.error(message).into());
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// Phones between colons, as in `1:2:3`: sorted, each once.
pub fn parse_phones(text: &str) -> Result<Vec<i32>> {
    let invalid = || Error::value(format!("expected phones between colons, as in 1:2:3, found '{text}'"));
    let mut phones = split_integers(text, &[':'], false).ok_or_else(invalid)?;
    phones.sort_unstable();
    if phones.windows(2).any(|pair| pair[0] == pair[1])
        || phones.iter().any(|phone| !(1..MOST_PHONES).contains(phone))
    {
        return Err(invalid());
    }
    Ok(phones)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: &str) -> KaldiReader {
        KaldiReader::from_bytes("test", text.as_bytes().to_vec())
    }

    #[test]
    fn lists() {
        assert_eq!(read_lists(&mut reader("3 1\n\n2\n")).unwrap(), [vec![3, 1], vec![], vec![2]]);
        assert_eq!(read_sets(&mut reader("3 1\t\r\n2")).unwrap(), [vec![1, 3], vec![2]]);
        assert!(
            read_sets(&mut reader("3 3\n"))
                .unwrap_err()
                .to_string()
                .contains("phone 3 appears twice in a set")
        );
        assert!(read_lists(&mut reader("3 a\n")).unwrap_err().to_string().contains("found '3 a'"));
        let mut w = KaldiWriter::in_memory(false);
        write_lists(&mut w, &[vec![3, 1], vec![2]]).unwrap();
        assert_eq!(w.into_bytes(), b"3 1\n2\n");
        assert_eq!(parse_phones("3:1:2").unwrap(), [1, 2, 3]);
        assert!(parse_phones("").unwrap().is_empty());
        for text in ["1:1", "0:1", "1::2", "a", "2000000000"] {
            assert!(parse_phones(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sets_that_overlap() {
        let error = |sets: &[&[i32]]| check_disjoint(sets.iter().copied()).unwrap_err().to_string();
        assert!(check_disjoint([&[1, 3][..], &[2]]).is_ok());
        assert!(error(&[&[1, 2], &[2]]).contains("phone 2 appears twice in the sets of phones"));
        assert!(error(&[&[0, 2]]).contains("invalid phone 0"));
        assert!(error(&[&[2_000_000_000]]).contains("invalid phone 2000000000"));
        assert!(error(&[&[1], &[]]).contains("a set of phones is empty"));
    }

    #[test]
    fn roots() {
        let roots = read_roots(&mut reader("shared split 2 1\nnot-shared not-split 3\n")).unwrap();
        assert_eq!(roots[0], Root { phones: vec![1, 2], shared: true, split: true });
        assert_eq!(roots[1], Root { phones: vec![3], shared: false, split: false });
        for (text, words) in [
            ("", "no roots"),
            ("shared split\n", "has no phones"),
            ("shared 1\n", "expected split or not-split, found '1'"),
            ("share split 1\n", "expected shared or not-shared, found 'share'"),
            ("shared split 0\n", "expected a phone, found '0'"),
            ("shared split 1 1\n", "phone 1 appears twice in a root"),
        ] {
            let error = read_roots(&mut reader(text)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn maps_and_counts() {
        let map = PhoneMap::read(&mut reader("1 1\n2 1\n4 3\n")).unwrap();
        assert_eq!(
            [1, 2, 3, 4, 9, -1].map(|phone| map.get(phone)),
            [Some(1), Some(1), None, Some(3), None, None]
        );
        for text in ["", "1\n", "1 0\n", "0 1\n", "1 2 3\n", "1 2\n1 3\n", "999999999 1\n"] {
            assert!(PhoneMap::read(&mut reader(text)).is_err(), "{text}");
        }
        let counts = read_counts(&mut reader("1 10\n0 2 5\n2 1 7\n"), 2, 3, 4).unwrap();
        assert_eq!((counts.phones, counts.min_phone, counts.min_pair), (vec![0, 10, 0], 3, 4));
        assert_eq!(counts.pairs, [vec![0, 0, 5], vec![0, 0, 0], vec![0, 7, 0]]);
        for text in ["3 1\n", "1 -1\n", "1 0 1\n", "1 2 3 4\n", "a 1\n", "1\n"] {
            assert!(read_counts(&mut reader(text), 2, 1, 1).is_err(), "{text}");
        }
    }
}
