//! How long a network takes for the chunks of a stream, beside the rate of matrix products in the same run.
//!
//! `cargo run --release --example chunk_latency -- MODEL FACTOR FRAMES...` streams random features in utterances of nine seconds
//! through an acoustic model with an output for every FACTOR frames, in chunks of FRAMES, and prints a line of JSON for each FRAMES:
//! milliseconds of processor time for an utterance's first chunk and for later ones (median, 99th percentile), and how long a
//! second of sound takes.

use anyhow::{Context, Result, bail};
use nnet3::forward::AcousticNetwork;
use nnet3_core::Random;
use nnet3_core::forward::{LoopedForward, Streaming};
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::{Matrix, cpu, thread_time};
use std::time::Duration;

/// Frames of an utterance, and of all of them.
const UTTERANCE: usize = 900;
const ALL: usize = 9000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, factor, chunks @ ..] = &arguments[..] else { bail!("expected MODEL FACTOR FRAMES...") };
    let device = cpu();
    let AcousticNetwork { nnet, scaling, .. } = AcousticNetwork::load(model, &device, 1.0)?;
    let dim = nnet.input_dim("input").context("a network with an input 'input'")?;
    let ivector = nnet.input_dim("ivector").map(|dim| Random::new(1).normal_vec(dim, 0.0, 1.0));
    for chunk in chunks {
        let streaming = Streaming {
            frames_per_chunk: chunk.parse()?,
            frame_subsampling_factor: factor.parse()?,
            extra_left_context_initial: 0,
        };
        let options = OptimizeOptions::default();
        let mut forward = LoopedForward::new(nnet.clone(), &device, &streaming, scaling.clone(), &options)?;
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for utterance in 0..=ALL / UTTERANCE {
            forward.begin()?;
            let mut times = Vec::new();
            while (forward.next_input().end as usize) < UTTERANCE {
                let input = Random::new(2).normal_vec(forward.next_input().len() * dim, 0.0, 1.0);
                let start = thread_time();
                forward.advance(&input, ivector.as_deref())?;
                times.push(thread_time() - start);
            }
            if utterance > 0 {
                let mut times = times.into_iter();
                first.extend(times.next());
                later.extend(times);
            }
        }
        let sum: Duration = first.iter().chain(&later).sum();
        let sound = (first.len() + later.len()) as f64 * f64::from(forward.frames_per_chunk()) / 100.0;
        let (one, many, most) =
            (quantile(&mut first, 0.5), quantile(&mut later, 0.5), quantile(&mut later, 0.99));
        println!(
            "{{\"frames\": {}, \"first_ms\": {one:.3}, \"median_ms\": {many:.3}, \"p99_ms\": {most:.3}, \
             \"seconds_by_second\": {:.5}, \"sgemm_gflops\": {:.1}}}",
            forward.frames_per_chunk(),
            sum.as_secs_f64() / sound,
            product_rate()
        );
    }
    Ok(())
}

/// In milliseconds.
fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort();
    times.get((times.len() as f64 * part) as usize).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// 10⁹ operations a second of a large product: the best of three.
fn product_rate() -> f64 {
    const N: usize = 1024;
    let device = cpu();
    let matrix = || Matrix::from_vec(N, N, Random::new(3).normal_vec(N * N, 0.0, 1.0));
    let (a, b, mut c) = (matrix(), matrix(), Matrix::zeros(&device, N, N));
    let mut product = || {
        let start = thread_time();
        nnet3_matrix::cpu::library_product(c.view_mut(), a.view(), b.view());
        (thread_time() - start).as_secs_f64()
    };
    product();
    2e-9 * (N * N * N) as f64 / (0..3).map(|_| product()).fold(f64::INFINITY, f64::min)
}
