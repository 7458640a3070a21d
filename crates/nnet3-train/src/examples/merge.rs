//! Merging examples of equal structure into minibatches.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};

use crate::error::{Error, Result};
use crate::example::{Example, NnetExample, NnetIo};
use crate::merge_sizes::MinibatchSizes;
use kaldi_io::GeneralMatrix;
use kaldi_io::text::format_g;

/// Digits of averages and percentages in log lines about merging.
const SHORT_PRECISION: usize = 4;

/// The line that explains the next one.
pub const FORMAT_LINE: &str = "Merged specific eg types as follows [format: \
     <eg-size1>={<mb-size1>-><num-minibatches1>,<mbsize2>-><num-minibatches2>.../d=<num-discarded>},<egs-size2>={...},... \
     (note,egs-size == number of input frames including context).";

/// Collects examples and merges them as soon as there are enough of a kind.
pub struct ExampleMerger<E: Example = NnetExample> {
    sizes: MinibatchSizes,
    compress: bool,
    groups: Vec<Group<E>>,
    /// Positions of groups by the hash of their structure.
    by_hash: HashMap<u64, Vec<usize>>,
    /// Position of the group of the example before.
    latest: usize,
    written: u64,
}

/// Examples that can be merged with each other.
struct Group<E> {
    /// An example of the group without its values: names, dimensions and indexes.
    structure: E,
    size: usize,
    waiting: Vec<E>,
    counts: GroupCounts,
}

#[derive(Debug, Clone, Default)]
struct GroupCounts {
    /// Number of minibatches of each size.
    minibatches: BTreeMap<usize, u64>,
    discarded: u64,
}

/// Key and example of a minibatch.
pub type Minibatch<E = NnetExample> = (String, E);

impl<E: Example> ExampleMerger<E> {
    pub fn new(sizes: MinibatchSizes, compress: bool) -> ExampleMerger<E> {
        ExampleMerger { sizes, compress, groups: Vec::new(), by_hash: HashMap::new(), latest: 0, written: 0 }
    }

    /// Takes an example; returns the minibatch that it completes, if any.
    pub fn push(&mut self, example: E) -> Result<Option<Minibatch<E>>> {
        let group = self.group_of(&example);
        let largest = self.sizes.largest(self.groups[group].size);
        self.groups[group].waiting.push(example);
        if self.groups[group].waiting.len() < largest {
            return Ok(None);
        }
        self.take(group, largest).map(Some)
    }

    /// Makes minibatches of the remaining examples, group by group in the order of their first examples. Discards
    /// examples that fit no minibatch.
    pub fn finish(&mut self) -> Result<Vec<Minibatch<E>>> {
        let mut out = Vec::new();
        for g in 0..self.groups.len() {
            loop {
                let (size, waiting) = (self.groups[g].size, self.groups[g].waiting.len());
                let count = self.sizes.largest_up_to(size, waiting);
                if count == 0 {
                    break;
                }
                out.push(self.take(g, count)?);
            }
            let group = &mut self.groups[g];
            group.counts.discarded += group.waiting.len() as u64;
            group.waiting.clear();
        }
        Ok(out)
    }

    /// Explains why there was no minibatch at all, and what to change.
    pub fn why_nothing(&self) -> String {
        let counts = self.groups.iter().map(|group| (group.counts.discarded, group.size));
        let all: u64 = counts.clone().map(|(count, _)| count).sum();
        let Some((most, size)) = counts.max() else { return "there were no examples to merge".to_owned() };
        format!(
            "none of the {all} examples fits a minibatch: there are at most {most} of a kind, and a minibatch of \
             those takes at least {}; give a smaller `minibatch-size`, such as {most} or 1:{most}",
            self.sizes.smallest(size)
        )
    }

    /// Number of minibatches.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn group_of(&mut self, example: &E) -> usize {
        // Most examples come in runs of one structure, and comparing is faster than hashing.
        if !self.groups.get(self.latest).is_some_and(|group| group.structure.same_structure(example)) {
            self.latest = self.find_or_add_group(example);
        }
        self.latest
    }

    fn find_or_add_group(&mut self, example: &E) -> usize {
        let mut hasher = DefaultHasher::new();
        example.hash_structure(&mut hasher);
        let candidates = self.by_hash.entry(hasher.finish()).or_default();
        let found = candidates.iter().find(|&&g| self.groups[g].structure.same_structure(example));
        if let Some(&group) = found {
            return group;
        }
        let group = self.groups.len();
        candidates.push(group);
        self.groups.push(Group {
            structure: example.without_values(),
            size: example.size(),
            waiting: Vec::new(),
            counts: GroupCounts::default(),
        });
        group
    }

    fn take(&mut self, group: usize, count: usize) -> Result<Minibatch<E>> {
        let group = &mut self.groups[group];
        let merged = E::merge(group.waiting.drain(..count).collect(), self.compress)?;
        *group.counts.minibatches.entry(count).or_default() += 1;
        let key = format!("merged-{}-{count}", self.written);
        self.written += 1;
        Ok((key, merged))
    }
}

/// Merges examples of equal structure: the sequences of each get new numbers, in the given order.
pub fn merge(examples: Vec<NnetExample>, compress: bool) -> Result<NnetExample> {
    let first = examples.first().ok_or_else(|| Error::data("expected at least one example to merge"))?;
    let sequences = first.num_sequences()? as i32;
    let parts = examples.into_iter().map(|example| example.ios).collect();
    Ok(NnetExample { ios: merge_ios(parts, sequences, compress)? })
}

/// Merges the inputs and outputs of examples with this many sequences each. The result is sorted by name.
pub fn merge_ios(examples: Vec<Vec<NnetIo>>, sequences: i32, compress: bool) -> Result<Vec<NnetIo>> {
    let mut ios: Vec<(NnetIo, Vec<GeneralMatrix>)> = Vec::new();
    for (i, example) in examples.into_iter().enumerate() {
        for (position, io) in example.into_iter().enumerate() {
            if i == 0 {
                ios.push((NnetIo { name: io.name.clone(), ..NnetIo::default() }, Vec::new()));
            }
            let (merged, parts) =
                ios.get_mut(position).filter(|(merged, _)| merged.name == io.name).ok_or_else(|| {
                    Error::data(format!("only some of the examples to merge have '{}'", io.name))
                })?;
            let shift = i as i32 * sequences;
            merged.indexes.extend(io.indexes.into_iter().map(|mut index| {
                index.n += shift;
                index
            }));
            parts.push(io.features);
        }
    }
    ios.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let join = |(io, parts): (NnetIo, Vec<GeneralMatrix>)| -> Result<NnetIo> {
        let mut features = GeneralMatrix::append_rows(parts)?;
        if compress {
            features.compress()?;
        }
        Ok(NnetIo { features, ..io })
    };
    ios.into_iter().map(join).collect()
}

// ---- report of the merging ----------------------------------------------------------------------------------------

impl<E: Example> ExampleMerger<E> {
    /// The line that [`FORMAT_LINE`] explains.
    pub fn specific_line(&self) -> String {
        let mut groups: Vec<&Group<E>> = self.groups.iter().collect();
        groups.sort_by_key(|group| group.size);
        let describe = |group: &&Group<E>| {
            let mut items: Vec<String> =
                group.counts.minibatches.iter().map(|(size, count)| format!("{size}->{count}")).collect();
            items.push(format!("d={}", group.counts.discarded));
            format!("{}={{{}}}", group.size, items.join(","))
        };
        groups.iter().map(describe).collect::<Vec<_>>().join(",")
    }

    /// Totals and averages.
    pub fn aggregate_line(&self) -> String {
        let (mut discarded, mut merged, mut total_size, mut kinds) = (0u64, 0u64, 0u64, 0usize);
        for group in &self.groups {
            let own: u64 = group.counts.minibatches.iter().map(|(&size, &count)| size as u64 * count).sum();
            merged += own;
            discarded += group.counts.discarded;
            total_size += (own + group.counts.discarded) * group.size as u64;
            kinds += group.counts.minibatches.len();
        }
        let all = (merged + discarded) as f64;
        let short = |value: f64| {
            let value = if value.is_nan() { 0.0 } else { value };
            format_g(f64::from(value as f32), SHORT_PRECISION)
        };
        format!(
            "Processed {} egs of avg. size {} into {} minibatches, discarding {}% of egs.  Avg minibatch size was {}, \
             #distinct types of egs/minibatches was {}/{kinds}",
            merged + discarded,
            short(total_size as f64 / all),
            self.written,
            short(discarded as f64 * 100.0 / all),
            short(merged as f64 / self.written as f64),
            self.groups.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::{SparseMatrix, SparseVector};

    fn example(frames: usize, value: f32) -> NnetExample {
        let input = kaldi_io::DenseMatrix { rows: frames, cols: 2, data: vec![value; 2 * frames] };
        let row = SparseVector::new(3, vec![(1, value)]).unwrap();
        let output = SparseMatrix { rows: vec![row; frames - 2] };
        NnetExample {
            ios: vec![NnetIo::new("output", output.into(), 0, 1), NnetIo::new("input", input.into(), -1, 1)],
        }
    }

    fn merger(sizes: &str) -> ExampleMerger {
        ExampleMerger::new(sizes.parse().unwrap(), false)
    }

    fn keys(minibatches: &[Minibatch]) -> Vec<&str> {
        minibatches.iter().map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn groups_are_merged_when_full_and_at_the_end() {
        let mut merger = merger("4,2");
        let mut out = Vec::new();
        for i in 0..7 {
            out.extend(merger.push(example(5, i as f32)).unwrap());
            out.extend(merger.push(example(6, i as f32)).unwrap());
        }
        assert_eq!(keys(&out), ["merged-0-4", "merged-1-4"]);
        out.extend(merger.finish().unwrap());
        assert_eq!(keys(&out[2..]), ["merged-2-2", "merged-3-2"]);
        assert_eq!(merger.specific_line(), "5={2->1,4->1,d=1},6={2->1,4->1,d=1}");
        assert_eq!(
            merger.aggregate_line(),
            "Processed 14 egs of avg. size 5.5 into 4 minibatches, discarding 14.29% of egs.  Avg minibatch size was 3, \
             #distinct types of egs/minibatches was 2/4"
        );
    }

    #[test]
    fn the_rest_in_a_range_is_not_discarded() {
        let mut merger = merger("1:3");
        let mut out = Vec::new();
        for i in 0..8 {
            out.extend(merger.push(example(4, i as f32)).unwrap());
        }
        out.extend(merger.finish().unwrap());
        assert_eq!(keys(&out), ["merged-0-3", "merged-1-3", "merged-2-2"]);
    }

    /// Merging merged examples must give the same as merging all together.
    #[test]
    fn merging_is_associative() {
        let examples: Vec<_> = (0..6).map(|i| example(4, i as f32 + 1.0)).collect();
        let at_once = merge(examples.clone(), false).unwrap();
        let pairs = examples.chunks(2).map(|pair| merge(pair.to_vec(), false).unwrap()).collect();
        assert_eq!(merge(pairs, false).unwrap(), at_once);
        assert_eq!(at_once.ios[0].name, "input", "sorted by name");
        assert_eq!(at_once.num_sequences().unwrap(), 6);
        let input = &at_once.ios[0];
        assert_eq!((input.indexes[9].n, input.indexes[9].t), (2, 0));
        assert_eq!(input.features.to_dense().row(9), [3.0, 3.0]);
        assert!(matches!(at_once.ios[1].features, GeneralMatrix::Sparse(_)));
    }

    #[test]
    fn compression_touches_what_is_full() {
        let merged = merge(vec![example(4, 1.0), example(4, 2.0)], true).unwrap();
        assert!(matches!(merged.ios[0].features, GeneralMatrix::Compressed(_)));
        assert!(matches!(merged.ios[1].features, GeneralMatrix::Sparse(_)));
    }
}
