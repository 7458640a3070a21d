//! Statistics of events, which are phones in context, and their files.

use crate::cluster;
use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::phone_sets::MOST_PHONES;
use kaldi_hmm::event_map::EventMap;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use std::collections::BTreeMap;

/// (key, value) pairs sorted by key: phones by position in the window, and the pdf class, as a tree's events.
pub(crate) type EventVec = Vec<(i32, i32)>;

/// The statistics of one event.
pub type Entry<C> = (EventVec, C);

/// Statistics by event.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeStats<C> {
    pub entries: Vec<Entry<C>>,
}

/// The entries that belong to some part of a tree.
pub type Part<'a, C> = Vec<&'a Entry<C>>;

impl<C: Clusterable> TreeStats<C> {
    /// Returns all entries.
    pub fn all(&self) -> Part<'_, C> {
        self.entries.iter().collect()
    }
}

/// Adds statistics up by event.
#[derive(Debug, Clone, Default)]
pub struct Sum<C> {
    entries: BTreeMap<EventVec, C>,
}

impl<C: Clusterable> Sum<C> {
    pub fn new() -> Sum<C> {
        Sum { entries: BTreeMap::new() }
    }

    /// Fails if these statistics and those before do not fit.
    pub fn add(&mut self, stats: TreeStats<C>) -> Result<()> {
        for (event, stats) in stats.entries {
            if let Some((_, first)) = self.entries.first_key_value()
                && !first.fits(&stats)
            {
                return Err(Error::stats("statistics differ in dimension from those before"));
            }
            match self.entries.get_mut(&event) {
                Some(sum) => sum.add(&stats),
                None => {
                    self.entries.insert(event, stats);
                }
            }
        }
        Ok(())
    }

    /// The sums, sorted by event.
    pub fn finish(self) -> TreeStats<C> {
        TreeStats { entries: self.entries.into_iter().collect() }
    }
}

/// The value of a key of an event.
pub fn value_of(event: &[(i32, i32)], key: i32) -> Option<i32> {
    event.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
}

/// An event as messages show it: `key:value key:value …`.
pub fn describe(event: &[(i32, i32)]) -> String {
    event.iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join(" ")
}

/// Groups entries by a number. `number` returns an entry's number, or the error for an entry without one.
fn by_number<'a, C>(
    stats: &[&'a Entry<C>],
    mut number: impl FnMut(&'a Entry<C>) -> Result<usize>,
) -> Result<Vec<Part<'a, C>>> {
    let mut parts: Vec<Part<C>> = Vec::new();
    for &entry in stats {
        let number = number(entry)?;
        if parts.len() <= number {
            parts.resize_with(number + 1, Vec::new);
        }
        parts[number].push(entry);
    }
    Ok(parts)
}

/// More leaves than anyone's trees have; lists by leaf must not fill the memory.
const MOST_LEAVES: usize = 1 << 24;

/// Entries by the value of a key, which all must have.
pub(crate) fn by_key<'a, C>(stats: &[&'a Entry<C>], key: i32) -> Result<Vec<Part<'a, C>>> {
    by_number(stats, |(event, _)| match value_of(event, key) {
        Some(value) if (0..MOST_PHONES).contains(&value) => Ok(value as usize),
        Some(value) => Err(Error::stats(format!("invalid value {value} of key {key}"))),
        None => Err(Error::stats(format!("the event {} has no key {key}", describe(event)))),
    })
}

/// Entries by the leaf of a tree, which must have one for each.
pub(crate) fn by_leaf<'a, C>(stats: &[&'a Entry<C>], tree: &EventMap) -> Result<Vec<Part<'a, C>>> {
    by_number(stats, |(event, _)| {
        let leaf = tree.map(event).and_then(|leaf| usize::try_from(leaf).ok());
        leaf.filter(|&leaf| leaf < MOST_LEAVES).ok_or_else(|| {
            Error::stats(format!(
                "the tree has no leaf for the event {}; check that `context-width` and `central-position` are those of \
                 the statistics, and that phones that were context-independent when statistics were collected do not \
                 share roots with other phones",
                describe(event)
            ))
        })
    })
}

/// Returns the entries with a key's value in the sorted `values`, or those with it outside. An entry without the key is
/// an error.
pub fn filter<'a, C>(stats: &[&'a Entry<C>], key: i32, values: &[i32], is_in: bool) -> Result<Part<'a, C>> {
    let mut rest = Vec::new();
    for &entry in stats {
        let value = value_of(&entry.0, key)
            .ok_or_else(|| Error::stats(format!("the event {} has no key {key}", describe(&entry.0))))?;
        if values.binary_search(&value).is_ok() == is_in {
            rest.push(entry);
        }
    }
    Ok(rest)
}

/// All values of a key, sorted, each once; entries without it are passed over.
pub(crate) fn values_of<C>(stats: &[&Entry<C>], key: i32) -> Vec<i32> {
    let mut values: Vec<i32> = stats.iter().filter_map(|(event, _)| value_of(event, key)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns the sum of entries, or `None` for an empty list.
pub fn sum<C: Clusterable>(stats: &[&Entry<C>]) -> Option<C> {
    cluster::sum(stats.iter().map(|entry| &entry.1))
}

pub(crate) fn sum_normalizers<C: Clusterable>(stats: &[&Entry<C>]) -> f32 {
    cluster::sum_normalizers(stats.iter().map(|entry| &entry.1))
}

/// The sum of the objective functions of a tree's leaves.
pub(crate) fn objf_of_tree<C: Clusterable>(stats: &[&Entry<C>], tree: &EventMap) -> Result<f32> {
    let sums: Vec<C> = by_leaf(stats, tree)?.iter().filter_map(|part| sum(part)).collect();
    Ok(cluster::sum_objf(&sums))
}

/// The part of an event in a window of `old` width and central position that a narrower window `new` sees. Keys that are
/// no positions stay.
pub(crate) fn convert_context(
    event: &[(i32, i32)],
    (old_width, old_central): (usize, usize),
    (new_width, new_central): (usize, usize),
) -> EventVec {
    let shift = new_central as i32 - old_central as i32;
    let moved = event.iter().filter_map(|&(key, value)| {
        if !(0..old_width as i32).contains(&key) {
            return Some((key, value));
        }
        (0..new_width as i32).contains(&(key + shift)).then_some((key + shift, value))
    });
    moved.collect()
}

impl<C: Clusterable> KaldiObject for TreeStats<C> {
    /// Reads `BTS`, the number of events, and each with its statistics; all statistics must fit each other.
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<TreeStats<C>> {
        r.expect_token("BTS")?;
        let count = r.read_u32()?;
        let mut entries: Vec<Entry<C>> = Vec::new();
        for _ in 0..count {
            let event = read_event(r)?;
            if !r.read_bool()? {
                return Err(r.error(format!("the event {} has no statistics", describe(&event))));
            }
            let stats = C::read(r)?;
            if entries.first().is_some_and(|first| !first.1.fits(&stats)) {
                return Err(r.error("statistics differ in dimension from those before"));
            }
            entries.push((event, stats));
        }
        Ok(TreeStats { entries })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("BTS")?;
        w.write_u32(self.entries.len() as u32)?;
        for (event, stats) in &self.entries {
            write_event(w, event)?;
            w.write_bool(true)?;
            stats.write(w)?;
        }
        w.newline_in_text()
    }
}

fn read_event(r: &mut KaldiReader) -> kaldi_io::Result<EventVec> {
    r.expect_token("EV")?;
    let count = r.read_u32()?;
    let mut event = Vec::new();
    for _ in 0..count {
        event.push((r.read_i32()?, r.read_i32()?));
    }
    if !event.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(r.error(format!("the keys of the event {} are not in order", describe(&event))));
    }
    Ok(event)
}

fn write_event(w: &mut KaldiWriter, event: &[(i32, i32)]) -> kaldi_io::Result<()> {
    w.write_token("EV")?;
    w.write_u32(event.len() as u32)?;
    for &(key, value) in event {
        w.write_i32(key)?;
        w.write_i32(value)?;
    }
    w.newline_in_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauss::Gauss;
    use crate::scalar::Scalar;
    use crate::testing::{from_text, in_both_forms};

    fn scalars() -> TreeStats<Scalar> {
        let entry = |class, phone, x| (vec![(-1, class), (0, phone)], Scalar::new(x));
        TreeStats { entries: vec![entry(0, 1, 1.5), entry(0, 2, 2.0), entry(1, 1, -1.0)] }
    }

    #[test]
    fn text_and_binary() {
        let (text, binary) = in_both_forms(&scalars());
        assert!(text.starts_with("BTS 3 EV 2 -1 0 0 1 \nT SCL 1.5 2.25 1 EV 2 "), "{text}");
        assert!(binary.starts_with(b"BTS \xfc\x03\0\0\0EV \xfc\x02\0\0\0\x04\xff\xff\xff\xff\x04"));
        for end in 0..text.len() - 3 {
            assert!(from_text::<TreeStats<Scalar>>(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn wrong_files() {
        let refused = |text: &str, words: &str| {
            let error = from_text::<TreeStats<Gauss>>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("BTS 1 EV 1 0 1 \nF ", "the event 0:1 has no statistics");
        refused("BTS 1 EV 2 0 1 -1 0 \nT ", "keys of the event 0:1 -1:0 are not in order");
        refused("BTS 1 EV 0 \nT GCL -1 0.1 [ 1 \n 1 ]\n", "invalid count -1");
        refused("BTS 1 EV 0 \nT GCL 1 -0.1 [ 1 \n 1 ]\n", "invalid variance floor -0.1");
        refused("BTS 1 EV 0 \nT GCL 1 0.1 [ 1 ]\n", "2 rows, found 1");
        refused(
            "BTS 2 EV 0 \nT GCL 1 0.1 [ 1 \n 1 ]\nEV 0 \nT GCL 1 0 [ 1 2 \n 1 2 ]\n",
            "differ in dimension",
        );
    }

    #[test]
    fn parts() {
        let stats = scalars();
        let all = stats.all();
        let sizes = |parts: Result<Vec<Part<Scalar>>>| -> Vec<usize> {
            parts.unwrap().iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(by_key(&all, -1)), [2, 1]);
        assert_eq!(sizes(by_key(&all, 0)), [0, 2, 1]);
        assert!(by_key(&all, 7).unwrap_err().to_string().contains("the event -1:0 0:1 has no key 7"));
        assert_eq!(filter(&all, 0, &[1], false).unwrap().len(), 1);
        assert_eq!(values_of(&all, 0), [1, 2]);
        let tree = EventMap::table(0, [(1, EventMap::Constant(1)), (2, EventMap::Constant(0))]);
        assert_eq!(sizes(by_leaf(&all, &tree)), [1, 2]);
        // 1.5 and -1 in one leaf: their mean is 0.25.
        assert_eq!(objf_of_tree(&all, &tree).unwrap(), -2.0 * 1.25 * 1.25);
        let tree = EventMap::table(0, [(1, EventMap::Constant(1))]);
        assert!(by_leaf(&all, &tree).unwrap_err().to_string().contains("no leaf for the event -1:0 0:2"));
    }

    #[test]
    fn adding_up() {
        let mut sum = Sum::new();
        sum.add(scalars()).unwrap();
        sum.add(scalars()).unwrap();
        let sum = sum.finish();
        assert_eq!(sum.entries.len(), 3);
        assert_eq!((sum.entries[0].1.normalizer(), sum.entries[0].1.mean()), (2.0, 1.5));
        let mut sum = Sum::new();
        let gauss = |dim| TreeStats { entries: vec![(vec![(0, 1)], Gauss::new(dim, 0.1))] };
        sum.add(gauss(2)).unwrap();
        assert!(sum.add(gauss(3)).is_err());
    }

    #[test]
    fn narrower_windows() {
        let event = [(-1, 0), (0, 5), (1, 6), (2, 7)];
        assert_eq!(convert_context(&event, (3, 1), (1, 0)), [(-1, 0), (0, 6)]);
        assert_eq!(convert_context(&event, (3, 1), (2, 1)), [(-1, 0), (0, 5), (1, 6)]);
        assert_eq!(convert_context(&event, (3, 1), (2, 0)), [(-1, 0), (0, 6), (1, 7)]);
    }
}
