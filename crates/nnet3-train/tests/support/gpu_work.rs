//! The work that a device gets: kernels, products, and the bytes that they move. No device is needed, since a recording
//! engine takes its place. Counts depend on shapes and on the seed only, so they are the same in every run.

// The example prints more than the tests compare.
#![allow(dead_code)]

use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Model, Moment, Observer};
use nnet3_core::inspect::op_kind;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_core::request::ComputationRequest;
use nnet3_matrix::cuda::{
    Engine, GpuBackend, GpuMath, Kind, Launch, Mat, Op, Outcome, Product, may_add_partial_sums,
};
use nnet3_matrix::{Device, Memory};
use nnet3_train::NnetExample;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use std::collections::BTreeMap;
use std::ops::{AddAssign, SubAssign};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub type Done<T> = Result<T, Box<dyn std::error::Error>>;

/// Sums over pieces of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub kernels: u64,
    pub products: u64,
    /// Floating-point operations of products.
    pub flops: u64,
    /// Bytes of matrices. Vectors of sums in `f64`, tables and scratch memory of single kernels do not count.
    pub read: u64,
    pub written: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.kernels += other.kernels;
        self.products += other.products;
        self.flops += other.flops;
        self.read += other.read;
        self.written += other.written;
    }
}

impl SubAssign for Count {
    fn sub_assign(&mut self, other: Count) {
        self.kernels -= other.kernels;
        self.products -= other.products;
        self.flops -= other.flops;
        self.read -= other.read;
        self.written -= other.written;
    }
}

/// All that has been recorded.
#[derive(Clone, Default)]
pub struct Notes {
    /// By kernel; products have the name `product`.
    pub kernels: BTreeMap<String, Count>,
    /// By kind of operation, as `nnet3-compile-info --profile=true` names them; the rest of the work is `updates`.
    pub operations: BTreeMap<String, Count>,
    /// Products by rows, columns and terms; `in parts` if an H100 may sum them in parts.
    pub shapes: BTreeMap<String, Count>,
    /// The smallest number of blocks of each kernel.
    pub least_blocks: BTreeMap<String, u64>,
    pub graphs: u64,
    /// Work outside of graphs.
    pub alone: u64,
    pub captures: u64,
    pub uploads: u64,
    pub downloads: u64,
    pub allocations: u64,
    operation: Option<String>,
    /// Contents of small uploads, by address: tables of row numbers are among them.
    tables: BTreeMap<u64, Vec<u8>>,
}

/// Larger uploads are no tables.
const LARGEST_TABLE: usize = 1 << 20;

fn elements(m: &Mat) -> u64 {
    u64::from(m.rows) * u64::from(m.cols)
}

fn bytes(m: &Mat) -> u64 {
    row(m) * u64::from(m.rows)
}

/// Bytes of a row.
fn row(m: &Mat) -> u64 {
    m.element.bytes() as u64 * u64::from(m.cols)
}

impl Notes {
    pub fn all(&self) -> Count {
        let mut all = Count::default();
        self.kernels.values().for_each(|&count| all += count);
        all
    }

    fn op(&mut self, op: &Op) {
        let (name, count) = match op {
            Op::Launch(launch) => {
                let blocks = u64::from(launch.grid[0]) * u64::from(launch.grid[1]);
                let least = self.least_blocks.entry(launch.kernel.to_string()).or_insert(blocks);
                *least = blocks.min(*least);
                let [read, written] = self.moved(launch);
                (launch.kernel, Count { kernels: 1, read, written, ..Count::default() })
            }
            Op::Product(product) => {
                let count = of_product(product);
                *self.shapes.entry(shape(product)).or_default() += count;
                ("product", count)
            }
        };
        *self.kernels.entry(name.to_string()).or_default() += count;
        let operation = self.operation.as_deref().unwrap_or("updates");
        *self.operations.entry(operation.to_string()).or_default() += count;
    }

    /// The bytes that a kernel reads and writes: each matrix once, of listed rows only these.
    fn moved(&self, launch: &Launch) -> [u64; 2] {
        let mats: Vec<Mat> = launch.matrices().collect();
        // A matrix that is given twice is read once.
        let sum = |mats: &[Mat]| {
            let distinct = mats.iter().enumerate().filter(|&(i, m)| !mats[..i].contains(m));
            distinct.map(|(_, m)| bytes(m)).sum::<u64>()
        };
        let [first, rest @ ..] = mats.as_slice() else { return [0, 0] };
        let (own, others) = (bytes(first), sum(rest));
        let listed = |of: &Mat| self.listed(launch) * row(of);
        match launch.kernel {
            "low_rank_due" => [0, 0],
            "block_totals"
            | "column_partials"
            | "column_partials_and_dots"
            | "add_row_to_sums"
            | "rectified_partials"
            | "normalized_partials" => [sum(&mats), 0],
            "scale_sums_by" | "add_sums_by" => [sum(&mats), 0],
            "lstm_cell_backward" => [sum(&mats[..4]), bytes(&mats[4])],
            "learn" => [sum(&mats), own + others - bytes(&mats[1])],
            "copy_rows" => [listed(&rest[0]), own],
            "add_rows" | "multiply_rows" => [own + listed(&rest[0]), own],
            // The arena has floats.
            "copy_rows_multi" => [self.listed(launch) * 4 * u64::from(first.cols), own],
            "add_rows_multi" => [own + self.listed(launch) * 4 * u64::from(first.cols), own],
            "copy_to_rows_multi" => [others, self.listed(launch) * 4 * u64::from(rest[0].cols)],
            "add_to_rows_multi" => {
                let listed = self.listed(launch) * 4 * u64::from(rest[0].cols);
                [others + listed, listed]
            }
            "add_row_ranges" => {
                let (rows, sources) = self.ranges(launch);
                [rows * row(first) + sources * row(&rest[0]), rows * row(first)]
            }
            "sum_interleaved" => {
                let adds = launch.args().last().is_some_and(|(_, words)| words[0] != 0);
                [others + if adds { own } else { 0 }, own]
            }
            "sum_row_lists" => {
                let listed = self.table(launch).last().map_or(0, |&end| end as u64) * row(&rest[0]);
                let adds = launch.args().last().is_some_and(|(_, words)| words[0] != 0);
                [listed + if adds { own } else { 0 }, own]
            }
            // Of the other term as many rows are read as there are, if it is there.
            "normalized_sum" => {
                let other = if mats[5].rows > 0 { u64::from(first.rows) * row(&mats[5]) } else { 0 };
                [sum(&mats[2..5]) + other, own + bytes(&mats[1])]
            }
            "normalized_deriv" => [sum(&mats[1..6]), own + bytes(&mats[6])],
            "scale_values" | "add_values" | "divide" | "add_product" | "add_where_equal" | "max_with"
            | "add_to_rows" | "scale_cols" | "scale_rows" | "add_scaled_rows" | "add_scaled_cols"
            | "add_cols" | "add_to_cols" | "add_excess" | "add_by" | "scale_by" | "add_elements" => {
                [own + others, own]
            }
            _ => [others, own],
        }
    }

    /// The numbers in the kernel's table of rows.
    fn table(&self, launch: &Launch) -> Vec<i64> {
        let mut tables = launch.args().filter(|(kind, _)| matches!(kind, Kind::Ints | Kind::Longs));
        let Some((kind, words)) = tables.next() else { return Vec::new() };
        let Some(bytes) = self.tables.get(&words[0]) else { return Vec::new() };
        match kind {
            Kind::Ints => bytes.as_chunks().0.iter().map(|&b| i64::from(i32::from_le_bytes(b))).collect(),
            _ => bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)).collect(),
        }
    }

    /// The number of rows that the kernel's table lists.
    fn listed(&self, launch: &Launch) -> u64 {
        self.table(launch).iter().filter(|&&row| row >= 0).count() as u64
    }

    /// The number of ranges that are not empty, and the number of rows in them.
    fn ranges(&self, launch: &Launch) -> (u64, u64) {
        let lengths = self.table(launch);
        let lengths = lengths.as_chunks().0.iter().map(|&[begin, end]| end - begin);
        lengths.filter(|&len| len > 0).fold((0, 0), |(count, rows), len| (count + 1, rows + len as u64))
    }
}

fn shape(p: &Product) -> String {
    const MULTIPROCESSORS: u32 = 132;
    let times = if p.count == 1 { String::new() } else { format!(" ({} times)", p.count) };
    let parts = if may_add_partial_sums(p, MULTIPROCESSORS) { ", in parts" } else { "" };
    format!("{} x {} of {}{times}{parts}", p.c.rows, p.c.cols, p.inner())
}

fn of_product(p: &Product) -> Count {
    let count = u64::from(p.count);
    let [c, a, b] = p.steps.map(|step| if step == 0 { 1 } else { count });
    let written = count.min(c.max(1)) * bytes(&p.c);
    let read = a * bytes(&p.a) + b * bytes(&p.b);
    let old = if p.beta == 0.0 { 0 } else { written } + p.bias.map_or(0, |bias| bytes(&bias));
    Count {
        kernels: 0,
        products: 1,
        flops: 2 * count * elements(&p.c) * u64::from(p.inner()),
        read: read + old,
        written,
    }
}

/// Memory that is only addresses.
pub struct Recorder {
    notes: Arc<Mutex<Notes>>,
    next_address: AtomicU64,
    math: GpuMath,
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
    fn math(&self) -> GpuMath {
        self.math
    }
    fn allocate(&self, bytes: u64) -> Outcome<u64> {
        self.note(|n| n.allocations += 1);
        Ok(self.next_address.fetch_add(bytes.next_multiple_of(256), Ordering::Relaxed))
    }
    fn free(&self, _: u64, _: u64) -> Outcome {
        Ok(())
    }
    fn upload(&self, address: u64, data: &[u8]) -> Outcome {
        self.note(|n| {
            n.uploads += 1;
            if data.len() <= LARGEST_TABLE {
                n.tables.insert(address, data.to_vec());
            }
        });
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

/// A device that records, and its notes.
pub fn recorder(math: GpuMath) -> Done<(Device, Arc<Mutex<Notes>>)> {
    let notes = Arc::<Mutex<Notes>>::default();
    let engine = Recorder { notes: notes.clone(), next_address: AtomicU64::new(4096), math };
    let device: Device = Arc::new(GpuBackend::new(engine).map_err(|left| left.to_string())?);
    Ok((device, notes))
}

fn copy(notes: &Mutex<Notes>) -> Notes {
    notes.lock().expect("no panics while it is locked").clone()
}

/// Work before counting began, and at the end.
pub struct Recorded {
    pub before: Notes,
    pub after: Notes,
    /// Minibatches in between.
    pub minibatches: u64,
}

impl Recorded {
    /// The sum over the minibatches.
    pub fn all(&self) -> Count {
        let mut all = self.after.all();
        all -= self.before.all();
        all
    }

    /// The sums by kernel or by operation.
    pub fn by(&self, of: fn(&Notes) -> &BTreeMap<String, Count>) -> BTreeMap<String, Count> {
        let (before, mut after) = (of(&self.before), of(&self.after).clone());
        before.iter().for_each(|(name, &count)| *after.get_mut(name).expect("it stays") -= count);
        after
    }

    pub fn per_minibatch(&self, sum: u64) -> f64 {
        sum as f64 / self.minibatches as f64
    }
}

/// Notes the kind of the operation that runs.
struct Labels(Arc<Mutex<Notes>>);

impl Labels {
    fn set(&self, operation: Option<String>) {
        self.0.lock().expect("no panics while it is locked").operation = operation;
    }
}

impl Observer for Labels {
    fn before(&mut self, at: &Moment<'_>) {
        self.set(Some(op_kind(at.nnet, at.operation())))
    }
    fn after(&mut self, _: &Moment<'_>, _: Duration) {
        self.set(None)
    }
}

/// Records the forward and the backward pass with plain gradients, as `nnet3-benchmark` runs them, of `counted`
/// minibatches after one that is not counted.
pub fn passes(mut nnet: Nnet, request: &ComputationRequest, math: GpuMath, counted: u64) -> Done<Recorded> {
    let (device, notes) = recorder(math)?;
    let compiler = CompilerOptions { check_all: false, ..CompilerOptions::default() };
    let mut compiler = CachingCompiler::new(compiler, OptimizeOptions::default()).for_device(&device);
    let program = compiler.program(&nnet, request)?;
    nnet.to_device(&device);
    let mut delta = Delta::new(&nnet);
    delta.nnet_mut().set_as_gradient();
    let (mut executor, random) = (Executor::new(&device), Random::new(0));
    executor.observe(Box::new(Labels(notes.clone())));
    let mut run = |count: u64| -> Done<Notes> {
        for _ in 0..count {
            executor.start(&program)?;
            while !executor.finished() {
                while let Some(node) = executor.wants() {
                    executor.input(&nnet, nnet.node_name(node))?;
                }
                let mut model = Model::Gradient { nnet: &mut nnet, gradient: delta.nnet_mut() };
                executor.run(&mut model, &random)?;
            }
        }
        Ok(copy(&notes))
    };
    let before = run(1)?;
    Ok(Recorded { before, after: run(counted)?, minibatches: counted })
}

/// Records whole trainings on `minibatch`: `counted` minibatches after `before` others, in which estimates of natural
/// gradient are updated more often and graphs are captured.
pub fn trainings(
    nnet: Nnet,
    minibatch: &NnetExample,
    math: GpuMath,
    [before, counted]: [u64; 2],
) -> Done<Recorded> {
    let (device, notes) = recorder(math)?;
    let options = TrainerOptions { print_interval: 1000, ..Default::default() };
    let mut trainer = Trainer::new(nnet, options, &device, 1)?;
    let mut train = |count: u64| -> Done<Notes> {
        for _ in 0..count {
            trainer.train(minibatch, &mut |_: Event| ())?;
        }
        Ok(copy(&notes))
    };
    let before = train(before)?;
    Ok(Recorded { before, after: train(counted)?, minibatches: counted })
}
