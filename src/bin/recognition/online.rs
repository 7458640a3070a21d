//! The loop of `online2-wav-nnet3-latgen-faster` and its sisters: sound piece by piece, as if it came in live.

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::Group;
use kaldi_cli::log::{self, Site, num, ratio};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::RandomReader;
use kaldi_io::holder::TokenVectorHolder;
use kaldi_io::symbols::SymbolTable;
use kaldi_online::endpoint::{EndpointOptions, SearchState};
use kaldi_online::{PipelineModel, Speaker};
use nnet3_decode::decoder::ChunkOptions;
use nnet3_decode::ending::Ending;
use nnet3_decode::{CompactLattice, CompactLatticeHolder, path};
use nnet3_online::config::ivector::IvectorArgs;
use nnet3_online::config::recognizer::RecognizerArgs;
use nnet3_online::graph::{read_grammar, read_whole};
use nnet3_online::{RecognizerOptions, State, Stream};

use crate::recognition::options::online::{PipelineArgs, check, model};
use nnet3::options::cpu_math::CpuMathOptions;
use nnet3::options::threads;
use nnet3::options::weights::WeightsOptions;
use nnet3::tables::{self, Input, Outcome, Output};
use nnet3::{forward, lattices, messages};

pub mod samples;
pub mod timing;

use timing::{OnlineTimer, TimingStats};

// Options for recognizing sound while it arrives.
#[derive(Args, Clone, Debug)]
pub struct OnlineOptions {
    /// Length of chunk size in seconds, that we process. Set to <= 0 to use all input in one chunk.
    #[arg(long, default_value_t = 0.18)]
    pub chunk_length: f32,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    pub word_symbol_table: String,
    /// If true, apply endpoint detection
    #[arg(long)]
    pub do_endpointing: bool,
    /// You can set this to false to disable online iVector estimation and have all the data for each utterance used, even at
    /// utterance start. This is useful where you just want the best results and don't care about online operation. Setting
    /// this to false has the same effect as setting --use-most-recent-ivector=true and --greedy-ivector-extractor=true in
    /// the file given to --ivector-extraction-config, and --chunk-length=-1.
    #[arg(long, default_value_t = true)]
    pub online: bool,
    /// Number of threads used when initializing iVector extractor.
    #[arg(long, default_value_t = 8)]
    pub num_threads_startup: i32,
    #[command(flatten)]
    pub pipeline: PipelineArgs,
    #[command(flatten)]
    pub recognizer: Group<RecognizerArgs>,
    #[command(flatten)]
    pub weights: WeightsOptions,
    #[command(flatten)]
    pub cpu: CpuMathOptions,
}

// Input and output tables.
#[derive(Args, Clone, Debug)]
pub struct OnlineTables {
    pub nnet3_in: String,
    pub fst_in: String,
    pub spk2utt_rspecifier: String,
    pub wav_rspecifier: String,
    pub lattice_wspecifier: String,
}

/// Verbose level from which on there is a line for each piece of sound.
const EACH_PIECE: i32 = 3;

impl OnlineOptions {
    /// The rules for the lines about each piece, if there are such lines: they need the phones of silence.
    fn traced(&self) -> Result<Option<EndpointOptions>> {
        let wanted =
            log::verbose() >= EACH_PIECE && !self.recognizer.endpoint.endpoint_silence_phones.is_empty();
        Ok(wanted.then(|| self.recognizer.endpoint.options()).transpose()?)
    }
}

/// Reads the pipeline of features. If not `online`, i-vectors are those of the whole utterance.
pub fn pipeline(args: &PipelineArgs, online: bool, num_threads_startup: i32) -> Result<PipelineModel> {
    let threads = threads::number("num-threads-startup", num_threads_startup.into())?;
    let offline = |ivectors: &mut IvectorArgs| {
        if !online {
            ivectors.use_most_recent_ivector = true;
            ivectors.greedy_ivector_extractor = true;
        }
    };
    args.read(offline, threads)
}

/// Samples of a piece, at this rate (in Hz): of `chunk_length` seconds, or of the whole utterance if that is 0 or below, or if
/// not `online`.
pub fn piece(online: bool, chunk_length: f32, rate: f32) -> usize {
    if online && chunk_length > 0.0 { ((rate * chunk_length) as usize).max(1) } else { usize::MAX }
}

/// Differences between the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One graph.
    Graph,
    /// Graphs that refer to each other.
    Grammar,
    /// One graph; lattices are determinized in chunks; the means of a speaker's features are forgotten after each
    /// utterance.
    Incremental(ChunkOptions),
}

/// Decodes the utterances of all speakers.
pub fn decode(options: &OnlineOptions, tables: &OnlineTables, kind: Kind) -> Result<u8> {
    check(&options.recognizer)?;
    check_determinized(&options.recognizer)?;
    if options.chunk_length.is_nan() {
        bail!("--chunk-length={}: expected a number", options.chunk_length);
    }
    let device = options.cpu.device();
    let silence_weighting = options.pipeline.silence_weighting.options()?;
    let features = pipeline(&options.pipeline, options.online, options.num_threads_startup)?;
    let scale = options.recognizer.acoustic_scale;
    let network =
        forward::load_acoustic_network(&tables.nnet3_in, &device, scale, options.weights.form(&device)?)?;
    let num_ids = network.transitions.num_transition_ids();
    let graph = match kind {
        Kind::Grammar => read_grammar(&tables.fst_in, num_ids)?.into(),
        Kind::Graph | Kind::Incremental(_) => read_whole(&tables.fst_in, num_ids)?.0.into(),
    };
    let model = model(&options.recognizer, network, features, silence_weighting, graph)?;
    let endpoint = options.do_endpointing.then(|| options.recognizer.endpoint.options()).transpose()?;
    let chunks = match kind {
        Kind::Incremental(chunks) => Some(chunks),
        Kind::Graph | Kind::Grammar => None,
    };
    let mut decoding = Decoding {
        options,
        stream: Stream::new(&model, &RecognizerOptions { endpoint, chunks, ..model.options().clone() })?,
        traced: options.traced()?,
        ending: ending(&options.recognizer),
        symbols: lattices::open_symbols(&options.word_symbol_table)?,
        timing: TimingStats::default(),
        likelihood: 0.0,
        frames: 0,
    };
    let speakers = Input::<TokenVectorHolder>::open(&tables.spk2utt_rspecifier)?;
    let mut waves = RandomReader::<WaveHolder>::open(&tables.wav_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&tables.lattice_wspecifier)?;
    speakers.for_each(|_, utterances| {
        let mut speaker = Speaker::default();
        for utterance in &utterances {
            let Some(wave) = waves.get(utterance)? else {
                output.skip(utterance, format!("no sound in {}", tables.wav_rspecifier));
                continue;
            };
            if let Some(complaint) = &wave.complaint {
                messages::warn(&format!("{utterance}: {complaint}"));
            }
            match decoding.utterance(utterance, wave, &speaker)? {
                Ok(lattice) => {
                    speaker = decoding.stream.speaker()?;
                    if chunks.is_some() {
                        speaker.cmvn = None;
                    }
                    output.write(utterance, &lattice)?;
                    messages::log(&format!("Decoded utterance {utterance}"));
                }
                Err(skip) => output.leave_out(utterance, &skip),
            }
        }
        Ok(())
    })?;
    waves.close()?;
    decoding.report(output.done, output.failed);
    output.finish()
}

/// Refuses options that ask for a lattice of states.
fn check_determinized(recognizer: &RecognizerArgs) -> Result<()> {
    if !recognizer.search.determinize_lattice {
        bail!("--determinize-lattice=false is not supported here: expected true");
    }
    Ok(())
}

fn ending(recognizer: &RecognizerArgs) -> Ending {
    let search = &recognizer.search;
    Ending {
        lattice_beam: search.lattice_beam,
        determinization: Some(search.determinization()),
        acoustic_scale: recognizer.acoustic_scale,
    }
}

/// Returns the lattice of the finished utterance, with unscaled acoustic costs, and its best path, with scaled ones.
fn finished_lattice(
    stream: &mut Stream,
    ending: &Ending,
    key: &str,
) -> nnet3_online::Result<(CompactLattice, path::Linear)> {
    let (mut lattice, report) = stream.lattice()?;
    lattices::log_events(&report);
    if !report.complete {
        messages::warn(&format!("Determinization finished earlier than the beam for utterance {key}"));
    }
    let best = path::best_linear(&lattice)?;
    ending.unscale(&mut lattice)?;
    Ok((lattice, best))
}

struct Decoding<'o> {
    options: &'o OnlineOptions,
    stream: Stream,
    /// If there is a line for each piece.
    traced: Option<EndpointOptions>,
    ending: Ending,
    symbols: Option<SymbolTable>,
    timing: TimingStats,
    likelihood: f64,
    frames: usize,
}

impl Decoding<'_> {
    /// The lattice of an utterance, or why there is none.
    fn utterance(&mut self, key: &str, wave: &Wave, speaker: &Speaker) -> Result<Outcome<CompactLattice>> {
        let mut timer = OnlineTimer::new(key);
        match self.search(key, wave, speaker, &mut timer) {
            Ok(()) => {}
            Err(error) if error.is_broken_graph() => return Err(error.into()),
            Err(error) => return tables::skip(error),
        }
        if self.stream.frames_decoded() == 0 {
            return tables::skip(format!("the recording has {} samples, too few for a frame", wave.len()));
        }
        if !self.stream.finish()? {
            return tables::skip("no path was left");
        }
        let (lattice, best) = match finished_lattice(&mut self.stream, &self.ending, key) {
            Ok(result) => result,
            Err(error) => return tables::skip(error),
        };
        let likelihood = -(f64::from(best.weight.graph) + f64::from(best.weight.acoustic));
        let frames = best.ids.len();
        self.likelihood += likelihood;
        self.frames += frames;
        let message = format!(
            "Likelihood per frame for utterance {key} is {} over {frames} frames",
            ratio(likelihood, frames as f64)
        );
        log::vlog(2, &Site::PROGRAM, &message);
        if let Some(symbols) = &self.symbols {
            lattices::print_words(key, &best.words, symbols)?;
        }
        self.timing.add(timer);
        Ok(Ok(lattice))
    }

    /// Gives the stream piece by piece, until the end or an endpoint.
    fn search(
        &mut self,
        key: &str,
        wave: &Wave,
        speaker: &Speaker,
        timer: &mut OnlineTimer,
    ) -> nnet3_online::Result<()> {
        self.stream.begin(speaker.clone())?;
        let rate = wave.sample_rate as f32;
        let samples = wave.channel(0);
        let mut taken = 0;
        for piece in samples.chunks(piece(self.options.online, self.options.chunk_length, rate)) {
            taken += piece.len();
            timer.wait_until(f64::from(taken as f32 / rate));
            let state = if taken == samples.len() {
                self.stream.accept_last(rate, piece)?
            } else {
                self.stream.accept(rate, piece)?
            };
            if self.traced.is_some() {
                self.trace(key, taken)?;
            }
            if let State::Endpoint { rule } = state {
                log::vlog(
                    2,
                    &Site::PROGRAM,
                    &format!("{key}: endpoint by rule{} after {taken} samples", rule + 1),
                );
                break;
            }
        }
        Ok(())
    }

    /// Says how far the search has come.
    fn trace(&self, key: &str, samples: usize) -> nnet3_online::Result<()> {
        let Some(endpoint) = self.traced.as_ref().filter(|_| self.stream.frames_decoded() > 0) else {
            return Ok(());
        };
        let SearchState { decoded, trailing_silence, relative_cost } = self.stream.progress(endpoint)?;
        let ended = u8::from(self.stream.endpoint(endpoint)?.is_some());
        let line = format!(
            "{key} samples {samples} frames {decoded} trailing {trailing_silence} relative-cost {} endpoint {ended}",
            num(relative_cost.into())
        );
        log::vlog(EACH_PIECE, &Site::PROGRAM, &line);
        Ok(())
    }

    fn report(&self, done: u64, failed: u64) {
        self.timing.report(self.options.online);
        messages::log(&format!("Decoded {done} utterances, {failed} with errors."));
        if self.frames > 0 {
            messages::log(&format!(
                "Overall likelihood per frame was {} per frame over {} frames.",
                ratio(self.likelihood, self.frames as f64),
                self.frames
            ));
        }
    }
}
