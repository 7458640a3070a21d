//! Models with one vector for a whole recording, such as x-vectors, for programs that compare speakers.

use super::proto::StringEntry;
use super::{AnyLength, Options, Shape, encode};
use crate::error::{Error, Result};
use nnet3_core::compile::compile;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::{ComputationRequest, IoSpecification};

/// Log-mel energies of a frame. sherpa-onnx always gives this number to models of speakers.
const MELS: usize = 80;

/// Networks that need more frames than this for a vector are refused.
const LONGEST: i32 = 4096;

/// Metadata of a model for sherpa-onnx.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// Hertz.
    pub sample_rate: u32,
    pub language: String,
    /// True if the caller must subtract the mean of a recording's features from them.
    pub subtract_mean: bool,
}

/// The output at time 0 of all frames from there on.
fn request(output: &str, frames: i32) -> ComputationRequest {
    let io = |name: &str, times: std::ops::Range<i32>| IoSpecification::new(name, 1, times, false);
    ComputationRequest {
        inputs: vec![io("input", 0..frames)],
        outputs: vec![io(output, 0..1)],
        ..ComputationRequest::default()
    }
}

/// Smallest number of frames, a multiple of `unit`, from which the output can be computed.
fn shortest(nnet: &Nnet, output: &str, unit: i32) -> Result<i32> {
    let error = |frames: i32| compile(nnet, &[request(output, frames)]).err();
    let (mut too_few, mut enough) = (0, unit);
    while let Some(error) = error(enough) {
        if enough >= LONGEST {
            return Err(error.into());
        }
        (too_few, enough) = (enough, 2 * enough);
    }
    while enough - too_few > unit {
        let between = too_few + (enough - too_few) / unit / 2 * unit;
        match error(between) {
            Some(_) => too_few = between,
            None => enough = between,
        }
    }
    Ok(enough)
}

/// Returns the bytes of a model from any number of frames [sequences, frames, 80] to a vector for each sequence
/// [sequences, columns]. Its metadata are the ones that sherpa-onnx requires of a model of speakers.
pub fn export_speaker(nnet: &Nnet, options: &Options, speaker: &Speaker) -> Result<Vec<u8>> {
    let [output] = &options.outputs[..] else {
        return Err(Error::unsupported("a model of speakers has one output"));
    };
    let Some(dim) = nnet.output_dim(output) else {
        return Err(Error::unsupported(format!("the network has no output node '{output}'")));
    };
    if nnet.input_dim("ivector").is_some() {
        return Err(Error::unsupported("the network reads i-vectors, which sherpa-onnx does not give"));
    }
    match nnet.input_dim("input") {
        Some(MELS) => {}
        Some(dim) => {
            return Err(Error::unsupported(format!(
                "the network's input has {dim} columns; sherpa-onnx gives {MELS} log-mel energies"
            )));
        }
        None => return Err(Error::unsupported("the network has no input node 'input'")),
    }
    let unit = nnet.modulus();
    let first = shortest(nnet, output, unit)?;
    let frames = |units: i64| first + unit * (units as i32 - 1);
    let model = AnyLength::new(nnet, options, Shape::Vector, |units| request(output, frames(units)))?;
    let normalization = if speaker.subtract_mean { "global-mean" } else { "" };
    let entries = [
        ("node_lines", nnet.node_lines(false).join("\n")),
        ("input_dim", MELS.to_string()),
        ("output_dim", dim.to_string()),
        ("fewest_frames", frames(model.lengths.fewest).to_string()),
        ("framework", "wespeaker".to_string()),
        ("sample_rate", speaker.sample_rate.to_string()),
        ("normalize_samples", "0".to_string()),
        ("language", speaker.language.clone()),
        ("feature_normalize_type", normalization.to_string()),
    ];
    let entries = entries.into_iter().filter(|(_, value)| !value.is_empty());
    encode(model.emit(options)?, entries.map(|(key, value)| StringEntry::new(key, value)).collect(), None)
}
