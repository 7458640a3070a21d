//! Decision trees as functions from events to numbers (`tree/event-map.cc`). An event is a set of (key, value) pairs:
//! the phone at each position of a window, and the pdf class under the key [`PDF_CLASS`].

use kaldi_io::{KaldiReader, KaldiWriter, Result};
use std::collections::BTreeSet;

/// The key of the pdf class; the other keys are positions in the window of phones.
pub const PDF_CLASS: i32 = -1;

/// Largest depth of trees; deeper ones count as damaged.
const DEEPEST: usize = 1000;

/// A tree, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum EventMap {
    /// A leaf.
    Constant(i32),
    /// The value of `key` chooses a child; some values may have none.
    Table { key: i32, children: Vec<Option<EventMap>> },
    /// A split: if the value of `key` is in the sorted set `yes_set`, the child is `yes`, else `no`.
    Split { key: i32, yes_set: Vec<i32>, yes: Box<EventMap>, no: Box<EventMap> },
}

/// (key, value) pairs in any order; keys that are missing are unknown.
pub type Event = [(i32, i32)];

fn value_of(event: &Event, key: i32) -> Option<i32> {
    event.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
}

impl EventMap {
    /// The leaf that an event leads to; None if it has no answer.
    pub fn map(&self, event: &Event) -> Option<i32> {
        match self {
            EventMap::Constant(answer) => Some(*answer),
            EventMap::Table { key, children } => {
                let value = usize::try_from(value_of(event, *key)?).ok()?;
                children.get(value)?.as_ref()?.map(event)
            }
            EventMap::Split { key, yes_set, yes, no } => match yes_set.binary_search(&value_of(event, *key)?)
            {
                Ok(_) => yes.map(event),
                Err(_) => no.map(event),
            },
        }
    }

    /// A table with these values' children.
    ///
    /// # Panics
    /// If a value is negative.
    pub fn table(key: i32, values: impl IntoIterator<Item = (i32, EventMap)>) -> EventMap {
        let mut children = Vec::new();
        for (value, child) in values {
            assert!(value >= 0, "tables have no children for negative values");
            let value = value as usize;
            if children.len() <= value {
                children.resize(value + 1, None);
            }
            children[value] = Some(child);
        }
        EventMap::Table { key, children }
    }

    /// Returns the tree with each leaf replaced by the result of `f`.
    pub fn map_leaves(&self, f: &mut dyn FnMut(i32) -> EventMap) -> EventMap {
        match self {
            EventMap::Constant(answer) => f(*answer),
            EventMap::Table { key, children } => {
                let children = children.iter().map(|child| child.as_ref().map(|child| child.map_leaves(f)));
                EventMap::Table { key: *key, children: children.collect() }
            }
            EventMap::Split { key, yes_set, yes, no } => EventMap::Split {
                key: *key,
                yes_set: yes_set.clone(),
                yes: Box::new(yes.map_leaves(f)),
                no: Box::new(no.map_leaves(f)),
            },
        }
    }

    /// The largest number of a leaf; None if there are no leaves.
    pub fn largest_answer(&self) -> Option<i32> {
        self.all_answers(&[]).last().copied()
    }

    /// All leaves that events with these pairs, and any values for other keys, can lead to: sorted, each once.
    pub fn all_answers(&self, event: &Event) -> Vec<i32> {
        let mut answers = Vec::new();
        self.collect(event, &mut answers);
        answers.sort_unstable();
        answers.dedup();
        answers
    }

    fn collect(&self, event: &Event, answers: &mut Vec<i32>) {
        match self {
            EventMap::Constant(answer) => answers.push(*answer),
            EventMap::Table { key, children } => match value_of(event, *key) {
                Some(value) => {
                    let child = usize::try_from(value).ok().and_then(|value| children.get(value)?.as_ref());
                    child.into_iter().for_each(|child| child.collect(event, answers));
                }
                None => children.iter().flatten().for_each(|child| child.collect(event, answers)),
            },
            EventMap::Split { key, yes_set, yes, no } => {
                let is_yes = value_of(event, *key).map(|value| yes_set.binary_search(&value).is_ok());
                if is_yes != Some(false) {
                    yes.collect(event, answers);
                }
                if is_yes != Some(true) {
                    no.collect(event, answers);
                }
            }
        }
    }

    /// Returns all keys that the tree asks for, sorted.
    pub fn keys(&self) -> BTreeSet<i32> {
        let mut keys = BTreeSet::new();
        self.collect_keys(&mut keys);
        keys
    }

    fn collect_keys(&self, keys: &mut BTreeSet<i32>) {
        match self {
            EventMap::Constant(_) => {}
            EventMap::Table { key, children } => {
                keys.insert(*key);
                children.iter().flatten().for_each(|child| child.collect_keys(keys));
            }
            EventMap::Split { key, yes, no, .. } => {
                keys.insert(*key);
                yes.collect_keys(keys);
                no.collect_keys(keys);
            }
        }
    }

    /// Reads a tree. `NULL` stands for an absent tree, and becomes `None`.
    pub(crate) fn read(r: &mut KaldiReader) -> Result<Option<EventMap>> {
        Self::read_at(r, 0)
    }

    fn read_at(r: &mut KaldiReader, depth: usize) -> Result<Option<EventMap>> {
        if depth > DEEPEST {
            return Err(r.error(format!("the tree has more than {DEEPEST} levels, which is the limit")));
        }
        let token = r.read_token()?;
        Ok(Some(match token.as_str() {
            "NULL" => return Ok(None),
            "CE" => EventMap::Constant(r.read_i32()?),
            "TE" => Self::read_table(r, depth)?,
            "SE" => Self::read_split(r, depth)?,
            other => return Err(r.error(format!("expected a tree (CE, TE, SE or NULL), found '{other}'"))),
        }))
    }

    fn read_table(r: &mut KaldiReader, depth: usize) -> Result<EventMap> {
        let key = r.read_i32()?;
        let size = r.read_u32()?;
        r.expect_token("(")?;
        let mut children = Vec::new();
        for _ in 0..size {
            children.push(Self::read_at(r, depth + 1)?);
        }
        r.expect_token(")")?;
        Ok(EventMap::Table { key, children })
    }

    fn read_split(r: &mut KaldiReader, depth: usize) -> Result<EventMap> {
        let key = r.read_i32()?;
        let yes_set = r.read_i32_vector()?;
        if !yes_set.is_sorted() {
            return Err(r.error("the set of values of a split is not sorted"));
        }
        r.expect_token("{")?;
        let (yes, no) = (Self::read_at(r, depth + 1)?, Self::read_at(r, depth + 1)?);
        let (Some(yes), Some(no)) = (yes, no) else {
            return Err(r.error("a split has NULL for a child"));
        };
        r.expect_token("}")?;
        Ok(EventMap::Split { key, yes_set, yes: Box::new(yes), no: Box::new(no) })
    }

    pub(crate) fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        match self {
            EventMap::Constant(answer) => {
                w.write_token("CE")?;
                w.write_i32(*answer)
            }
            EventMap::Table { key, children } => {
                w.write_token("TE")?;
                w.write_i32(*key)?;
                w.write_u32(children.len() as u32)?;
                w.write_token("(")?;
                for child in children {
                    match child {
                        Some(child) => child.write(w)?,
                        None => w.write_token("NULL")?,
                    }
                }
                w.write_token(")")?;
                w.newline_in_text()
            }
            EventMap::Split { key, yes_set, yes, no } => {
                w.write_token("SE")?;
                w.write_i32(*key)?;
                w.write_i32_vector(yes_set)?;
                w.write_token("{")?;
                yes.write(w)?;
                no.write(w)?;
                w.write_token("}")?;
                w.newline_in_text()
            }
        }
    }
}
