//! Computations for streaming: a first chunk of frames, then equal chunks for ever.

use super::compile;
use crate::computation::Computation;
use crate::optimize::{OptimizeOptions, optimize};
use crate::request::{ComputationRequest, IoSpecification};
use nnet3_base::config::parse_config;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_network::Nnet;
use std::collections::BTreeSet;

/// Numbers of chunks to compile, tried in this order until the computation repeats itself.
const NUM_REQUESTS: [usize; 5] = [5, 10, 20, 40, 80];

/// The smallest chunk of at least `advised` frames that the network's structure and the subsampling divide.
pub fn chunk_size(nnet: &Nnet, frame_subsampling_factor: i32, advised: i32) -> Result<i32> {
    let modulus = nnet.modulus();
    if modulus <= 0 || frame_subsampling_factor <= 0 || advised <= 0 {
        return Err(Error::Request("chunk sizes and subsampling factors are positive".to_string()));
    }
    let fits = |size: &i32| size % modulus == 0 && size % frame_subsampling_factor == 0;
    (advised..i32::MAX).find(fits).ok_or_else(|| Error::Request("no chunk size is possible".to_string()))
}

/// Makes the network read a new i-vector every `period` frames: `ReplaceIndex(…, t, 0)` in the inputs of component
/// nodes becomes `Round(…, period)`.
pub fn set_ivector_period(nnet: &mut Nnet, period: i32) -> Result<()> {
    const BEGIN: &str = "ReplaceIndex(";
    const END: &str = ", t, 0)";
    if period <= 0 {
        return Err(Error::Request(format!("an i-vector period of {period} frames; it must be positive")));
    }
    let mut changed = Vec::new();
    for line in nnet.node_lines(false) {
        if !line.starts_with("component-node ") || !line.contains(BEGIN) {
            continue;
        }
        let mut new = String::new();
        let mut rest = line.as_str();
        while let Some((before, after)) = rest.split_once(BEGIN) {
            let (inside, after) = after
                .split_once(END)
                .ok_or_else(|| Error::network(format!("expected ReplaceIndex(…{END} in: {line}")))?;
            new += &format!("{before}Round({inside}, {period})");
            rest = after;
        }
        changed.push(new + rest);
    }
    if changed.is_empty() {
        return Ok(());
    }
    let lines = parse_config("(nodes with i-vectors)", changed.iter().map(String::as_str))?;
    nnet.read_config(lines, &Random::new(0))
}

/// Input sizes and contexts of a looped computation.
#[derive(Clone, Copy, Debug)]
pub struct LoopedOptions {
    /// Frames of a chunk: a multiple of the network's modulus and of the other periods here.
    pub chunk_size: i32,
    pub frame_subsampling_factor: i32,
    pub ivector_period: i32,
    /// Frames before the first chunk's first frame.
    pub left_context: i32,
    /// Frames after a chunk's last frame.
    pub right_context: i32,
    pub num_sequences: i32,
}

/// Requests for the first, second and third chunk. All later ones are the third, shifted in time.
pub fn looped_requests(nnet: &Nnet, options: &LoopedOptions) -> Result<[ComputationRequest; 3]> {
    let &LoopedOptions {
        chunk_size: chunk,
        frame_subsampling_factor: subsampling,
        ivector_period: period,
        ..
    } = options;
    for (what, divisor) in [
        ("frame subsampling factor", subsampling),
        ("network's modulus", nnet.modulus()),
        ("i-vector period", period),
    ] {
        if divisor <= 0 || chunk <= 0 || chunk % divisor != 0 {
            return Err(Error::Request(format!(
                "a chunk of {chunk} frames: no multiple of the {what}, {divisor}"
            )));
        }
    }
    if options.left_context < 0 || options.right_context < 0 || options.num_sequences <= 0 {
        return Err(Error::Request(
            "contexts must not be negative, and sequences are at least one".to_string(),
        ));
    }
    let has_ivector = nnet.find_input("ivector").is_some();
    let sequences = options.num_sequences;
    let mut given = BTreeSet::new();
    let mut begin = -options.left_context;
    Ok([0, 1, 2].map(|i| {
        let end = chunk * (i + 1) + options.right_context;
        let mut inputs = vec![IoSpecification::new("input", sequences, begin..end, false)];
        let ivector_times = (begin..end).map(|t| t - t.rem_euclid(period));
        let new: BTreeSet<i32> = ivector_times.filter(|t| !given.contains(t)).collect();
        if has_ivector && !new.is_empty() {
            inputs.push(IoSpecification::new("ivector", sequences, new.iter().copied(), false));
        }
        given.extend(new);
        begin = end;
        let output_times = (chunk * i..chunk * (i + 1)).step_by(subsampling as usize);
        let outputs = vec![IoSpecification::new("output", sequences, output_times, false)];
        ComputationRequest { inputs, outputs, ..ComputationRequest::default() }
    }))
}

/// Compiles a computation that runs the first request once, and then loops for ever.
pub fn compile_looped(
    nnet: &Nnet,
    options: &OptimizeOptions,
    requests: &[ComputationRequest; 3],
) -> Result<Computation> {
    let options = OptimizeOptions { optimize_looped_computation: true, ..options.clone() };
    for count in NUM_REQUESTS {
        let all = extrapolate(requests, count)?;
        let mut computation = compile(nnet, &all)?;
        optimize(&options, nnet, requests[2].max_output_time()?, &mut computation)?;
        if computation.is_looped() {
            return Ok(computation);
        }
    }
    Err(Error::computation("the network's computation for successive chunks does not come to repeat itself"))
}

/// Continues the sequence of requests to `count` of them.
pub fn extrapolate(requests: &[ComputationRequest; 3], count: usize) -> Result<Vec<ComputationRequest>> {
    let [_, second, third] = requests;
    let first_time = |request: &ComputationRequest| request.inputs.first()?.indexes.first().map(|i| i.t);
    let shift = match (first_time(second), first_time(third)) {
        (Some(t2), Some(t3)) => t3 - t2,
        _ => return Err(Error::Request("the requests of a looped computation have no input".to_string())),
    };
    if shifted(third, -shift) != *second {
        return Err(Error::Request(
            "the second and the third request of a looped computation must be the same but for a shift in time".to_string(),
        ));
    }
    let mut out = requests.to_vec();
    while out.len() < count {
        out.push(shifted(third, shift * (out.len() - 2) as i32));
    }
    Ok(out)
}

fn shifted(request: &ComputationRequest, by: i32) -> ComputationRequest {
    let mut out = request.clone();
    for io in out.inputs.iter_mut().chain(&mut out.outputs) {
        io.indexes.iter_mut().for_each(|i| i.t += by);
    }
    out
}
