//! Counts the work that training sends to a GPU: kernels, products, the bytes that they move, graphs and transfers of a
//! minibatch. No GPU is needed: a recording engine takes its place.
//!
//!     cargo run --release -p nnet3-train --example gpu_launches -- [--plain] [--gpu-math=bf16] network.config request.txt
//!
//! The request gives the rows of a minibatch, as for nnet3-benchmark. Prints averages for a minibatch. Without `--plain`
//! the example trains, with natural gradient if the network asks for it; the request's derivatives are ignored. It prints
//! launches of each kernel, the bytes of its matrices and the smallest number of thread blocks, and the same for products of each
//! shape. With `--plain` it runs forward and backward as nnet3-benchmark does, and also prints the sums by kind of operation.

#[path = "../tests/support/gpu_work.rs"]
mod gpu_work;

use gpu_work::{Count, Done, Recorded, passes, trainings};
use kaldi_io::general::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_core::config::read_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::cuda::GpuMath;
use nnet3_train::NnetExample;
use nnet3_train::example::NnetIo;
use std::collections::BTreeMap;

/// Minibatches before counting starts: the first ones update estimates of natural gradient more often, and capture graphs.
const BEFORE: u64 = 40;
const COUNTED: u64 = 40;

fn minibatch(nnet: &Nnet, request: &ComputationRequest) -> NnetExample {
    let random = Random::new(1);
    let io = |io: &IoSpecification| {
        let node = nnet.find_node(&io.name).unwrap_or_else(|| panic!("no node {}", io.name));
        let (rows, cols) = (io.indexes.len(), nnet.node_dim(node));
        let data = random.normal_vec(rows * cols, 0.0, 1.0);
        let features = GeneralMatrix::Full(DenseMatrix { rows, cols, data });
        NnetIo { name: io.name.clone(), indexes: io.indexes.clone(), features }
    };
    NnetExample { ios: request.inputs.iter().chain(&request.outputs).map(io).collect() }
}

/// A line for each name, the most bytes first, and their sum.
fn table(recorded: &Recorded, title: &str, counts: &BTreeMap<String, Count>, blocks: bool) {
    let last = if blocks { "blocks" } else { "" };
    println!("{title:40} {:>9} {:>9} {:>10} {:>10} {last:>8}", "kernels", "products", "MB read", "written");
    let line = |name: &str, count: &Count, last: &str| {
        let per = |sum: u64| recorded.per_minibatch(sum);
        let (read, written) = (per(count.read) / 1e6, per(count.written) / 1e6);
        let (kernels, products) = (per(count.kernels), per(count.products));
        println!("{name:40} {kernels:>9.1} {products:>9.1} {read:>10.2} {written:>10.2} {last:>8}");
    };
    let mut rows: Vec<_> = counts.iter().filter(|(_, count)| **count != Count::default()).collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.read + count.written));
    for (name, count) in rows {
        let least = recorded.after.least_blocks.get(name).filter(|_| blocks);
        line(name, count, &least.map(u64::to_string).unwrap_or_default());
    }
    let mut all = Count::default();
    counts.values().for_each(|&count| all += count);
    line("all", &all, "");
}

fn main() -> Done<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let plain = args.first().is_some_and(|arg| arg == "--plain");
    args.drain(..usize::from(plain));
    let math = match args.first().and_then(|arg| arg.strip_prefix("--gpu-math=")) {
        Some(math) => math.parse()?,
        None => GpuMath::default(),
    };
    args.retain(|arg| !arg.starts_with("--gpu-math="));
    let [config, request] = args.as_slice() else {
        return Err("usage: gpu_launches [--plain] [--gpu-math=fp32|tf32|bf16] CONFIG REQUEST".into());
    };
    let mut nnet = Nnet::default();
    nnet.read_config(read_config(config)?, &Random::new(1))?;
    let request = ComputationRequest::load(request)?;
    let recorded = if plain {
        passes(nnet, &request, math, COUNTED)?
    } else {
        let minibatch = minibatch(&nnet, &request);
        trainings(nnet, &minibatch, math, [BEFORE, COUNTED])?
    };
    table(&recorded, "kernel", &recorded.by(|notes| &notes.kernels), true);
    if plain {
        println!();
        table(&recorded, "operation", &recorded.by(|notes| &notes.operations), false);
    }
    println!();
    table(&recorded, "product, terms", &recorded.by(|notes| &notes.shapes), false);
    println!("{:.2} GFLOP of products", recorded.per_minibatch(recorded.all().flops) / 1e9);
    let (before, after) = (&recorded.before, &recorded.after);
    for (what, count) in [
        ("graphs", after.graphs - before.graphs),
        ("outside of graphs", after.alone - before.alone),
        ("captures", after.captures - before.captures),
        ("uploads", after.uploads - before.uploads),
        ("downloads", after.downloads - before.downloads),
        ("allocations", after.allocations - before.allocations),
    ] {
        println!("{what} {:.1}", recorded.per_minibatch(count));
    }
    Ok(())
}
