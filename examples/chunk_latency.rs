//! Measures the time that a network takes for the chunks of a stream, beside the rate of matrix products in the same
//! run.
//!
//! `cargo run --release --example chunk_latency -- MODEL FACTOR FRAMES...` streams random features in utterances
//! through a network with an output for every FACTOR frames, in chunks of FRAMES. It prints a line of JSON for each
//! FRAMES. The line has milliseconds of processor time for an utterance's first chunk and for later ones (median, 99th
//! percentile). It also has the sum of all, and the time for a second of sound.

use anyhow::{Context, Result};
use clap::Parser;
use nnet3::forward;
use nnet3::options::weights::WeightsOptions;
use nnet3_core::Random;
use nnet3_core::forward::{LoopedForward, Streaming};
use nnet3_core::inspect::thread_time;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::cpu::{VectorLevel, set_vector_level};
use nnet3_matrix::{Matrix, cpu};
use std::time::Duration;

#[derive(Parser)]
struct Options {
    /// Vector instructions at most: portable, avx2 or avx512
    #[arg(long, default_value = "avx512", value_parser = level)]
    level: VectorLevel,
    #[command(flatten)]
    weights: WeightsOptions,
    /// Utterances, after one that does not count
    #[arg(long, default_value_t = 10)]
    utterances: usize,
    #[arg(long, default_value_t = 900)]
    utterance_frames: usize,
    /// Raw network or acoustic model
    model: String,
    /// Frames of input for each frame of output
    factor: i32,
    frames: Vec<i32>,
}

fn level(name: &str) -> Result<VectorLevel, String> {
    match name {
        "portable" => Ok(VectorLevel::Portable),
        "avx2" => Ok(VectorLevel::Avx2),
        "avx512" => Ok(VectorLevel::Avx512),
        _ => Err("expected portable, avx2 or avx512".to_owned()),
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    set_vector_level(options.level);
    let device = cpu();
    let nnet = forward::load_to_run(&options.model, &device, options.weights.form(&device)?)?;
    let dim = nnet.input_dim("input").context("a network with an input 'input'")?;
    let ivector = nnet.input_dim("ivector").map(|dim| Random::new(1).normal_vec(dim, 0.0, 1.0));
    for &frames_per_chunk in &options.frames {
        let streaming = Streaming {
            frames_per_chunk,
            frame_subsampling_factor: options.factor,
            extra_left_context_initial: 0,
        };
        let optimize = OptimizeOptions::default();
        let mut forward = LoopedForward::new(nnet.clone(), &device, &streaming, 1.0, &optimize)?;
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for utterance in 0..=options.utterances {
            forward.begin()?;
            let mut times = Vec::new();
            while forward.next_input().end as usize <= options.utterance_frames {
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
        let chunks = first.len() + later.len();
        let sound = chunks as f64 * f64::from(forward.frames_per_chunk()) / 100.0;
        let (one, many, most) =
            (quantile(&mut first, 0.5), quantile(&mut later, 0.5), quantile(&mut later, 0.99));
        println!(
            "{{\"frames\": {}, \"chunks\": {chunks}, \"first_ms\": {one:.3}, \"median_ms\": {many:.3}, \
             \"p99_ms\": {most:.3}, \"seconds\": {:.4}, \"seconds_by_second\": {:.5}, \"sgemm_gflops\": {:.1}}}",
            forward.frames_per_chunk(),
            sum.as_secs_f64(),
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
