//! Layers of networks that make features, as lines of a configuration with matrices in a temporary folder.

use anyhow::{Context, Result, ensure};
use kaldi_align::as_network::FeatureLayer;
use kaldi_io::{DenseMatrix, write_object};
use nnet3_core::component::affine::fixed::FixedAffine;
use nnet3_core::config::parse_config;
use nnet3_core::random::Random;
use nnet3_train::acoustic::AmNnet;
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

const NODE: &str = "features-of-speaker";

/// Puts a layer before the network of a model, which reads the layer's features. The new network reads cepstra.
///
/// # Errors
/// The network reads features of another dimension, or has such a layer already.
pub fn put_before(layer: &FeatureLayer, model: &mut AmNnet) -> Result<()> {
    let mut nnet = model.nnet().clone();
    let wanted = nnet.input_dim("input").context("the network has no input")?;
    ensure!(
        wanted == layer.matrix.rows,
        "the network reads features of dimension {wanted}, but the Gaussian models make {}",
        layer.matrix.rows
    );
    ensure!(nnet.find_node(NODE).is_none(), "the network reads cepstra already");
    let matrices = Matrices::new()?;
    let mut lines = lines(layer, NODE, &matrices)?;
    let others = nnet.node_lines(false).into_iter().filter(|line| !line.starts_with("input-node "));
    lines.extend(others.map(|line| with_input(&line, "input", NODE)));
    nnet.read_config(parse_config("layers", lines.iter().map(String::as_str))?, &Random::new(0))?;
    model.set_nnet(nnet)?;
    Ok(())
}

/// True if the layer that [`put_before`] has put before a network has another matrix than `plain`, apart from the offset: the matrix of the
/// features and a transform.
pub fn is_transformed(model: &AmNnet, plain: &FeatureLayer) -> bool {
    let nnet = model.nnet();
    let layer = nnet.find_component(NODE).map(|id| nnet.component(id));
    let Some(layer) = layer.and_then(|layer| layer.downcast_ref::<FixedAffine>()) else { return false };
    let (found, inputs) = (layer.linear(), plain.matrix.cols - 1);
    // (Another shape is of other features: what uses them says so.)
    if (found.rows(), found.cols()) != (plain.matrix.rows, inputs) {
        return false;
    }
    let found = found.to_vec();
    !found
        .chunks_exact(inputs)
        .zip(plain.matrix.data.chunks_exact(inputs + 1))
        .all(|(a, b)| *a == b[..inputs])
}

/// A node's line with another input.
fn with_input(line: &str, from: &str, to: &str) -> String {
    let Some(at) = line.find("input=").or_else(|| line.find("input-node=")) else { return line.to_owned() };
    let (head, tail) = line.split_at(at + line[at..].find('=').unwrap_or(0) + 1);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out = head.to_owned();
    let mut rest = tail;
    while let Some(c) = rest.chars().next() {
        let end = match is_name(c) {
            true => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            false => rest.find(is_name).unwrap_or(rest.len()),
        };
        out += if &rest[..end] == from { to } else { &rest[..end] };
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_input_is_replaced() {
        let line = "component-node name=input-layer component=input input=Append(Offset(input, -1), my-input, input)";
        assert_eq!(
            with_input(line, "input", "x"),
            "component-node name=input-layer component=input input=Append(Offset(x, -1), my-input, x)"
        );
        assert_eq!(
            with_input("dim-range-node name=a input-node=input dim-offset=0 dim=3", "input", "x"),
            "dim-range-node name=a input-node=x dim-offset=0 dim=3"
        );
    }
}
