//! Linear equations with a positive definite matrix, from a solution that is nearly right (`LinearCgd` of
//! `matrix/optimization.cc`).

use kaldi_io::SymmetricMatrix;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// The course of a solution of equations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solution {
    /// It was found by steps of conjugate gradients.
    Approximate,
    /// It was found by eigenvalues, since the steps had led away from the solution.
    Exact,
}

/// The residual is worked out anew when its norm has changed by this factor.
const RECOMPUTE: f64 = 0.01;
/// The largest ratio of eigenvalues that the exact solution allows.
const CONDITION: f64 = 1e4;
/// Steps after which a search for eigenvalues ends without them.
const MOST_ROTATIONS: usize = 100_000;

/// Solves A x = b by at most `steps` steps from where `x` is. A is n × n and positive definite, `b` and `x` have n elements.
/// If the steps lead away from the solution, eigenvalues give it.
pub fn conjugate_gradients(a: &SymmetricMatrix<f64>, b: &[f64], steps: usize, x: &mut [f64]) -> Solution {
    let before = x.to_vec();
    let a = Full::new(a);
    // Residuals are A x − b, directions lead away from them.
    let mut residual = a.residual(x, b);
    let mut direction: Vec<f64> = residual.iter().map(|r| -r).collect();
    let first = dot(&residual, &residual);
    let (mut current, mut known) = (first, first);
    let mut step = 0;
    while step < steps.min(b.len() + 5) && current > f64::MIN_POSITIVE {
        let moved = a.times(&direction);
        let length = -dot(&direction, &residual) / dot(&direction, &moved);
        add(x, &direction, length);
        add(&mut residual, &moved, length);
        let mut next = dot(&residual, &residual);
        if next < RECOMPUTE.powi(2) * known || next > known / RECOMPUTE.powi(2) {
            residual = a.residual(x, b);
            next = dot(&residual, &residual);
            known = next;
        }
        let keep = next / current;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = keep * *d - r);
        current = next;
        step += 1;
    }
    if current <= first || current <= first + 1e-10 * dot(b, b) {
        return Solution::Approximate;
    }
    x.copy_from_slice(&before);
    a.solve_exactly(b, x);
    Solution::Exact
}

/// A symmetric matrix with both halves, row after row.
struct Full {
    dim: usize,
    data: Vec<f64>,
}

impl Full {
    fn new(packed: &SymmetricMatrix<f64>) -> Self {
        let dim = packed.dim;
        let mut data = vec![0.0; dim * dim];
        let mut rest = &packed.data[..];
        for i in 0..dim {
            let (row, next) = rest.split_at(i + 1);
            data[i * dim..=i * dim + i].copy_from_slice(row);
            row.iter().enumerate().for_each(|(j, &value)| data[j * dim + i] = value);
            rest = next;
        }
        Full { dim, data }
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.dim];
        self.data.chunks_exact(self.dim).zip(x).for_each(|(row, &factor)| add(&mut out, row, factor));
        out
    }

    /// A x − b.
    fn residual(&self, x: &[f64], b: &[f64]) -> Vec<f64> {
        let mut out = self.times(x);
        add(&mut out, b, -1.0);
        out
    }

    /// Moves x to the solution, but for directions in which the matrix says next to nothing.
    fn solve_exactly(&self, b: &[f64], x: &mut [f64]) {
        let residual = DVector::from_vec(self.residual(x, b));
        let matrix = DMatrix::from_row_slice(self.dim, self.dim, &self.data);
        // Without eigenvalues, as of numbers that are not finite, x stays where it is.
        let Some(eigen) = SymmetricEigen::try_new(matrix, f64::EPSILON, MOST_ROTATIONS) else { return };
        let floor = (eigen.eigenvalues.max() / CONDITION).max(f64::MIN_POSITIVE);
        let mut change = eigen.eigenvectors.tr_mul(&residual);
        change.iter_mut().zip(&eigen.eigenvalues).for_each(|(c, value)| *c /= value.max(floor));
        add(x, (&eigen.eigenvectors * change).as_slice(), -1.0);
    }
}

fn add(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equations(dim: usize, seed: u64) -> (SymmetricMatrix<f64>, Vec<f64>) {
        let mut random = fastrand::Rng::with_seed(seed);
        let l = DMatrix::from_fn(dim, dim, |_, _| random.f64() - 0.5);
        let a = &l * l.transpose() + DMatrix::identity(dim, dim);
        let mut packed = SymmetricMatrix::new(dim);
        for i in 0..dim {
            (0..=i).for_each(|j| packed.data[SymmetricMatrix::<f64>::offset(i, j)] = a[(i, j)]);
        }
        (packed, (0..dim).map(|_| random.f64() * 10.0).collect())
    }

    fn exact(a: &SymmetricMatrix<f64>, b: &[f64]) -> DVector<f64> {
        let full = DMatrix::from_fn(a.dim, a.dim, |i, j| a.get(i, j));
        full.lu().solve(&DVector::from_column_slice(b)).unwrap()
    }

    #[test]
    fn few_steps_come_near_and_many_nearer() {
        for dim in [1, 2, 30] {
            let (a, b) = equations(dim, dim as u64);
            let wanted = exact(&a, &b);
            let error = |steps| {
                let mut x = vec![0.5; dim];
                assert_eq!(conjugate_gradients(&a, &b, steps, &mut x), Solution::Approximate);
                (DVector::from_vec(x) - &wanted).norm() / wanted.norm()
            };
            assert!(error(15) < 1e-3, "{dim}: {}", error(15));
            assert!(error(100) < 1e-9, "{dim}: {}", error(100));
        }
        // From the solution itself no step is taken.
        let mut identity = SymmetricMatrix::new(2);
        identity.data = vec![1.0, 0.0, 1.0];
        let mut x = vec![3.0, 4.0];
        conjugate_gradients(&identity, &[3.0, 4.0], 15, &mut x);
        assert_eq!(x, [3.0, 4.0]);
    }

    /// One step along the residual makes it larger where eigenvalues differ much: α = rᵀr / rᵀAr = 0.505, and the second
    /// element becomes 0.1 (1 − 100 α) = −4.95.
    #[test]
    fn a_solution_that_became_worse_is_replaced_by_the_exact_one() {
        let a = SymmetricMatrix { dim: 2, data: vec![1.0, 0.0, 100.0] };
        let mut x = vec![0.0, 0.0];
        assert_eq!(conjugate_gradients(&a, &[1.0, 0.1], 1, &mut x), Solution::Exact);
        assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 0.001).abs() < 1e-12, "{x:?}");
        // Two steps solve two equations.
        let mut x = vec![0.0, 0.0];
        assert_eq!(conjugate_gradients(&a, &[1.0, 0.1], 2, &mut x), Solution::Approximate);
        assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 0.001).abs() < 1e-9, "{x:?}");
        // Eigenvalues below the largest / 10⁴ count as if they were that.
        let a = SymmetricMatrix { dim: 2, data: vec![1.0, 0.0, 1e6] };
        let mut x = vec![0.0, 0.0];
        assert_eq!(conjugate_gradients(&a, &[1.0, 1e-4], 1, &mut x), Solution::Exact);
        assert!((x[0] - 0.01).abs() < 1e-12, "{x:?}");
    }

    #[test]
    fn the_exact_way() {
        let (a, b) = equations(8, 5);
        let mut x = vec![-1.0; 8];
        Full::new(&a).solve_exactly(&b, &mut x);
        assert!((DVector::from_vec(x) - exact(&a, &b)).norm() < 1e-9);
        // One step along the residual of an indefinite matrix leads away.
        let mut indefinite = SymmetricMatrix::new(2);
        indefinite.data = vec![1.0, 0.0, -1.1];
        let mut x = vec![0.0, 0.0];
        assert_eq!(conjugate_gradients(&indefinite, &[1.0, 1.0], 1, &mut x), Solution::Exact);
        assert!(x.iter().all(|x| x.is_finite()), "{x:?}");
    }
}
