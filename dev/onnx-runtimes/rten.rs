//! Runs models with RTen.

mod serve;

use rten::{Model, ModelOptions, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::prelude::*;
use serve::{Result, Runtime, Tensor};
use std::sync::Arc;

struct Rten(Arc<ThreadPool>);

impl Runtime for Rten {
    type Model = Model;

    fn load(&self, path: &str) -> Result<Model> {
        Ok(ModelOptions::with_all_ops().prepack_weights(true).load_file(path)?)
    }

    fn run(&self, model: &mut Model, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut given = Vec::new();
        for input in inputs {
            let value = rten_tensor::Tensor::<f32>::from_data(&input.dims, input.data.clone());
            given.push((model.node_id(&input.name)?, ValueOrView::from(value)));
        }
        let options = RunOptions::default().with_thread_pool(Some(self.0.clone()));
        let ids = model.output_ids().to_vec();
        let results = model.run(given, &ids, Some(options))?;
        let outputs = ids.iter().zip(results).map(|(&id, value)| {
            let name = model.node_info(id).and_then(|info| info.name().map(str::to_string)).unwrap_or_default();
            let value: rten_tensor::Tensor<f32> = value.try_into()?;
            Ok(Tensor { name, dims: value.shape().to_vec(), data: value.to_vec() })
        });
        outputs.collect()
    }
}

fn main() {
    serve::serve(Rten(Arc::new(ThreadPool::with_num_threads(1))));
}
