//! `gmm-latgen-simple`: decodes features with a Gaussian model into lattices; only beams limit the search.

use std::time::Instant;

use anyhow::Result;
use kaldi_cli::Group;
use kaldi_cli::log::Site;

use crate::recognition::decoding::{LatticeOptions, SearchArgs};
use crate::recognition::gaussians::{self, Acoustics, GaussianTables};

const SITE: Site = Site::main("gmm-latgen-simple.cc", 135);

/// Generate lattices using GMM-based model. (This program has no limit on the number of active states.)
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-latgen-simple final.mdl HCLG.fst scp:feats.scp ark:lat.ark\nSee also: gmm-latgen-faster"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// Decoding beam.
    #[arg(long, default_value_t = 16.0)]
    beam: f32,
    /// Lattice generation beam
    #[arg(long, default_value_t = 10.0)]
    lattice_beam: f32,
    /// Interval (in frames) at which to prune tokens
    #[arg(long, default_value_t = 25)]
    prune_interval: usize,
    /// If true, determinize the lattice (lattice-determinization, keeping only best pdf-sequence for each word-sequence).
    #[arg(long, default_value_t = true)]
    determinize_lattice: bool,
    /// Tolerance used in determinization
    #[arg(long, default_value_t = nnet3_decode::weight::DELTA)]
    delta: f32,
    /// Maximum approximate memory usage in determinization (real usage might be many times this).
    #[arg(long, default_value_t = 50000000)]
    max_mem: i32,
    /// If true, do an initial pass of determinization on both phones and words (see also --word-determinize)
    #[arg(long, default_value_t = true)]
    phone_determinize: bool,
    /// If true, do a second pass of determinization on words only (see also --phone-determinize)
    #[arg(long, default_value_t = true)]
    word_determinize: bool,
    /// If true, push and minimize after determinization.
    #[arg(long, default_value_t = false)]
    minimize: bool,
    /// If true, produce output even if end state was not reached.
    #[arg(long, default_value_t = false)]
    allow_partial: bool,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    word_symbol_table: String,
    #[command(flatten)]
    tables: GaussianTables,
}

impl Options {
    /// The search without limits on the number of states.
    fn lattice(&self) -> LatticeOptions {
        LatticeOptions {
            search: Group(SearchArgs {
                beam: self.beam,
                lattice_beam: self.lattice_beam,
                prune_interval: self.prune_interval,
                determinize_lattice: self.determinize_lattice,
                delta: self.delta,
                max_mem: self.max_mem,
                phone_determinize: self.phone_determinize,
                word_determinize: self.word_determinize,
                minimize: self.minimize,
                min_active: 0,
                ..SearchArgs::default()
            }),
            allow_partial: self.allow_partial,
            word_symbol_table: self.word_symbol_table.clone(),
        }
    }
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let acoustics = Acoustics::read(&options.tables.model_in, options.acoustic_scale)?;
    gaussians::decode(SITE, &options.lattice(), &acoustics, &options.tables, start)
}
