//! The LSTM cell; derivatives are compared with differences of the forward function in `f64`.

use super::*;
use nnet3_matrix::{Accumulator, LstmBackward, LstmSums, Matrix, ViewMut};

/// Inputs of one cell in one row: i, f, g, o parts, previous c.
type In = [f64; 5];

struct Cell {
    /// i, f, g, o, h.
    values: In,
    c: f64,
    m: f64,
}

fn forward(x: In, weights: [f64; 3], keep: [f64; 3]) -> Cell {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let i = sigmoid(x[0] + weights[0] * x[4]);
    let f = sigmoid(x[1] + weights[1] * x[4]);
    let g = x[2].tanh();
    let c = f * keep[1] * x[4] + i * keep[0] * g;
    let o = sigmoid(x[3] + weights[2] * c);
    let h = c.tanh();
    Cell { values: [i, f, g, o, h], c, m: o * keep[2] * h }
}

/// One call's operands.
struct Problem {
    cells: usize,
    input: Operand,
    params: Operand,
}

impl Problem {
    fn new(case: &mut Case, rows: usize, cells: usize) -> Problem {
        let masked = case.below(2) == 0;
        let input = case.operand(rows, 5 * cells + if masked { 3 } else { 0 }, |case, _, j| {
            if j < 5 * cells { case.normal() } else { case.one_of(&[0.0, 1.0, 1.25]) }
        });
        Problem { cells, input, params: case.normals(3, cells) }
    }

    fn inputs(&self, row: usize, cell: usize) -> In {
        [0, 1, 2, 3, 4].map(|k| self.input.at(row, k * self.cells + cell))
    }

    fn weights(&self, cell: usize) -> [f64; 3] {
        [0, 1, 2].map(|k| self.params.at(k, cell))
    }

    fn keep(&self, row: usize) -> [f64; 3] {
        if self.input.cols == 5 * self.cells {
            return [1.0; 3];
        }
        [0, 1, 2].map(|k| self.input.at(row, 5 * self.cells + k))
    }
}

pub(crate) fn lstm_cell(device: &Device) {
    cases(device, |case, rows, cells| {
        let problem = Problem::new(case, rows, cells);
        let mut out = case.normals(rows, 2 * cells);
        device.lstm_cell(out.view_mut(), problem.input.view(), problem.params.view());
        out.expect(2e-6, |i, j| {
            let cell = j % cells;
            let result = forward(problem.inputs(i, cell), problem.weights(cell), problem.keep(i));
            (if j < cells { result.c } else { result.m }, 1.0 + problem.input.at(i, 4 * cells + cell).abs())
        });
    });
}

/// Exact results for one cell in one row.
struct Derivatives {
    input: In,
    weights: [f64; 3],
    values: In,
    slopes: In,
}

/// Differentiates the loss dc · c + dm · m by differences; the self-repair amounts r enter as gradients that push
/// each nonlinearity back towards its middle.
fn differentiate(x: In, weights: [f64; 3], keep: [f64; 3], [dc, dm]: [f64; 2], r: In) -> Derivatives {
    let here = forward(x, weights, keep);
    let [i, f, g, o, h] = here.values;
    // Self-repair terms of the derivative at the inputs of i, f, g, o and tanh(c).
    let push =
        [-(2.0 * i - 1.0) * r[0], -(2.0 * f - 1.0) * r[1], -g * r[2], -(2.0 * o - 1.0) * r[3], -h * r[4]];
    // Loss with those as constants times the nonlinearities' inputs.
    let loss = |x: In, w: [f64; 3]| {
        let cell = forward(x, w, keep);
        let inputs = [x[0] + w[0] * x[4], x[1] + w[1] * x[4], x[2], x[3] + w[2] * cell.c, cell.c];
        dc * cell.c + dm * cell.m + push.iter().zip(inputs).map(|(p, x)| p * x).sum::<f64>()
    };
    const STEP: f64 = 1e-5;
    let by_input = |k: usize| {
        let moved = |d: f64| std::array::from_fn(|j| if j == k { x[j] + d } else { x[j] });
        (loss(moved(STEP), weights) - loss(moved(-STEP), weights)) / (2.0 * STEP)
    };
    let by_weight = |k: usize| {
        let moved = |d: f64| std::array::from_fn(|j| if j == k { weights[j] + d } else { weights[j] });
        (loss(x, moved(STEP)) - loss(x, moved(-STEP))) / (2.0 * STEP)
    };
    let slopes = [i * (1.0 - i), f * (1.0 - f), 1.0 - g * g, o * (1.0 - o), 1.0 - h * h];
    Derivatives {
        input: std::array::from_fn(by_input),
        weights: std::array::from_fn(by_weight),
        values: here.values,
        slopes,
    }
}

pub(crate) fn lstm_cell_backward(device: &Device) {
    cases(device, |case, rows, cells| {
        let problem = Problem::new(case, rows, cells);
        let (input, params) = (problem.input.view(), problem.params.view());
        let out_deriv = case.normals(rows, 2 * cells);
        let repair = case.operand(5, cells, |case, _, _| if case.below(2) == 0 { 0.0 } else { 0.1 });
        let extra = case.below(2) * 3;
        let (mut in_deriv, mut params_deriv) =
            (case.normals(rows, 5 * cells + extra), case.normals(3, cells));
        let before: Vec<f64> = (0..5 * cells).map(|_| case.normal() as f64).collect();
        let (mut values, mut slopes) =
            (Accumulator::from_vec(before.clone()), Accumulator::from_vec(before.clone()));
        let (out_deriv_view, self_repair) = (out_deriv.view(), repair.view());
        let run = |in_deriv: ViewMut<'_>, params_deriv: ViewMut<'_>, sums: Option<LstmSums<'_>>| {
            device.lstm_cell_backward(LstmBackward {
                input,
                params,
                out_deriv: out_deriv_view,
                self_repair,
                in_deriv,
                params_deriv,
                sums,
            })
        };
        let sums = LstmSums { values: &mut values, derivs: &mut slopes };
        run(in_deriv.view_mut(), params_deriv.view_mut(), Some(sums));
        let exact: Vec<Derivatives> = (0..rows * cells)
            .map(|k| {
                let (i, c) = (k / cells, k % cells);
                let deriv = [out_deriv.at(i, c), out_deriv.at(i, cells + c)];
                let repair = [0, 1, 2, 3, 4].map(|part| repair.at(part, c));
                differentiate(problem.inputs(i, c), problem.weights(c), problem.keep(i), deriv, repair)
            })
            .collect();
        let check_in_deriv = |in_deriv: &Operand| {
            in_deriv.expect(5e-6, |i, j| {
                if j >= 5 * cells {
                    return (in_deriv.at(i, j), 0.0);
                }
                let want = exact[i * cells + j % cells].input[j / cells];
                (want, 5.0 + want.abs())
            })
        };
        let check_params = |params_deriv: &Operand| {
            params_deriv.expect(5e-6, |k, c| {
                let terms = (0..rows).map(|i| exact[i * cells + c].weights[k]);
                terms.fold((params_deriv.at(k, c), 5.0), |(sum, size), x| (sum + x, size + x.abs()))
            })
        };
        check_in_deriv(&in_deriv);
        check_params(&params_deriv);
        for (k, before) in before.into_iter().enumerate() {
            let total = |of: &dyn Fn(&Derivatives) -> f64| {
                (0..rows).map(|i| of(&exact[i * cells + k % cells])).sum::<f64>()
            };
            let want = before + total(&|d| d.values[k / cells]);
            assert!((values.values()[k] - want).abs() < 1e-6 * (rows + 1) as f64);
            let want = before + total(&|d| d.slopes[k / cells]);
            assert!((slopes.values()[k] - want).abs() < 1e-6 * (rows + 1) as f64);
        }
        // Each result alone.
        let (mut only_in, mut only_params) = (case.normals(rows, 5 * cells), case.normals(3, cells));
        let (mut none, mut nothing) = (Matrix::zeros(device, 0, 0), Matrix::zeros(device, 0, 0));
        run(only_in.view_mut(), none.view_mut(), None);
        run(nothing.view_mut(), only_params.view_mut(), None);
        check_in_deriv(&only_in);
        check_params(&only_params);
    });
}
