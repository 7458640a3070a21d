//! `nnet3-am-add-features`: lets a network that reads a Gaussian model's features read cepstra.

use anyhow::{Context, Result, ensure};
use kaldi_align::System;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, read_object};
use nnet3::messages;
use nnet3_core::config::parse_config;
use nnet3_core::random::Random;
use nnet3_train::acoustic::AmNnet;

use crate::gaussians::feature_layer::{self, Matrices};

/// Put the features of a Gaussian model, with the mean and the transform of a speaker, before a network as a layer.
///
/// The network was trained on features of the model in the folder (cepstra minus a mean, then LDA+MLLT, then a transform of the speaker). The
/// new network reads cepstra. With the mean and the transform of a speaker it is a network for this speaker.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-am-add-features --cmvn-stats=mean --transform=anna.mat exp/sat final.mdl anna.mdl\nSee also: \
        train-gaussians, align-gaussians, gaussians-to-network"
)]
pub struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// File of statistics (compute-cmvn-stats) whose mean is subtracted from cepstra.
    #[arg(long, default_value = "")]
    cmvn_stats: String,
    /// File of a linear or affine transform of the features, such as the fMLLR matrix of a speaker.
    #[arg(long, default_value = "")]
    transform: String,
    /// Coefficients of the frames that the new network reads, of which the model's cepstra are the first; 0: those of the model.
    #[arg(long, default_value_t = 0)]
    input_dim: usize,
    gaussians_dir: String,
    am_nnet_in: String,
    am_nnet_out: String,
}

const NODE: &str = "features-of-speaker";

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

pub fn run(options: Options) -> Result<u8> {
    let system = System::load(&options.gaussians_dir)?;
    let mut layer = system.feature_layer().with_context(|| options.gaussians_dir.clone())?;
    if !options.cmvn_stats.is_empty() {
        let stats: DenseMatrix<f64> = read_object(&options.cmvn_stats)?;
        let found = CmvnStats::from_matrix(&stats).map(|stats| stats.means_and_variances());
        let found = found.with_context(|| options.cmvn_stats.clone())?;
        let means = found.with_context(|| format!("{}: there are no frames", options.cmvn_stats))?;
        let mean: Vec<f32> = means.row(0).iter().map(|&x| x as f32).collect();
        layer.subtract(&mean).with_context(|| options.cmvn_stats.clone())?;
    }
    if !options.transform.is_empty() {
        layer.then(&read_matrix(&options.transform)?).with_context(|| options.transform.clone())?;
    }
    if options.input_dim > 0 {
        layer.widen(options.input_dim).context("--input-dim")?;
    }
    let mut model = AmNnet::load(&options.am_nnet_in)?;
    let mut nnet = model.nnet().clone();
    let wanted = nnet.input_dim("input").with_context(|| format!("{} has no input", options.am_nnet_in))?;
    ensure!(
        wanted == layer.matrix.rows,
        "{} reads features of dimension {wanted}, but {} makes {}",
        options.am_nnet_in,
        options.gaussians_dir,
        layer.matrix.rows
    );
    ensure!(nnet.find_node(NODE).is_none(), "{} reads cepstra already", options.am_nnet_in);
    let matrices = Matrices::new()?;
    let mut lines = feature_layer::lines(&layer, NODE, &matrices)?;
    let others = nnet.node_lines(false).into_iter().filter(|line| !line.starts_with("input-node "));
    lines.extend(others.map(|line| with_input(&line, "input", NODE)));
    nnet.read_config(parse_config("layers", lines.iter().map(String::as_str))?, &Random::new(0))?;
    model.set_nnet(nnet)?;
    model.save(&options.am_nnet_out, options.binary)?;
    messages::log(&format!(
        "Wrote a network that reads cepstra of dimension {} to {}",
        layer.cepstra, options.am_nnet_out
    ));
    Ok(0)
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
