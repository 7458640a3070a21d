//! Guards what a minibatch costs on a device: kernels, products, bytes read and written. `tests/data/gpu_work`
//! has the counts (`*.expected`); `NNET3_WRITE_COUNTS=1` writes them again, after a change that makes them smaller.

use crate::work::{Count, Recorded, passes, recorder, trainings};
use kaldi_io::general::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_core::config::read_config;
use nnet3_core::index::Index;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::cuda::GpuMath;
use nnet3_matrix::{Gemm, IndexTable, Matrix};
use nnet3_train::NnetExample;
use nnet3_train::example::NnetIo;

/// A case of `docs/gpu.md`: a network of the benchmark, with the rows of its minibatch.
struct Case {
    name: &'static str,
    sequences: i32,
    /// Name of each input and output, and first, last and step of its times.
    inputs: &'static [(&'static str, [i32; 3])],
    outputs: &'static [(&'static str, [i32; 3])],
}

const CASES: [Case; 3] = [
    Case {
        name: "tdnn_train",
        sequences: 128,
        inputs: &[("input", [-12, 19, 1])],
        outputs: &[("output", [0, 7, 1])],
    },
    Case {
        name: "tdnnf_train",
        sequences: 32,
        inputs: &[("ivector", [0, 0, 1]), ("input", [-12, 161, 1])],
        outputs: &[("output", [0, 147, 3]), ("output-xent", [0, 147, 3])],
    },
    Case {
        name: "lstmp_train",
        sequences: 32,
        inputs: &[("input", [0, 29, 1])],
        outputs: &[("output", [0, 19, 1])],
    },
];

fn data(name: &str) -> String {
    format!("{}/tests/data/gpu_work/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Case {
    fn nnet(&self) -> Nnet {
        let mut nnet = Nnet::default();
        nnet.read_config(read_config(&data(&format!("{}.config", self.name))).unwrap(), &Random::new(1))
            .unwrap();
        nnet
    }

    fn request(&self) -> ComputationRequest {
        let io = |&(name, [first, last, step]): &(&str, [i32; 3])| {
            let times = move |n: i32| (first..=last).step_by(step as usize).map(move |t| Index::new(n, t, 0));
            let indexes = (0..self.sequences).flat_map(times).collect();
            IoSpecification { name: name.to_string(), indexes, has_deriv: true }
        };
        ComputationRequest {
            inputs: self.inputs.iter().map(io).collect(),
            outputs: self.outputs.iter().map(io).collect(),
            need_model_derivative: true,
            ..Default::default()
        }
    }

    /// Zeros, which cost as much as other numbers.
    fn minibatch(&self, nnet: &Nnet) -> NnetExample {
        let request = self.request();
        let io = |io: &IoSpecification| {
            let (rows, cols) = (io.indexes.len(), nnet.node_dim(nnet.find_node(&io.name).unwrap()));
            let features = GeneralMatrix::Full(DenseMatrix { rows, cols, data: vec![0.0; rows * cols] });
            NnetIo { name: io.name.clone(), indexes: io.indexes.clone(), features }
        };
        NnetExample { ios: request.inputs.iter().chain(&request.outputs).map(io).collect() }
    }
}

/// Averages for a minibatch.
fn line(case: &Case, math: GpuMath, run: &str, recorded: &Recorded) -> String {
    let all = recorded.all();
    let per = |sum: u64| recorded.per_minibatch(sum);
    let (kernels, products) = (per(all.kernels), per(all.products));
    let [read, written] = [all.read, all.written].map(|bytes| per(bytes) / 1e6);
    let name = case.name;
    format!("{name} {math} {run} {kernels:.2} {products:.2} {read:.2} {written:.2}\n")
}

const HEAD: &str = "# case, arithmetic, run (passes: forward and backward with plain gradients; training: with natural gradient and updates), then\n\
    # averages for a minibatch: kernels, products, megabytes read and written\n";

fn check(case: &Case) {
    let mut found = String::new();
    for math in [GpuMath::Fp32, GpuMath::Bf16] {
        let passes = passes(case.nnet(), &case.request(), math, 20).unwrap();
        let nnet = case.nnet();
        let minibatch = case.minibatch(&nnet);
        let trainings = trainings(nnet, &minibatch, math, [16, 8]).unwrap();
        found += &line(case, math, "passes", &passes);
        found += &line(case, math, "training", &trainings);
    }
    let file = data(&format!("{}.expected", case.name));
    if std::env::var_os("NNET3_WRITE_COUNTS").is_some() {
        return std::fs::write(&file, HEAD.to_string() + &found).unwrap();
    }
    let old = std::fs::read_to_string(&file).unwrap();
    let expected: Vec<&str> = old.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(expected.len(), 4, "{file} has no four lines of counts");
    for (found, expected) in found.lines().zip(expected) {
        let split = |line: &str| -> (Vec<String>, Vec<f64>) {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let numbers = words[3..].iter().map(|word| word.parse().unwrap()).collect();
            (words[..3].to_vec(), numbers)
        };
        let ((name, now), (expected_name, was)) = (split(found), split(expected));
        assert_eq!(name, expected_name);
        let grows = now.iter().zip(&was).any(|(now, was)| *now > was + 0.01);
        assert!(!grows, "a minibatch costs more than before\nnow: {found}\nwas: {expected}");
        let shrinks = now.iter().zip(&was).any(|(now, was)| *now < was - 0.01);
        assert!(
            !shrinks,
            "a minibatch costs less than before: NNET3_WRITE_COUNTS=1 notes it in {file}\nnow: {found}\nwas: {expected}"
        );
    }
}

#[test]
fn tdnn() {
    check(&CASES[0])
}

#[test]
fn tdnnf() {
    check(&CASES[1])
}

#[test]
fn lstmp() {
    check(&CASES[2])
}

/// Work of known shapes: bytes and operations worked out by hand.
#[test]
fn counts_by_hand() {
    let (device, notes) = recorder(GpuMath::Fp32).unwrap();
    let mut small = Matrix::zeros(&device, 3, 5);
    let mut other = Matrix::zeros(&device, 3, 5);
    let large = Matrix::zeros(&device, 100, 5);
    let count = |work: &mut dyn FnMut()| {
        device.synchronize();
        let before = notes.lock().unwrap().all();
        work();
        device.synchronize();
        let mut all = notes.lock().unwrap().all();
        all -= before;
        all
    };
    let kernel = |read: u64, written: u64| Count {
        kernels: 1,
        read: 4 * read,
        written: 4 * written,
        ..Count::default()
    };
    let found = count(&mut || device.add(small.view_mut(), 0.5, other.view()));
    assert_eq!(found, kernel(2 * 15, 15));
    let found = count(&mut || device.copy(small.view_mut(), other.view()));
    assert_eq!(found, kernel(15, 15));
    // Two of three rows are listed; the third is set to zero.
    let rows = IndexTable::new(vec![7, -1, 99]);
    let found = count(&mut || device.copy_rows(small.view_mut(), 1.0, large.view(), &rows));
    assert_eq!(found, kernel(2 * 5, 15));
    let found = count(&mut || device.add_rows(small.view_mut(), 1.0, large.view(), &rows));
    assert_eq!(found, kernel(15 + 2 * 5, 15));
    // Ten rows are added to one, two to another.
    let ranges = IndexTable::new(vec![0, 10, -1, -1, 98, 100]);
    let found = count(&mut || device.add_row_ranges(small.view_mut(), 1.0, large.view(), &ranges));
    assert_eq!(found, kernel((2 + 12) * 5, 2 * 5));
    let mut square = Matrix::zeros(&device, 3, 3);
    for beta in [0, 1] {
        let found = count(&mut || {
            device.gemm(Gemm {
                beta: beta as f32,
                ..Gemm::set(square.view_mut(), small.view(), other.view().transposed())
            })
        });
        let read = 4 * (2 * 15 + beta * 9);
        assert_eq!(found, Count { kernels: 0, products: 1, flops: 2 * 3 * 3 * 5, read, written: 4 * 9 });
    }
    // The bias is read once, and old contents are not.
    let row = Matrix::zeros(&device, 1, 3);
    let found = count(&mut || {
        device.gemm_with_bias(
            Gemm::set(square.view_mut(), small.view(), other.view().transposed()).with_bias(row.view()),
        )
    });
    let read = 4 * (2 * 15 + 3);
    assert_eq!(found, Count { kernels: 0, products: 1, flops: 2 * 3 * 3 * 5, read, written: 4 * 9 });
    other.set(0.0);
}
