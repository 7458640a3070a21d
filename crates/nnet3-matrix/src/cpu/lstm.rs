//! The nonlinear part of an LSTM cell with peepholes: forward and backward in one pass over the rows each.
//!
//! Rows are processed in stretches of [`WIDTH`] cells. Results go to arrays on the stack first, so that the inner loops
//! never write to their sources.

use super::CpuBackend;
use super::access::{Rows, RowsMut, overlap, source, split};
use super::math::{sigmoid, tanh};
use crate::backend::{LstmBackward, LstmSums, RecurrentCells};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};
use std::cell::RefCell;

const WIDTH: usize = 64;

/// A stretch of cells.
type Cells = [f32; WIDTH];

/// The input of one row and some of its cells.
struct Input<'a> {
    i: &'a [f32],
    f: &'a [f32],
    g: &'a [f32],
    o: &'a [f32],
    previous: &'a [f32],
    /// Dropout factors for i, f, o.
    keep: [f32; 3],
}

impl<'a> Input<'a> {
    #[inline(always)]
    fn new(row: &'a [f32], cells: usize, start: usize, len: usize) -> Self {
        let part = |k: usize| &row[k * cells + start..][..len];
        let keep = if row.len() > 5 * cells {
            [row[5 * cells], row[5 * cells + 1], row[5 * cells + 2]]
        } else {
            [1.0; 3]
        };
        Input { i: part(0), f: part(1), g: part(2), o: part(3), previous: part(4), keep }
    }
}

/// Peephole weights of some cells.
struct Peepholes<'a> {
    i: &'a [f32],
    f: &'a [f32],
    o: &'a [f32],
}

impl<'a> Peepholes<'a> {
    #[inline(always)]
    fn new(params: Rows<'a>, start: usize, len: usize) -> Self {
        let part = |k: usize| &params.row(k)[start..][..len];
        Peepholes { i: part(0), f: part(1), o: part(2) }
    }
}

/// Values of the five nonlinearities, and the new cell.
struct Values {
    i: Cells,
    f: Cells,
    g: Cells,
    o: Cells,
    h: Cells,
    cell: Cells,
}

impl Values {
    const ZERO: Values = Values {
        i: [0.0; WIDTH],
        f: [0.0; WIDTH],
        g: [0.0; WIDTH],
        o: [0.0; WIDTH],
        h: [0.0; WIDTH],
        cell: [0.0; WIDTH],
    };

    #[inline(always)]
    fn set<S: Simd>(&mut self, input: &Input<'_>, weights: &Peepholes<'_>) {
        let [keep_i, keep_f, _] = input.keep;
        let len = WIDTH.min(input.i.len());
        for k in 0..len {
            self.i[k] = sigmoid::<S>(input.i[k] + weights.i[k] * input.previous[k]);
        }
        for k in 0..len {
            self.f[k] = sigmoid::<S>(input.f[k] + weights.f[k] * input.previous[k]);
        }
        for k in 0..len {
            self.g[k] = tanh::<S>(input.g[k]);
            self.cell[k] = self.f[k] * keep_f * input.previous[k] + self.i[k] * keep_i * self.g[k];
        }
        for k in 0..len {
            self.o[k] = sigmoid::<S>(input.o[k] + weights.o[k] * self.cell[k]);
        }
        for k in 0..len {
            self.h[k] = tanh::<S>(self.cell[k]);
        }
    }
}

/// Checks the shapes of input and parameters; returns the number of cells.
fn cells_of(input: &View<'_>, params: &View<'_>) -> usize {
    let cells = params.cols();
    assert_eq!(params.rows(), 3, "rows of peephole weights");
    assert!(
        input.cols() == 5 * cells || input.cols() == 5 * cells + 3,
        "{} input columns for {cells} cells",
        input.cols()
    );
    cells
}

struct Forward<'a> {
    output: RowsMut<'a>,
    input: Rows<'a>,
    params: Rows<'a>,
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let cells = self.params.cols();
        let mut v = Values::ZERO;
        for row in 0..self.input.rows() {
            let (cell_out, m_out) = self.output.row(row).split_at_mut(cells);
            for start in (0..cells).step_by(WIDTH) {
                let len = WIDTH.min(cells - start);
                let input = Input::new(self.input.row(row), cells, start, len);
                let weights = Peepholes::new(self.params, start, len);
                v.set::<S>(&input, &weights);
                cell_out[start..start + len].copy_from_slice(&v.cell[..len]);
                let m = &mut m_out[start..start + len];
                for k in 0..len {
                    m[k] = v.o[k] * input.keep[2] * v.h[k];
                }
            }
        }
    }
}

/// Number of rows with sums formed in `f32`.
const HEIGHT: usize = 16;

struct Backward<'a> {
    input: Rows<'a>,
    params: Rows<'a>,
    out_deriv: Rows<'a>,
    self_repair: Rows<'a>,
    in_deriv: Option<RowsMut<'a>>,
    params_deriv: Option<RowsMut<'a>>,
    sums: Option<(&'a mut [f64], &'a mut [f64])>,
    /// Space for the sums of some rows, one for each stretch of cells.
    stretches: &'a mut [Sums],
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let cells = self.params.cols();
        let sums = std::mem::take(&mut self.stretches);
        let mut scratch = Scratch { values: Values::ZERO, derivs: [[0.0; WIDTH]; 5] };
        // Row by row, as memory has them: processors do not foresee jumps from row to row.
        for top in (0..self.input.rows()).step_by(HEIGHT) {
            sums.fill(Sums::ZERO);
            for row in top..self.input.rows().min(top + HEIGHT) {
                for (start, sums) in (0..cells).step_by(WIDTH).zip(&mut *sums) {
                    self.stretch::<S>(row, start, WIDTH.min(cells - start), (sums, &mut scratch));
                }
            }
            for (start, sums) in (0..cells).step_by(WIDTH).zip(&*sums) {
                self.add_sums(start, WIDTH.min(cells - start), sums);
            }
        }
    }
}

thread_local! {
    static SUMS: RefCell<Vec<Sums>> = const { RefCell::new(Vec::new()) };
}

/// One element of `all` for each stretch of `cells` cells.
fn stretches(all: &mut Vec<Sums>, cells: usize) -> &mut [Sums] {
    let count = cells.div_ceil(WIDTH);
    if all.len() < count {
        all.resize(count, Sums::ZERO);
    }
    &mut all[..count]
}

/// Space for one stretch of one row.
struct Scratch {
    values: Values,
    /// The derivatives by i, f, g, o and the previous cell.
    derivs: [Cells; 5],
}

#[inline(always)]
fn add(to: &mut [f64], from: &Cells) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += *from as f64;
    }
}

/// The contributions of some rows to statistics and to the derivatives of the parameters, for one stretch of cells.
#[derive(Clone, Copy)]
struct Sums {
    /// Sums of the values of i, f, g, o, h.
    values: [Cells; 5],
    derivs: [Cells; 5],
    /// Sums for the peephole weights of i, f, o.
    params: [Cells; 3],
}

impl Sums {
    const ZERO: Sums =
        Sums { values: [[0.0; WIDTH]; 5], derivs: [[0.0; WIDTH]; 5], params: [[0.0; WIDTH]; 3] };

    #[inline(always)]
    fn values(&mut self, v: &Values, len: usize) {
        for k in 0..len {
            self.values[0][k] += v.i[k];
            self.values[1][k] += v.f[k];
            self.values[2][k] += v.g[k];
            self.values[3][k] += v.o[k];
            self.values[4][k] += v.h[k];
        }
        for k in 0..len {
            self.derivs[0][k] += v.i[k] * (1.0 - v.i[k]);
            self.derivs[1][k] += v.f[k] * (1.0 - v.f[k]);
            self.derivs[2][k] += 1.0 - v.g[k] * v.g[k];
            self.derivs[3][k] += v.o[k] * (1.0 - v.o[k]);
            self.derivs[4][k] += 1.0 - v.h[k] * v.h[k];
        }
    }
}

impl Backward<'_> {
    /// Adds the sums of some rows, for `len` cells from `start` on.
    #[inline(always)]
    fn add_sums(&mut self, start: usize, len: usize, sums: &Sums) {
        let cells = self.params.cols();
        if let Some((values, derivs)) = &mut self.sums {
            for part in 0..5 {
                let at = part * cells + start;
                add(&mut values[at..at + len], &sums.values[part]);
                add(&mut derivs[at..at + len], &sums.derivs[part]);
            }
        }
        if let Some(params_deriv) = &mut self.params_deriv {
            for (part, sums) in sums.params.iter().enumerate() {
                let to = &mut params_deriv.row(part)[start..start + len];
                for (d, s) in to.iter_mut().zip(sums) {
                    *d += *s;
                }
            }
        }
    }

    /// Computes `len` cells of one row from `start` on.
    #[inline(always)]
    fn stretch<S: Simd>(
        &mut self,
        row: usize,
        start: usize,
        len: usize,
        (sums, scratch): (&mut Sums, &mut Scratch),
    ) {
        let cells = self.params.cols();
        let input = Input::new(self.input.row(row), cells, start, len);
        let weights = Peepholes::new(self.params, start, len);
        let cell_deriv = &self.out_deriv.row(row)[start..][..len];
        let m_deriv = &self.out_deriv.row(row)[cells + start..][..len];
        let repair = |k: usize| &self.self_repair.row(k)[start..][..len];
        let (repair_i, repair_f, repair_g, repair_o, repair_h) =
            (repair(0), repair(1), repair(2), repair(3), repair(4));
        let [keep_i, keep_f, keep_o] = input.keep;
        let Scratch { values: v, derivs: out } = scratch;
        v.set::<S>(&input, &weights);
        for k in 0..len {
            let (i, f, g, o, h) = (v.i[k], v.f[k], v.g[k], v.o[k], v.h[k]);
            let previous = input.previous[k];
            let dh = o * keep_o * m_deriv[k];
            let do_in = o * (1.0 - o) * (keep_o * h * m_deriv[k]) - (2.0 * o - 1.0) * repair_o[k];
            let dc = (1.0 - h * h) * dh + cell_deriv[k] + weights.o[k] * do_in - h * repair_h[k];
            let df_in = f * (1.0 - f) * (dc * keep_f * previous) - (2.0 * f - 1.0) * repair_f[k];
            let di_in = i * (1.0 - i) * (dc * keep_i * g) - (2.0 * i - 1.0) * repair_i[k];
            out[0][k] = di_in;
            out[1][k] = df_in;
            out[3][k] = do_in;
            // Until the next loop.
            out[4][k] = dc;
        }
        if self.params_deriv.is_some() {
            for k in 0..len {
                sums.params[0][k] += input.previous[k] * out[0][k];
                sums.params[1][k] += input.previous[k] * out[1][k];
                sums.params[2][k] += v.cell[k] * out[3][k];
            }
        }
        if self.sums.is_some() {
            sums.values(v, len);
        }
        if let Some(in_deriv) = &mut self.in_deriv {
            for k in 0..len {
                let (i, f, g, dc) = (v.i[k], v.f[k], v.g[k], out[4][k]);
                out[2][k] = (1.0 - g * g) * (i * keep_i * dc) - g * repair_g[k];
                out[4][k] = weights.i[k] * out[0][k] + weights.f[k] * out[1][k] + f * keep_f * dc;
            }
            let to = in_deriv.row(row);
            for (part, out) in out.iter().enumerate() {
                to[part * cells + start..][..len].copy_from_slice(&out[..len]);
            }
        }
    }
}

impl RecurrentCells for CpuBackend {
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>) {
        let cells = cells_of(&input, &params);
        assert!(
            output.rows() == input.rows() && output.cols() == 2 * cells,
            "output {output:?} for input {input:?}"
        );
        let (output, [input, params]) = split(output, [input, params]);
        simd::run(Forward { output, input, params })
    }
    fn lstm_cell_backward(&self, cell: LstmBackward<'_>) {
        let LstmBackward { input, params, out_deriv, self_repair, in_deriv, params_deriv, sums } = cell;
        let cells = cells_of(&input, &params);
        let rows = input.rows();
        let has = |view: &View<'_>, rows: usize, cols: usize| {
            assert!(view.rows() == rows && view.cols() == cols, "{view:?} where {rows} x {cols} is expected");
        };
        has(&out_deriv, rows, 2 * cells);
        has(&self_repair, 5, cells);
        let sources = [input, params, out_deriv, self_repair];
        assert!(!overlap(&in_deriv.as_view(), &params_deriv.as_view()), "derivatives overlap");
        let in_deriv = (!in_deriv.is_empty()).then(|| {
            assert!(in_deriv.rows() == rows && in_deriv.cols() >= 5 * cells, "{in_deriv:?} for {input:?}");
            split(in_deriv, sources).0
        });
        let params_deriv = (!params_deriv.is_empty()).then(|| {
            has(&params_deriv.as_view(), 3, cells);
            split(params_deriv, sources).0
        });
        let sums = sums.map(|LstmSums { values, derivs }| {
            assert!(
                values.len() == 5 * cells && derivs.len() == 5 * cells,
                "{} sums for {cells} cells",
                values.len()
            );
            (values.values_mut(), derivs.values_mut())
        });
        let [input, params, out_deriv, self_repair] = sources.map(source);
        SUMS.with_borrow_mut(|all| {
            let stretches = stretches(all, cells);
            simd::run(Backward {
                input,
                params,
                out_deriv,
                self_repair,
                in_deriv,
                params_deriv,
                sums,
                stretches,
            })
        })
    }
}
