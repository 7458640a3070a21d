//! Layers of networks that make features, as lines of a configuration with matrices in a temporary folder.

use anyhow::{Context, Result};
use kaldi_align::as_network::FeatureLayer;
use kaldi_io::{DenseMatrix, write_object};
use tempfile::TempDir;

/// A folder for matrices that lines name; it goes when this is dropped.
pub struct Matrices(TempDir);

impl Matrices {
    pub fn new() -> Result<Matrices> {
        Ok(Matrices(tempfile::tempdir().context("a folder for the layers' matrices")?))
    }

    /// Writes a matrix, and returns the file's name.
    pub fn write(&self, name: &str, matrix: &DenseMatrix<f32>) -> Result<String> {
        let file = self.0.path().join(name);
        let file = file.to_str().context("the name of the folder for temporary files is not text")?;
        write_object(file, true, matrix)?;
        Ok(file.to_owned())
    }
}

/// Lines for the input and a node `name` that makes features of it.
pub fn lines(layer: &FeatureLayer, name: &str, matrices: &Matrices) -> Result<Vec<String>> {
    let frames = -(layer.left as i64)..=layer.right as i64;
    let frames: Vec<String> = frames.map(|offset| format!("Offset(input, {offset})")).collect();
    Ok(vec![
        format!("input-node name=input dim={}", layer.cepstra),
        format!(
            "component name={name} type=FixedAffineComponent matrix={}",
            matrices.write(name, &layer.matrix)?
        ),
        format!("component-node name={name} component={name} input=Append({})", frames.join(", ")),
    ])
}
