//! A random subset of examples.

use anyhow::bail;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use nnet3_train::subset::Subset;
use nnet3_train::{CRand, EgsReader, Example, Mersenne, Result};

use super::Stage;
use crate::options::egs_tables::SubsetEgsOptions;

/// Keeps some of the examples, chosen at random.
pub struct SubsetStage<E> {
    /// `None` after the end of the input.
    subset: Option<Subset<(String, E)>>,
    kept: std::vec::IntoIter<(String, E)>,
    /// The order of those that are kept. `None`: as they come.
    order: Option<Mersenne>,
    /// Kept in all.
    count: usize,
    /// The word that the last message uses for the examples.
    kind: &'static str,
    site: Site,
}

impl<E: Example> SubsetStage<E> {
    /// Makes the stage. `seeded_choice`: `--srand` is the seed of the choice, too, and not of the order alone.
    pub fn new(
        options: &SubsetEgsOptions,
        kind: &'static str,
        seeded_choice: bool,
        site: Site,
    ) -> anyhow::Result<Self> {
        let Ok(wanted) = usize::try_from(options.n) else {
            bail!("--n={}: expected a number that is not negative", options.n);
        };
        let choice = if seeded_choice { CRand::new(options.srand) } else { CRand::default() };
        Ok(SubsetStage {
            subset: Some(Subset::new(wanted, choice)),
            kept: Vec::new().into_iter(),
            order: options.randomize_order.then(|| Mersenne::new(options.srand)),
            count: 0,
            kind,
            site,
        })
    }
}

impl<E: Example> Stage<E> for SubsetStage<E> {
    fn next(&mut self, egs: &mut EgsReader<E>) -> Result<Option<(String, E)>> {
        if let Some(mut subset) = self.subset.take() {
            while let Some(item) = egs.next()? {
                subset.offer(item);
            }
            self.kept = subset.finish(self.order.take()).into_iter();
            self.count = self.kept.len();
        }
        Ok(self.kept.next())
    }

    fn summarize(&self, read: u64) -> u8 {
        let (count, kind) = (self.count, self.kind);
        kaldi_log!(self.site, "Selected a subset of {count} out of {read} {kind} training examples ");
        0
    }
}
