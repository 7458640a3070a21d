//! What `nnet3-copy-egs` and `nnet3-chain-copy-egs` do.

use anyhow::Result;
use kaldi_io::holder::{FloatHolder, ObjectHolder, TokenHolder};
use kaldi_io::log::Site;
use kaldi_io::{RandomReader, TableWriter, kaldi_log, kaldi_warn};
use nnet3_train::copy::{Copier, CopyExample, choose_output, number_of_copies};
use nnet3_train::{CRand, EgsReader};

use crate::options::egs_tables::CopyEgsOptions;
use crate::{examples, tables};

/// Where messages come from: the program, and what selects and trims.
pub struct Sites {
    pub main: Site,
    pub select: Site,
}

/// Weights and names of outputs by the keys of examples.
struct Changes {
    weights: Option<RandomReader<FloatHolder>>,
    names: Option<RandomReader<TokenHolder>>,
}

enum Change {
    /// The name that the output is to have, if another.
    Name(Option<String>),
    /// A message about what is missing.
    Missing(String),
}

impl Changes {
    fn open(options: &CopyEgsOptions) -> Result<Changes> {
        Ok(Changes {
            weights: tables::open_optional(&options.weights)?,
            names: tables::open_optional(&options.outputs)?,
        })
    }

    /// Weights the example.
    fn apply(&mut self, key: &str, example: &mut impl CopyExample) -> nnet3_train::Result<Change> {
        if let Some(weights) = &mut self.weights {
            let Some(&weight) = weights.get(key)? else {
                return Ok(Change::Missing(format!("No weight for example key {key}")));
            };
            example.scale_targets(weight)?;
        }
        let Some(names) = &mut self.names else { return Ok(Change::Name(None)) };
        match names.get(key)? {
            Some(name) => Ok(Change::Name(Some(name.clone()))),
            None => Ok(Change::Missing(format!("No new output-name for example key {key}"))),
        }
    }
}

/// Copies the examples of a table to one or several, changed as the options and the copier say.
pub fn copy<E: CopyExample>(options: &CopyEgsOptions, mut copier: Copier, sites: &Sites) -> Result<u8> {
    let main = &sites.main;
    let mut egs = EgsReader::<E>::open(&options.egs_in)?;
    let mut changes = Changes::open(options)?;
    if egs.at_end()? {
        return examples::nothing(main, egs);
    }
    let mut writers = Vec::new();
    for name in &options.egs_out {
        writers.push(TableWriter::<ObjectHolder<E>>::open(name)?);
    }
    let mut rand = CRand::new(options.srand);
    let (mut written, mut errors) = (0u64, 0u64);
    while let Some((key, mut example)) = egs.next()? {
        let copies = number_of_copies(options.keep_proportion, &mut rand);
        let name = match changes.apply(&key, &mut example).map_err(|e| egs.blame(e))? {
            Change::Name(name) => name,
            Change::Missing(message) => {
                kaldi_warn!(*main, "{message}");
                errors += 1;
                continue;
            }
        };
        for _ in 0..copies {
            let output = choose_output(writers.len(), written, options.random, &mut rand);
            let copied = example.copy(&mut copier, &mut rand).map_err(|e| egs.blame(e))?;
            let Some((mut copy, warnings)) = copied else { continue };
            warnings.iter().for_each(|message| kaldi_warn!(sites.select, "{message}"));
            if let Some(name) = &name {
                copy.to_mut().rename_output(name).map_err(|e| egs.blame(e))?;
            }
            writers[output].write(&key, &copy)?;
            written += 1;
        }
    }
    let read = egs.count();
    egs.close()?;
    for writer in writers {
        writer.close()?;
    }
    kaldi_log!(
        *main,
        "Read {read} neural-network training examples, wrote {written}, {errors} examples had errors."
    );
    Ok(u8::from(written == 0))
}
