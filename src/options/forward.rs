//! Running networks over utterances: contexts and chunks, i-vectors.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::{Group, kaldi_log, kaldi_warn};
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_io::{DenseMatrix, MappedRandomReader, RandomReader};
use nnet3_core::execute::CachingCompiler;
use nnet3_core::execute::Executor;
use nnet3_core::forward::{BatchOptions, Chunking, Ivectors, LoopedForward, OutputScaling, Streaming};
use nnet3_core::nnet::Nnet;

use nnet3_matrix::Device;
use nnet3_online::config::network::LoopedArgs;

use super::compute::{ComputationOptions, OptimizationOptions, compiler_defaults};
use kaldi_cli::log::{Site, num};

const LOOPED: Site = Site::new("CompileLooped", "nnet-compile-looped.cc", 1);
const SITE: Site = Site::new("CheckAndFixConfigs", "nnet-am-decodable-simple.cc", 1);

// Options of [SIMPLE], without acoustic-scale, whose default differs between programs.
#[derive(Args, Clone, Debug)]
pub struct SimpleOptions {
    /// Number of frames of additional left-context to add on top of the network's own left context (may be useful in
    /// recurrent setups)
    #[arg(long, default_value_t = 0)]
    pub extra_left_context: i32,
    /// Number of frames of additional right-context to add on top of the network's own right context (may be useful in
    /// recurrent setups)
    #[arg(long, default_value_t = 0)]
    pub extra_right_context: i32,
    /// If >= 0, overrides --extra-left-context at the start of an utterance
    #[arg(long, default_value_t = -1)]
    pub extra_left_context_initial: i32,
    /// If >= 0, overrides --extra-right-context at the end of an utterance
    #[arg(long, default_value_t = -1)]
    pub extra_right_context_final: i32,
    /// Frames of the input for each frame of the output, if the network has fewer outputs ('chain' models)
    #[arg(long, default_value_t = 1)]
    pub frame_subsampling_factor: i32,
    /// Number of input frames in each chunk that is separately evaluated by the network
    #[arg(long, default_value_t = 50)]
    pub frames_per_chunk: i32,
    /// As --computation.debug
    #[arg(long)]
    pub debug_computation: bool,
    #[command(flatten)]
    pub optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    pub computation: ComputationOptions,
}

/// The file beside a model in which trainings write how many frames of the input there are for each frame of the output.
const FACTOR: &str = "frame_subsampling_factor";

/// Warns if the folder of the model says that outputs are another number of frames apart.
pub fn compare_factor(model: &str, factor: i32) {
    let Some(folder) = Path::new(model).parent().filter(|_| Path::new(model).is_file()) else { return };
    let text = std::fs::read_to_string(folder.join(FACTOR)).unwrap_or_default();
    if let Ok(trained) = text.trim().parse::<i32>()
        && trained != factor
    {
        kaldi_warn!(
            SITE,
            "--frame-subsampling-factor={factor}, but {model} was trained with {trained}, as {FACTOR} beside it says"
        );
    }
}

impl SimpleOptions {
    /// A compiler with these options. It keeps a few more programs than usual, as the lengths of last chunks differ.
    pub fn compiler(&self) -> Result<CachingCompiler> {
        let mut options = compiler_defaults();
        options.cache_capacity += usize::try_from(self.frames_per_chunk).unwrap_or(0);
        Ok(CachingCompiler::new(options, self.optimization.optimize_options()?))
    }

    /// Returns the options for utterances with `--looped=true`. Options of separate chunks then are errors.
    pub fn streaming(&self) -> Result<Streaming> {
        for (name, value, default) in [
            ("extra-left-context", self.extra_left_context, 0),
            ("extra-right-context", self.extra_right_context, 0),
            ("extra-right-context-final", self.extra_right_context_final, -1),
        ] {
            if value != default {
                bail!(
                    "--{name}={value} is for separate chunks; with --looped=true there is --extra-left-context-initial"
                );
            }
        }
        if self.frames_per_chunk < 1 || self.frame_subsampling_factor < 1 {
            bail!("--frames-per-chunk and --frame-subsampling-factor must be at least 1");
        }
        Ok(Streaming {
            frames_per_chunk: self.frames_per_chunk,
            frame_subsampling_factor: self.frame_subsampling_factor,
            extra_left_context_initial: self.extra_left_context_initial.max(0),
        })
    }

    /// Lets `executor` log each command, if requested.
    pub fn observe(&self, executor: &mut Executor) {
        let debug = self.computation.debug || self.debug_computation;
        ComputationOptions { debug }.observe(executor);
    }

    /// Returns the chunks for this network. If they are longer than requested, a log line says so.
    pub fn chunking(&self, nnet: &Nnet) -> Result<Chunking> {
        let mut chunking = Chunking {
            extra_left_context: self.extra_left_context,
            extra_right_context: self.extra_right_context,
            extra_left_context_initial: self.extra_left_context_initial,
            extra_right_context_final: self.extra_right_context_final,
            frame_subsampling_factor: self.frame_subsampling_factor,
            frames_per_chunk: self.frames_per_chunk,
        };
        chunking.check()?;
        if let Some(old) = chunking.round_up(nnet.modulus())? {
            let shift = match nnet.modulus() {
                1 => String::new(),
                modulus => format!(" and of the network's shift-invariance modulus {modulus}"),
            };
            kaldi_log!(
                SITE,
                "Increasing --frames-per-chunk from {old} to {} to make it a multiple of \
                 --frame-subsampling-factor={}{shift}",
                chunking.frames_per_chunk,
                chunking.frame_subsampling_factor
            );
        }
        Ok(chunking)
    }
}

// Options for chunks of several utterances that run together.
#[derive(Args, Clone, Debug)]
pub struct BatchComputeOptions {
    /// Number of chunks per minibatch (see also edge-minibatch-size)
    #[arg(long, default_value_t = 128)]
    pub minibatch_size: usize,
    /// Number of chunks per minibatch for chunks at the beginnings and ends of utterances, if their computation differs
    /// from the usual one (such as in recurrent models)
    #[arg(long, default_value_t = 32)]
    pub edge_minibatch_size: usize,
    /// If true, for utterances shorter than --frames-per-chunk, use exact-length, special computations. If false, pad with
    /// repeats of the last frame. Would only affect the output for backwards-recurrent models, but would negatively impact
    /// speed in all cases
    #[arg(long)]
    pub ensure_exact_final_context: bool,
    /// Factor that controls how small partial minibatches will be when they become necessary: they may have sizes
    /// partial-minibatch-factor^n * minibatch-size for n = 0, 1, 2, ... Set it to 0.0 to use only the specified minibatch
    /// sizes
    #[arg(long, default_value_t = 0.5)]
    pub partial_minibatch_factor: f32,
}

impl BatchComputeOptions {
    pub fn options(&self) -> BatchOptions {
        BatchOptions {
            minibatch_size: self.minibatch_size,
            edge_minibatch_size: self.edge_minibatch_size,
            ensure_exact_final_context: self.ensure_exact_final_context,
            partial_minibatch_factor: self.partial_minibatch_factor,
        }
    }
}

// [LOOPED], without acoustic-scale
#[derive(Args, Clone, Debug)]
pub struct LoopedOptions {
    #[command(flatten)]
    pub network: Group<LoopedArgs>,
}

impl LoopedOptions {
    /// Compiles the program of the network, and logs how long that took.
    pub fn forward(&self, nnet: Nnet, device: &Device, scaling: OutputScaling) -> Result<LoopedForward> {
        let streaming = self.network.streaming()?;
        let mut forward = looped(nnet, device, &streaming, scaling, &self.network.optimization)?;
        self.observe(&mut forward);
        Ok(forward)
    }

    fn observe(&self, forward: &mut LoopedForward) {
        ComputationOptions { debug: self.network.debugs() }.observe(forward.executor());
    }

    /// Makes another runner like this one, for another thread.
    pub fn another(&self, forward: &LoopedForward) -> LoopedForward {
        let mut another = forward.another();
        self.observe(&mut another);
        another
    }
}

/// Compiles the program that goes through utterances with state, and logs how long that took.
pub fn looped(
    nnet: Nnet,
    device: &Device,
    streaming: &Streaming,
    scaling: OutputScaling,
    optimization: &OptimizationOptions,
) -> Result<LoopedForward> {
    let compiling = Instant::now();
    let forward = LoopedForward::new(nnet, device, streaming, scaling, &optimization.optimize_options()?)?;
    log_compiled(compiling.elapsed());
    Ok(forward)
}

/// Logs the time of the compilation of such a program.
pub fn log_compiled(time: Duration) {
    kaldi_log!(LOOPED, "Spent {} seconds in looped compilation.", num(time.as_secs_f64()));
}

// [IVEC]
#[derive(Args, Clone, Debug)]
pub struct IvectorOptions {
    /// Rspecifier for i-vectors as vectors (i.e. not estimated online); per utterance by default, or per speaker with
    /// the --utt2spk option
    #[arg(long, default_value = "")]
    pub ivectors: String,
    /// Rspecifier for the speakers of utterances, used to get i-vectors per speaker
    #[arg(long, default_value = "")]
    pub utt2spk: String,
    /// Rspecifier for i-vectors estimated online, as matrices. With this, --online-ivector-period must be set
    #[arg(long, default_value = "")]
    pub online_ivectors: String,
    /// Number of frames between i-vectors in the matrices of --online-ivectors
    #[arg(long, default_value_t = 0)]
    pub online_ivector_period: i32,
}

/// The tables of i-vectors, opened.
pub enum IvectorReader {
    None,
    Utterance(Box<MappedRandomReader<VectorHolder>>),
    Online { reader: Box<RandomReader<MatrixHolder>>, period: usize },
}

impl IvectorOptions {
    pub fn open(&self) -> Result<IvectorReader> {
        match (self.ivectors.is_empty(), self.online_ivectors.is_empty()) {
            (true, true) => Ok(IvectorReader::None),
            (false, false) => bail!("--ivectors and --online-ivectors cannot both be given"),
            (false, true) => Ok(IvectorReader::Utterance(Box::new(MappedRandomReader::open(
                &self.ivectors,
                &self.utt2spk,
            )?))),
            (true, false) => match usize::try_from(self.online_ivector_period) {
                Ok(period) if period > 0 => Ok(IvectorReader::Online {
                    reader: Box::new(RandomReader::open(&self.online_ivectors)?),
                    period,
                }),
                _ => bail!("--online-ivectors needs --online-ivector-period greater than 0"),
            },
        }
    }
}

impl IvectorReader {
    /// The i-vectors of an utterance; `None` if the table has none for it.
    pub fn get(&mut self, utterance: &str) -> Result<Option<Ivectors<'_>>> {
        Ok(match self {
            IvectorReader::None => Some(Ivectors::None),
            IvectorReader::Utterance(reader) => {
                reader.get(utterance)?.map(|vector| Ivectors::Utterance(vector))
            }
            IvectorReader::Online { reader, period } => {
                let period = *period;
                reader.get(utterance)?.map(|matrix| Ivectors::Online { matrix, period })
            }
        })
    }

    /// Name of the missing input, for a warning.
    pub fn kind(&self) -> &'static str {
        match self {
            IvectorReader::Online { .. } => "online iVector",
            IvectorReader::None | IvectorReader::Utterance(_) => "iVector",
        }
    }
}

/// The i-vectors of an utterance, all owned.
pub enum OwnedIvectors {
    None,
    Utterance(Vec<f32>),
    Online { matrix: DenseMatrix<f32>, period: usize },
}

impl From<Ivectors<'_>> for OwnedIvectors {
    fn from(ivectors: Ivectors<'_>) -> OwnedIvectors {
        match ivectors {
            Ivectors::None => OwnedIvectors::None,
            Ivectors::Utterance(vector) => OwnedIvectors::Utterance(vector.to_vec()),
            Ivectors::Online { matrix, period } => OwnedIvectors::Online { matrix: matrix.clone(), period },
        }
    }
}

impl OwnedIvectors {
    pub fn get(&self) -> Ivectors<'_> {
        match self {
            OwnedIvectors::None => Ivectors::None,
            OwnedIvectors::Utterance(vector) => Ivectors::Utterance(vector),
            OwnedIvectors::Online { matrix, period } => Ivectors::Online { matrix, period: *period },
        }
    }
}
