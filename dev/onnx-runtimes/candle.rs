//! Runs models with candle.

mod serve;

use candle_core::{DType, Device};
use serve::{Result, Runtime, Tensor};
use std::collections::HashMap;

struct Candle;

impl Runtime for Candle {
    type Model = candle_onnx::onnx::ModelProto;

    fn load(&self, path: &str) -> Result<Self::Model> {
        Ok(candle_onnx::read_file(path)?)
    }

    fn run(&self, model: &mut Self::Model, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut given = HashMap::new();
        for input in inputs {
            let tensor = candle_core::Tensor::from_slice(&input.data, input.dims.as_slice(), &Device::Cpu)?;
            given.insert(input.name.clone(), tensor);
        }
        let mut outputs = Vec::new();
        for (name, value) in candle_onnx::simple_eval(model, given)? {
            let dims = value.dims().to_vec();
            let data = value.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
            outputs.push(Tensor { name, dims, data });
        }
        Ok(outputs)
    }
}

fn main() {
    serve::serve(Candle);
}
