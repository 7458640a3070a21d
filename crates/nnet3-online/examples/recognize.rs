use std::error::Error;

use kaldi_feat::wave::WaveStream;
use kaldi_io::KaldiReader;
use nnet3_online::{Model, ModelOptions, Recognizer, State};

/// Returns the sentences spoken in a wave file, one a line, by the model in a folder.
pub fn recognize(folder: &str, file: &str) -> Result<String, Box<dyn Error>> {
    let model = Model::open(folder, &ModelOptions::default())?;
    let mut wave = WaveStream::new(KaldiReader::open_raw(file)?)?;
    let mut recognizer = Recognizer::new(&model, wave.sample_rate() as f32, model.options())?;
    let mut sentences = Vec::new();
    while let samples @ [_, ..] = &wave.read(3200)?[..] {
        if let State::Endpoint { .. } = recognizer.accept(samples)? {
            sentences.push(recognizer.result()?.text());
        }
    }
    sentences.push(recognizer.finish()?.text());
    Ok(sentences.join("\n"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, file] = &arguments[..] else {
        return Err("expected the folder of a model and a wave file".into());
    };
    println!("{}", recognize(folder, file)?);
    Ok(())
}
