//! Matrices to try primitives on.

use nnet3_matrix::{Arena, Device, Element, View, ViewMut};
use std::cell::Cell;

thread_local! {
    /// True if about half of the operands are halves.
    static MIXED: Cell<bool> = const { Cell::new(false) };
}

/// Runs checks with operands in both forms, of which each gets one by chance. The device must have memory of its own.
pub fn with_both_forms(run: impl FnOnce()) {
    MIXED.set(true);
    run();
    MIXED.set(false);
}

/// The device of a check, and its random numbers.
pub(crate) struct Case {
    pub device: Device,
    state: u64,
}

impl Case {
    pub fn new(device: &Device, seed: u64) -> Case {
        Case { device: device.clone(), state: seed }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state ^ (self.state >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.bits() as usize % limit
    }

    /// Roughly normal with variance 1.
    pub fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.bits() as f32 / 4294967296.0 - 0.5).sum::<f32>() * 1.732
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Random elements, laid out in one of several ways.
    pub(crate) fn normals(&mut self, rows: usize, cols: usize) -> Operand {
        self.operand(rows, cols, |case, _, _| case.normal())
    }

    pub(crate) fn operand(
        &mut self,
        rows: usize,
        cols: usize,
        f: impl FnMut(&mut Case, usize, usize) -> f32,
    ) -> Operand {
        let form = match MIXED.get() && self.below(2) == 0 {
            true => Element::Half,
            false => Element::Float,
        };
        self.operand_in(form, rows, cols, f)
    }

    /// As [`Case::normals`], always floats: what primitives leave for each other in scratch memory.
    pub(crate) fn normal_floats(&mut self, rows: usize, cols: usize) -> Operand {
        self.operand_in(Element::Float, rows, cols, |case, _, _| case.normal())
    }

    pub(crate) fn operand_in(
        &mut self,
        form: Element,
        rows: usize,
        cols: usize,
        mut f: impl FnMut(&mut Case, usize, usize) -> f32,
    ) -> Operand {
        let layouts = [(0, 0, 1, 0), (0, 0, 1, 0), (0, 3, 1, 2), (2, 0, 1, 5), (1, 16, 2, 7), (0, 0, 3, 0)];
        let (top, left, step, right) = self.one_of(&layouts);
        let (height, width) = (top + rows * step, left + cols + right);
        let mut host: Vec<f32> = (0..height * width).map(|_| self.normal()).collect();
        for i in 0..rows {
            for j in 0..cols {
                host[(top + i * step) * width + left + j] = f(self, i, j);
            }
        }
        host.iter_mut().for_each(|x| *x = form.nearest(*x));
        let memory = Arena::new(&self.device, form.floats(height * width));
        self.device.upload(memory.view_of(form, 0, height, width, width), &host);
        let device = self.device.clone();
        Operand { device, memory, form, height, width, host, rows, cols, top, left, step }
    }
}

/// A matrix inside a larger one, and its initial contents.
pub(crate) struct Operand {
    device: Device,
    memory: Arena,
    form: Element,
    height: usize,
    width: usize,
    host: Vec<f32>,
    pub rows: usize,
    pub cols: usize,
    top: usize,
    left: usize,
    step: usize,
}

impl Operand {
    fn whole(&self) -> ViewMut<'_> {
        self.memory.view_of(self.form, 0, self.height, self.width, self.width)
    }

    fn part(&self) -> ViewMut<'_> {
        let (rows, cols) = (self.top..self.height, self.left..self.left + self.cols);
        self.whole().sub(rows, cols).every(0, self.step, self.rows)
    }

    pub fn view(&self) -> View<'_> {
        self.part().as_view()
    }

    pub fn view_mut(&mut self) -> ViewMut<'_> {
        self.part()
    }

    fn index(&self, i: usize, j: usize) -> usize {
        assert!(i < self.rows && j < self.cols);
        (self.top + i * self.step) * self.width + self.left + j
    }

    /// The element before any primitive ran.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.host[self.index(i, j)] as f64
    }

    /// The element as products take it, if their factors have this form.
    pub fn factor_at(&self, form: Element, i: usize, j: usize) -> f64 {
        f64::from(form.nearest(self.at(i, j) as f32))
    }

    pub fn form(&self) -> Element {
        self.form
    }

    /// Row `i` before any primitive ran.
    pub fn row(&self, i: usize) -> Vec<f64> {
        (0..self.cols).map(|j| self.at(i, j)).collect()
    }

    /// Checks that each element equals the first of the pair that `want` returns, to within `tolerance` times the
    /// second (the size of its terms), and to within its own rounding. Checks that the elements around the matrix are unchanged.
    #[track_caller]
    pub fn expect(&self, tolerance: f64, mut want: impl FnMut(usize, usize) -> (f64, f64)) {
        let now = self.device.download(self.whole().as_view());
        let rounding = if self.form == Element::Half { HALF_ROUNDING } else { 0.0 };
        let mut expected = self.host.clone();
        for i in 0..self.rows {
            for j in 0..self.cols {
                let k = self.index(i, j);
                let (value, size) = want(i, j);
                let got = now[k] as f64;
                let close = (got - value).abs() <= tolerance * size + rounding * value.abs()
                    || got == value
                    || (got.is_nan() && value.is_nan());
                assert!(
                    close,
                    "({i}, {j}) of {} x {}: {got}, not {value} (terms {size})",
                    self.rows, self.cols
                );
                expected[k] = now[k];
            }
        }
        let same = now.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "something outside the {} x {} matrix was written", self.rows, self.cols);
    }

    /// [`Operand::expect`] relative to the values themselves.
    #[track_caller]
    pub(crate) fn expect_values(&self, tolerance: f64, mut want: impl FnMut(usize, usize) -> f64) {
        self.expect(tolerance, |i, j| {
            let value = want(i, j);
            (value, value.abs())
        })
    }

    #[track_caller]
    pub(crate) fn expect_unchanged(&self) {
        self.expect(0.0, |i, j| (self.at(i, j), 0.0))
    }
}

/// Largest relative rounding to 7 bits of mantissa, and a little more.
const HALF_ROUNDING: f64 = 1.001 / 256.0;

/// The form of a product's factors: halves if one of these is, two factors and the product.
pub(crate) fn form_of_factors(operands: [&Operand; 3]) -> Element {
    let halves = operands.iter().any(|operand| operand.form == Element::Half);
    if halves { Element::Half } else { Element::Float }
}

/// Rounding of one operation, with room for a few.
pub(crate) const CLOSE: f64 = 5e-7;

/// Calls `check(case, rows, cols)` for matrices so large that a GPU's threads take several elements each, down columns and
/// along rows.
pub(crate) fn large_cases(device: &Device, mut check: impl FnMut(&mut Case, usize, usize)) {
    let mut case = Case { device: device.clone(), state: 11 };
    for (rows, cols) in [(300, 500), (1031, 130), (1, 140_000), (140_000, 1)] {
        check(&mut case, rows, cols);
    }
}

/// Calls `check(case, rows, cols)` for many sizes.
pub(crate) fn cases(device: &Device, mut check: impl FnMut(&mut Case, usize, usize)) {
    let mut case = Case { device: device.clone(), state: 7 };
    let fixed = [
        (0, 0),
        (0, 5),
        (4, 0),
        (1, 1),
        (1, 2),
        (2, 1),
        (1, 70),
        (70, 1),
        (3, 16),
        (16, 3),
        (5, 64),
        (64, 5),
        (33, 65),
        (200, 17),
        (300, 4),
        (3, 1100),
        (150, 700),
    ];
    for (rows, cols) in fixed {
        check(&mut case, rows, cols);
    }
    for _ in 0..40 {
        let (rows, cols) = (1 + case.below(70), 1 + case.below(70));
        check(&mut case, rows, cols);
    }
}
