//! Tables with keys that another table maps first (`--utt2spk`).

use super::random::RandomReader;
use crate::error::{IoError, Result};
use crate::holder::{Holder, TokenHolder};

/// A [`RandomReader`] behind a table of tokens, such as from utterance to speaker.
pub struct MappedRandomReader<H: Holder> {
    reader: RandomReader<H>,
    map: Option<(String, RandomReader<TokenHolder>)>,
}

impl<H: Holder> MappedRandomReader<H> {
    /// Opens the tables. With an empty `map_rspecifier`, keys are used unchanged.
    pub fn open(rspecifier: &str, map_rspecifier: &str) -> Result<Self> {
        let map = if map_rspecifier.is_empty() {
            None
        } else {
            Some((map_rspecifier.to_owned(), RandomReader::open(map_rspecifier)?))
        };
        Ok(MappedRandomReader { reader: RandomReader::open(rspecifier)?, map })
    }

    /// True if the table has the mapped key. Fails if the map does not have the key.
    pub fn has(&mut self, key: &str) -> Result<bool> {
        let key = Self::map(&mut self.map, key)?;
        self.reader.has(key)
    }

    /// The object that the key stands for; an error if the map does not know the key.
    pub fn get(&mut self, key: &str) -> Result<Option<&H::T>> {
        let key = Self::map(&mut self.map, key)?;
        self.reader.get(key)
    }

    pub fn close(self) -> Result<()> {
        if let Some((_, map)) = self.map {
            map.close()?;
        }
        self.reader.close()
    }

    fn map<'a>(map: &'a mut Option<(String, RandomReader<TokenHolder>)>, key: &'a str) -> Result<&'a str> {
        let Some((table, map)) = map else { return Ok(key) };
        if !map.has(key)? {
            let message = format!("no entry for key '{key}'{}", map.why_missing(key));
            return Err(IoError::Table { table: table.clone(), message });
        }
        Ok(map.get(key)?.map_or(key, String::as_str))
    }
}
