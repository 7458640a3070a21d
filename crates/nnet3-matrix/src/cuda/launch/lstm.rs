//! `lstm.cu`.

use super::sums::Split;
use super::{GpuBackend, elements};
use crate::backend::{LstmBackward, LstmSums, RecurrentCells};
use crate::cuda::backend::PARTIALS;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op};
use crate::view::{View, ViewMut};

/// `SUMS` of `lstm.cu`: of peephole weights' derivatives, of values, of slopes.
const WEIGHTS: usize = 3;
const UNITS: usize = 5;
const SUMS: usize = WEIGHTS + 2 * UNITS;

/// Checks the shapes of input and parameters; returns the number of cells.
#[track_caller]
fn cells_of(input: &View<'_>, params: &View<'_>) -> usize {
    let cells = params.cols();
    assert_eq!(params.rows(), WEIGHTS, "rows of peephole weights");
    assert!(
        input.cols() == 5 * cells || input.cols() == 5 * cells + 3,
        "{} input columns for {cells} cells",
        input.cols()
    );
    cells
}

impl<E: Engine> RecurrentCells for GpuBackend<E> {
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>) {
        let cells = cells_of(&input, &params);
        assert!(
            output.rows() == input.rows() && output.cols() == 2 * cells,
            "output {output:?} for input {input:?}"
        );
        if output.is_empty() {
            return;
        }
        let (grid, block) = elements(output.rows() as u32, cells as u32);
        let args = [self.mat(output.as_view()), self.mat(input), self.mat(params)].map(Arg::Mat);
        self.push(Launch::new("lstm_cell", grid, block, &args))
    }
    fn lstm_cell_backward(&self, cell: LstmBackward<'_>) {
        let LstmBackward { input, params, out_deriv, self_repair, in_deriv, params_deriv, sums } = cell;
        let cells = cells_of(&input, &params);
        let rows = input.rows();
        let has = |view: View<'_>, rows: usize, cols: usize| {
            assert!(view.rows() == rows && view.cols() == cols, "{view:?} where {rows} x {cols} is expected");
        };
        has(out_deriv, rows, 2 * cells);
        has(self_repair, UNITS, cells);
        if !in_deriv.is_empty() {
            assert!(in_deriv.rows() == rows && in_deriv.cols() >= 5 * cells, "{in_deriv:?} for {input:?}");
        }
        if !params_deriv.is_empty() {
            has(params_deriv.as_view(), WEIGHTS, cells);
        }
        if let Some(LstmSums { values, derivs: slopes }) = &sums {
            assert!(values.len() == UNITS * cells && slopes.len() == UNITS * cells, "sums for {cells} cells");
        }
        if rows == 0 || cells == 0 {
            return;
        }
        assert!(SUMS * cells <= PARTIALS, "{cells} cells");
        let split = Split::new(rows as u32, cells as u32, PARTIALS / (SUMS * cells));
        let [x, w, e, repair] = [input, params, out_deriv, self_repair].map(|view| Arg::Mat(self.mat(view)));
        let d = Arg::Mat(self.mat(in_deriv.as_view()));
        let args = [x, w, e, repair, d, Arg::Doubles(self.partials), Arg::Int(split.height as i32)];
        let mut ops = vec![Op::Launch(Launch::new("lstm_cell_backward", split.grid, split.block, &args))];
        // Partial sums of one kind.
        let kind = cells * split.count() as usize;
        if !params_deriv.is_empty() {
            for k in 0..WEIGHTS {
                let row = self.mat(params_deriv.row(k).as_view());
                ops.push(self.finish_columns(Mat { rows: 1, ..row }, 1.0, k * kind, split.count(), 1.0));
            }
        }
        if let Some(LstmSums { values, derivs: slopes }) = sums {
            for (sums, first) in [(values, WEIGHTS), (slopes, WEIGHTS + UNITS)] {
                let address = self.sums_of(sums);
                for unit in 0..UNITS {
                    let to = address + 8 * (unit * cells) as u64;
                    ops.push(self.accumulate_columns(to, (first + unit) * kind, cells as u32, split.count()));
                }
            }
        }
        let mut queue = self.queue.lock();
        ops.into_iter().for_each(|op| queue.push(op));
    }
}
