//! The way from cepstra back to filter banks: the inverse cosine transform, with the liftering undone.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, Target, key};
use crate::value::float_text;
use std::f64::consts::PI;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "idct-layer",
    purpose: "The inverse cosine transform of liftered cepstra. Its matrix is written to a file.",
    keys: &[&[
        INPUT,
        key("dim", Default::Int(-1), "output dimension; -1: that of the input"),
        key("cepstral-lifter", Default::Float(22.0), "of the cepstra; 0: not liftered"),
        key("affine-transform-file", Default::RequiredText, "where the matrix goes"),
        key("include-in-init", Default::Bool(false), "true if a fixed-affine-layer follows"),
    ]],
    example: "affine-transform-file=configs/idct.mat",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.dim_or_input("dim");
    let input = layer.input();
    let file = layer.text("affine-transform-file");
    let mut b = Builder::new(layer);
    b.matrix(file, matrix_text(&idct_matrix(input.dim, dim, layer.float("cepstral-lifter"))));
    if layer.flag("include-in-init") {
        b.target(Target::All);
    }
    let node = b.stage("", "FixedAffineComponent", format!("matrix={file}"), input.expression);
    Ok(b.finish(node, dim))
}

/// A matrix of `outputs` rows of `inputs` values.
fn idct_matrix(inputs: i64, outputs: i64, lifter: f64) -> Vec<Vec<f64>> {
    let rows = outputs as f64;
    let element = |n: i64, k: i64| {
        let value = match k {
            0 => (1.0 / rows).sqrt(),
            _ => (2.0 / rows).sqrt() * (PI / rows * (n as f64 + 0.5) * k as f64).cos(),
        };
        match lifter {
            0.0 => value,
            _ => value / (1.0 + 0.5 * lifter * (PI * k as f64 / lifter).sin()),
        }
    };
    (0..outputs).map(|n| (0..inputs).map(|k| element(n, k)).collect()).collect()
}

/// Writes the matrix as text, with a last column of zeros, which is the bias.
fn matrix_text(rows: &[Vec<f64>]) -> String {
    let row = |row: &Vec<f64>| row.iter().map(|v| float_text(*v) + " ").collect::<String>() + "0";
    format!("[ {} ]", rows.iter().map(row).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The orthonormal cosine transform, liftered, is undone.
    #[test]
    fn is_the_inverse_of_the_cosine_transform() {
        let (dim, lifter) = (13, 22.0);
        let inverse = idct_matrix(dim, dim, lifter);
        let banks: Vec<f64> = (0..dim).map(|n| ((n * n + 3) as f64).ln()).collect();
        let cepstra: Vec<f64> = (0..dim)
            .map(|k| {
                let norm = if k == 0 { 1.0 } else { 2.0_f64 } / dim as f64;
                let angle = |n: usize| PI * k as f64 * (2 * n + 1) as f64 / (2 * dim) as f64;
                let sum: f64 = banks.iter().enumerate().map(|(n, bank)| bank * angle(n).cos()).sum();
                norm.sqrt() * sum * (1.0 + lifter / 2.0 * (PI * k as f64 / lifter).sin())
            })
            .collect();
        for (row, bank) in inverse.iter().zip(&banks) {
            let value: f64 = row.iter().zip(&cepstra).map(|(a, b)| a * b).sum();
            assert!((value - bank).abs() < 1e-12, "{value} {bank}");
        }
    }
}
