//! The loop of `online2-wav-nnet3-wake-word-decoder-faster`.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::{Group, StandardOutput};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32VectorHolder, TokenVectorHolder};
use kaldi_io::symbols::SymbolTable;
use kaldi_online::Speaker;
use nnet3_decode::decoder::{ViterbiDecoder, ViterbiPath};
use nnet3_online::Spotter;

use crate::recognition::online::timing::{OnlineTimer, TimingStats};
use crate::recognition::online::{piece, pipeline};
use crate::recognition::options::online::PipelineArgs;
use crate::recognition::viterbi::PruningArgs;
use nnet3::forward::{self, AcousticNetwork};
use nnet3::lattices::no_name;
use nnet3::messages;
use nnet3::options::cpu_math::CpuMathOptions;
use nnet3::options::forward::LoopedOptions;
use nnet3::options::weights::WeightsOptions;
use nnet3::tables::{self, Input, Outcome, Output};
use nnet3_online::config::endpoint::EndpointArgs;
use nnet3_online::graph::read_whole;

// Options of the search for a wake word.
#[derive(Args, Debug)]
pub struct SpottingOptions {
    /// Length of chunk size in seconds, that we process. Set to <= 0 to use all input in one chunk.
    #[arg(long, default_value_t = 1.0)]
    chunk_length: f32,
    /// Wake word id.
    #[arg(long, default_value_t = 2)]
    wake_word_id: i32,
    /// You can set this to false to disable online iVector estimation and have all the data for each utterance used, even at
    /// utterance start. Setting this to false has the same effect as setting --use-most-recent-ivector=true and
    /// --greedy-ivector-extractor=true in the file given to --ivector-extraction-config, and --chunk-length=-1.
    #[arg(long, default_value_t = true)]
    online: bool,
    /// Number of threads used when initializing iVector extractor.
    #[arg(long, default_value_t = 8)]
    num_threads_startup: i32,
    /// Scaling factor for acoustic log-likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    #[command(flatten)]
    pipeline: PipelineArgs,
    #[command(flatten)]
    looped: LoopedOptions,
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    _endpoint: Group<EndpointArgs>,
    #[command(flatten)]
    weights: WeightsOptions,
    #[command(flatten)]
    cpu: CpuMathOptions,
}

// Input and output tables.
#[derive(Args, Debug)]
pub struct SpottingTables {
    nnet3_in: String,
    fst_in: String,
    spk2utt_rspecifier: String,
    wav_rspecifier: String,
    word_symbol_table: String,
    transcript_wspecifier: String,
    alignments_wspecifier: String,
}

/// Searches the utterances of all speakers.
pub fn run(options: &SpottingOptions, tables: &SpottingTables) -> Result<u8> {
    if options.chunk_length.is_nan() {
        bail!("--chunk-length={}: expected a number", options.chunk_length);
    }
    let features = Arc::new(pipeline(&options.pipeline, options.online, options.num_threads_startup)?);
    let device = options.cpu.device();
    let weights = options.weights.form(&device)?;
    let AcousticNetwork { transitions, nnet, scaling, .. } =
        forward::load_acoustic_network(&tables.nnet3_in, &device, options.acoustic_scale, weights)?;
    let network = options.looped.forward(nnet, &device, scaling)?;
    let (graph, _) = read_whole(&tables.fst_in, transitions.num_transition_ids())?;
    let search = ViterbiDecoder::new(&graph, options.pruning.pruning()?)?;
    let mut spotting = Spotting {
        options,
        spotter: Spotter::new(&transitions, features, network, search)?,
        symbols: SymbolTable::load(&tables.word_symbol_table)?,
        timing: TimingStats::default(),
    };
    let speakers = Input::<TokenVectorHolder>::open(&tables.spk2utt_rspecifier)?;
    let mut waves = RandomReader::<WaveHolder>::open(&tables.wav_rspecifier)?;
    let mut transcripts = Output::<I32VectorHolder>::open(&tables.transcript_wspecifier)?;
    let mut alignments = Output::<I32VectorHolder>::open(&tables.alignments_wspecifier)?;
    speakers.for_each(|_, utterances| {
        let mut speaker = Speaker::default();
        for utterance in &utterances {
            let Some(wave) = waves.get(utterance)? else {
                transcripts.skip(utterance, format!("no sound in {}", tables.wav_rspecifier));
                continue;
            };
            if let Some(complaint) = &wave.complaint {
                messages::warn(&format!("{utterance}: {complaint}"));
            }
            match spotting.utterance(utterance, wave, &speaker)? {
                Ok(path) => {
                    speaker = spotting.spotter.speaker()?;
                    transcripts.write(utterance, &path.words)?;
                    alignments.write(utterance, &path.ids)?;
                    messages::log(&format!("Decoded utterance {utterance}"));
                }
                Err(skip) => transcripts.leave_out(utterance, &skip),
            }
        }
        Ok(())
    })?;
    waves.close()?;
    spotting.timing.report(options.online);
    messages::log(&format!("Decoded {} utterances, {} with errors.", transcripts.done, transcripts.failed));
    alignments.finish()?;
    transcripts.finish()
}

struct Spotting<'o, 'g> {
    options: &'o SpottingOptions,
    spotter: Spotter<'g>,
    symbols: SymbolTable,
    timing: TimingStats,
}

impl Spotting<'_, '_> {
    /// Searches an utterance and prints its words. Returns its best path, or the reason why there is none.
    fn utterance(&mut self, key: &str, wave: &Wave, speaker: &Speaker) -> Result<Outcome<ViterbiPath>> {
        let mut timer = OnlineTimer::new(key);
        self.spotter.begin(speaker.clone())?;
        let rate = wave.sample_rate as f32;
        let samples = wave.channel(0);
        let (mut taken, mut printed) = (0, false);
        for piece in samples.chunks(piece(self.options.online, self.options.chunk_length, rate)) {
            taken += piece.len();
            timer.wait_until(f64::from(taken as f32 / rate));
            let last = taken == samples.len();
            match self.spotter.accept(rate, piece, last) {
                Ok(()) => {}
                Err(error) if error.is_broken_graph() => return Err(error.into()),
                Err(error) => return tables::skip(error),
            }
            let words = if last {
                self.spotter.other_words()?
            } else {
                self.spotter.certain_words().unwrap_or_default()
            };
            printed |= !words.is_empty();
            self.print(&words, last && printed)?;
            if words.contains(&self.options.wake_word_id) {
                break;
            }
        }
        if self.spotter.frames_decoded() == 0 {
            return tables::skip(format!("the recording has {} samples, too few for a frame", wave.len()));
        }
        self.timing.add(timer);
        self.spotter.best_path()?.map_or_else(|| tables::skip("no path was left"), |path| Ok(Ok(path)))
    }

    /// Prints words, each with a blank behind it. `end` ends the text of an utterance.
    fn print(&self, words: &[i32], end: bool) -> Result<()> {
        let mut text = String::new();
        for &word in words {
            text += self.symbols.name(word.into()).with_context(|| no_name(word))?;
            text.push(' ');
        }
        if end {
            text += "\n\n";
        }
        Ok(StandardOutput::print(text)?)
    }
}
