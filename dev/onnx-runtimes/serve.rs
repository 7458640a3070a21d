//! Answers commands on standard input with a runtime, so that models are loaded once and run several times.
//!
//! `load PATH` answers `ok SECONDS`; the model has the number of the command, from 0. `run MODEL IN OUT REPEATS` reads
//! tensors from a file, writes the outputs to another, and answers `ok SECONDS`, the least of the repetitions. After a
//! failure the answer is `error MESSAGE`.
//!
//! A file of tensors has integers of 4 bytes, little endian: their number; for each the length of the name, the name,
//! the rank, the dimensions and the floats.

use std::io::{BufRead, Write};
use std::time::Instant;

pub struct Tensor {
    pub name: String,
    pub dims: Vec<usize>,
    pub data: Vec<f32>,
}

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub trait Runtime {
    type Model;
    fn load(&self, path: &str) -> Result<Self::Model>;
    fn run(&self, model: &mut Self::Model, inputs: &[Tensor]) -> Result<Vec<Tensor>>;
}

fn read(path: &str) -> Result<Vec<Tensor>> {
    let bytes = std::fs::read(path)?;
    let mut at = 0;
    let mut take = |count: usize| -> Vec<u8> {
        at += count;
        bytes[at - count..at].to_vec()
    };
    let number = |bytes: Vec<u8>| u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
    let mut tensors = Vec::new();
    for _ in 0..number(take(4)) {
        let length = number(take(4));
        let name = String::from_utf8(take(length))?;
        let rank = number(take(4));
        let dims: Vec<usize> = (0..rank).map(|_| number(take(4))).collect();
        let raw = take(4 * dims.iter().product::<usize>());
        let data = raw.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        tensors.push(Tensor { name, dims, data });
    }
    Ok(tensors)
}

fn write(path: &str, tensors: &[Tensor]) -> Result<()> {
    let mut bytes = (tensors.len() as u32).to_le_bytes().to_vec();
    for Tensor { name, dims, data } in tensors {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|&d| bytes.extend((d as u32).to_le_bytes()));
        data.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    }
    Ok(std::fs::write(path, bytes)?)
}

fn answer<R: Runtime>(runtime: &R, models: &mut Vec<Option<R::Model>>, words: &[&str]) -> Result<f64> {
    match words {
        ["load", path] => {
            models.push(None);
            let start = Instant::now();
            let model = runtime.load(path)?;
            let seconds = start.elapsed().as_secs_f64();
            *models.last_mut().unwrap() = Some(model);
            Ok(seconds)
        }
        ["run", model, given, out, repeats] => {
            let model = models.get_mut(model.parse::<usize>()?).and_then(Option::as_mut).ok_or("no such model")?;
            let inputs = read(given)?;
            let mut least = f64::MAX;
            for _ in 0..repeats.parse::<usize>()? {
                let start = Instant::now();
                let outputs = runtime.run(model, &inputs)?;
                least = least.min(start.elapsed().as_secs_f64());
                write(out, &outputs)?;
            }
            Ok(least)
        }
        _ => Err("an unknown command".into()),
    }
}

pub fn serve<R: Runtime>(runtime: R) {
    let mut models = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(std::result::Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let given = std::panic::AssertUnwindSafe(|| answer(&runtime, &mut models, &words));
        let said = match std::panic::catch_unwind(given) {
            Ok(Ok(seconds)) => format!("ok {seconds}"),
            Ok(Err(error)) => format!("error {}", format!("{error:?}").replace('\n', " ")),
            Err(_) => "error the runtime panicked".to_string(),
        };
        println!("{said}");
        std::io::stdout().flush().unwrap();
    }
}
