//! Recognises sound as it arrives: `arecord -t raw -f S16_LE -r 16000 | live MODEL 16000`.

use std::error::Error;
use std::io::Read;

use nnet3_toolkit::{Model, ModelOptions, Recognizer, SampleBytes, State};

/// Bytes that are read at a time: 0.05 s at 16 kHz.
const PIECE: usize = 1600;

/// Takes 16-bit samples, the low byte first, at this rate (in Hz). Calls `each` for each sentence when it ends.
pub fn live(
    folder: &str,
    rate: f32,
    mut sound: impl Read,
    mut each: impl FnMut(&str),
) -> Result<(), Box<dyn Error>> {
    let model = Model::open(folder, &ModelOptions::default())?;
    let mut recognizer = Recognizer::new(&model, rate, model.options())?;
    let (mut bytes, mut joined) = ([0; PIECE], SampleBytes::default());
    loop {
        let count = sound.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        let samples = joined.take(&bytes[..count], i16::from_le_bytes);
        if let State::Endpoint { .. } = recognizer.accept(&samples)? {
            each(&recognizer.result()?.text());
        }
    }
    each(&recognizer.finish()?.text());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, rate] = &arguments[..] else {
        return Err("expected the folder of a model and a rate; sound comes from standard input".into());
    };
    live(folder, rate.parse()?, std::io::stdin().lock(), |text| println!("{text}"))
}
