//! Decoders that look for one path: `gmm-decode-faster`, `gmm-decode-simple`, `decode-faster` and `decode-faster-mapped`.

use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_io::TableWriter;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::symbols::SymbolTable;
use nnet3::tables::Skip;
use nnet3::utterances::{Utterance, Utterances};
use nnet3::{gaussians, lattices, messages};
use nnet3_decode::decoder::{Decodable, MatrixDecodable, Pruning, SearchGraph, ViterbiDecoder};
use nnet3_decode::lattice::{compact, linear};
use nnet3_decode::{CompactLatticeHolder, LatticeWeight};

use crate::recognition::decoding::usable;
use crate::recognition::gaussians::GaussianDecodable;
use nnet3_online::config::search::of_option;
use nnet3_online::graph;

// Options of all of them.
#[derive(clap::Args, Debug)]
pub struct ViterbiOptions {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// If true, produce output even if end state was not reached.
    #[arg(long, default_value_t = true)]
    allow_partial: bool,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    word_symbol_table: String,
}

// The width of the search.
#[derive(clap::Args, Debug)]
pub struct PruningArgs {
    /// Decoding beam. Larger->slower, more accurate.
    #[arg(long, default_value_t = 16.0)]
    beam: f32,
    /// Decoder max active states. Larger->slower; more accurate
    #[arg(long, default_value_t = i32::MAX as usize)]
    max_active: usize,
    /// Decoder min active states (don't prune if #active less than this).
    #[arg(long, default_value_t = 20)]
    min_active: usize,
    /// Increment used in decoder [obscure setting]
    #[arg(long, default_value_t = 0.5)]
    beam_delta: f32,
    /// Setting used in decoder to control hash behavior
    #[arg(long, default_value_t = 2.0)]
    hash_ratio: f32,
}

impl PruningArgs {
    pub fn pruning(&self) -> Result<Pruning> {
        let &PruningArgs { beam, max_active, min_active, beam_delta, hash_ratio } = self;
        let pruning = Pruning { beam, max_active, min_active, beam_delta, hash_ratio };
        pruning.check().map_err(of_option)?;
        Ok(pruning)
    }
}

// Names of files and tables, and options, of programs with Gaussian models.
#[derive(clap::Args, Debug)]
pub struct ViterbiArgs {
    #[command(flatten)]
    options: ViterbiOptions,
    model_in: String,
    fst_in: String,
    features_rspecifier: String,
    words_wspecifier: String,
    alignments_wspecifier: Option<String>,
    /// Lattices with one path
    lattice_wspecifier: Option<String>,
}

// Tables of programs that read log-likelihoods.
#[derive(clap::Args, Debug)]
pub struct MatrixTables {
    loglikes_rspecifier: String,
    words_wspecifier: String,
    alignments_wspecifier: Option<String>,
}

/// Decodes matrices of log-likelihoods. `pdfs` has the column of each input label.
pub fn decode_matrices(
    options: &ViterbiOptions,
    pruning: Pruning,
    graph: &SearchGraph,
    pdfs: &[i32],
    tables: &MatrixTables,
) -> Result<u8> {
    let mut outputs =
        options.open(&tables.words_wspecifier, [tables.alignments_wspecifier.as_ref(), None])?;
    let mut utterances = Utterances::of_features(&tables.loglikes_rspecifier)?;
    let start = Instant::now();
    while let Some(Utterance { key, features, .. }) = utterances.read()? {
        let loglikes = match usable(&key, features.unwrap_or_default()) {
            Ok(loglikes) => loglikes,
            Err(skip) => {
                outputs.fail(&skip.sentence(&key));
                continue;
            }
        };
        let decodable = MatrixDecodable::new(&loglikes, pdfs, options.acoustic_scale);
        let decodable = decodable.with_context(|| format!("{}, key '{key}'", tables.loglikes_rspecifier))?;
        options.decode(&key, loglikes.rows, graph, pruning, &decodable, &mut outputs)?;
    }
    utterances.close()?;
    outputs.finish(start)
}

/// Tables that are written, and counts.
struct Outputs {
    words: TableWriter<I32VectorHolder>,
    alignments: Option<TableWriter<I32VectorHolder>>,
    lattices: Option<TableWriter<CompactLatticeHolder>>,
    symbols: Option<SymbolTable>,
    done: u64,
    failed: u64,
    frames: usize,
    log_likelihood: f64,
}

impl ViterbiArgs {
    /// The whole of both programs.
    pub fn run(&self, pruning: Pruning) -> Result<u8> {
        let (transitions, model) = gaussians::read_model(&self.model_in)?;
        let (graph, _) = graph::read_whole(&self.fst_in, transitions.num_transition_ids())?;
        let optional = [self.alignments_wspecifier.as_ref(), self.lattice_wspecifier.as_ref()];
        let mut outputs = self.options.open(&self.words_wspecifier, optional)?;
        let mut utterances = Utterances::of_features(&self.features_rspecifier)?;
        let start = Instant::now();
        while let Some(Utterance { key, features, .. }) = utterances.read()? {
            let features = features.unwrap_or_default();
            let result = match features.rows {
                0 => Err(Skip::Sentence(format!("Zero-length utterance: {key}"))),
                _ => {
                    let scale = self.options.acoustic_scale;
                    let decodable = GaussianDecodable::new(&model, &features, transitions.pdfs(), scale);
                    decodable.with_context(|| format!("utterance {key}"))?
                }
            };
            match result {
                Ok(decodable) => {
                    self.options.decode(&key, features.rows, &graph, pruning, &decodable, &mut outputs)?;
                }
                Err(skip) => outputs.fail(&skip.sentence(&key)),
            }
        }
        utterances.close()?;
        outputs.finish(start)
    }
}

impl ViterbiOptions {
    /// Opens tables: of words, and of alignments and lattices if they are wanted.
    fn open(&self, words: &str, [alignments, paths]: [Option<&String>; 2]) -> Result<Outputs> {
        Ok(Outputs {
            words: TableWriter::open(words)?,
            alignments: lattices::open_writer(alignments)?,
            lattices: lattices::open_writer(paths)?,
            symbols: lattices::open_symbols(&self.word_symbol_table)?,
            done: 0,
            failed: 0,
            frames: 0,
            log_likelihood: 0.0,
        })
    }

    fn decode(
        &self,
        key: &str,
        frames: usize,
        graph: &SearchGraph,
        pruning: Pruning,
        decodable: &impl Decodable,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let found = ViterbiDecoder::new(graph, pruning)?.decode_partial(decodable)?;
        let (path, is_final) = match found {
            Some(found) if found.1 || self.allow_partial => found,
            _ => {
                outputs.fail(&format!("Did not successfully decode utterance {key}, len = {frames}"));
                return Ok(());
            }
        };
        if !is_final {
            messages::warn(
                "Decoder did not reach end-state, outputting partial traceback since --allow-partial=true",
            );
        }
        outputs.words.write(key, &path.words)?;
        lattices::write(&mut outputs.alignments, key, &path.ids)?;
        let LatticeWeight { graph, acoustic } = path.weight;
        if outputs.lattices.is_some() {
            let scale = if self.acoustic_scale == 0.0 { 1.0 } else { self.acoustic_scale };
            let weight = LatticeWeight::new(graph, acoustic / scale);
            let lattice = compact(&linear(&path.ids, &path.words, weight));
            lattices::write(&mut outputs.lattices, key, &lattice)?;
        }
        if let Some(symbols) = &outputs.symbols {
            lattices::print_words(key, &path.words, symbols)?;
        }
        let log_likelihood = -(f64::from(graph) + f64::from(acoustic));
        messages::log(&format!(
            "Log-like per frame for utterance {key} is {} over {} frames.",
            ratio(log_likelihood, frames as f64),
            frames
        ));
        outputs.done += 1;
        outputs.frames += frames;
        outputs.log_likelihood += log_likelihood;
        Ok(())
    }
}

impl Outputs {
    fn fail(&mut self, reason: &str) {
        messages::warn(reason);
        self.failed += 1;
    }

    /// Closes the tables and logs the counts. Returns status 0 if an utterance was decoded.
    fn finish(self, start: Instant) -> Result<u8> {
        self.words.close()?;
        lattices::close(self.alignments)?;
        lattices::close(self.lattices)?;
        let (elapsed, frames) = (start.elapsed().as_secs_f64(), self.frames as f64);
        messages::log(&format!(
            "Time taken [excluding initialization] {}s: real-time factor assuming 100 frames/sec is {}",
            num(elapsed),
            ratio(elapsed * 100.0, frames)
        ));
        messages::log(&format!("Done {} utterances, failed for {}", self.done, self.failed));
        messages::log(&format!(
            "Overall log-likelihood per frame is {} over {} frames.",
            ratio(self.log_likelihood, frames),
            self.frames
        ));
        Ok(if self.done > 0 { 0 } else { NOTHING_DONE })
    }
}
