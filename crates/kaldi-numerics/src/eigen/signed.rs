//! Eigenvalues and eigenvectors of symmetric matrices, with the signs that the reference gives to eigenvectors.
//!
//! Any sign is correct, but scripts use the vectors further, and meet random numbers. Models are reproducible only if
//! the signs are. So the order of operations is the reference's: Householder reflections from the last row upwards,
//! then implicit QR steps (Golub and Van Loan, Matrix Computations, 8.3).

use nalgebra::DMatrix;

/// The largest number of QR steps for each row. Two or three are usual.
const MOST_STEPS: usize = 100;

/// Eigenvalues and, as rows, eigenvectors of length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    pub values: Vec<f64>,
    pub vectors: DMatrix<f64>,
}

impl Eigen {
    /// Decomposes a symmetric matrix. Only the lower triangle is read. Eigenvalues are not sorted. Returns `None` if
    /// the matrix has elements that are not finite.
    pub fn new(matrix: &DMatrix<f64>) -> Option<Eigen> {
        if matrix.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let n = matrix.nrows();
        let mut matrix = DMatrix::from_fn(n, n, |i, j| matrix[(i.max(j), i.min(j))]);
        let mut vectors = DMatrix::identity(n, n);
        for k in (2..n).rev() {
            reflect(&mut matrix, &mut vectors, k);
        }
        let mut diagonal: Vec<f64> = (0..n).map(|i| matrix[(i, i)]).collect();
        let mut beside: Vec<f64> = (1..n).map(|i| matrix[(i, i - 1)]).collect();
        for _ in 0..=MOST_STEPS * n {
            for i in 0..beside.len() {
                if beside[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs()) {
                    beside[i] = 0.0;
                }
            }
            // The lowest block whose elements beside the diagonal are not 0.
            let Some(last) = beside.iter().rposition(|&x| x != 0.0) else {
                return Some(Eigen { values: diagonal, vectors });
            };
            let first = beside[..last].iter().rposition(|&x| x == 0.0).map_or(0, |zero| zero + 1);
            qr_step(&mut diagonal[first..last + 2], &mut beside[first..=last], &mut vectors, first);
        }
        None
    }

    /// Sorts by absolute eigenvalue, the largest first.
    pub fn sorted(self) -> Eigen {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.values[b].abs().total_cmp(&self.values[a].abs()));
        Eigen {
            values: order.iter().map(|&i| self.values[i]).collect(),
            vectors: DMatrix::from_fn(order.len(), order.len(), |i, j| self.vectors[(order[i], j)]),
        }
    }
}

/// Makes the first k elements of row k zero, except for the last of them. It applies a reflection I − β v vᵀ, and v is
/// 1 in its last element.
fn reflect(matrix: &mut DMatrix<f64>, vectors: &mut DMatrix<f64>, k: usize) {
    let mut v: Vec<f64> = (0..k).map(|j| matrix[(k, j)]).collect();
    let last = v[k - 1];
    let rest: f64 = v[..k - 1].iter().map(|x| x * x).sum();
    if rest == 0.0 {
        return;
    }
    let norm = (last * last + rest).sqrt();
    let pivot = if last <= 0.0 { last - norm } else { -rest / (last + norm) };
    let beta = 2.0 * pivot * pivot / (rest + pivot * pivot);
    v[k - 1] = pivot;
    v.iter_mut().for_each(|x| *x /= pivot);
    // A := P A P = A − v wᵀ − w vᵀ with w = p − ½ β (pᵀ v) v and p = β A v.
    let p: Vec<f64> = (0..k).map(|i| beta * (0..k).map(|j| matrix[(i, j)] * v[j]).sum::<f64>()).collect();
    let half = 0.5 * beta * p.iter().zip(&v).map(|(p, v)| p * v).sum::<f64>();
    let w: Vec<f64> = p.iter().zip(&v).map(|(p, v)| p - half * v).collect();
    for j in 0..k {
        for i in 0..k {
            matrix[(i, j)] -= v[i] * w[j] + w[i] * v[j];
        }
    }
    for j in 0..k - 1 {
        matrix[(k, j)] = 0.0;
        matrix[(j, k)] = 0.0;
    }
    matrix[(k, k - 1)] = norm;
    matrix[(k - 1, k)] = norm;
    for mut column in vectors.column_iter_mut() {
        let factor = beta * (0..k).map(|i| v[i] * column[i]).sum::<f64>();
        (0..k).for_each(|i| column[i] -= factor * v[i]);
    }
}

/// Makes one implicit step with Wilkinson's shift on a block; row 0 of the block is row `offset` of `vectors`.
fn qr_step(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut DMatrix<f64>, offset: usize) {
    let n = diagonal.len();
    let delta = (diagonal[n - 2] - diagonal[n - 1]) / 2.0;
    let square = beside[n - 2] * beside[n - 2];
    let root = (delta * delta + square).sqrt();
    let shift = diagonal[n - 1] - square / (delta + if delta > 0.0 { root } else { -root });
    let (mut x, mut z) = (diagonal[0] - shift, beside[0]);
    for k in 0..n - 1 {
        let (c, s) = rotation(x, z);
        for mut column in vectors.column_iter_mut() {
            let (first, second) = (column[offset + k], column[offset + k + 1]);
            column[offset + k] = c * first - s * second;
            column[offset + k + 1] = s * first + c * second;
        }
        let (p, q, r) = (diagonal[k], beside[k], diagonal[k + 1]);
        diagonal[k] = c * (c * p - s * q) - s * (c * q - s * r);
        beside[k] = s * (c * p - s * q) + c * (c * q - s * r);
        diagonal[k + 1] = s * (s * p + c * q) + c * (s * q + c * r);
        if k > 0 {
            beside[k - 1] = c * beside[k - 1] - s * z;
        }
        if k + 2 < n {
            x = beside[k];
            z = -s * beside[k + 1];
            beside[k + 1] *= c;
        }
    }
}

/// Cosine and sine of the rotation that makes the second of two elements zero.
fn rotation(x: f64, z: f64) -> (f64, f64) {
    if z == 0.0 {
        (1.0, 0.0)
    } else if z.abs() > x.abs() {
        let tau = -x / z;
        let s = 1.0 / (1.0 + tau * tau).sqrt();
        (s * tau, s)
    } else {
        let tau = -z / x;
        let c = 1.0 / (1.0 + tau * tau).sqrt();
        (c, c * tau)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_matrix;

    #[test]
    fn decomposition() {
        for n in [1, 2, 3, 8, 25] {
            let random = random_matrix(n, n, n as u64);
            let matrix = &random + random.transpose();
            let Eigen { values, vectors } = Eigen::new(&matrix).unwrap().sorted();
            assert!((&vectors * vectors.transpose() - DMatrix::identity(n, n)).amax() < 1e-12);
            let product = vectors.transpose() * DMatrix::from_diagonal(&values.clone().into()) * &vectors;
            assert!((product - matrix).amax() < 1e-12);
            assert!(values.windows(2).all(|pair| pair[0].abs() >= pair[1].abs()));
        }
        let diagonal = DMatrix::from_diagonal(&vec![1.0, -3.0, 2.0].into());
        assert_eq!(Eigen::new(&diagonal).unwrap().sorted().values, [-3.0, 2.0, 1.0]);
        assert_eq!(Eigen::new(&DMatrix::from_element(2, 2, f64::NAN)), None);
        assert_eq!(Eigen::new(&DMatrix::zeros(0, 0)).unwrap().values, [0.0; 0]);
    }
}
