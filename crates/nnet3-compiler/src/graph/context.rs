//! Finds how many frames around an output frame a network needs, and makes requests with them.

use super::computable_outputs;
use super::draws::Draws;
use super::epochs::is_recurrent;
use crate::request::{ComputationRequest, IoSpecification};
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_network::Nnet;

/// Frames around an output frame that a network needs. (A network itself knows nothing of requests.)
pub trait FrameContext {
    /// Left and right context in frames, of a simple network.
    fn context(&self) -> Result<(i32, i32)>;

    /// As [`FrameContext::context`]. Takes as many random numbers as the reference does when it reads an acoustic model.
    fn draw_for_context(&self, random: &Random) -> Result<()>;

    /// Makes the usual request of training or forward computing for a simple network. It has `sequences` sequences of
    /// `frames` output frames (every `subsampling`-th input frame), with the input context that the network needs. An
    /// input `ivector` gets one row for each sequence, at t = 0. With `derivatives` the request wants the model's
    /// derivatives, and supplies derivatives at every output.
    fn ordinary_request(
        &self,
        sequences: i32,
        frames: i32,
        subsampling: i32,
        derivatives: bool,
    ) -> Result<ComputationRequest>;

    /// Context (if the network is simple), then [`Nnet::description`]: the text that `nnet3-info` prints.
    fn info(&self, detailed: bool) -> String;
}

impl FrameContext for Nnet {
    fn context(&self) -> Result<(i32, i32)> {
        context_drawing(self, None)
    }

    fn draw_for_context(&self, random: &Random) -> Result<()> {
        context_drawing(self, Some(random)).map(|_| ())
    }

    fn ordinary_request(
        &self,
        sequences: i32,
        frames: i32,
        subsampling: i32,
        derivatives: bool,
    ) -> Result<ComputationRequest> {
        let sizes = [
            ("sequences", sequences),
            ("output frames", frames),
            ("input frames an output frame", subsampling),
        ];
        if let Some((what, value)) = sizes.into_iter().find(|&(_, value)| value < 1) {
            return Err(Error::Request(format!(
                "expected at least 1 as the number of {what}, found {value}"
            )));
        }
        let (left, right) = self.context()?;
        let times = (0..frames).map(|i| i * subsampling);
        let last = (frames - 1) * subsampling;
        let mut inputs = vec![IoSpecification::new("input", sequences, -left..last + right + 1, false)];
        if self.find_input("ivector").is_some() {
            inputs.push(IoSpecification::new("ivector", sequences, 0..1, false));
        }
        let output = |id| IoSpecification::new(self.node_name(id), sequences, times.clone(), derivatives);
        let outputs = self.output_nodes().map(output).collect();
        Ok(ComputationRequest {
            inputs,
            outputs,
            need_model_derivative: derivatives,
            store_component_stats: false,
        })
    }
    fn info(&self, detailed: bool) -> String {
        let mut out = String::new();
        if self.is_simple()
            && let Ok((left, right)) = self.context()
        {
            out += &format!("left-context: {left}\nright-context: {right}\n");
        }
        out + &self.description(detailed)
    }
}

fn context_drawing(nnet: &Nnet, random: Option<&Random>) -> Result<(i32, i32)> {
    if !nnet.is_simple() {
        return Err(Error::network(
            "the network is not simple: it needs an input node 'input', an output node 'output' and no other input \
             than 'ivector'",
        ));
    }
    for window in [40, 80, 160, 320, 640] {
        let shifts = (0..=nnet.modulus()).map(|shift| context_at(nnet, shift, window, random));
        if let Some(contexts) = shifts.collect::<Result<Option<Vec<_>>>>()? {
            let left = contexts.iter().map(|c| c.0).max().unwrap_or(0);
            let right = contexts.iter().map(|c| c.1).max().unwrap_or(0);
            return Ok((left, right));
        }
    }
    let hint = match is_recurrent(nnet) {
        true => ": a recurrence needs IfDefined or Failover to begin somewhere",
        false => "",
    };
    Err(Error::network(format!("no output frame can be computed from 640 input frames{hint}")))
}

fn context_at(nnet: &Nnet, shift: i32, window: i32, random: Option<&Random>) -> Result<Option<(i32, i32)>> {
    let mut inputs = vec![IoSpecification::new("input", 1, shift..shift + window, false)];
    if nnet.find_input("ivector").is_some() {
        let first = shift - nnet.modulus();
        inputs.push(IoSpecification::new("ivector", 1, first..shift + window, false));
    }
    let outputs = vec![IoSpecification::new("output", 1, shift..shift + window, false)];
    let request = ComputationRequest { inputs, outputs, ..Default::default() };
    let computable = match random {
        None => computable_outputs(nnet, &request, &mut |_| ())?,
        Some(random) => {
            // The number of the sequence; it changes nothing.
            random.key();
            let mut draws = Draws::new(random);
            let computable = computable_outputs(nnet, &request, &mut |count| draws.level(count))?;
            draws.finish();
            computable
        }
    };
    let computable = &computable[0];
    let first = computable.iter().position(|&c| c);
    Ok(first.map(|first| {
        let end = computable[first..].iter().position(|&c| !c).map_or(computable.len(), |n| first + n);
        (first as i32, (computable.len() - end) as i32)
    }))
}
