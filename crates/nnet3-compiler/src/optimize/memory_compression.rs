//! Records that values which wait for the backward pass are kept in fewer bits.

use super::renumber::insert_commands;
use crate::analysis::{AccessKind, MatrixAnalysis};
use crate::computation::{Backprop, Command, Compression, Computation, MatrixId};
use nnet3_base::error::Result;
use nnet3_network::Nnet;

/// Values outside ± this are truncated at level 2.
const RANGE: f32 = 10.0;

/// Works on computations with one forward and one backward pass only.
pub fn run(nnet: &Nnet, level: i32, computation: &mut Computation) -> Result<()> {
    let mut markers =
        (0..computation.commands.len()).filter(|&c| matches!(computation.commands[c], Command::Marker));
    let (Some(middle), None) = (markers.next(), markers.next()) else {
        return Ok(());
    };
    let candidates = match level {
        ..2 => read_by_relu_updates(nnet, computation),
        _ => vec![true; computation.matrices.len()],
    };
    if !candidates.contains(&true) {
        return Ok(());
    }
    let analysis = MatrixAnalysis::of_matrices(nnet, computation, &candidates)?;
    let whole = computation.whole_submatrices();
    let mut insertions = Vec::new();
    for (m, life) in analysis.lives.iter().enumerate().skip(1) {
        let accesses = analysis.accesses(MatrixId::from(m));
        let forward = accesses.iter().rev().find(|a| a.command() < middle);
        let backward = accesses.iter().find(|a| a.command() > middle);
        let (Some(forward), Some(backward), Some(matrix)) = (forward, backward, whole[m]) else {
            continue;
        };
        if life.is_output {
            continue;
        }
        let only_reader = accesses.last() == Some(backward) && backward.kind == AccessKind::Read;
        let (kind, range) = if only_reader && is_relu_update(nnet, &computation.commands[backward.command()])
        {
            (Compression::Uint8, 0.0)
        } else if level >= 2 {
            (Compression::Int16, RANGE)
        } else {
            continue;
        };
        let compress = Command::Compress { matrix, kind, truncate: true, range };
        insertions.push((forward.command() + 1, compress));
        insertions.push((backward.command(), Command::Decompress { matrix }));
    }
    insert_commands(computation, insertions);
    Ok(())
}

/// Returns for each matrix whether the backprop of a rectifier reads it.
fn read_by_relu_updates(nnet: &Nnet, computation: &Computation) -> Vec<bool> {
    let mut out = vec![false; computation.matrices.len()];
    for command in computation.commands.iter().filter(|command| is_relu_update(nnet, command)) {
        for s in command.submatrices() {
            out[computation.matrix_of(s).index()] = true;
        }
    }
    out
}

/// The derivative of a rectifier needs only the signs of its output.
fn is_relu_update(nnet: &Nnet, command: &Command) -> bool {
    matches!(*command, Command::Backprop(Backprop { component, update_model: true, .. })
        if nnet.component(component).type_name() == "RectifiedLinearComponent")
}
