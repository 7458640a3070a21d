//! Makes MFCC features of recordings: `features ark:out.ark FILE…`.

use std::error::Error;

use nnet3_toolkit::tables::MatrixHolder;
use nnet3_toolkit::{Channels, FeatureOptions, Features, SoundStream, TableWriter};

/// Writes a matrix for each recording to a table (a wspecifier): a row a frame, 13 cepstra. The key is the name of the file.
pub fn features(table: &str, files: &[String]) -> Result<(), Box<dyn Error>> {
    let mut writer = TableWriter::<MatrixHolder>::open(table)?;
    for file in files {
        let mut sound = SoundStream::open(file)?;
        let signals = sound.signals(Channels::Mix)?;
        let rate = sound.sample_rate() as f32;
        let mut samples = Vec::new();
        loop {
            let piece = sound.read(16000, &signals)?.swap_remove(0);
            if piece.is_empty() {
                break;
            }
            samples.extend(piece);
        }
        sound.warnings().iter().for_each(|warning| eprintln!("{file}: {warning}"));
        let mut options = FeatureOptions::mfcc(rate);
        options.frames.dither = 0.0;
        writer.write(file, &Features::new(options)?.features(&samples, rate, 1.0)?)?;
    }
    Ok(writer.close()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, table, files @ ..] = &arguments[..] else { return Err("expected a table and recordings".into()) };
    features(table, files)
}
