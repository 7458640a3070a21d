//! Counts the work that training sends to a GPU: kernels, products, graphs and transfers of a minibatch. No GPU is
//! needed: a recording engine takes its place.
//!
//!     cargo run --release -p nnet3-train --example gpu_launches -- network.config request.txt
//!
//! The request gives the rows of a minibatch, as for nnet3-benchmark. Its derivatives are ignored: the example trains,
//! with natural gradient if the network asks for it. Prints averages for a minibatch: launches of each kernel, the
//! elements of their matrices, the smallest number of thread blocks, and products with their operations. The elements
//! are an upper bound of memory traffic: a matrix that is only written counts as one that is added to.

use kaldi_io::general::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_core::config::read_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::cuda::{Engine, GpuBackend, Op, Outcome};
use nnet3_matrix::{Device, Memory, Transpose};
use nnet3_train::NnetExample;
use nnet3_train::example::NnetIo;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Minibatches before counting starts: the first ones update estimates of natural gradient more often, and capture graphs.
const BEFORE: u64 = 40;
const COUNTED: u64 = 40;

#[derive(Clone, Copy, Default)]
struct Kernel {
    launches: u64,
    bytes: u64,
    least_blocks: u64,
}

#[derive(Clone, Default)]
struct Notes {
    kernels: BTreeMap<&'static str, Kernel>,
    products: u64,
    operations: u64,
    graphs: u64,
    /// Work outside of graphs.
    alone: u64,
    captures: u64,
    uploads: u64,
    downloads: u64,
    allocations: u64,
}

impl Notes {
    fn op(&mut self, op: &Op) {
        match op {
            Op::Launch(launch) => {
                let blocks = u64::from(launch.grid[0]) * u64::from(launch.grid[1]);
                let kernel = self.kernels.entry(launch.kernel).or_default();
                kernel.least_blocks =
                    if kernel.launches == 0 { blocks } else { kernel.least_blocks.min(blocks) };
                kernel.launches += 1;
                let bytes = launch.matrices().map(|m| 4 * u64::from(m.rows) * u64::from(m.cols));
                // Of the arena only as many elements as the matrix has.
                kernel.bytes += match launch.kernel.ends_with("_multi") {
                    true => 2 * bytes.min().unwrap_or(0),
                    false => bytes.sum(),
                };
            }
            Op::Product(p) => {
                let inner = if p.transpose_a == Transpose::No { p.a.cols } else { p.a.rows };
                let of_one = 2 * u64::from(p.c.rows) * u64::from(p.c.cols) * u64::from(inner);
                self.products += 1;
                self.operations += of_one * u64::from(p.count);
            }
        }
    }
}

/// Memory that is only addresses.
struct Recorder {
    notes: Arc<Mutex<Notes>>,
    next_address: AtomicU64,
}

impl Recorder {
    fn note(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.notes.lock().expect("no panics while it is locked"))
    }
}

impl Engine for Recorder {
    type Graph = Vec<Op>;
    fn name(&self) -> &str {
        "recorder"
    }
    fn memory(&self) -> Option<Memory> {
        None
    }
    fn allocate(&self, bytes: u64) -> Outcome<u64> {
        self.note(|n| n.allocations += 1);
        Ok(self.next_address.fetch_add(bytes.next_multiple_of(256), Ordering::Relaxed))
    }
    fn free(&self, _: u64, _: u64) -> Outcome {
        Ok(())
    }
    fn upload(&self, _: u64, _: &[u8]) -> Outcome {
        self.note(|n| n.uploads += 1);
        Ok(())
    }
    fn download(&self, _: u64, out: &mut [u8]) -> Outcome {
        out.fill(0);
        self.note(|n| n.downloads += 1);
        Ok(())
    }
    fn run(&self, op: &Op) -> Outcome {
        self.note(|n| {
            n.op(op);
            n.alone += 1
        });
        Ok(())
    }
    fn capture(&self, ops: &[Op]) -> Option<Vec<Op>> {
        self.note(|n| n.captures += 1);
        Some(ops.to_vec())
    }
    fn replay(&self, graph: &Vec<Op>) -> Outcome {
        self.note(|n| {
            graph.iter().for_each(|op| n.op(op));
            n.graphs += 1
        });
        Ok(())
    }
    fn synchronize(&self) -> Outcome {
        Ok(())
    }
}

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

fn per_minibatch(before: u64, after: u64) -> f64 {
    (after - before) as f64 / COUNTED as f64
}

fn print(before: &Notes, after: &Notes) {
    println!("{:28} {:>9} {:>10} {:>8}", "kernel", "launches", "MB", "blocks");
    let mut rows: Vec<_> = after.kernels.iter().collect();
    let was = |name: &str| before.kernels.get(name).copied().unwrap_or_default();
    rows.sort_by_key(|(name, kernel)| std::cmp::Reverse(kernel.bytes - was(name).bytes));
    let (mut launches, mut bytes) = (0.0, 0.0);
    for (name, kernel) in rows {
        let count = per_minibatch(was(name).launches, kernel.launches);
        let moved = per_minibatch(was(name).bytes, kernel.bytes) / 1e6;
        println!("{name:28} {count:>9.1} {moved:>10.2} {:>8}", kernel.least_blocks);
        (launches, bytes) = (launches + count, bytes + moved);
    }
    println!("{:28} {launches:>9.1} {bytes:>10.2}", "all");
    let gflop = per_minibatch(before.operations, after.operations) / 1e9;
    println!("products {:.1}, {gflop:.2} GFLOP", per_minibatch(before.products, after.products));
    for (what, before, after) in [
        ("graphs", before.graphs, after.graphs),
        ("outside of graphs", before.alone, after.alone),
        ("captures", before.captures, after.captures),
        ("uploads", before.uploads, after.uploads),
        ("downloads", before.downloads, after.downloads),
        ("allocations", before.allocations, after.allocations),
    ] {
        println!("{what} {:.1}", per_minibatch(before, after));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [config, request] = args.as_slice() else { return Err("usage: gpu_launches CONFIG REQUEST".into()) };
    let mut nnet = Nnet::default();
    nnet.read_config(read_config(config)?, &Random::new(1))?;
    let minibatch = minibatch(&nnet, &ComputationRequest::load(request)?);
    let notes = Arc::<Mutex<Notes>>::default();
    let engine = Recorder { notes: notes.clone(), next_address: AtomicU64::new(4096) };
    let device: Device = Arc::new(GpuBackend::new(engine).map_err(|left| left.to_string())?);
    let options = TrainerOptions { print_interval: 1000, ..Default::default() };
    let mut trainer = Trainer::new(nnet, options, &device, 1)?;
    let mut train = |count: u64| -> Result<Notes, Box<dyn std::error::Error>> {
        for _ in 0..count {
            trainer.train(&minibatch, &mut |_: Event| ())?;
        }
        Ok(notes.lock().expect("no panics while it is locked").clone())
    };
    let before = train(BEFORE)?;
    let after = train(COUNTED)?;
    print(&before, &after);
    Ok(())
}
