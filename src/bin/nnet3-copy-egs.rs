//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_io::holder::{FloatHolder, TokenHolder};
use kaldi_io::log::Site;
use kaldi_io::{RandomReader, TableWriter, kaldi_log, kaldi_warn};
use nnet3::examples;
use nnet3_train::copy::{Copier, CopyOptions, choose_output, number_of_copies, rename_output, scale_targets};
use nnet3_train::{CRand, ExampleHolder, ExampleReader, NnetExample};

const SITE: Site = Site::main("nnet3-copy-egs.cc", 385);
const SELECT: Site = Site::new("SelectFromExample", "nnet3-copy-egs.cc", 240);

/// Copy examples (single frames or fixed-size groups of frames) for neural network training, possibly changing the
/// binary mode.
///
/// Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-copy-egs ark:train.egs ark,t:text.egs\n\
    or:\n\
    nnet3-copy-egs ark:train.egs ark:1.egs ark:2.egs\n\
    See also: nnet3-subset-egs, nnet3-get-egs, nnet3-merge-egs, nnet3-shuffle-egs")]
struct Options {
    /// If true, will write frames to output archives randomly, not round-robin.
    #[arg(long, default_value_t = false)]
    random: bool,
    /// Allows you to shift time values in the supervision data (excluding iVector data). Only really useful in clockwork
    /// topologies (i.e. any topology for which modulus != 1). Shifting is done after any frame selection.
    #[arg(long, default_value_t = 0)]
    frame_shift: i32,
    /// If <1.0, this program will randomly keep this proportion of the input samples. If >1.0, it will in expectation copy
    /// a sample this many times.
    #[arg(long, default_value_t = 1.0)]
    keep_proportion: f32,
    /// Seed for random number generator (only relevant if --random=true or --keep-proportion != 1.0)
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Selects a single frame from each multi-frame example: a number 0, 1, etc., or 'random'.
    #[arg(long, default_value = "")]
    frame: String,
    /// Can be used to truncate the feature left-context that we output.
    #[arg(long, default_value_t = -1)]
    left_context: i32,
    /// Can be used to truncate the feature right-context that we output.
    #[arg(long, default_value_t = -1)]
    right_context: i32,
    /// Rspecifier indexed by the key of egs, providing a weight by which we will scale the supervision matrix for that eg.
    #[arg(long, default_value = "")]
    weights: String,
    /// Rspecifier indexed by the key of egs, providing an output name, e.g. 'output-0', that replaces 'output'.
    #[arg(long, default_value = "")]
    outputs: String,
    egs_in: String,
    #[arg(required = true)]
    egs_out: Vec<String>,
}

impl Options {
    fn copier(&self) -> Result<Copier> {
        let context = |name: &str, value: i32| match value {
            -1 => Ok(None),
            v if v >= 0 => Ok(Some(v)),
            v => bail!("--{name}={v}: expected -1 or a number of frames"),
        };
        Ok(Copier::new(CopyOptions {
            frame: self.frame.parse()?,
            left_context: context("left-context", self.left_context)?,
            right_context: context("right-context", self.right_context)?,
            frame_shift: self.frame_shift,
        }))
    }
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
    fn open(options: &Options) -> Result<Changes> {
        let given = |name: &String| (!name.is_empty()).then(|| name.clone());
        Ok(Changes {
            weights: given(&options.weights).map(|name| RandomReader::open(&name)).transpose()?,
            names: given(&options.outputs).map(|name| RandomReader::open(&name)).transpose()?,
        })
    }

    /// Weights the example.
    fn apply(&mut self, key: &str, example: &mut NnetExample) -> nnet3_train::Result<Change> {
        if let Some(weights) = &mut self.weights {
            let Some(&weight) = weights.get(key)? else {
                return Ok(Change::Missing(format!("No weight for example key {key}")));
            };
            scale_targets(example, weight)?;
        }
        let Some(names) = &mut self.names else { return Ok(Change::Name(None)) };
        match names.get(key)? {
            Some(name) => Ok(Change::Name(Some(name.clone()))),
            None => Ok(Change::Missing(format!("No new output-name for example key {key}"))),
        }
    }
}

fn run(options: Options) -> Result<u8> {
    if !(options.keep_proportion >= 0.0 && options.keep_proportion < 1e6) {
        bail!("--keep-proportion={}: expected a number that is not negative", options.keep_proportion);
    }
    let mut copier = options.copier()?;
    let mut egs = ExampleReader::open(&options.egs_in)?;
    let mut changes = Changes::open(&options)?;
    if egs.at_end()? {
        return examples::nothing(&SITE, egs);
    }
    let mut writers = Vec::new();
    for name in &options.egs_out {
        writers.push(TableWriter::<ExampleHolder>::open(name)?);
    }
    let mut rand = CRand::new(options.srand);
    let (mut written, mut errors) = (0u64, 0u64);
    while let Some((key, mut example)) = egs.next()? {
        let copies = number_of_copies(options.keep_proportion, &mut rand);
        let name = match changes.apply(&key, &mut example).map_err(|e| egs.blame(e))? {
            Change::Name(name) => name,
            Change::Missing(message) => {
                kaldi_warn!(SITE, "{message}");
                errors += 1;
                continue;
            }
        };
        for _ in 0..copies {
            let output = choose_output(writers.len(), written, options.random, &mut rand);
            let copied = copier.copy(&example, &mut rand).map_err(|e| egs.blame(e))?;
            let Some((mut copy, warnings)) = copied else { continue };
            warnings.iter().for_each(|message| kaldi_warn!(SELECT, "{message}"));
            if let Some(name) = &name {
                rename_output(copy.to_mut(), name).map_err(|e| egs.blame(e))?;
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
        SITE,
        "Read {read} neural-network training examples, wrote {written}, {errors} examples had errors."
    );
    Ok(u8::from(written == 0))
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
