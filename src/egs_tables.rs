//! What the programs that merge, shuffle and select examples do, for examples of any kind.

use anyhow::{Context, Result, bail};
use kaldi_io::holder::ObjectHolder;
use kaldi_io::log::Site;
use kaldi_io::log::sites::{MERGE_AGGREGATE, MERGE_SPECIFIC, MERGE_SPECIFIC_FORMAT};
use kaldi_io::{TableWriter, kaldi_log};
use nnet3_train::merge::{ExampleMerger, FORMAT_LINE};
use nnet3_train::shuffle::ShuffleBuffer;
use nnet3_train::subset::Subset;
use nnet3_train::{CRand, EgsReader, Example};

use crate::examples;
use crate::options::egs_tables::{ShuffleEgsOptions, SubsetEgsOptions};

/// What can be different from program to program when examples are merged.
pub struct Merging<P, K> {
    /// Changes an example, given its key, before it is merged.
    pub prepare: P,
    /// What the key of a minibatch ends with.
    pub suffix: K,
}

/// Merges the examples of a table into minibatches.
pub fn merge<E: Example>(
    (from, to): (&str, &str),
    mut merger: ExampleMerger<E>,
    mut merging: Merging<impl FnMut(&str, &mut E) -> nnet3_train::Result<()>, impl Fn(&E) -> String>,
    site: &Site,
) -> Result<u8> {
    let mut egs = EgsReader::<E>::open(from)?;
    if egs.at_end()? {
        return examples::nothing(site, egs);
    }
    let mut writer = TableWriter::<ObjectHolder<E>>::open(to)?;
    let mut write = |(key, minibatch): (String, E)| {
        writer.write(&format!("{key}{}", (merging.suffix)(&minibatch)), &minibatch)
    };
    while let Some((key, mut example)) = egs.next()? {
        (merging.prepare)(&key, &mut example).map_err(|e| egs.blame(e))?;
        merger.push(example).map_err(|e| egs.blame(e))?.map_or(Ok(()), &mut write)?;
    }
    egs.close()?;
    merger.finish().with_context(|| from.to_owned())?.into_iter().try_for_each(write)?;
    writer.close()?;
    kaldi_log!(MERGE_SPECIFIC_FORMAT, "{FORMAT_LINE}");
    kaldi_log!(MERGE_SPECIFIC, "{}", merger.specific_line());
    kaldi_log!(MERGE_AGGREGATE, "{}", merger.aggregate_line());
    Ok(u8::from(merger.written() == 0))
}

/// Writes the examples of a table in random order.
pub fn shuffle<E: Example>(options: &ShuffleEgsOptions, site: &Site) -> Result<u8> {
    let Ok(slots) = usize::try_from(options.buffer_size) else {
        bail!("--buffer-size={}: expected a number that is not negative", options.buffer_size);
    };
    let mut rand = CRand::new(options.srand);
    let mut egs = EgsReader::<E>::open(&options.egs_in)?;
    if egs.at_end()? {
        return examples::nothing(site, egs);
    }
    let mut writer = TableWriter::<ObjectHolder<E>>::open(&options.egs_out)?;
    if slots == 0 {
        let mut all = Vec::new();
        while let Some(item) = egs.next()? {
            all.push(item);
        }
        rand.shuffle(&mut all);
        for (key, example) in &all {
            writer.write(key, example)?;
        }
    } else {
        let mut buffer = ShuffleBuffer::new(slots, rand);
        while let Some(item) = egs.next()? {
            if let Some((key, example)) = buffer.push(item) {
                writer.write(&key, &example)?;
            }
        }
        for (key, example) in buffer.finish() {
            writer.write(&key, &example)?;
        }
    }
    let count = egs.count();
    egs.close()?;
    writer.close()?;
    let how = if slots > 0 { " using a buffer (partial randomization)" } else { "" };
    kaldi_log!(*site, "Shuffled order of {count} neural-network training examples{how}");
    Ok(0)
}

/// Writes a random subset of the examples of a table. `kind` is what the last message calls them.
pub fn subset<E: Example>(options: &SubsetEgsOptions, kind: &str, site: &Site) -> Result<u8> {
    let Ok(wanted) = usize::try_from(options.n) else {
        bail!("--n={}: expected a number that is not negative", options.n);
    };
    let mut egs = EgsReader::<E>::open(&options.egs_in)?;
    if egs.at_end()? {
        return examples::nothing(site, egs);
    }
    let mut subset = Subset::new(wanted, CRand::new(options.srand));
    while let Some(item) = egs.next()? {
        subset.offer(item);
    }
    egs.close()?;
    let read = subset.offered();
    let kept = subset.finish(options.randomize_order);
    let mut writer = TableWriter::<ObjectHolder<E>>::open(&options.egs_out)?;
    for (key, example) in &kept {
        writer.write(key, example)?;
    }
    writer.close()?;
    kaldi_log!(*site, "Selected a subset of {} out of {read} {kind} training examples ", kept.len());
    Ok(0)
}
