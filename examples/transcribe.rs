//! Recognises a recording of any format: `transcribe MODEL FILE`.

use std::error::Error;

use nnet3_toolkit::{Model, ModelOptions, Recording};

/// Returns the sentences spoken in a recording of any format, one a line, by the model in a folder.
pub fn transcribe(folder: &str, file: &str) -> Result<String, Box<dyn Error>> {
    let model = Model::open(folder, &ModelOptions::default())?;
    let mut sentences = Vec::new();
    for sentence in Recording::open(file, &model)? {
        sentences.push(sentence?.text());
    }
    Ok(sentences.join("\n"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, file] = &arguments[..] else {
        return Err("expected the folder of a model and a recording".into());
    };
    println!("{}", transcribe(folder, file)?);
    Ok(())
}
