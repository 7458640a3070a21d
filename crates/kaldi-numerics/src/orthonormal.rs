//! Orthonormal rows: by the inverse of a Cholesky factor, or by Gram–Schmidt.

/// Largest element of an inverted factor that is trusted.
const LARGEST_INVERSE: f64 = 100.0;

/// Overwrites `products` (n × n, symmetric) by C⁻¹ with C Cᵀ = `products`. False, with its contents spoilt, if that is
/// badly conditioned, not positive definite, or not finite.
pub fn invert_cholesky(products: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let (before, row_i) = products.split_at_mut(i * n);
            let row_j = if i == j { &row_i[..j] } else { &before[j * n..j * n + j] };
            let overlap = dot(&row_i[..j], row_j);
            let rest = row_i[j] - overlap;
            match i == j {
                true if rest > 0.0 && rest.is_finite() => row_i[j] = rest.sqrt(),
                true => return false,
                false => row_i[j] = rest / before[j * n + j],
            }
        }
    }
    // Column by column, C C⁻¹ = I solved downwards; the upper triangle becomes 0.
    for j in 0..n {
        for i in 0..n {
            let value = match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0 / products[i * n + i],
                std::cmp::Ordering::Greater => {
                    let overlap: f64 = (j..i).map(|k| products[i * n + k] * products[k * n + j]).sum();
                    -overlap / products[i * n + i]
                }
            };
            products[i * n + j] = value;
        }
    }
    products.iter().all(|&v| v < LARGEST_INVERSE)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Gram–Schmidt on rows of `dim` elements. A row that is zero, not finite, or keeps vanishing becomes a random one, of
/// numbers of `normal`.
pub fn orthonormalise_rows(rows: &mut [f64], dim: usize, mut normal: impl FnMut() -> f64) {
    for i in 0..rows.len() / dim {
        let (done, rest) = rows.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        let mut randomise = |row: &mut [f64]| row.fill_with(&mut normal);
        for attempt in 0..100 {
            let start = dot(row, row);
            if !(start.is_finite() && start > 0.0) || attempt == 50 {
                randomise(row);
                continue;
            }
            for other in done.chunks_exact(dim) {
                let overlap = dot(row, other);
                row.iter_mut().zip(other).for_each(|(r, o)| *r -= overlap * o);
            }
            let end = dot(row, row);
            if end > 0.01 * start {
                row.iter_mut().for_each(|r| *r /= end.sqrt());
                break;
            }
            if end <= f64::MIN_POSITIVE {
                randomise(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    #[test]
    fn the_inverse_factor_makes_products_the_identity() {
        let mut random = fastrand::Rng::with_seed(3);
        for n in 1..20 {
            let g = DMatrix::from_fn(n, n, |_, _| random.f64() - 0.5);
            let products = &g * g.transpose() + DMatrix::identity(n, n);
            let mut inverse: Vec<f64> = products.iter().copied().collect();
            assert!(invert_cholesky(&mut inverse, n));
            let inverse = DMatrix::from_row_slice(n, n, &inverse);
            let error = (&inverse * products * inverse.transpose() - DMatrix::<f64>::identity(n, n)).amax();
            assert!(error < 1e-12, "{n}: {error}");
        }
    }

    #[test]
    fn bad_products_are_refused() {
        assert!(!invert_cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2));
        assert!(!invert_cholesky(&mut [1.0, f64::NAN, f64::NAN, 1.0], 2));
        // The inverse has an element above 100.
        assert!(!invert_cholesky(&mut [1e-5, 0.0, 0.0, 1.0], 2));
    }

    #[test]
    fn gram_schmidt_replaces_useless_rows() {
        let mut rows = vec![2.0, 0.0, 0.0, 1.0, 1e-9, 0.0, f64::NAN, 0.0, 0.0];
        let mut random = fastrand::Rng::with_seed(1);
        orthonormalise_rows(&mut rows, 3, || random.f64() - 0.5);
        for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
            let product: f64 = (0..3).map(|c| rows[i * 3 + c] * rows[j * 3 + c]).sum();
            assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-9, "{rows:?}");
        }
    }
}
