//! How fast the denominator is: `cargo run --release -p nnet3-chain --example denominator_rates [FOLDER]`.
//!
//! FOLDER has a `den.fst` and the `supervision` of a minibatch; without it, a random graph of about the size of a recipe's is
//! used, and the numerator is left out. Prints the best of several runs: time, and products of arcs, frames and sequences a second.

use std::time::Instant;

use kaldi_fst::{Arc, Fst, State};
use kaldi_io::read_object;
use nnet3_chain::{ChainOptions, ChainScratch, DenominatorGraph, Graph, Supervision, evaluate};
use nnet3_matrix::{Device, Matrix, Transpose, cpu, thread_time};

const RUNS: usize = 5;

/// As many states and arcs as recipes have, the in-arcs of a state with one pdf but for a loop with another.
fn random_graph() -> (Fst, usize) {
    let (states, pdfs) = (5444, 2814);
    let mut seed = 1u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let state = |s: usize| {
        let loops = Arc::new(1 + (s % (pdfs / 2) * 2 + 1) as i32, 0.7, s as u32);
        let others = (0..14).map(|_| below(states) as u32);
        let others = others.map(|next| Arc::new(1 + (next as usize % (pdfs / 2) * 2) as i32, 3.4, next));
        State { final_weight: 0.0, arcs: std::iter::once(loops).chain(others).collect() }
    };
    (Fst { start: Some(0), states: (0..states).map(state).collect() }, pdfs)
}

/// One path for each sequence.
fn linear(sequences: usize, frames: usize, label_dim: i32) -> Supervision {
    let length = sequences * frames;
    let state = |s: usize| State {
        final_weight: if s == length { 0.0 } else { f32::INFINITY },
        arcs: (s < length).then(|| Arc::new(1, 0.0, s as u32 + 1)).into_iter().collect(),
    };
    let fst = Fst { start: Some(0), states: (0..=length).map(state).collect() };
    Supervision {
        weight: 1.0,
        num_sequences: sequences,
        frames_per_sequence: frames,
        label_dim,
        graph: Graph::Constrained(fst),
        alignment_pdfs: Vec::new(),
    }
}

/// Seconds of this thread, the best of several runs.
fn best(mut work: impl FnMut()) -> (f64, f64) {
    work();
    let once = |work: &mut dyn FnMut()| {
        let (wall, start) = (Instant::now(), thread_time());
        work();
        ((thread_time() - start).as_secs_f64(), wall.elapsed().as_secs_f64())
    };
    let times: Vec<_> = (0..RUNS).map(|_| once(&mut work)).collect();
    let least = |f: fn(&(f64, f64)) -> f64| times.iter().map(f).fold(f64::INFINITY, f64::min);
    (least(|t| t.0), least(|t| t.1))
}

fn gemm_rate(device: &Device) -> f64 {
    let n = 2048;
    let (a, b) = (Matrix::zeros(device, n, n), Matrix::zeros(device, n, n));
    let mut c = Matrix::zeros(device, n, n);
    let (time, _) =
        best(|| device.gemm(c.view_mut(), 1.0, a.view(), Transpose::No, b.view(), Transpose::No, 0.0));
    2.0 * (n as f64).powi(3) / time / 1e9
}

fn main() {
    let device = cpu();
    let (graph, supervision) = match std::env::args().nth(1) {
        Some(folder) => {
            let fst = kaldi_fst::read_fst(&format!("{folder}/den.fst")).expect("den.fst");
            let supervision: Supervision =
                read_object(&format!("{folder}/supervision")).expect("supervision");
            (DenominatorGraph::new(&fst, supervision.label_dim as usize), supervision)
        }
        None => {
            let (fst, pdfs) = random_graph();
            (DenominatorGraph::new(&fst, pdfs), linear(64, 50, pdfs as i32))
        }
    };
    let graph = graph.expect("a denominator graph");
    let (rows, cols) = (supervision.num_frames(), graph.num_pdfs());
    let element = |r: usize, c: usize| 2.0 * (0.37 * r as f64 + 1.1 * c as f64 + 0.01 * (r * c) as f64).sin();
    let output = (0..rows * cols).map(|k| element(k / cols, k % cols) as f32).collect();
    let output = Matrix::from_vec(rows, cols, output);
    let mut deriv = Matrix::zeros(&device, rows, cols);
    let mut xent_deriv = Matrix::zeros(&device, rows, cols);
    let mut scratch = ChainScratch::new(&device);
    let options = ChainOptions {
        leaky_hmm_coefficient: 0.1,
        l2_regularize: 5e-5,
        numerator_graph_threads: 1,
        ..Default::default()
    };
    let plain = ChainOptions { l2_regularize: 0.0, ..options.clone() };
    let products = graph.num_arcs() as f64 * rows as f64;
    println!(
        "{} states, {} arcs, {} entries, {cols} pdfs, {} sequences x {} frames",
        graph.num_states(),
        graph.num_arcs(),
        graph.hmm().entries(),
        supervision.num_sequences,
        supervision.frames_per_sequence
    );
    println!("sgemm {:.0} GFLOP/s", gemm_rate(&device));
    let line = |what: &str, (time, wall): (f64, f64)| {
        println!(
            "{what}: {:.1} ms of processor time ({:.1} ms), {:.2} ns and {:.2} G a second",
            time * 1e3,
            wall * 1e3,
            time / products * 1e9,
            products / time / 1e9
        );
        time
    };
    let forward = best(|| {
        evaluate(&plain, &graph, &supervision, output.view(), false, None, None, &mut scratch)
            .expect("an objective");
    });
    let forward = line("forward pass and numerator", forward);
    let both = best(|| {
        let deriv = Some(deriv.view_mut());
        evaluate(&plain, &graph, &supervision, output.view(), false, deriv, None, &mut scratch)
            .expect("an objective");
    });
    let both = line("with the derivative", both);
    line("backward pass alone", (both - forward, both - forward));
    let mut objective = None;
    let all = best(|| {
        let derivs = (Some(deriv.view_mut()), Some(xent_deriv.view_mut()));
        let found =
            evaluate(&options, &graph, &supervision, output.view(), true, derivs.0, derivs.1, &mut scratch);
        objective = Some(found.expect("an objective"));
    });
    line("everything: penalty, l2, xent derivative", all);
    let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let values = deriv.to_vec();
    println!("{objective:?}");
    println!(
        "norms: derivative {:.6}, first row {:.6}, last row {:.6}, xent derivative {:.6}",
        norm(&values),
        norm(&values[..cols]),
        norm(&values[values.len() - cols..]),
        norm(&xent_deriv.to_vec())
    );
}
