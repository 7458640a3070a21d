//! Writes a network as an ONNX model: `onnx model.raw model.onnx`.

use std::error::Error;

use nnet3_toolkit::Network;
use nnet3_toolkit::onnx::{Options, export_any_length};

/// Returns the bytes of an ONNX model that takes any number of frames.
pub fn onnx(network: &Network) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = Options {
        frames_per_chunk: 50,
        frame_subsampling_factor: 1,
        batch_size: None,
        log_priors: Vec::new(),
        acoustic_scale: 1.0,
        outputs: vec!["output".to_owned()],
    };
    Ok(export_any_length(network, &options)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, to] = &arguments[..] else { return Err("expected a network and a file to write".into()) };
    std::fs::write(to, onnx(&Network::load(model)?)?)?;
    Ok(())
}
