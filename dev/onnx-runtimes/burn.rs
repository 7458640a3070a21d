//! Runs models that burn-onnx has made Rust of. `models.rs` beside this file has a function for each of them.

mod models;
mod serve;

use serve::{Result, Runtime, Tensor};

struct Burn;

impl Runtime for Burn {
    type Model = models::Run;

    fn load(&self, path: &str) -> Result<models::Run> {
        let stem = std::path::Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        models::load(stem).ok_or_else(|| format!("burn-onnx has not made {stem}").into())
    }

    fn run(&self, model: &mut models::Run, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(model(inputs))
    }
}

fn main() {
    serve::serve(Burn);
}
