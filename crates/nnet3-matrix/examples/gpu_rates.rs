//! Prints the rates of a GPU, one JSON object a line. They are GB/s of kernels that wait for memory, and TFLOP/s of
//! products, at shapes of a large TDNN-F. Updates of natural gradient and an operation in a graph are in microseconds.
//!
//!     cargo run --release -p nnet3-matrix --example gpu_rates            # the first GPU
//!     cargo run --release -p nnet3-matrix --example gpu_rates host       # small shapes on the host, to see that it runs

use nnet3_matrix::cuda::GpuMath;
use nnet3_matrix::cuda::driver::{self, Settings, Unavailable};
use nnet3_matrix::low_rank::{Due, FLAGS, LowRankUpdate};
use nnet3_matrix::{Accumulator, Device, Factor, Gemm, Matrix, cpu};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

/// The device to measure, and how much work it gets.
struct Bench {
    device: Device,
    /// Divides the rows of matrices.
    smaller: usize,
}

impl Bench {
    /// Seconds for one call, of enough calls between two waits; the best of three.
    fn seconds(&self, mut work: impl FnMut()) -> f64 {
        let mut time = |times: u32| {
            self.device.synchronize();
            let start = Instant::now();
            (0..times).for_each(|_| work());
            self.device.mark();
            self.device.synchronize();
            start.elapsed().as_secs_f64()
        };
        time(5);
        let times = (0.02 / (time(5) / 5.0).max(1e-7)).clamp(1.0, 2000.0) as u32;
        (0..3).map(|_| time(times)).fold(f64::INFINITY, f64::min) / f64::from(times)
    }

    fn random(&self, rows: usize, cols: usize) -> Matrix {
        let mut matrix = Matrix::zeros(&self.device, rows, cols);
        self.device.fill_normal(matrix.view_mut(), (rows + cols) as u64);
        matrix
    }

    /// `passes`: how often the work goes over a matrix of this size.
    fn rate(&self, kernel: &str, (rows, cols): (usize, usize), passes: f64, work: impl FnMut()) {
        let seconds = self.seconds(work);
        let rate = 4.0 * passes * (rows * cols) as f64 / seconds / 1e9;
        print(
            json!({ "kernel": kernel, "rows": rows, "cols": cols, "us": rounded(1e6 * seconds), "gb_per_s": rounded(rate) }),
        );
    }

    fn memory(&self) {
        let device = &self.device;
        for (rows, cols) in [(19200, 1536), (6400, 1536), (6400, 160), (6400, 3000)] {
            let shape = (rows / self.smaller, cols);
            let (a, mut b) = (self.random(shape.0, cols), self.random(shape.0, cols));
            let one = self.random(1, 1);
            let (mut row, mut col) = (self.random(1, cols), self.random(shape.0, 1));
            let mut sums = Accumulator::zeros(cols);
            self.rate("copy_values", shape, 2.0, || device.copy(b.view_mut(), a.view()));
            self.rate("add_values", shape, 3.0, || device.add(b.view_mut(), 1e-3, a.view()));
            let factor = Factor { times: 1.0, element: one.view() };
            self.rate("scale_by", shape, 2.0, || device.scale_by(b.view_mut(), factor));
            self.rate("block_totals", shape, 1.0, || {
                device.accumulate_dot(&mut sums, 0, 1.0, a.view(), a.view())
            });
            self.rate("column_partials, finish_columns", shape, 1.0, || {
                device.col_sums(row.view_mut(), 1.0, a.view(), 0.0)
            });
            self.rate("row_totals", shape, 1.0, || device.row_sums(col.view_mut(), 1.0, a.view(), 0.0));
            self.rate("softmax", shape, 2.0, || device.softmax(b.view_mut(), a.view()));
        }
    }

    /// Widths that are no multiple of four begin rows at odd addresses.
    fn products(&self, math: &str) {
        let rows = 6400 / self.smaller;
        let shapes = [
            (rows, 320, 1536),
            (rows, 1536, 160),
            (rows, 3072, 160),
            (rows, 256, 1536),
            (rows, 1536, 256),
            (rows, 256, 3000),
            (rows, 256, 3001),
            (rows, 256, 3007),
            // A bottleneck of a TDNN-F; its gradients have few elements and many terms.
            (rows, 1024, 128),
            (rows, 128, 1024),
        ];
        for (m, k, n) in shapes {
            let (a, b, mut c) = (self.random(m, k), self.random(n, k), self.random(m, n));
            let mut gradient = self.random(n, k);
            let report = |what: &str, seconds: f64| {
                let rate = 2.0 * (m * n * k) as f64 / seconds / 1e12;
                print(
                    json!({ "product": what, "math": math, "m": m, "k": k, "n": n, "us": rounded(1e6 * seconds), "tflops": rounded(rate) }),
                );
            };
            let device = &self.device;
            let forward =
                self.seconds(|| device.gemm(Gemm::set(c.view_mut(), a.view(), b.view().transposed())));
            report("forward", forward);
            let bias = self.random(1, n);
            let with_bias = self.seconds(|| {
                device.gemm_with_bias(
                    Gemm::set(c.view_mut(), a.view(), b.view().transposed()).with_bias(bias.view()),
                )
            });
            report("forward with bias", with_bias);
            let parameters =
                self.seconds(|| device.gemm(Gemm::set(gradient.view_mut(), c.view().transposed(), a.view())));
            report("gradient", parameters);
        }
    }

    /// One estimate after the other, and 42 of them side by side.
    fn updates(&self) {
        let Some(device) = self.device.low_rank() else { return };
        for rank in [20, 40, 80] {
            let mut estimates: Vec<Estimate> = (0..42).map(|_| Estimate::new(self, rank)).collect();
            for count in [1, 42] {
                let seconds = self.seconds(|| {
                    let mut due: Vec<Due<'_>> = estimates[..count].iter_mut().map(Estimate::due).collect();
                    device.low_rank_update(&mut due)
                });
                print(
                    json!({ "kernel": "low_rank_update", "rank": rank, "estimates": count, "us": rounded(1e6 * seconds) }),
                );
            }
        }
    }

    /// Measures repeated operations on very small matrices, as graphs.
    fn graphs(&self) {
        let mut one = self.random(1, 1);
        for nodes in [20, 200] {
            let seconds = self.seconds(|| {
                (0..nodes).for_each(|_| self.device.scale(one.view_mut(), 1.0));
                self.device.mark();
            });
            let each = rounded(1e6 * seconds / f64::from(nodes));
            print(json!({ "graph": nodes, "us": rounded(1e6 * seconds), "us_a_node": each }));
        }
    }
}

/// An estimate of a Fisher matrix, for updates with always the same moments.
struct Estimate {
    a: Matrix,
    flags: Matrix,
    state: Accumulator,
    moments: Matrix,
    energies: Accumulator,
    update: LowRankUpdate,
}

impl Estimate {
    fn new(bench: &Bench, rank: usize) -> Estimate {
        let x = bench.random(4 * rank, rank);
        let mut moments = Matrix::zeros(&bench.device, 2 * rank, rank);
        for half in [0..rank, rank..2 * rank] {
            let to = moments.view_mut().row_range(half);
            bench.device.gemm(Gemm::set(to, x.view().transposed(), x.view()));
        }
        let state = [vec![1.0; rank], vec![0.5; rank], vec![0.1]].concat();
        Estimate {
            a: Matrix::zeros(&bench.device, rank, rank + 1),
            flags: Matrix::zeros(&bench.device, 1, FLAGS),
            state: Accumulator::from_vec(state),
            moments,
            energies: Accumulator::from_vec(vec![1e4, 0.0]),
            update: LowRankUpdate { rows: 4 * rank, dim: 2 * rank, eta: 0.5, alpha: 4.0 },
        }
    }

    fn due(&mut self) -> Due<'_> {
        let Estimate { a, flags, state, moments, energies, update } = self;
        let (a, flags, moments, update) = (a.view_mut(), flags.view_mut(), moments.view(), *update);
        Due { a, flags, state, moments, energies, update }
    }
}

fn rounded(value: f64) -> f64 {
    (100.0 * value).round() / 100.0
}

fn print(value: Value) {
    println!("{value}");
}

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("gpu_rates: {e}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Unavailable> {
    if std::env::args().nth(1).as_deref() == Some("host") {
        let bench = Bench { device: cpu(), smaller: 100 };
        bench.memory();
        bench.products("fp32");
        bench.graphs();
        return Ok(());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(|folder| std::path::Path::new(&folder).join("nnet3"));
    for (math, name) in [(GpuMath::Fp32, "fp32"), (GpuMath::Tf32, "tf32"), (GpuMath::Bf16, "bf16")] {
        let (device, found) = driver::open(&Settings { math, cache: cache.clone(), ..Settings::default() })?;
        let bench = Bench { device, smaller: 1 };
        if math == GpuMath::Fp32 {
            print(json!({ "device": found.name, "cublas": found.cublas, "cublas_lt": found.cublas_lt }));
            bench.updates();
            bench.graphs();
            bench.memory();
        }
        bench.products(name);
        print(json!({ "math": name, "products_without_cublas_lt": found.activity.unplanned() }));
    }
    Ok(())
}
