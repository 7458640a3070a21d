//! Selecting, trimming, weighting and renaming examples.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_io::RandomReader;
use kaldi_io::holder::{FloatHolder, TokenHolder};
use nnet3_train::copy::{Copier, CopyExample, choose_output, number_of_copies};
use nnet3_train::{CRand, EgsReader};

use super::{ExampleKind, Stage};
use crate::options::egs_tables::CopyEgsOptions;
use crate::tables;

/// Source places of messages: of the program, and of selecting and trimming.
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
    /// A message about a missing part.
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

/// Copies examples to one or several outputs, changed by the options and the copier.
pub struct CopyStage<E> {
    copier: Copier,
    changes: Changes,
    rand: CRand,
    keep_proportion: f32,
    /// True to choose outputs at random.
    random: bool,
    outputs: usize,
    output: usize,
    copying: Option<Copying<E>>,
    written: u64,
    errors: u64,
    sites: Sites,
}

/// An example with copies still to be made.
#[derive(Clone)]
struct Copying<E> {
    key: String,
    example: E,
    copies: u32,
    name: Option<String>,
}

impl<E: ExampleKind> CopyStage<E> {
    pub fn new(options: &CopyEgsOptions, copier: Copier, sites: Sites) -> Result<Self> {
        Ok(CopyStage {
            copier,
            changes: Changes::open(options)?,
            rand: CRand::new(options.srand),
            keep_proportion: options.keep_proportion,
            random: options.random,
            outputs: options.egs_out.len(),
            output: 0,
            copying: None,
            written: 0,
            errors: 0,
            sites,
        })
    }

    /// Returns the next example with at least one copy.
    fn read(&mut self, egs: &mut EgsReader<E>) -> nnet3_train::Result<Option<Copying<E>>> {
        while let Some((key, mut example)) = egs.next()? {
            let copies = number_of_copies(self.keep_proportion, &mut self.rand);
            match self.changes.apply(&key, &mut example).map_err(|e| egs.blame(e))? {
                Change::Name(name) if copies > 0 => return Ok(Some(Copying { key, example, copies, name })),
                Change::Name(_) => {}
                Change::Missing(message) => {
                    kaldi_warn!(self.sites.main, "{message}");
                    self.errors += 1;
                }
            }
        }
        Ok(None)
    }
}

impl<E: ExampleKind> Stage<E> for CopyStage<E> {
    fn next(&mut self, egs: &mut EgsReader<E>) -> nnet3_train::Result<Option<(String, E)>> {
        loop {
            if self.copying.is_none() {
                self.copying = self.read(egs)?;
            }
            let Some(mut copying) = self.copying.take() else { return Ok(None) };
            copying.copies -= 1;
            if copying.copies > 0 {
                self.copying = Some(copying.clone());
            }
            self.output = choose_output(self.outputs, self.written, self.random, &mut self.rand);
            let Copying { key, example, name, .. } = copying;
            let copied = example.copied(&mut self.copier, &mut self.rand).map_err(|e| egs.blame(e))?;
            let Some((mut copy, warnings)) = copied else { continue };
            warnings.iter().for_each(|message| kaldi_warn!(self.sites.select, "{message}"));
            if let Some(name) = &name {
                copy.rename_output(name).map_err(|e| egs.blame(e))?;
            }
            self.written += 1;
            return Ok(Some((key, copy)));
        }
    }

    fn output(&self) -> usize {
        self.output
    }

    fn summarize(&self, read: u64) -> u8 {
        let (written, errors) = (self.written, self.errors);
        let counted = match errors {
            0 if !E::COUNTS_ERRORS => String::new(),
            errors => format!(", {errors} examples had errors."),
        };
        kaldi_log!(self.sites.main, "Read {read} neural-network training examples, wrote {written}{counted}");
        if written > 0 {
            return 0;
        }
        let why = if errors == read { String::new() } else { self.copier.why_nothing() };
        kaldi_cli::log::error(&self.sites.main, &format!("none of the {read} examples is left{why}"));
        NOTHING_DONE
    }
}
