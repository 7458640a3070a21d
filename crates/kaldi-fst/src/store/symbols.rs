//! Symbol tables: names of labels, in OpenFst files and in text files of their own (`fst/symbol-table.h` of OpenFst).

use kaldi_io::text::parse_integer;
use kaldi_io::{KaldiReader, KaldiWriter};
use rustc_hash::FxHashMap;

use super::raw::{read_i32, read_i64, read_raw, read_string};

pub(super) const MAGIC: i32 = 2125658996;
pub(super) const LONGEST_NAME: i32 = 1 << 20;

/// Names and their numbers, in the order in which they came; numbers are not negative.
///
/// Several names may share a number, as `<s>` and `</s>` do in tables that were relabelled for look-ahead composition. The
/// number then has the first of these names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Symbols {
    /// The table's name in files, usually the name of its source file.
    pub title: String,
    entries: Vec<(String, i64)>,
    numbers: FxHashMap<String, i64>,
    /// Position of the number's entry.
    positions: FxHashMap<i64, usize>,
    /// One more than the largest number.
    available: i64,
}

impl Symbols {
    pub fn new(title: &str) -> Symbols {
        Symbols { title: title.to_owned(), ..Symbols::default() }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Names with numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.entries.iter().map(|(name, number)| (name.as_str(), *number))
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    pub fn name(&self, number: i64) -> Option<&str> {
        self.positions.get(&number).map(|&position| self.entries[position].0.as_str())
    }

    /// Returns a clause for messages about a missing name: a similar name of the table, or an empty string if there is
    /// none.
    pub fn hint(&self, name: &str) -> String {
        kaldi_io::alike::hint(name, self.iter().map(|(other, _)| other))
    }

    /// The number of a name, which gets the next free one if it is new.
    pub fn number_or_add(&mut self, name: &str) -> i64 {
        self.number(name).unwrap_or_else(|| {
            let number = self.available;
            self.push(name, number);
            number
        })
    }

    /// Adds a name with its number. Fails if the name has another number already.
    pub fn add(&mut self, name: &str, number: i64) -> Result<(), String> {
        match self.number(name) {
            Some(known) if known == number => Ok(()),
            Some(known) => Err(format!("'{name}' has the numbers {known} and {number}")),
            None => {
                self.push(name, number);
                Ok(())
            }
        }
    }

    fn push(&mut self, name: &str, number: i64) {
        self.available = self.available.max(number.saturating_add(1));
        self.numbers.insert(name.to_owned(), number);
        self.positions.entry(number).or_insert(self.entries.len());
        self.entries.push((name.to_owned(), number));
    }

    /// Reads a text file: a name and a number a line.
    pub fn load(rxfilename: &str) -> kaldi_io::Result<Symbols> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let symbols = Symbols::read_text(&mut r, rxfilename)?;
        r.close()?;
        Ok(symbols)
    }

    /// Reads text to the end of the file. Skips empty lines.
    pub fn read_text(r: &mut KaldiReader, title: &str) -> kaldi_io::Result<Symbols> {
        let mut symbols = Symbols::new(title);
        while let Some(line) = r.read_line()? {
            let columns: Vec<&str> = line.split([' ', '\t', '\r']).filter(|word| !word.is_empty()).collect();
            let added = match columns[..] {
                [] => continue,
                [name, number] => match parse_integer::<i64>(number) {
                    Some(number) if number >= 0 => symbols.add(name, number),
                    _ => Err(format!("invalid number of a symbol: '{number}'")),
                },
                _ => Err(format!("expected a name and a number, found '{line}'")),
            };
            added.map_err(|why| r.error(why))?;
        }
        Ok(symbols)
    }

    /// Writes text: a name, a tab and a number a line.
    pub fn write_text(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.iter().try_for_each(|(name, number)| w.write_str(&format!("{name}\t{number}\n")))
    }

    /// Reads the binary form.
    pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<Symbols> {
        let magic = read_i32(r)?;
        if magic != MAGIC {
            return Err(r.error(format!("expected a symbol table, which begins with {MAGIC}, found {magic}")));
        }
        let mut symbols = Symbols::new(&read_string(r, LONGEST_NAME)?);
        let available = read_i64(r)?;
        for _ in 0..read_i64(r)? {
            let name = read_string(r, LONGEST_NAME)?;
            let number = read_raw(r).map(i64::from_le_bytes)?;
            symbols.add(&name, number).map_err(|why| r.error(format!("in the symbol table: {why}")))?;
        }
        symbols.available = symbols.available.max(available);
        Ok(symbols)
    }

    /// Writes the binary form.
    pub fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        let write_string = |w: &mut KaldiWriter, text: &str| {
            w.write_bytes(&(text.len() as i32).to_le_bytes())?;
            w.write_str(text)
        };
        w.write_bytes(&MAGIC.to_le_bytes())?;
        write_string(w, &self.title)?;
        w.write_bytes(&self.available.to_le_bytes())?;
        w.write_bytes(&(self.entries.len() as i64).to_le_bytes())?;
        self.iter().try_for_each(|(name, number)| {
            write_string(w, name)?;
            w.write_bytes(&number.to_le_bytes())
        })
    }
}
