//! Serves a model on port 2700 of this machine: `serve MODEL`.

use std::num::NonZero;

use nnet3_online::{Model, ModelOptions};
use nnet3_serve::{Access, Limits, Listeners, Server, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected the folder of a model")?;
    let settings = Settings {
        access: Access::default(),
        limits: Limits::default(),
        threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        rate: None,
        decoder: None,
        language: None,
        speakers: None,
    };
    let listeners = Listeners::bind("127.0.0.1:2700".parse()?, None)?;
    let model = Model::open(folder, &ModelOptions::default())?;
    Server::new(model, listeners, settings, |event| eprintln!("{event:?}"))?.run()?;
    Ok(())
}
