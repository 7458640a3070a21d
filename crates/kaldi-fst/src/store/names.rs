//! Symbol tables with only the lookup of names by number: words after decoding.

use kaldi_io::KaldiReader;

use super::raw::{read_i32, read_i64, read_raw};
use super::symbols::{LONGEST_NAME, MAGIC, Symbols};

/// Numbers this far apart are not in one table: the names are in an array.
const MOST_NAMES: i64 = 1 << 28;

/// Names by number, in one piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    text: String,
    /// Range of each name in the text; empty for numbers without a name.
    spans: Vec<[u32; 2]>,
}

impl Names {
    /// One more than the largest number.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn get(&self, number: i32) -> Option<&str> {
        let &[begin, end] = self.spans.get(usize::try_from(number).ok()?)?;
        if begin == end { None } else { self.text.get(begin as usize..end as usize) }
    }

    /// The first number from 1 on without a name.
    pub fn first_gap(&self) -> i32 {
        let named = self.spans.iter().skip(1).take_while(|[begin, end]| begin < end).count();
        i32::try_from(named + 1).unwrap_or(i32::MAX)
    }

    /// Returns the first number with this name. Looks at all names.
    pub fn number(&self, name: &str) -> Option<i32> {
        let is_name = |&[begin, end]: &[u32; 2]| self.text.get(begin as usize..end as usize) == Some(name);
        let place = if name.is_empty() { None } else { self.spans.iter().position(is_name) };
        place.and_then(|place| i32::try_from(place).ok())
    }

    /// The names with their numbers, in the order of the numbers.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &str)> {
        (0..self.spans.len() as i32).filter_map(|number| Some((number, self.get(number)?)))
    }

    /// A number that has a name already keeps its first one.
    fn add(&mut self, name: &str, number: i64) -> Result<(), String> {
        let place = usize::try_from(number).ok().filter(|_| number < MOST_NAMES);
        let place = place.ok_or_else(|| format!("'{name}' has the number {number}"))?;
        let begin = self.text.len();
        let end =
            u32::try_from(begin + name.len()).map_err(|_| "the names are longer than 4 GiB".to_owned())?;
        if self.spans.len() <= place {
            self.spans.resize(place + 1, [0; 2]);
        }
        let span = &mut self.spans[place];
        if span[0] == span[1] {
            *span = [begin as u32, end];
            self.text.push_str(name);
        }
        Ok(())
    }

    /// Reads the binary form of a table.
    pub(super) fn read(r: &mut KaldiReader) -> kaldi_io::Result<Names> {
        let mut names = Names::default();
        read_entries(r, |r, name, number| {
            names.add(&String::from_utf8_lossy(name), number).map_err(|why| r.error(why))
        })?;
        Ok(names)
    }
}

/// Goes over the binary form of a table.
pub(super) fn skip(r: &mut KaldiReader) -> kaldi_io::Result<()> {
    read_entries(r, |_, _, _| Ok(()))
}

fn read_entries(
    r: &mut KaldiReader,
    mut entry: impl FnMut(&KaldiReader, &[u8], i64) -> kaldi_io::Result<()>,
) -> kaldi_io::Result<()> {
    let magic = read_i32(r)?;
    if magic != MAGIC {
        return Err(r.error(format!("expected a symbol table, which begins with {MAGIC}, found {magic}")));
    }
    let mut name = Vec::new();
    let read_name = |r: &mut KaldiReader, name: &mut Vec<u8>| {
        let length = read_i32(r)?;
        if !(0..=LONGEST_NAME).contains(&length) {
            return Err(r.error(format!("invalid length of a name: {length}")));
        }
        name.resize(length as usize, 0);
        r.read_exact(name)
    };
    read_name(r, &mut name)?;
    let _available = read_i64(r)?;
    for _ in 0..read_i64(r)? {
        read_name(r, &mut name)?;
        let number = read_raw(r).map(i64::from_le_bytes)?;
        entry(r, &name, number)?;
    }
    Ok(())
}

impl TryFrom<&Symbols> for Names {
    type Error = String;

    fn try_from(symbols: &Symbols) -> Result<Names, String> {
        let mut names = Names::default();
        symbols.iter().try_for_each(|(name, number)| names.add(name, number))?;
        Ok(names)
    }
}
