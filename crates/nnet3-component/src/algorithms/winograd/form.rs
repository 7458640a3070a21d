//! Tables of the filter: the sums of inputs and weights that are multiplied, and the sums of products that give a
//! tile's outputs.

use super::tiles::Tiles;
use std::sync::LazyLock;

/// A factor, and the number of the term that it multiplies.
pub(super) type Term = (f32, usize);

const MOST_TAPS: usize = 3;
/// Terms of a sum.
pub(super) const MOST_TERMS: usize = 6;
/// Evaluation points of the polynomials, for tiles of four, five and six inputs. More points need fewer products, but
/// their powers differ more in size. Among sets of small numbers, these give the smallest rounding errors.
const POINTS: [&[f64]; 3] = [&[0.0, 1.0, -1.0], &[0.0, 1.0, -0.5, -2.0], &[0.0, 1.0, -1.0, 0.5, -2.0]];

/// The products of a tile. The first and the last have the weights of the first and the last tap.
#[derive(Debug, PartialEq)]
pub(super) struct Form {
    pub taps: usize,
    /// Inputs from the first one of an output to that of the next.
    pub stride: usize,
    /// B: for each product, the sum of the tile's inputs that it reads.
    pub inputs: Vec<Vec<Term>>,
    /// A: for each output of the tile, the sum of products that it is.
    pub outputs: Vec<Vec<Term>>,
    /// G: for each mixed product, the factor of each tap's weights in its weights.
    pub mixtures: Vec<[f32; MOST_TAPS]>,
}

pub(super) static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    // With two taps more points save little, and sums take that back.
    let of_two = Form::new(2, POINTS[0]);
    let of_three = POINTS.into_iter().map(|points| Form::new(3, points));
    let others = [Form::plain(2), Form::plain(3), Form::strided(&of_two), of_two];
    others.into_iter().chain(of_three).collect()
});

impl Form {
    /// `points` begin with 0 and 1.
    fn new(taps: usize, points: &[f64]) -> Form {
        let inputs = points.len() + 1;
        let outputs = inputs + 1 - taps;
        // The coefficients of Π (x - p), lowest first.
        let with_zeros_at = |zeros: &mut dyn Iterator<Item = f64>| {
            zeros.fold(vec![1.0], |product, p| {
                let times_x = std::iter::once(0.0).chain(product.iter().copied());
                times_x.zip(product.iter().copied().chain([0.0])).map(|(x, c)| x - p * c).collect()
            })
        };
        let others = |j: usize| points.iter().enumerate().filter(move |&(l, _)| l != j).map(|(_, &p)| p);
        let size = |j: usize| others(j).map(|p| points[j] - p).product::<f64>();

        let mut rows: Vec<Vec<f64>> = (0..points.len()).map(|j| with_zeros_at(&mut others(j))).collect();
        rows[0].iter_mut().for_each(|b| *b /= size(0));
        rows.push(with_zeros_at(&mut points.iter().copied()));
        let terms = |row: &[f64]| -> Vec<Term> {
            row.iter().enumerate().filter(|(_, b)| **b != 0.0).map(|(k, &b)| (b as f32, k)).collect()
        };
        let output = |o: usize| {
            let leading = if o + 1 == outputs { 1.0 } else { 0.0 };
            let powers = points.iter().map(|p| p.powi(o as i32));
            terms(&powers.chain([leading]).collect::<Vec<f64>>())
        };
        let mixture = |j: usize| {
            std::array::from_fn(|k| if k < taps { (points[j].powi(k as i32) / size(j)) as f32 } else { 0.0 })
        };
        Form {
            taps,
            stride: 1,
            inputs: rows.iter().map(|row| terms(row)).collect(),
            outputs: (0..outputs).map(output).collect(),
            mixtures: (1..points.len()).map(mixture).collect(),
        }
    }

    /// One output and a product for each tap: for taps in one direction of a plane, if only the other one saves products.
    fn plain(taps: usize) -> Form {
        let only = |k: usize| std::array::from_fn(|l| f32::from(k == l));
        Form {
            taps,
            stride: 1,
            inputs: (0..taps).map(|k| vec![(1.0, k)]).collect(),
            outputs: vec![(0..taps).map(|k| (1.0, k)).collect()],
            mixtures: (1..taps - 1).map(only).collect(),
        }
    }

    /// Three taps, of which an output's third one is the first one of the next output: the filter `outer` of the first and the third
    /// taps, and a product of its own for each output's second one.
    fn strided(outer: &Form) -> Form {
        let (own, last) = (outer.outputs.len(), outer.products() - 1);
        let number = |j: usize| if j == last { last + own } else { j };
        let spread = |terms: &Vec<Term>| terms.iter().map(|&(factor, k)| (factor, 2 * k)).collect();
        let mut inputs: Vec<Vec<Term>> = outer.inputs.iter().map(spread).collect();
        inputs.splice(last..last, (0..own).map(|o| vec![(1.0, 2 * o + 1)]));
        let output = |(o, terms): (usize, &Vec<Term>)| {
            let outer = terms.iter().map(|&(factor, j)| (factor, number(j)));
            outer.chain([(1.0, last + o)]).collect()
        };
        let mixtures = outer.mixtures.iter().map(|&[first, third, _]| [first, 0.0, third]);
        Form {
            taps: 3,
            stride: 2,
            inputs,
            outputs: outer.outputs.iter().enumerate().map(output).collect(),
            mixtures: mixtures.chain((0..own).map(|_| [0.0, 1.0, 0.0])).collect(),
        }
    }

    /// The forms for this number of taps and this distance of outputs.
    pub fn of(taps: usize, stride: usize) -> impl Iterator<Item = &'static Form> {
        FORMS
            .iter()
            .filter(move |form| form.taps == taps && (form.stride == stride || form.outputs.len() == 1))
    }

    pub fn tiles(&self, step: usize, rows: usize) -> Tiles {
        Tiles { outputs: self.outputs.len(), step, rows }
    }

    pub fn products(&self) -> usize {
        self.inputs.len()
    }

    /// The taps whose weights product `j` multiplies, with their factors.
    pub fn weights(&self, j: usize) -> impl Iterator<Item = Term> + use<'_> {
        let taps = self.taps;
        let factor = move |k: usize| match j {
            0 => f32::from(k == 0),
            j if j + 1 == self.products() => f32::from(k + 1 == taps),
            j => self.mixtures[j - 1][k],
        };
        (0..taps).map(move |k| (factor(k), k)).filter(|term| term.0 != 0.0)
    }

    /// Column `k` of these rows of a table: the factor and the row of each entry.
    pub(crate) fn with_term(rows: &[Vec<Term>], k: usize) -> impl Iterator<Item = Term> {
        let factor = move |row: &Vec<Term>| row.iter().find(|term| term.1 == k).map(|term| term.0);
        rows.iter().enumerate().filter_map(move |(r, row)| Some((factor(row)?, r)))
    }
}
