//! `nnet3-export`: writes a network as an ONNX model, or a model as a safetensors file.

use anyhow::{Context, Result, bail};
use clap::Parser;
use kaldi_io::KaldiWriter;
use nnet3::messages;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::ComputationRequest;
use nnet3_export::onnx::embedding::{self, Speaker};
use nnet3_export::onnx::{self, streaming};
use nnet3_export::safetensors::{self, ModelFile};

/// Write a network as an ONNX model (operators of the standard, opset 17) for other programs.
///
/// Inputs and outputs are tensors [sequences, frames, columns]. The model takes any number of frames. With
/// --fixed-frames=true it takes the number that --frames-per-chunk new frames and the network's context need; with
/// --request, the rows of a computation request. Frames that the network needs before and after are part of the input.
///
/// With --streaming=true the network goes from chunk to chunk, and <onnx-out> is a folder. It gets first.onnx for the
/// first chunk and the frames around it, step.onnx for each later chunk, and weights.onnx_data, which both need beside them.
/// Outputs state_out_0 … of one call are inputs state_in_0 … of the next. With --single-graph=true too, one model (a
/// file) takes the place of both; it begins with states of zeros.
///
/// With --sherpa=speaker the network's output at time 0 of a whole recording, such as an x-vector, becomes a vector for
/// each sequence. The model then has the metadata that sherpa-onnx expects of a speaker model.
///
/// If the second file ends in .safetensors, it gets the whole model, to the last byte. Every matrix and vector is a
/// tensor named after its component and its token in the file, such as tdnn1.affine.linear_params. No options apply to
/// this form.
#[derive(Parser, PartialEq)]
#[command(after_help = "e.g.: nnet3-export --frame-subsampling-factor=3 final.mdl model.onnx\n\
    or: nnet3-export --streaming=true --frames-per-chunk=21 final.mdl folder\n\
    or: nnet3-export final.mdl model.safetensors\nSee also: nnet3-import, nnet3-compute")]
pub struct Options {
    /// Frames of the input that a chunk of a fixed length, or of a stream, stands for, besides context (default: 50)
    #[arg(long)]
    frames_per_chunk: Option<i32>,
    /// Frames of the input for each frame of the output, if the network has fewer outputs ('chain' models)
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// If true, the model takes one number of frames only
    #[arg(long)]
    fixed_frames: bool,
    /// If true, write models that go from chunk to chunk with states
    #[arg(long)]
    streaming: bool,
    /// If true, write a single model for streaming instead of two: the model of later chunks. Only for networks without
    /// recurrence
    #[arg(long)]
    single_graph: bool,
    /// If true, all states of a model for streaming are one tensor [sequences, numbers]
    #[arg(long)]
    pack_states: bool,
    /// Frames before the first one, besides the network's left context, that the first chunk of a stream takes
    #[arg(long, default_value_t = 0)]
    extra_left_context_initial: i32,
    /// Number of sequences; 0 leaves it open
    #[arg(long, default_value_t = 0)]
    batch_size: usize,
    /// Comma-separated list of output nodes (default: output)
    #[arg(long)]
    outputs: Option<String>,
    /// Subtract the logarithms of the priors stored with the model (which must then be an acoustic model, .mdl)
    #[arg(long)]
    use_priors: bool,
    /// Multiply the output by this
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Export the computation of this request, without its derivatives, as nnet3-compute-request takes it; any network
    #[arg(long, default_value = "")]
    request: String,
    /// Make a model for a program of sherpa-onnx: speaker (a vector for each recording)
    #[arg(long, default_value = "")]
    sherpa: String,
    /// Sample rate in Hertz of the sound behind the features, for a model for sherpa-onnx (default: 16000)
    #[arg(long)]
    sample_rate: Option<u32>,
    /// Language of the sound that a model for sherpa-onnx is for (default: unknown)
    #[arg(long)]
    language: Option<String>,
    /// If true, sherpa-onnx subtracts the mean of a recording's features from them
    #[arg(long)]
    subtract_mean: bool,
    #[arg(value_name = "<model-in>")]
    model: String,
    #[arg(value_name = "(<onnx-out>|<safetensors-out>)")]
    out: String,
}

fn as_safetensors(options: &Options) -> Result<u8> {
    let defaults = Options::parse_from(["nnet3-export", "", ""]);
    if (Options { model: options.model.clone(), out: options.out.clone(), ..defaults }) != *options {
        bail!(
            "{}: the options are for ONNX models; a safetensors file holds the model as it is",
            options.out
        );
    }
    let model = nnet3::models::binary_bytes(&options.model)?;
    let tensors = ModelFile::read(&options.model, model)
        .and_then(|model| safetensors::export(&model))
        .with_context(|| options.model.clone())?;
    nnet3::models::write_bytes(&options.out, &tensors)?;
    Ok(0)
}

/// Kind of the output.
enum Mode {
    AnyLength,
    Chunk,
    Request,
    Streaming,
    SingleGraph,
    Speaker,
}

impl Options {
    /// Returns the kind of the output. Options that have no meaning for it are an error.
    fn mode(&self) -> Result<Mode> {
        if !matches!(&*self.sherpa, "" | "speaker") {
            bail!("--sherpa={}: expected speaker", self.sherpa);
        }
        let given = (self.fixed_frames, self.streaming, !self.request.is_empty(), !self.sherpa.is_empty());
        let mode = match given {
            (false, false, false, false) => Mode::AnyLength,
            (true, false, false, false) => Mode::Chunk,
            (false, true, false, false) if self.single_graph => Mode::SingleGraph,
            (false, true, false, false) => Mode::Streaming,
            (false, false, true, false) => Mode::Request,
            (false, false, false, true) => Mode::Speaker,
            _ => bail!(
                "only one of --fixed-frames=true, --streaming=true, --request and --sherpa can be given"
            ),
        };
        let is_streaming = matches!(mode, Mode::Streaming | Mode::SingleGraph);
        let has_chunks = is_streaming || matches!(mode, Mode::Chunk);
        let of_request = matches!(mode, Mode::Request);
        let of_speakers = matches!(mode, Mode::Speaker);
        let chunks = "--fixed-frames=true or --streaming=true";
        for (given, fits, name, with) in [
            (self.frames_per_chunk.is_some(), has_chunks, "frames-per-chunk", chunks),
            (self.single_graph, is_streaming, "single-graph", "--streaming=true"),
            (self.pack_states, is_streaming, "pack-states", "--streaming=true"),
            (
                self.extra_left_context_initial != 0,
                matches!(mode, Mode::Streaming),
                "extra-left-context-initial",
                "--streaming=true and without --single-graph=true",
            ),
            (self.sample_rate.is_some(), of_speakers, "sample-rate", "--sherpa"),
            (self.language.is_some(), of_speakers, "language", "--sherpa"),
            (self.subtract_mean, of_speakers, "subtract-mean", "--sherpa"),
        ] {
            if given && !fits {
                bail!("--{name} can only be given with {with}");
            }
        }
        for (given, name) in [
            (self.frame_subsampling_factor != 1, "frame-subsampling-factor"),
            (self.outputs.is_some(), "outputs"),
        ] {
            if given && of_request {
                bail!("--{name} cannot be given with --request, which lists all rows");
            }
        }
        for (given, name) in [
            (self.frame_subsampling_factor != 1, "frame-subsampling-factor"),
            (self.use_priors, "use-priors"),
            (self.acoustic_scale != 1.0, "acoustic-scale"),
        ] {
            if given && of_speakers {
                bail!("--{name} cannot be given with --sherpa=speaker");
            }
        }
        if let Some(0) = self.sample_rate {
            bail!("--sample-rate=0: expected a number above 0");
        }
        if self.language.as_deref() == Some("") {
            bail!("--language: expected the name of a language, found nothing");
        }
        if self.extra_left_context_initial < 0 {
            bail!(
                "--extra-left-context-initial must not be negative, found {}",
                self.extra_left_context_initial
            );
        }
        let is_folder = matches!(mode, Mode::Streaming);
        match (is_folder, self.out.ends_with(".onnx")) {
            (false, false) => bail!("{}: expected a file name that ends in .onnx or .safetensors", self.out),
            (true, true) => {
                bail!("{}: expected a folder, for first.onnx, step.onnx and weights.onnx_data", self.out)
            }
            _ => Ok(mode),
        }
    }

    /// The network ready to be run, and the logarithms of the priors, if these are to be subtracted.
    fn load(&self) -> Result<(Nnet, Vec<f32>)> {
        let (mut nnet, mut log_priors) = (None, Vec::new());
        if self.use_priors {
            let model = nnet3::models::load_acoustic(&self.model)?;
            log_priors = model.log_priors().with_context(|| self.model.clone())?;
            if log_priors.is_empty() {
                messages::warn(&format!("{}: --use-priors=true, but the model has no priors", self.model));
            }
            nnet = Some(model.into_nnet());
        }
        let mut nnet = match nnet {
            Some(nnet) => nnet,
            None => nnet3::models::load(&self.model)?,
        };
        nnet3::prepare::for_running(&mut nnet)?;
        Ok((nnet, log_priors))
    }
}

/// Writes files next to each other; none appears before all are written.
fn write(files: &[(String, Vec<u8>)]) -> Result<()> {
    let mut writers = Vec::new();
    for (name, bytes) in files {
        let mut w = KaldiWriter::create(name, false)?;
        w.write_bytes(bytes)?;
        writers.push(w);
    }
    for w in writers {
        w.finish()?;
    }
    Ok(())
}

pub fn run(options: Options) -> Result<u8> {
    if options.out.ends_with(".safetensors") {
        return as_safetensors(&options);
    }
    let scale = options.acoustic_scale;
    if scale.is_nan() || scale <= 0.0 {
        bail!("--acoustic-scale must be greater than 0, found {scale}");
    }
    let mode = options.mode()?;
    let (nnet, log_priors) = options.load()?;
    let outputs = options.outputs.as_deref().unwrap_or("output");
    let how = onnx::Options {
        frames_per_chunk: options.frames_per_chunk.unwrap_or(50),
        frame_subsampling_factor: options.frame_subsampling_factor,
        batch_size: (options.batch_size > 0).then_some(options.batch_size),
        log_priors,
        acoustic_scale: scale,
        outputs: outputs.split(',').map(str::to_owned).collect(),
    };
    let of_model = || options.model.clone();
    let bytes = match mode {
        Mode::AnyLength => onnx::export_any_length(&nnet, &how),
        Mode::Chunk => onnx::export_chunk(&nnet, &how),
        Mode::Request => onnx::export_request(&nnet, &ComputationRequest::load(&options.request)?, &how),
        Mode::Speaker => {
            let speaker = Speaker {
                sample_rate: options.sample_rate.unwrap_or(16000),
                language: options.language.clone().unwrap_or_else(|| "unknown".to_owned()),
                subtract_mean: options.subtract_mean,
            };
            embedding::export_speaker(&nnet, &how, &speaker)
        }
        Mode::SingleGraph => streaming::export_single_graph(&nnet, &how, options.pack_states),
        Mode::Streaming => {
            let streaming = streaming::Streaming {
                extra_left_context_initial: options.extra_left_context_initial,
                pack_states: options.pack_states,
            };
            let models = streaming::export_streaming(&nnet, &how, streaming).with_context(of_model)?;
            std::fs::create_dir_all(&options.out)
                .with_context(|| format!("cannot make the folder {}", options.out))?;
            let named = |name: &str, bytes| (format!("{}/{name}", options.out), bytes);
            let weights = named(streaming::WEIGHTS_FILE, models.weights);
            write(&[weights, named("first.onnx", models.first), named("step.onnx", models.step)])?;
            messages::log(&format!(
                "Wrote first.onnx, step.onnx and {} into {}",
                streaming::WEIGHTS_FILE,
                options.out
            ));
            return Ok(0);
        }
    };
    let bytes = bytes.with_context(of_model)?;
    nnet3::models::write_bytes(&options.out, &bytes)?;
    messages::log(&format!("Wrote an ONNX model of {} bytes to {}", bytes.len(), options.out));
    Ok(0)
}
