//! `normalized.cu`.

use super::sums::Split;
use super::{BLOCK, GpuBackend, WIDE, same_shape};
use crate::backend::{DerivBeforeRelu, Normalizations, NormalizedDeriv, NormalizedSum};
use crate::cuda::backend::PARTIALS;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op};
use crate::memory::{Accumulator, IndexTable};
use crate::view::{View, ViewMut};

/// Columns whose partial sums, of three kinds at most, find a place.
const MOST_COLUMNS: usize = PARTIALS / 512;

/// The first columns of the pieces of a matrix that are taken one after the other.
fn pieces(cols: usize) -> impl Iterator<Item = u32> {
    (0..cols as u32).step_by(MOST_COLUMNS)
}

/// At most [`MOST_COLUMNS`] columns from `first` on.
fn piece(m: Mat, first: u32) -> Mat {
    match m.rows {
        0 => m,
        _ => {
            Mat { address: m.address_of(first.into()), cols: (m.cols - first).min(MOST_COLUMNS as u32), ..m }
        }
    }
}

#[track_caller]
fn three_rows(rows: &View<'_>, cols: usize) {
    assert_eq!((rows.rows(), rows.cols()), (3, cols), "{rows:?} for {cols} columns");
}

/// Arguments that two kernels have.
struct Deriv {
    deriv: Mat,
    input: Mat,
    moments: Mat,
    masks: Mat,
    mask_of: u64,
}

impl Deriv {
    fn piece(&self, first: u32) -> [Arg; 5] {
        let [e, x, m, k] = [self.deriv, self.input, self.moments, self.masks].map(|m| piece(m, first));
        [Arg::Mat(e), Arg::Mat(x), Arg::Mat(m), Arg::Mat(k), Arg::Ints(self.mask_of)]
    }
}

impl<E: Engine> GpuBackend<E> {
    /// The masks and their numbers as kernels take them: 0 for the latter if there are none.
    #[track_caller]
    fn masks(&self, masks: Option<(View<'_>, &IndexTable)>, (rows, cols): (usize, usize)) -> (Mat, u64) {
        let Some((masks, numbers)) = masks else { return (Mat::EMPTY, 0) };
        assert_eq!(masks.cols(), cols, "columns of the masks");
        (self.mat(masks), self.row_numbers(numbers, rows, masks.rows()))
    }

    #[track_caller]
    fn row_numbers(&self, numbers: &IndexTable, rows: usize, limit: usize) -> u64 {
        assert_eq!(numbers.len(), rows, "numbers for a matrix of {rows} rows");
        self.indexes(numbers, limit, "index")
    }

    #[track_caller]
    fn deriv(&self, terms: &NormalizedDeriv<'_>) -> Deriv {
        let NormalizedDeriv { out_deriv, masks, input, moments } = *terms;
        same_shape(&out_deriv, &input);
        three_rows(&moments, input.cols());
        let (masks, mask_of) = self.masks(masks, (input.rows(), input.cols()));
        let [deriv, input, moments] = [out_deriv, input, moments].map(|view| self.mat(view));
        Deriv { deriv, input, moments, masks, mask_of }
    }

    /// A block and a grid for each row of blocks to sum some rows.
    fn split(&self, m: Mat) -> Split {
        Split::new(m.rows, m.cols, PARTIALS / m.cols as usize)
    }
}

/// A kernel with a thread for each column.
fn by_columns(kernel: &'static str, cols: u32, args: &[Arg]) -> Op {
    Op::Launch(Launch::new(kernel, [cols.div_ceil(BLOCK).clamp(1, WIDE), 1], [BLOCK, 1], args))
}

impl<E: Engine> Normalizations for GpuBackend<E> {
    fn rectified_moments(
        &self,
        moments: ViewMut<'_>,
        src: View<'_>,
        factor: f32,
        epsilon: f32,
        sums: Option<[&mut Accumulator; 2]>,
    ) {
        three_rows(&moments.as_view(), src.cols());
        if src.is_empty() {
            return;
        }
        let addresses = sums.map(|sums| {
            sums.map(|sums| {
                assert_eq!(sums.len(), src.cols(), "sums over rows of {src:?}");
                self.sums_of(sums)
            })
        });
        let (all_moments, all) = (self.mat(moments.as_view()), self.mat(src));
        for first in pieces(src.cols()) {
            let [moments, src] = [all_moments, all].map(|m| piece(m, first));
            let split = self.split(src);
            let args = [Arg::Doubles(self.partials), Arg::Mat(src), Arg::Int(split.height as i32)];
            let partials = Op::Launch(Launch::new("rectified_partials", split.grid, split.block, &args));
            let count = split.count();
            let args = [
                Arg::Mat(moments),
                Arg::Doubles(self.partials),
                Arg::Int(count as i32),
                Arg::Float(1.0 / src.rows as f32),
                Arg::Float(factor),
                Arg::Float(factor * epsilon),
            ];
            let finish = by_columns("finish_moments", src.cols, &args);
            let kind = count as usize * src.cols as usize;
            let accumulate = |(address, from): (u64, usize)| {
                self.accumulate_columns(address + 8 * u64::from(first), from, src.cols, count)
            };
            // No other work may come between, since all use the partial sums.
            let mut queue = self.queue.lock();
            queue.push(partials);
            queue.push(finish);
            if let Some([values, above]) = addresses {
                [(values, 0), (above, 2 * kind)].map(accumulate).into_iter().for_each(|op| queue.push(op));
            }
        }
    }

    fn normalized_sum(&self, dst: ViewMut<'_>, values: Option<ViewMut<'_>>, terms: &NormalizedSum<'_>) {
        let NormalizedSum { src, rectifies, moments, masks, bypass } = *terms;
        for matrix in values.map(|values| values.as_view()).into_iter().chain([src]) {
            same_shape(&dst.as_view(), &matrix);
        }
        let (height, width) = (dst.rows(), dst.cols());
        three_rows(&moments, width);
        if dst.is_empty() {
            return;
        }
        let (masks, mask_of) = self.masks(masks, (height, width));
        let (other, factor, rows) = match bypass {
            None => (Mat::EMPTY, 0.0, 0),
            Some(bypass) => {
                let other = bypass.matrix;
                assert_eq!(other.cols(), width, "columns of the other term");
                assert!(bypass.rows.is_some() || other.rows() == height, "{other:?} for {height} rows");
                let rows = bypass.rows.map_or(0, |rows| self.row_numbers(rows, height, other.rows()));
                (self.mat(other), bypass.factor, rows)
            }
        };
        let values = values.map_or(Mat::EMPTY, |values| self.mat(values.as_view()));
        let dst = self.mat(dst.as_view());
        let [src, moments] = [src, moments].map(|view| self.mat(view));
        let [d, v, x, m, k, o] = [dst, values, src, moments, masks, other].map(Arg::Mat);
        let rectifies = Arg::Int(i32::from(rectifies));
        let args = [d, v, x, rectifies, m, k, Arg::Ints(mask_of), Arg::Float(factor), o, Arg::Ints(rows)];
        self.fill("normalized_sum", dst, &args)
    }

    fn normalized_deriv_sums(&self, sums: ViewMut<'_>, factor: f32, terms: &NormalizedDeriv<'_>) {
        three_rows(&sums.as_view(), terms.input.cols());
        let all = self.deriv(terms);
        if terms.input.is_empty() {
            return;
        }
        let all_sums = self.mat(sums.as_view());
        for first in pieces(terms.input.cols()) {
            let (input, sums, moments) =
                (piece(all.input, first), piece(all_sums, first), piece(all.moments, first));
            let split = self.split(input);
            let [e, x, m, k, mask_of] = all.piece(first);
            let args = [Arg::Doubles(self.partials), e, x, m, k, mask_of, Arg::Int(split.height as i32)];
            let partials = Op::Launch(Launch::new("normalized_partials", split.grid, split.block, &args));
            let args = [
                Arg::Mat(sums),
                Arg::Doubles(self.partials),
                Arg::Int(split.count() as i32),
                Arg::Float(1.0 / input.rows as f32),
                Arg::Float(factor),
                Arg::Mat(moments),
            ];
            self.push_both(partials, by_columns("finish_normalized", input.cols, &args))
        }
    }

    fn normalized_deriv(
        &self,
        in_deriv: ViewMut<'_>,
        sums: View<'_>,
        terms: &NormalizedDeriv<'_>,
        rest: DerivBeforeRelu<'_>,
    ) {
        same_shape(&in_deriv.as_view(), &terms.input);
        three_rows(&sums, terms.input.cols());
        let all = self.deriv(terms);
        if in_deriv.is_empty() {
            return;
        }
        let (copy, factor) = match rest.copy {
            None => (Mat::EMPTY, 0.0),
            Some((copy, factor)) => {
                same_shape(&copy.as_view(), &in_deriv.as_view());
                (self.mat(copy.as_view()), factor)
            }
        };
        let squares = rest.squares.map(|squares| {
            assert_eq!(squares.len(), in_deriv.cols(), "sums over rows of {in_deriv:?}");
            self.sums_of(squares)
        });
        let (all_deriv, all_sums) = (self.mat(in_deriv.as_view()), self.mat(sums));
        for first in pieces(in_deriv.cols()) {
            let [d, s, copy] = [all_deriv, all_sums, copy].map(|m| piece(m, first));
            let split = self.split(d);
            let [e, x, m, k, mask_of] = all.piece(first);
            let args = [
                Arg::Mat(d),
                e,
                x,
                m,
                k,
                mask_of,
                Arg::Mat(s),
                Arg::Float(rest.repair),
                Arg::Mat(copy),
                Arg::Float(factor),
                Arg::Doubles(if squares.is_some() { self.partials } else { 0 }),
                Arg::Int(split.height as i32),
            ];
            let launch = Op::Launch(Launch::new("normalized_deriv", split.grid, split.block, &args));
            match squares {
                None => self.queue.lock().push(launch),
                Some(address) => {
                    let address = address + 8 * u64::from(first);
                    self.push_both(launch, self.accumulate_columns(address, 0, d.cols, split.count()))
                }
            }
        }
    }
}
