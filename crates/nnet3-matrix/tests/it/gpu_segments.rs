//! Tests of the work sent to a device, with a recording engine: repeated segments are replayed, and a replay equals the
//! earlier work.

use nnet3_matrix::cuda::{Engine, GpuBackend, Op, Outcome};
use nnet3_matrix::{
    Accumulator, Activation, ColumnTerm, Device, Gemm, GemmBlocks, IndexTable, Matrix, Memory,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
enum Note {
    Run(Op),
    Capture(Vec<Op>),
    Replay(Vec<Op>),
    Allocate,
    Free,
    Upload,
    Download,
    Synchronize,
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    fn add(&self, note: Note) {
        self.0.lock().unwrap().push(note)
    }
    fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Memory that is only addresses.
struct Recorder {
    notes: Notes,
    next_address: AtomicU64,
    captures: bool,
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
        self.notes.add(Note::Allocate);
        Ok(self.next_address.fetch_add(bytes.next_multiple_of(256), Ordering::Relaxed))
    }
    fn free(&self, _: u64, _: u64) -> Outcome {
        self.notes.add(Note::Free);
        Ok(())
    }
    fn upload(&self, _: u64, _: &[u8]) -> Outcome {
        self.notes.add(Note::Upload);
        Ok(())
    }
    fn download(&self, _: u64, out: &mut [u8]) -> Outcome {
        out.fill(0);
        self.notes.add(Note::Download);
        Ok(())
    }
    fn run(&self, op: &Op) -> Outcome {
        self.notes.add(Note::Run(*op));
        Ok(())
    }
    fn capture(&self, ops: &[Op]) -> Option<Vec<Op>> {
        self.notes.add(Note::Capture(ops.to_vec()));
        self.captures.then(|| ops.to_vec())
    }
    fn replay(&self, graph: &Vec<Op>) -> Outcome {
        self.notes.add(Note::Replay(graph.clone()));
        Ok(())
    }
    fn synchronize(&self) -> Outcome {
        self.notes.add(Note::Synchronize);
        Ok(())
    }
}

struct Bench {
    device: Device,
    notes: Notes,
    x: Matrix,
    y: Matrix,
    table: IndexTable,
    sums: Accumulator,
}

impl Bench {
    fn new(captures: bool) -> Bench {
        let notes = Notes::default();
        let engine = Recorder { notes: notes.clone(), next_address: AtomicU64::new(4096), captures };
        let device: Device = Arc::new(GpuBackend::new(engine).unwrap());
        let (x, y) = (Matrix::zeros(&device, 30, 40), Matrix::zeros(&device, 30, 40));
        let table = IndexTable::new((0..30).rev().collect());
        Bench { device, notes, x, y, table, sums: Accumulator::zeros(40) }
    }

    /// Does some work like a program, and returns the records.
    fn work(&mut self, alpha: f32) -> Vec<Note> {
        let (x, y, backend) = (self.x.view_mut(), self.y.view_mut(), &self.device);
        backend.mark();
        backend.set(x, 0.0);
        backend.add(x, alpha, y.as_view());
        backend.copy_rows(y, 1.0, x.as_view(), &self.table);
        backend.gemm(Gemm::set(x.sub(0..30, 0..30), y, y.transposed()));
        backend.softmax(y, y.as_view());
        backend.activate(x, x.as_view(), Activation::Tanh);
        backend.accumulate(&mut self.sums, 0, x.as_view(), ColumnTerm::Value);
        backend.mark();
        self.notes.take()
    }
}

/// Operations in the order in which a device would do them.
fn done(notes: &[Note]) -> Vec<Op> {
    let ops = |note: &Note| match note {
        Note::Run(op) => vec![*op],
        Note::Replay(ops) => ops.clone(),
        _ => Vec::new(),
    };
    notes.iter().flat_map(ops).collect()
}

#[test]
fn what_comes_again_is_captured_once_and_replayed() {
    let mut bench = Bench::new(true);
    // Tables and sums get their place on the device.
    bench.work(0.5);
    let first = bench.work(0.5);
    let ops = done(&first);
    assert_eq!(ops.len(), 8, "six primitives, one of which takes two kernels, and a product: {first:#?}");
    assert!(first.iter().all(|note| matches!(note, Note::Run(_))), "{first:#?}");
    assert_eq!(bench.work(0.5), [Note::Capture(ops.clone()), Note::Replay(ops.clone())]);
    for _ in 0..3 {
        // There are no allocations, transfers or waits.
        assert_eq!(bench.work(0.5), [Note::Replay(ops.clone())]);
    }
}

/// Products that are a constant distance apart are one piece of work.
#[test]
fn products_in_blocks_are_one_operation() {
    let bench = &mut Bench::new(true);
    let (x, y) = (bench.x.view_mut(), bench.y.view());
    let blocks = |rows, cols| y.blocks((rows, cols), 1, (0, 10), 4);
    let products = x.blocks((10, 10), 1, (0, 10), 4);
    bench.notes.take();
    bench.device.gemm_blocks(GemmBlocks::set(products, blocks(30, 10).transposed(), blocks(30, 10)));
    bench.device.mark();
    let [Note::Run(Op::Product(product))] = bench.notes.take()[..] else { panic!("one product") };
    assert_eq!((product.count, product.steps), (4, [10, 10, 10]));
    assert_eq!(product.single(3).c.address, product.c.address + 4 * 30);
}

/// A product with a bias is one piece of work, of which the bias is part.
#[test]
fn a_product_with_a_bias_is_one_operation() {
    let bench = &mut Bench::new(true);
    let rows = Matrix::zeros(&bench.device, 2, 40);
    let (x, y) = (bench.x.view_mut(), bench.y.view());
    bench.notes.take();
    let product = |row: usize| {
        let square = y.sub(0..30, 0..30);
        bench.device.gemm_with_bias(Gemm::set(x, square, y).times(0.5).with_bias(rows.view().row(row)));
        bench.device.mark();
        let [Note::Run(Op::Product(product))] = bench.notes.take()[..] else { panic!("one product") };
        product
    };
    let [first, second] = [product(0), product(1)];
    let bias = first.bias.unwrap();
    assert_eq!((bias.rows, bias.cols, first.alpha, first.beta, first.count), (1, 40, 0.5, 0.0, 1));
    assert_ne!(first, second);
    // Libraries without biases set the rows and add the product.
    let (launch, rest) = first.in_two_steps().unwrap();
    assert_eq!((launch.kernel, launch.matrices().collect::<Vec<_>>()), ("set_rows", vec![first.c, bias]));
    assert_eq!((rest.beta, rest.bias, rest.c, rest.alpha), (1.0, None, first.c, 0.5));
    assert!(rest.in_two_steps().is_none());
}

#[test]
fn other_arguments_are_other_work() {
    let mut bench = Bench::new(true);
    (0..4).for_each(|_| drop(bench.work(0.5)));
    let changed = bench.work(0.25);
    assert!(changed.iter().all(|note| matches!(note, Note::Run(_))), "{changed:#?}");
    assert_ne!(done(&changed), done(&bench.work(0.5)));
    assert_eq!(done(&changed), done(&bench.work(0.25)));
    // A matrix in another place, too.
    bench.y = bench.y.clone();
    bench.notes.take();
    assert!(bench.work(0.25).iter().all(|note| matches!(note, Note::Run(_))));
}

#[test]
fn without_graphs_the_same_work_is_done() {
    let (mut with, mut without) = (Bench::new(true), Bench::new(false));
    for _ in 0..4 {
        assert_eq!(done(&with.work(0.5)), done(&without.work(0.5)));
    }
    // It is not tried again and again.
    let tried = |notes: &[Note]| notes.iter().any(|note| matches!(note, Note::Capture(_)));
    assert!(!tried(&without.work(0.5)));
}

#[test]
fn random_numbers_are_in_no_graph() {
    let mut bench = Bench::new(true);
    for key in 0..4 {
        let (x, backend) = (bench.x.view_mut(), &bench.device);
        (0..5).for_each(|_| backend.scale(x, 2.0));
        backend.fill_normal(x, key);
        (0..5).for_each(|_| backend.scale(x, 3.0));
        backend.mark();
        let notes = bench.notes.take();
        let fills = |op: &&Op| matches!(op, Op::Launch(launch) if launch.kernel == "fill_normal");
        assert_eq!(done(&notes).iter().filter(fills).count(), 1);
        for note in &notes {
            if let Note::Replay(ops) | Note::Capture(ops) = note {
                assert_eq!((ops.len(), ops.iter().filter(fills).count()), (5, 0));
            }
        }
        assert_eq!(
            notes.iter().filter(|note| matches!(note, Note::Replay(_))).count(),
            if key < 1 { 0 } else { 2 }
        );
    }
}

/// Reading waits for the work before it; sums stay on the device until they are read.
#[test]
fn only_what_is_read_is_waited_for() {
    let mut bench = Bench::new(true);
    bench.work(0.5);
    assert_eq!(bench.sums.values().len(), 40);
    assert_eq!(bench.notes.take(), [Note::Download]);
    bench.device.scale(bench.x.view_mut(), 2.0);
    assert_eq!(bench.notes.take(), []);
    bench.x.to_vec();
    assert!(matches!(&bench.notes.take()[..], [Note::Run(_), Note::Download]));
    // Memory that queued work uses is freed after the work has been sent.
    let temporary = Matrix::zeros(&bench.device, 30, 40);
    bench.device.copy(bench.x.view_mut(), temporary.view());
    drop(temporary);
    assert!(matches!(&bench.notes.take()[..], [Note::Allocate, Note::Run(_), Note::Free]));
}

/// New work pushes out the segments used longest ago. The queue waits for the device only if one of them was a graph.
#[test]
fn old_segments_are_forgotten() {
    let mut bench = Bench::new(true);
    (0..3).for_each(|_| drop(bench.work(0.5)));
    let mut waits = 0;
    for k in 0..1500 {
        let notes = bench.work(1.0 + k as f32);
        assert!(notes.iter().all(|note| matches!(note, Note::Run(_) | Note::Synchronize)), "{notes:#?}");
        waits += notes.iter().filter(|note| **note == Note::Synchronize).count();
    }
    assert_eq!(waits, 1, "one graph was forgotten");
    assert!(bench.work(0.5).iter().all(|note| matches!(note, Note::Run(_))));
}

/// The number of operations in graphs is limited: further work is sent call by call, and dropped graphs make room.
#[test]
fn graphs_are_limited() {
    let mut bench = Bench::new(true);
    bench.device.mark();
    assert_eq!(captures(&mut bench, 0..200), 150);
    // As many others as are remembered, and the first graphs are gone.
    (1000..1000 + 900).for_each(|k| long_work(&mut bench, k));
    assert_eq!(captures(&mut bench, 3000..3100), 100);
}

/// A segment of 200 operations.
fn long_work(bench: &mut Bench, k: usize) {
    (0..200).for_each(|_| bench.device.scale(bench.x.view_mut(), k as f32));
    bench.device.mark();
}

/// Graphs that are made when each of these segments comes three times.
fn captures(bench: &mut Bench, segments: std::ops::Range<usize>) -> usize {
    segments.for_each(|k| (0..3).for_each(|_| long_work(bench, k)));
    bench.notes.take().iter().filter(|note| matches!(note, Note::Capture(_))).count()
}
