//! Examples in random order.

use anyhow::bail;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use nnet3_train::shuffle::ShuffleBuffer;
use nnet3_train::{CRand, EgsReader, Example, Mersenne, Result};

use super::Stage;
use crate::options::egs_tables::ShuffleEgsOptions;

/// Shuffles examples, all of them or through a buffer.
pub struct ShuffleStage<E> {
    /// `None` after the end of the input.
    waiting: Option<Waiting<(String, E)>>,
    rest: std::vec::IntoIter<(String, E)>,
    partial: bool,
    site: Site,
}

enum Waiting<T> {
    /// All of them, and the seed of their order.
    All(Vec<T>, i32),
    Some(ShuffleBuffer<T>),
}

impl<T> Waiting<T> {
    fn shuffled(self) -> Vec<T> {
        match self {
            Waiting::All(mut items, seed) => {
                Mersenne::new(seed).shuffle(&mut items);
                items
            }
            Waiting::Some(buffer) => buffer.finish().collect(),
        }
    }
}

impl<E: Example> ShuffleStage<E> {
    pub fn new(options: &ShuffleEgsOptions, site: Site) -> anyhow::Result<Self> {
        let Ok(slots) = usize::try_from(options.buffer_size) else {
            bail!("--buffer-size={}: expected a number that is not negative", options.buffer_size);
        };
        let waiting = match slots {
            0 => Waiting::All(Vec::new(), options.srand),
            _ => Waiting::Some(ShuffleBuffer::new(slots, CRand::new(options.srand))),
        };
        Ok(ShuffleStage { waiting: Some(waiting), rest: Vec::new().into_iter(), partial: slots > 0, site })
    }
}

impl<E: Example> Stage<E> for ShuffleStage<E> {
    fn next(&mut self, egs: &mut EgsReader<E>) -> Result<Option<(String, E)>> {
        if let Some(waiting) = &mut self.waiting {
            while let Some(item) = egs.next()? {
                match waiting {
                    Waiting::All(items, _) => items.push(item),
                    Waiting::Some(buffer) => {
                        if let Some(item) = buffer.push(item) {
                            return Ok(Some(item));
                        }
                    }
                }
            }
        }
        if let Some(waiting) = self.waiting.take() {
            self.rest = waiting.shuffled().into_iter();
        }
        Ok(self.rest.next())
    }

    fn summarize(&self, read: u64) -> u8 {
        let how = if self.partial { " using a buffer (partial randomization)" } else { "" };
        kaldi_log!(self.site, "Shuffled order of {read} neural-network training examples{how}");
        0
    }
}
