//! Examples → minibatches.

use std::collections::VecDeque;

use kaldi_cli::log::sites::{MERGE_AGGREGATE, MERGE_SPECIFIC, MERGE_SPECIFIC_FORMAT};
use kaldi_cli::{NOTHING_DONE, kaldi_log};
use nnet3_train::merge::{ExampleMerger, FORMAT_LINE, Minibatch};
use nnet3_train::{EgsReader, Error, Example, NnetIo, Result};

use super::Stage;
use crate::messages;

/// Differences between programs that merge examples.
pub struct Merging<P, K> {
    /// Changes an example, given its key, before it is merged.
    pub prepare: P,
    /// Suffix of a minibatch's key.
    pub suffix: K,
}

/// Merges examples into minibatches.
pub struct MergeStage<E: Example, P, K> {
    merger: ExampleMerger<E>,
    merging: Merging<P, K>,
    /// Minibatches of the examples that remained at the end.
    rest: Option<VecDeque<Minibatch<E>>>,
    widths: Widths,
}

/// Dimensions of inputs, and the example in which each was seen first.
#[derive(Default)]
struct Widths {
    seen: Vec<(String, usize, String)>,
    warned: usize,
}

impl Widths {
    /// Minibatches do not have the keys of their examples: this is the last place that knows which one does not fit.
    fn check(&mut self, table: &str, key: &str, ios: &[NnetIo]) {
        const MOST_WARNINGS: usize = 10;
        for io in ios {
            let width = io.features.cols();
            match self.seen.iter().find(|(name, ..)| *name == io.name) {
                None => self.seen.push((io.name.clone(), width, key.to_owned())),
                Some((name, first, other)) if *first != width && self.warned < MOST_WARNINGS => {
                    self.warned += 1;
                    messages::warn(&format!(
                        "{table}, key '{key}': '{name}' has dimension {width}, and {first} in '{other}'"
                    ));
                }
                Some(_) => {}
            }
        }
    }
}

impl<E: Example, P, K> MergeStage<E, P, K> {
    pub fn new(merger: ExampleMerger<E>, merging: Merging<P, K>) -> Self {
        MergeStage { merger, merging, rest: None, widths: Widths::default() }
    }

    fn read(&mut self, egs: &mut EgsReader<E>) -> Result<Option<Minibatch<E>>>
    where
        P: FnMut(&str, &mut E) -> Result<()>,
    {
        while let Some((key, mut example)) = egs.next()? {
            (self.merging.prepare)(&key, &mut example).map_err(|e| egs.blame(e))?;
            self.widths.check(egs.name(), &key, example.inputs());
            if let Some(minibatch) = self.merger.push(example).map_err(|e| egs.blame(e))? {
                return Ok(Some(minibatch));
            }
        }
        Ok(None)
    }
}

impl<E, P, K> Stage<E> for MergeStage<E, P, K>
where
    E: Example,
    P: FnMut(&str, &mut E) -> Result<()> + Send,
    K: Fn(&E) -> String + Send,
{
    fn next(&mut self, egs: &mut EgsReader<E>) -> Result<Option<Minibatch<E>>> {
        let mut minibatch = None;
        if self.rest.is_none() {
            minibatch = self.read(egs)?;
            if minibatch.is_none() {
                // Any of the examples that were left can be the reason.
                let blame = |e| Error::data(format!("{}: {}", egs.name(), kaldi_io::error::chain(&e)));
                self.rest = Some(self.merger.finish().map_err(blame)?.into());
            }
        }
        let minibatch = minibatch.or_else(|| self.rest.as_mut()?.pop_front());
        Ok(minibatch.map(|(key, minibatch)| (key + &(self.merging.suffix)(&minibatch), minibatch)))
    }

    fn summarize(&self, _: u64) -> u8 {
        kaldi_log!(MERGE_SPECIFIC_FORMAT, "{FORMAT_LINE}");
        kaldi_log!(MERGE_SPECIFIC, "{}", self.merger.specific_line());
        kaldi_log!(MERGE_AGGREGATE, "{}", self.merger.aggregate_line());
        if self.merger.written() > 0 {
            return 0;
        }
        messages::error(&self.merger.why_nothing());
        NOTHING_DONE
    }
}
