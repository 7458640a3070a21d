//! Parts shared by the programs that decode: options, the path from log-likelihoods to output, counts.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::log::{self, Site, num, ratio};
use kaldi_cli::{Group, NOTHING_DONE};
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_fst::Fst;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::symbols::SymbolTable;
use kaldi_io::{DenseMatrix, TableWriter};
use nnet3_decode::decoder::{
    ChunkOptions, Decodable, Graph, IncrementalLattice, LatticeDecoder, MatrixDecodable, SearchGraph,
    SearchOptions,
};
use nnet3_decode::determinize::Report;
use nnet3_decode::ending::{Ended, EndedLattice, Ending};
use nnet3_decode::{CompactLattice, CompactLatticeHolder, Lattice, LatticeHolder, LatticeWeight};
pub use nnet3_online::config::search::{SearchArgs, of_option};
use nnet3_online::graph::{self, PairFiles, SharedGraph};

use crate::recognition::search_graph::SharedDecoder;
use nnet3::tables::{self, Outcome, Skip};
use nnet3::{lattices, messages};

const UTTERANCE: Site = Site::new("DecodeUtteranceLatticeFaster", "decoder-wrappers.cc", 375);

// [LAT], of programs that can write partial lattices.
#[derive(Args, Clone, Debug)]
pub struct LatticeOptions {
    #[command(flatten)]
    pub search: Group<SearchArgs>,
    /// If true, produce output even if end state was not reached.
    #[arg(long, default_value_t = false)]
    pub allow_partial: bool,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    pub word_symbol_table: String,
}

/// The common part of all utterances.
pub struct Decoding<'a> {
    options: &'a LatticeOptions,
    model: &'a TransitionModel,
    /// The factor by which log-likelihoods have been multiplied when the search sees them.
    acoustic_scale: f32,
    /// The lengths of chunks, if lattices are determinized during the search.
    chunks: Option<ChunkOptions>,
}

/// The result of a search.
pub struct Searched {
    key: String,
    /// Frames of its log-likelihoods.
    frames: usize,
    /// The frame after which no path was left.
    lost_at: Option<usize>,
    result: std::result::Result<Found, Failure>,
}

impl Searched {
    /// An utterance that cannot be searched, and why.
    pub fn not_searched(key: String, reason: Skip) -> Searched {
        Searched { key, frames: 0, lost_at: None, result: Err(Failure::NoInput(reason)) }
    }
}

/// All paths that were kept.
struct Found {
    partial: bool,
    lattice: FoundLattice,
}

enum FoundLattice {
    Raw(Lattice),
    /// Determinized in chunks.
    Chunks(CompactLattice, Report),
}

/// The result of an utterance.
pub struct Decoded {
    key: String,
    /// Frames of its log-likelihoods.
    frames: usize,
    /// The frame after which no path was left.
    lost_at: Option<usize>,
    result: std::result::Result<Success, Failure>,
}

/// The results of an utterance that was decoded.
struct Success {
    partial: bool,
    ended: Ended,
}

enum Failure {
    /// The utterance has no frames.
    NoInput(Skip),
    NoPath,
    NotFinal,
    Other(String),
}

impl Failure {
    fn sentence(&self, key: &str) -> String {
        match self {
            Failure::NoInput(reason) => reason.sentence(key),
            Failure::NoPath => format!("Failed to decode utterance with id {key}"),
            Failure::NotFinal => format!(
                "Not producing output for utterance {key} since no final-state reached and \
                 --allow-partial=false.\n"
            ),
            Failure::Other(error) => format!("Failed to decode utterance with id {key}: {error}"),
        }
    }
}

impl<'a> Decoding<'a> {
    pub fn new(options: &'a LatticeOptions, model: &'a TransitionModel, acoustic_scale: f32) -> Result<Self> {
        options.search.check()?;
        options.search.remark().into_iter().for_each(messages::warn);
        Ok(Decoding { options, model, acoustic_scale, chunks: None })
    }

    /// Determinizes lattices in chunks while the search goes on.
    pub fn determinize_in_chunks(&mut self, chunks: ChunkOptions) -> Result<()> {
        if !self.options.search.determinize_lattice {
            bail!("--determinize-lattice=false: expected true, since lattices are determinized in chunks");
        }
        self.new_chunks(chunks)?;
        self.chunks = Some(chunks);
        Ok(())
    }

    /// A lattice that is determinized in chunks.
    fn new_chunks(&self, chunks: ChunkOptions) -> Result<IncrementalLattice> {
        let search = &self.options.search;
        let lattice = IncrementalLattice::new(chunks, &search.options(), search.determinization());
        Ok(lattice.map_err(of_option)?)
    }

    /// A decoder for one utterance after the other. `graph` is the graph of all of them, if it is.
    pub fn decoder<'d>(&'d self, graph: Option<&SharedGraph>) -> Result<Decoder<'d>> {
        let mut search = self.options.search.options();
        let chunks = self.chunks.map(|chunks| self.new_chunks(chunks)).transpose()?;
        if chunks.is_some() {
            search.prune_scale = IncrementalLattice::PRUNE_SCALE;
        }
        let shared = graph.map(|graph| SharedDecoder::new(graph, search)).transpose()?;
        Ok(Decoder { decoding: self, search, shared, chunks })
    }

    /// The pdf of each transition-id; the first element is not used.
    pub fn pdfs(&self) -> &[i32] {
        self.model.pdfs()
    }

    /// The graph for all utterances, checked; `None` if the argument of the program is a table of graphs.
    pub fn graph(&self, rxfilename: &str) -> Result<Option<SharedGraph>> {
        if tables::is_input(rxfilename) {
            return Ok(None);
        }
        let (graph, _) = graph::read_whole(rxfilename, self.model.num_transition_ids())?;
        Ok(Some(graph.into()))
    }

    /// The two halves of the graph for all utterances, checked.
    pub fn graph_pair(&self, files: PairFiles<'_>) -> Result<SharedGraph> {
        let (pair, _) = graph::read_pair(files, self.model.num_transition_ids())?;
        Ok(pair.into())
    }

    /// Returns the grammar for all utterances, checked.
    pub fn grammar(&self, rxfilename: &str) -> Result<SharedGraph> {
        if tables::is_input(rxfilename) {
            bail!("{rxfilename}: expected the name of a grammar's file, found a table");
        }
        Ok(graph::read_grammar(rxfilename, self.model.num_transition_ids())?.into())
    }

    /// Searches for the paths of an utterance. A graph that cannot be used is an error.
    fn search(
        &self,
        key: String,
        decoder: &mut LatticeDecoder<impl Graph>,
        mut chunks: Option<&mut IncrementalLattice>,
        decodable: &impl Decodable,
    ) -> Result<Searched> {
        let decoded = match &mut chunks {
            Some(chunks) => chunks.decode(decoder, self.model, decodable),
            None => decoder.decode(decodable),
        };
        let result = match decoded {
            Ok(true) if decoder.reached_final() || self.options.allow_partial => {
                let lattice = match chunks {
                    Some(chunks) => chunks
                        .finish(decoder, self.model)
                        .map(|lattice| FoundLattice::Chunks(lattice, chunks.report().clone())),
                    None => decoder.raw_lattice().map(FoundLattice::Raw),
                };
                lattice
                    .map(|lattice| Found { partial: !decoder.reached_final(), lattice })
                    .map_err(|error| Failure::Other(error.to_string()))
            }
            Ok(true) => Err(Failure::NotFinal),
            Ok(false) => Err(Failure::NoPath),
            Err(error @ nnet3_decode::Error::BrokenGraph(_)) => return Err(error.into()),
            Err(error) => Err(Failure::Other(error.to_string())),
        };
        Ok(Searched { key, frames: decodable.num_frames(), lost_at: decoder.lost_at(), result })
    }

    /// Turns the result of a search into the best path, and the lattice in the form that the options ask for.
    pub fn finish(&self, searched: Searched) -> Decoded {
        let Searched { key, frames, lost_at, result } = searched;
        let search = &self.options.search;
        let ending = Ending {
            lattice_beam: search.lattice_beam,
            determinization: search.determinize_lattice.then(|| search.determinization()),
            acoustic_scale: self.acoustic_scale,
        };
        let results = |Found { partial, lattice }| {
            let ended = match lattice {
                FoundLattice::Raw(raw) => ending.end(self.model, raw),
                FoundLattice::Chunks(lattice, report) => ending.end_determinized(lattice, report),
            };
            let ended = ended.map_err(|error| Failure::Other(error.to_string()))?;
            Ok(Success { partial, ended })
        };
        Decoded { key, frames, lost_at, result: result.and_then(results) }
    }
}

/// Decodes one utterance after the other.
pub struct Decoder<'d> {
    decoding: &'d Decoding<'d>,
    search: SearchOptions,
    /// The decoder of the graph of all utterances, if there is one.
    shared: Option<SharedDecoder>,
    /// The lattice of the present utterance, if it is determinized in chunks.
    chunks: Option<IncrementalLattice>,
}

impl Decoder<'_> {
    /// Searches for the paths of an utterance, with its own graph if it has one. The log-likelihoods are multiplied by
    /// `scale` first. It is an error if they do not fit the model.
    pub fn search(
        &mut self,
        key: String,
        graph: Option<Fst>,
        loglikes: Outcome<DenseMatrix<f32>>,
        scale: f32,
    ) -> Result<Searched> {
        let loglikes = match loglikes.and_then(|loglikes| usable(&key, loglikes)) {
            Ok(loglikes) => loglikes,
            Err(reason) => return Ok(Searched::not_searched(key, reason)),
        };
        let decodable = MatrixDecodable::new(&loglikes, self.decoding.pdfs(), scale);
        let decodable = decodable.with_context(|| format!("key '{key}'"))?;
        self.search_with(key, graph, &decodable)
    }

    /// Does the same as [`search`](Self::search) with log-likelihoods of any source.
    pub fn search_with(
        &mut self,
        key: String,
        graph: Option<Fst>,
        decodable: &impl Decodable,
    ) -> Result<Searched> {
        let num_ids = self.decoding.model.num_transition_ids();
        let own = match graph.map(|graph| SearchGraph::new((&graph).into(), num_ids)).transpose() {
            Ok(own) => own,
            Err(error) => {
                let reason = Skip::Sentence(format!("Not decoding utterance {key}: {error}"));
                return Ok(Searched::not_searched(key, reason));
            }
        };
        let (decoding, chunks) = (self.decoding, self.chunks.as_mut());
        match (&own, &mut self.shared) {
            (Some(own), _) => {
                let mut decoder = LatticeDecoder::new(own.unvisited(), self.search)?;
                decoding.search(key, &mut decoder, chunks, decodable)
            }
            (None, Some(SharedDecoder::Whole(decoder))) => decoding.search(key, decoder, chunks, decodable),
            (None, Some(SharedDecoder::Pair(decoder))) => decoding.search(key, decoder, chunks, decodable),
            (None, Some(SharedDecoder::Grammar(decoder))) => decoding.search(key, decoder, chunks, decodable),
            (None, None) => bail!("no graph for utterance {key}"),
        }
    }
}

enum LatticeWriter {
    Compact(TableWriter<CompactLatticeHolder>),
    Raw(TableWriter<LatticeHolder>),
}

/// The tables that a decoder writes, and counts.
pub struct Outputs {
    site: Site,
    symbols: Option<SymbolTable>,
    lattices: LatticeWriter,
    words: Option<TableWriter<I32VectorHolder>>,
    alignments: Option<TableWriter<I32VectorHolder>>,
    done: u64,
    failed: u64,
    /// The frames of the utterances that are done.
    frames: usize,
    log_likelihood: f64,
}

impl Outputs {
    pub fn open(
        site: Site,
        options: &LatticeOptions,
        lattices: &str,
        words: Option<&String>,
        alignments: Option<&String>,
    ) -> Result<Outputs> {
        Ok(Outputs {
            site,
            symbols: lattices::open_symbols(&options.word_symbol_table)?,
            lattices: match options.search.determinize_lattice {
                true => LatticeWriter::Compact(TableWriter::open(lattices)?),
                false => LatticeWriter::Raw(TableWriter::open(lattices)?),
            },
            words: lattices::open_writer(words)?,
            alignments: lattices::open_writer(alignments)?,
            done: 0,
            failed: 0,
            frames: 0,
            log_likelihood: 0.0,
        })
    }

    /// Writes the result of an utterance. If there is no result, prints a warning.
    pub fn write(&mut self, decoded: Decoded) -> Result<()> {
        let Decoded { key, frames, lost_at, result } = decoded;
        if let Some(frame) = lost_at {
            kaldi_warn!(UTTERANCE, "Error, no surviving tokens: frame is {frame}");
        }
        let result = match result {
            Ok(result) => result,
            Err(failure) => {
                let site = if matches!(failure, Failure::NoInput(_)) { self.site } else { UTTERANCE };
                kaldi_warn!(site, "{}", failure.sentence(&key));
                self.failed += 1;
                return Ok(());
            }
        };
        if result.partial {
            kaldi_warn!(
                UTTERANCE,
                "Outputting partial output for utterance {key} since no final-state reached\n"
            );
        }
        let Ended { best, lattice, report } = result.ended;
        lattices::write(&mut self.words, &key, &best.words)?;
        lattices::write(&mut self.alignments, &key, &best.ids)?;
        if let Some(symbols) = &self.symbols {
            lattices::print_words(&key, &best.words, symbols)?;
        }
        if let Some(report) = &report {
            lattices::log_events(report);
            if !report.complete {
                kaldi_warn!(UTTERANCE, "Determinization finished earlier than the beam for utterance {key}");
            }
        }
        match (&mut self.lattices, &lattice) {
            (LatticeWriter::Compact(writer), EndedLattice::Compact(lattice)) => {
                writer.write(&key, lattice)?
            }
            (LatticeWriter::Raw(writer), EndedLattice::Raw(lattice)) => writer.write(&key, lattice)?,
            _ => unreachable!("one option says what is made and what is written"),
        }
        let LatticeWeight { graph, acoustic } = best.weight;
        let log_likelihood = -(f64::from(graph) + f64::from(acoustic));
        let path_frames = best.ids.len();
        kaldi_log!(
            UTTERANCE,
            "Log-like per frame for utterance {key} is {} over {path_frames} frames.",
            ratio(log_likelihood, path_frames as f64)
        );
        let costs = (num(f64::from(graph)), num(f64::from(acoustic)));
        log::vlog(2, &UTTERANCE, &format!("Cost for utterance {key} is {} + {}", costs.0, costs.1));
        self.done += 1;
        self.frames += frames;
        self.log_likelihood += log_likelihood;
        Ok(())
    }

    /// Closes the tables and logs the counts. Returns status 0 if an utterance was decoded.
    pub fn finish(self, timing: &Timing) -> Result<u8> {
        match self.lattices {
            LatticeWriter::Compact(writer) => writer.close().context("lattices")?,
            LatticeWriter::Raw(writer) => writer.close().context("lattices")?,
        }
        lattices::close(self.words)?;
        lattices::close(self.alignments)?;
        let elapsed = timing.start.elapsed().as_secs_f64();
        let (site, frames) = (self.site, self.frames as f64);
        let (which, threads) = match timing.threads {
            Some(threads) => ("feature frames", threads),
            None => ("frames", 1),
        };
        let factor =
            ratio(elapsed * threads as f64 * 100.0, frames * f64::from(timing.frame_subsampling_factor));
        kaldi_log!(
            site,
            "Time taken {}s: real-time factor assuming 100 {which}/sec is {}",
            num(elapsed),
            factor
        );
        kaldi_log!(site, "Done {} utterances, failed for {}", self.done, self.failed);
        let per_frame = ratio(self.log_likelihood, frames);
        kaldi_log!(site, "Overall log-likelihood per frame is {per_frame} over {} frames.", self.frames);
        Ok(if self.done > 0 { 0 } else { NOTHING_DONE })
    }
}

/// Times for the log line about a program's speed.
pub struct Timing {
    pub start: Instant,
    /// Frames of 10 ms for each row of log-likelihoods.
    pub frame_subsampling_factor: i32,
    /// Number of decoding threads, if the program has such an option.
    pub threads: Option<usize>,
}

/// Returns usable log-likelihoods, or the reason why they are not: they are missing, or not all are numbers.
pub fn usable(key: &str, loglikes: DenseMatrix<f32>) -> Outcome<DenseMatrix<f32>> {
    if loglikes.rows == 0 {
        return Err(Skip::Sentence(format!("Zero-length utterance: {key}")));
    }
    match loglikes.not_a_number() {
        Some(found) => Err(Skip::Reason(format!("the log-likelihoods' {found}"))),
        None => Ok(loglikes),
    }
}
