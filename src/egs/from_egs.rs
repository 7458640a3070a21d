//! The programs that write what a network computes for examples.

use anyhow::Result;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, TableWriter};
use nnet3_train::forward::ExampleForward;

use crate::egs::{self, ExampleKind};
use crate::options::device;
use crate::{messages, models};

// Options and arguments.
#[derive(clap::Args, Clone, Debug)]
pub struct FromEgsArgs {
    /// Only for compatibility: whether tables are binary is part of their names
    #[arg(long, default_value_t = true)]
    pub binary: bool,
    /// If true, apply exp function to output
    #[arg(long)]
    pub apply_exp: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    pub use_gpu: String,
    #[command(flatten)]
    pub device: device::DeviceOptions,
    pub raw_nnet_in: String,
    pub training_examples_in: String,
    pub matrices_out: String,
}

impl FromEgsArgs {
    /// Writes a matrix for each example, which `compute` makes. Returns the exit status.
    pub fn run<E: ExampleKind>(
        &self,
        compute: impl Fn(&mut ExampleForward, &E) -> nnet3_train::Result<DenseMatrix<f32>>,
    ) -> Result<u8> {
        let device = self.device.select(&self.use_gpu)?;
        if !self.binary {
            messages::warn("--binary=false has no effect on tables: use ark,t: for text");
        }
        let mut forward = ExampleForward::new(models::load(&self.raw_nnet_in)?, &device);
        let mut egs = egs::open::<E>(&self.training_examples_in)?;
        egs.at_end()?;
        let mut writer = TableWriter::<MatrixHolder>::open(&self.matrices_out)?;
        while let Some((key, example)) = egs.next()? {
            let mut output = compute(&mut forward, &example).map_err(|e| egs.blame(e))?;
            if self.apply_exp {
                output.data.iter_mut().for_each(|x| *x = x.exp());
            }
            writer.write(&key, &output)?;
        }
        let count = egs.count();
        egs.close()?;
        writer.close()?;
        messages::log(&format!("Processed {count} examples."));
        Ok(0)
    }
}
