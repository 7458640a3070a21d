//! Digests of a training's data and first model, by which a checkpoint knows its training.

use anyhow::Result;
use kaldi_io::{KaldiObject, KaldiWriter};
use nnet3_core::nnet::Nnet;
use nnet3_train::NnetExample;

/// A checksum (CRC-32) of examples and their keys, in their order.
#[derive(Debug, Clone, Default)]
pub struct Digest(crc32fast::Hasher);

impl Digest {
    /// Adds an example.
    pub fn add(&mut self, key: &str, example: &NnetExample) -> Result<()> {
        let mut w = KaldiWriter::in_memory(true);
        w.write_token(key)?;
        example.write(&mut w)?;
        self.0.update(&w.into_bytes());
        Ok(())
    }

    /// Eight hexadecimal digits.
    pub fn text(&self) -> String {
        format!("{:08x}", self.0.clone().finalize())
    }
}

/// Returns the checksum of a model, in the form of [`Digest::text`].
pub fn of_network(nnet: &Nnet) -> Result<String> {
    let mut w = KaldiWriter::in_memory(true);
    nnet.write(&mut w)?;
    Ok(format!("{:08x}", crc32fast::hash(&w.into_bytes())))
}
