//! The examples of a training, epoch by epoch: shuffled, merged into minibatches, counted beforehand.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_io::GeneralMatrix;
use nnet3_train::merge::ExampleMerger;
use nnet3_train::merge_sizes::MinibatchSizes;
use nnet3_train::shuffle::ShuffleBuffer;
use nnet3_train::{CRand, EgsReader, Example, Mersenne, NnetExample};

use super::digest::Digest;
use nnet3::{egs, messages};

/// Stands for the number of an epoch in the name of a table.
const EPOCH: &str = "{epoch}";
/// Bytes of a row's index, in addition to its values.
const INDEX_BYTES: usize = 12;

/// Options for reading examples.
#[derive(Debug, Clone)]
pub struct DataOptions {
    pub sizes: MinibatchSizes,
    pub shuffle: bool,
    pub srand: i32,
    /// Bytes of examples in memory at most.
    pub in_memory: usize,
    /// A checksum of the examples is wanted.
    pub digest: bool,
}

/// A minibatch size that is one number allows smaller ones, so that no example is left over.
pub fn sizes(text: &str) -> Result<MinibatchSizes> {
    let text = if text.parse::<u32>().is_ok() { format!("1:{text}") } else { text.to_owned() };
    Ok(text.parse()?)
}

/// All examples of a training, or the tables from which they are read.
pub struct Data {
    rspecifier: String,
    options: DataOptions,
    /// Examples in the order of the table. `None` if they do not fit into memory, or if each epoch has others.
    all: Option<Arc<[NnetExample]>>,
    /// Examples that fit into memory, where not all do.
    slots: usize,
    examples: u64,
    minibatches: u64,
    digest: Digest,
}

impl Data {
    /// Reads the table, and counts.
    pub fn open(rspecifier: &str, options: DataOptions) -> Result<Data> {
        let mut data = Data {
            rspecifier: rspecifier.to_owned(),
            options,
            all: None,
            slots: 0,
            examples: 0,
            minibatches: 0,
            digest: Digest::default(),
        };
        if !rspecifier.contains(EPOCH) {
            data.read(0)?;
        }
        Ok(data)
    }

    fn table(&self, epoch: u64) -> String {
        self.rspecifier.replace(EPOCH, &epoch.to_string())
    }

    /// Reads and counts the examples of an epoch.
    fn read(&mut self, epoch: u64) -> Result<()> {
        let table = self.table(epoch);
        let mut egs: EgsReader<NnetExample> = egs::open(&table)?;
        let mut counter = ExampleMerger::<NnetExample>::new(self.options.sizes.clone(), false);
        let (mut kept, mut bytes) = (Some(Vec::new()), 0);
        (self.examples, self.minibatches, self.slots) = (0, 0, 0);
        let mut digest = Digest::default();
        while let Some((key, example)) = egs.next()? {
            if self.options.digest {
                digest.add(&key, &example)?;
            }
            let merged = counter.push(example.without_values()).map_err(|e| egs.blame(e))?;
            self.minibatches += u64::from(merged.is_some());
            self.examples += 1;
            bytes += bytes_of(&example);
            if let Some(all) = &mut kept {
                all.push(example);
                if bytes > self.options.in_memory {
                    self.slots = all.len();
                    kept = None;
                }
            }
        }
        if self.examples == 0 {
            bail!("{table}: expected at least one example, found none");
        }
        egs.close()?;
        self.minibatches += counter.finish()?.len() as u64;
        if self.minibatches == 0 {
            bail!("{table}: {}", counter.why_nothing());
        }
        if kept.is_none() {
            messages::log(&format!(
                "{table}: more than --in-memory={} MB: the table is read in each epoch, and shuffled through a buffer of {} \
                 examples",
                self.options.in_memory >> 20,
                self.slots
            ));
        }
        self.all = kept.map(Arc::from);
        self.digest = digest;
        Ok(())
    }

    /// The checksum of the examples. The name of a table that has others in each epoch takes its place.
    pub fn digest(&self) -> String {
        if self.rspecifier.contains(EPOCH) { self.rspecifier.clone() } else { self.digest.text() }
    }

    /// Examples of an epoch.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// Returns the number of examples in the shuffle buffer, which is used if they do not all fit into memory.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The minibatches of an epoch, which counts from 0.
    pub fn epoch(&mut self, epoch: u64) -> Result<Epoch> {
        if self.rspecifier.contains(EPOCH) {
            self.read(epoch).with_context(|| format!("epoch {epoch}"))?;
        }
        let seed = self.options.srand.wrapping_add(epoch as i32);
        let source = match &self.all {
            Some(all) => {
                let mut order: Vec<usize> = (0..all.len()).collect();
                if self.options.shuffle {
                    Mersenne::new(seed).shuffle(&mut order);
                }
                Source::Memory { all: all.clone(), order: order.into_iter() }
            }
            None => {
                let slots = if self.options.shuffle { self.slots } else { 1 };
                Source::Table {
                    egs: Some(Box::new(egs::open(&self.table(epoch))?)),
                    buffer: Some(Box::new(ShuffleBuffer::new(slots, CRand::new(seed)))),
                    rest: VecDeque::new(),
                }
            }
        };
        let merger = ExampleMerger::new(self.options.sizes.clone(), false);
        Ok(Epoch { source, merger, rest: None, count: self.minibatches })
    }

    /// Up to `count` minibatches in the order of the table.
    pub fn first_minibatches(&mut self, count: usize) -> Result<Vec<NnetExample>> {
        let shuffle = std::mem::replace(&mut self.options.shuffle, false);
        let minibatches = self.epoch(0).and_then(|mut epoch| {
            let mut out = Vec::new();
            while let Some((_, minibatch)) = if out.len() < count { epoch.next()? } else { None } {
                out.push(minibatch);
            }
            Ok(out)
        });
        self.options.shuffle = shuffle;
        minibatches
    }
}

enum Source {
    Memory {
        all: Arc<[NnetExample]>,
        order: std::vec::IntoIter<usize>,
    },
    Table {
        egs: Option<Box<EgsReader<NnetExample>>>,
        buffer: Option<Box<ShuffleBuffer<NnetExample>>>,
        rest: VecDeque<NnetExample>,
    },
}

impl Source {
    fn next(&mut self) -> Result<Option<NnetExample>> {
        match self {
            Source::Memory { all, order } => Ok(order.next().map(|k| all[k].clone())),
            Source::Table { egs, buffer, rest } => {
                while let Some(reader) = egs {
                    let Some((_, example)) = reader.next()? else {
                        if let Some(reader) = egs.take() {
                            reader.close()?;
                        }
                        rest.extend(buffer.take().into_iter().flat_map(|buffer| buffer.finish()));
                        break;
                    };
                    let out = buffer.as_mut().and_then(|buffer| buffer.push(example));
                    if out.is_some() {
                        return Ok(out);
                    }
                }
                Ok(rest.pop_front())
            }
        }
    }
}

/// The minibatches of an epoch.
pub struct Epoch {
    source: Source,
    merger: ExampleMerger<NnetExample>,
    /// Minibatches of the examples that remained at the end.
    rest: Option<VecDeque<(String, NnetExample)>>,
    count: u64,
}

impl Epoch {
    /// Number of examples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The next key and minibatch; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(String, NnetExample)>> {
        if self.rest.is_none() {
            while let Some(example) = self.source.next()? {
                let minibatch = self.merger.push(example)?;
                if minibatch.is_some() {
                    return Ok(minibatch);
                }
            }
            self.rest = Some(self.merger.finish()?.into());
        }
        Ok(self.rest.as_mut().and_then(VecDeque::pop_front))
    }
}

/// About how much memory an example takes.
fn bytes_of(example: &NnetExample) -> usize {
    let of = |matrix: &GeneralMatrix| match matrix {
        GeneralMatrix::Full(m) => 4 * m.data.len(),
        GeneralMatrix::Compressed(m) => 2 * m.rows() * m.cols(),
        GeneralMatrix::Sparse(m) => m.rows.iter().map(|row| 32 + 8 * row.pairs.len()).sum(),
    };
    example.ios.iter().map(|io| INDEX_BYTES * io.indexes.len() + of(&io.features)).sum()
}
