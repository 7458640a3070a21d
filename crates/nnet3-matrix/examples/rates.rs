//! Prints the rates of the CPU primitives on this machine, one JSON object a line: GFLOP/s of products, GB/s of all
//! others. GB/s are also given relative to a copy of the same size.
//!
//!     cargo run --release -p nnet3-matrix --example rates [substring of a primitive's name]

use nnet3_matrix::cpu::{VectorLevel, set_vector_level, vector_level};
use nnet3_matrix::{
    Accumulator, Activation, ColumnTerm, Device, Gemm, IndexTable, LstmBackward, LstmSums, Map, Matrix,
    OffsetTable, Transpose, cpu, set_num_threads,
};
use serde_json::json;
use std::time::Instant;

/// Best seconds for one call, over about 0.15 s.
fn seconds(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let once = start.elapsed().as_secs_f64().max(1e-7);
    let batch = (0.01 / once).ceil().min(1e6) as usize;
    let time = |_| {
        let start = Instant::now();
        (0..batch).for_each(|_| f());
        start.elapsed().as_secs_f64() / batch as f64
    };
    (0..(0.15 / (once * batch as f64)).clamp(3.0, 15.0) as usize).map(time).fold(f64::INFINITY, f64::min)
}

fn random(device: &Device, rows: usize, cols: usize) -> Matrix {
    let mut m = Matrix::zeros(device, rows, cols);
    device.fill_normal(m.view_mut(), (rows * cols) as u64);
    m
}

fn products(device: &Device) {
    use Transpose::{No, Yes};
    let sizes = [
        (64, 64, 64),
        (256, 256, 256),
        (1024, 1024, 1024),
        (1024, 512, 1536),
        (128, 1536, 160),
        (1536, 4096, 512),
        (1, 512, 1536),
        (8, 512, 1536),
        (1536, 512, 1),
    ];
    for (m, k, n) in sizes {
        for (ta, tb) in [(No, No), (No, Yes), (Yes, No)] {
            let shape = |t, rows, cols| if t == No { (rows, cols) } else { (cols, rows) };
            let ((ra, ca), (rb, cb)) = (shape(ta, m, k), shape(tb, k, n));
            let (a, b, mut c) = (random(device, ra, ca), random(device, rb, cb), Matrix::zeros(device, m, n));
            let time = seconds(|| device.gemm(Gemm::set(c.view_mut(), ta.of(a.view()), tb.of(b.view()))));
            let rate = 2.0 * (m * n * k) as f64 / time / 1e9;
            let transpose = format!("{ta:?} {tb:?}");
            let rate = rounded(rate, 10.0);
            println!(
                "{}",
                json!({ "primitive": "gemm", "m": m, "k": k, "n": n, "transpose": transpose, "gflops": rate })
            );
        }
    }
}

/// Rounds to a whole number of `parts`-th parts.
fn rounded(value: f64, parts: f64) -> f64 {
    (parts * value).round() / parts
}

/// Everything but products on matrices of one size.
fn others(device: &Device, wanted: &str, rows: usize, cols: usize) {
    let elements = (rows * cols) as f64;
    let (a, b, y) = (random(device, rows, cols), random(device, rows, cols), random(device, rows, cols));
    let mut dst = random(device, rows, cols);
    // Factors of 1: repeated products must not end in denormal numbers.
    let (row, col) = (Matrix::from_vec(1, cols, vec![1.0; cols]), Matrix::from_vec(rows, 1, vec![1.0; rows]));
    let ones = Matrix::from_vec(rows, cols, vec![1.0; rows * cols]);
    let (mut row_out, mut col_out) = (random(device, 1, cols), random(device, rows, 1));
    let mut transposed = random(device, cols, rows);
    let copy = {
        let (from, mut to) = (a.to_vec(), b.to_vec());
        8.0 * elements / seconds(|| to.copy_from_slice(std::hint::black_box(&from))) / 1e9
    };
    let level = vector_level();
    // `floats`: how many floats an element takes to read and write.
    let report = |name: &str, floats: f64, f: &mut dyn FnMut()| {
        if !name.contains(wanted) {
            return;
        }
        let rate = 4.0 * floats * elements / seconds(f) / 1e9;
        let share = rate / copy;
        let (rate, share) = (rounded(rate, 100.0), rounded(share, 100.0));
        let line = json!({
            "primitive": name, "rows": rows, "cols": cols, "level": format!("{level:?}"),
            "gb_per_s": rate, "of_memcpy": share,
        });
        println!("{line}");
    };
    report("memcpy", 2.0, &mut || device.copy(dst.view_mut(), a.view()));
    report("set", 1.0, &mut || device.set(dst.view_mut(), 1.0));
    report("scale", 2.0, &mut || device.scale(dst.view_mut(), 1.0));
    report("add", 3.0, &mut || device.add(dst.view_mut(), 0.1, a.view()));
    report("copy_transposed", 2.0, &mut || device.copy_transposed(transposed.view_mut(), a.view()));
    report("multiply", 3.0, &mut || device.multiply(dst.view_mut(), ones.view()));
    report("add_product", 4.0, &mut || device.add_product(dst.view_mut(), 0.1, a.view(), b.view()));
    let map = |f: Map| move |dst: &mut Matrix, a: &Matrix| cpu().map(dst.view_mut(), a.view(), f);
    report("map exp", 2.0, &mut || map(Map::Exp)(&mut dst, &a));
    report("map log", 2.0, &mut || map(Map::Log { floor: 1e-20 })(&mut dst, &a));
    report("map square root", 2.0, &mut || map(Map::SquareRoot)(&mut dst, &a));
    report("map power", 2.0, &mut || map(Map::Power(-0.5))(&mut dst, &a));
    for f in [Activation::Sigmoid, Activation::Tanh, Activation::Relu] {
        report(&format!("activate {f:?}"), 2.0, &mut || device.activate(dst.view_mut(), a.view(), f));
        let in_place = |matrix: &mut Matrix| {
            let view = matrix.view_mut();
            device.activate(view, view.as_view(), f)
        };
        report(&format!("activate {f:?} in place"), 2.0, &mut || in_place(&mut dst));
        report(&format!("activate_backward {f:?}"), 3.0, &mut || {
            device.activate_backward(dst.view_mut(), a.view(), b.view(), f)
        });
    }
    report("multiply_by_ratio", 4.0, &mut || {
        device.multiply_by_ratio(dst.view_mut(), a.view(), b.view(), y.view())
    });
    report("add_to_rows", 2.0, &mut || device.add_to_rows(dst.view_mut(), 0.1, row.view()));
    report("scale_cols", 2.0, &mut || device.scale_cols(dst.view_mut(), row.view()));
    report("scale_rows", 2.0, &mut || device.scale_rows(dst.view_mut(), col.view()));
    report("add_scaled_rows", 3.0, &mut || device.add_scaled_rows(dst.view_mut(), 0.1, col.view(), a.view()));
    report("col_sums", 1.0, &mut || device.col_sums(row_out.view_mut(), 1.0, a.view(), 0.0));
    report("col_dots", 2.0, &mut || device.col_dots(row_out.view_mut(), 1.0, a.view(), b.view(), 0.0));
    report("row_sums", 1.0, &mut || device.row_sums(col_out.view_mut(), 1.0, a.view(), 0.0));
    report("row_dots", 2.0, &mut || device.row_dots(col_out.view_mut(), 1.0, a.view(), b.view(), 0.0));
    report("dot", 2.0, &mut || assert!(device.dot(a.view(), b.view()) < f64::INFINITY));
    let mut sums = Accumulator::zeros(cols);
    report("accumulate", 1.0, &mut || {
        device.accumulate(&mut sums, 0, a.view(), ColumnTerm::Derivative(Activation::Sigmoid))
    });
    report("softmax", 2.0, &mut || device.softmax(dst.view_mut(), a.view()));
    report("log_softmax", 2.0, &mut || device.log_softmax(dst.view_mut(), a.view()));
    report("softmax_backward", 3.0, &mut || device.softmax_backward(dst.view_mut(), a.view(), b.view()));
    report("log_softmax_backward", 3.0, &mut || {
        device.log_softmax_backward(dst.view_mut(), a.view(), b.view())
    });
    if cols.is_multiple_of(8) {
        let mut norms = random(device, rows, cols / 8);
        report("group_norm 8", 1.125, &mut || device.group_norm(norms.view_mut(), a.view()));
    }
    let shuffled = |n: usize| (0..n).map(|i| ((i * 7919) % n) as i32).collect::<Vec<_>>();
    let rows_table = IndexTable::new(shuffled(rows));
    report("copy_rows", 2.0, &mut || device.copy_rows(dst.view_mut(), 1.0, a.view(), &rows_table));
    report("add_rows", 3.0, &mut || device.add_rows(dst.view_mut(), 1.0, a.view(), &rows_table));
    let whole = a.view().reshape(1, rows * cols);
    let offsets = OffsetTable::new(rows_table.values().iter().map(|&r| r as i64 * cols as i64).collect());
    report("add_rows_multi", 3.0, &mut || device.add_rows_multi(dst.view_mut(), 1.0, whole, &offsets));
    let cols_table = IndexTable::new(shuffled(cols));
    report("copy_cols", 2.0, &mut || device.copy_cols(dst.view_mut(), a.view(), &cols_table));
    let runs = IndexTable::new((0..cols as i32).map(|j| if j < 32 { -1 } else { j - 32 }).collect());
    report("copy_cols in runs", 2.0, &mut || device.copy_cols(dst.view_mut(), a.view(), &runs));
    report("add_to_cols", 3.0, &mut || device.add_to_cols(dst.view_mut(), a.view(), &cols_table));
    report("fill_uniform", 1.0, &mut || device.fill_uniform(dst.view_mut(), 3));
    report("fill_normal", 1.0, &mut || device.fill_normal(dst.view_mut(), 3));
    // The cell's rates count elements of all its inputs and outputs.
    let cells = cols / 5;
    let (input, params, repair) =
        (random(device, rows, 5 * cells), random(device, 3, cells), random(device, 5, cells));
    let (mut output, out_deriv) = (random(device, rows, 2 * cells), random(device, rows, 2 * cells));
    let (mut in_deriv, mut params_deriv) = (random(device, rows, 5 * cells), random(device, 3, cells));
    let (mut values, mut derivs) = (Accumulator::zeros(5 * cells), Accumulator::zeros(5 * cells));
    report("lstm_cell", 1.4, &mut || device.lstm_cell(output.view_mut(), input.view(), params.view()));
    report("lstm_cell_backward", 2.4, &mut || {
        device.lstm_cell_backward(LstmBackward {
            input: input.view(),
            params: params.view(),
            out_deriv: out_deriv.view(),
            self_repair: repair.view(),
            in_deriv: in_deriv.view_mut(),
            params_deriv: params_deriv.view_mut(),
            sums: Some(LstmSums { values: &mut values, derivs: &mut derivs }),
        })
    });
    // Attention with one head of 60 dimensions over 15 positions; floats of the products' operands.
    let (n, k, context, shift) = (rows, 60, 15, 3);
    let (mut a, mut b) = (random(device, n, k), random(device, n + (context - 1) * shift, k));
    let mut c = random(device, n, context);
    let floats = (n * k * context) as f64 / elements;
    report("banded_dots", floats, &mut || device.banded_dots(c.view_mut(), 1.0, a.view(), b.view(), shift));
    report("banded_apply", floats, &mut || {
        device.banded_apply(a.view_mut(), 1e-3, c.view(), b.view(), shift)
    });
    report("banded_scatter", floats, &mut || {
        device.banded_scatter(b.view_mut(), 1e-3, c.view(), a.view(), shift)
    });
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let device = cpu();
    set_num_threads(1);
    if "gemm".contains(&wanted) {
        products(&device);
    }
    for level in [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512] {
        if set_vector_level(level) == level {
            for (rows, cols) in [(200, 1024), (8192, 1024), (4096, 40)] {
                others(&device, &wanted, rows, cols);
            }
        }
    }
}
