//! Eigenvalues and eigenvectors of a small symmetric matrix, without allocating: Householder reflections to tridiagonal
//! form, then implicitly shifted QL (Golub and Van Loan, "Matrix Computations", §8.3).
//!
//! All functions are inlined into the caller. It may compile them for several sets of vector instructions, with the same
//! results to the bit: no sum is rearranged.

/// Rotations of one eigenvalue before the search is given up.
const MAX_ITERATIONS: usize = 100;

/// Overwrites `matrix` (n × n, symmetric) and sets `values` (n) to its eigenvalues and the rows of `vectors` (n × n) to
/// their eigenvectors, by decreasing size. `spare` has n elements. False if the matrix is not finite.
#[inline(always)]
pub fn symmetric_eigen(
    matrix: &mut [f64],
    values: &mut [f64],
    vectors: &mut [f64],
    spare: &mut [f64],
) -> bool {
    let n = values.len();
    if matrix.iter().any(|v| !v.is_finite()) {
        return false;
    }
    tridiagonalise(matrix, values, vectors, spare);
    let found = diagonalise(values, spare, vectors);
    if found {
        sort(values, vectors, n);
    }
    found
}

/// T = V A Vᵀ with `diagonal`, and `below[i]` = T[i + 1, i]; the last element of `below` is 0.
#[inline(always)]
fn tridiagonalise(a: &mut [f64], diagonal: &mut [f64], v: &mut [f64], below: &mut [f64]) {
    let n = diagonal.len();
    for k in 0..n.saturating_sub(2) {
        // The reflection I - u uᵀ zeroes column k below its first subdiagonal element; u is kept in row k.
        let x = |i: usize| a[i * n + k];
        let tail = (k + 2..n).map(|i| x(i) * x(i)).sum::<f64>();
        let first = x(k + 1);
        let norm = (first * first + tail).sqrt();
        // Squares that would underflow count as zero.
        if tail < f64::MIN_POSITIVE / f64::EPSILON {
            below[k] = first;
            a[k * n + k + 1..k * n + n].fill(0.0);
            continue;
        }
        let image = -norm.copysign(first);
        // |x - image e|² = 2 norm (norm + |first|)
        let scale = 1.0 / (norm * (norm + first.abs())).sqrt();
        for i in k + 1..n {
            let value = a[i * n + k] - if i == k + 1 { image } else { 0.0 };
            a[k * n + i] = value * scale;
        }
        below[k] = image;
        let (upper, lower) = a.split_at_mut((k + 1) * n);
        let u = &upper[k * n + k + 1..];
        // A -= u wᵀ + w uᵀ with p = A u, w = p - u (uᵀ p) / 2; `diagonal` has room for w.
        let w = &mut diagonal[k + 1..];
        combine_rows(lower.chunks_exact(n).map(|row| &row[k + 1..]), u, w);
        let half = 0.5 * dot(u, w);
        w.iter_mut().zip(u).for_each(|(w, u)| *w -= half * u);
        for (row, (ui, wi)) in lower.chunks_exact_mut(n).zip(u.iter().zip(&*w)) {
            for ((a, u), w) in row[k + 1..].iter_mut().zip(u).zip(&*w) {
                *a -= ui * w + wi * u;
            }
        }
    }
    if n >= 2 {
        below[n - 2] = a[(n - 1) * n + n - 2];
    }
    if n >= 1 {
        below[n - 1] = 0.0;
    }
    // Vᵀ = (…)(I - u uᵀ): from the last reflection to the first, each changes rows and columns after its own. `diagonal` has room for
    // products.
    v.fill(0.0);
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    for k in (0..n.saturating_sub(2)).rev() {
        let u = &a[k * n + k + 1..k * n + n];
        let overlaps = &mut diagonal[k + 1..];
        combine_rows(v[(k + 1) * n..].chunks_exact(n).map(|row| &row[k + 1..]), u, overlaps);
        for (row, u) in v[(k + 1) * n..].chunks_exact_mut(n).zip(u) {
            row[k + 1..].iter_mut().zip(&*overlaps).for_each(|(v, overlap)| *v -= overlap * u);
        }
    }
    for i in 0..n {
        for j in 0..i {
            v.swap(i * n + j, j * n + i);
        }
    }
    for k in 0..n {
        diagonal[k] = a[k * n + k];
    }
}

/// Number of rows that are added in one pass.
const TOGETHER: usize = 4;

/// out = Σ factor · row, in the order of the rows. Rows have the length of `out`.
#[inline(always)]
fn combine_rows<'a>(rows: impl Iterator<Item = &'a [f64]> + Clone, factors: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    let (mut rows, mut done) = (rows, 0);
    while done + TOGETHER <= factors.len() {
        let mut all: [&[f64]; TOGETHER] = [&[]; TOGETHER];
        all.iter_mut().zip(&mut rows).for_each(|(own, row)| *own = &row[..out.len()]);
        let mut own = [0.0; TOGETHER];
        own.copy_from_slice(&factors[done..done + TOGETHER]);
        for (j, out) in out.iter_mut().enumerate() {
            for r in 0..TOGETHER {
                *out += all[r][j] * own[r];
            }
        }
        done += TOGETHER;
    }
    for (row, factor) in rows.zip(&factors[done..]) {
        out.iter_mut().zip(row).for_each(|(out, x)| *out += x * factor);
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// √(a² + b²): the library's function, which takes its time, where squares could overflow or vanish only.
#[inline(always)]
fn length(a: f64, b: f64) -> f64 {
    let square = a * a + b * b;
    if (1e-280..1e280).contains(&square) { square.sqrt() } else { a.hypot(b) }
}

/// Turns the tridiagonal matrix into its eigenvalues and applies the rotations to the rows of `v`.
#[inline(always)]
fn diagonalise(d: &mut [f64], below: &mut [f64], v: &mut [f64]) -> bool {
    let n = d.len();
    for l in 0..n {
        let mut iterations = 0;
        loop {
            let negligible = |m: usize| below[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs());
            let m = (l..n - 1).find(|&m| negligible(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            iterations += 1;
            if iterations > MAX_ITERATIONS {
                return false;
            }
            let slope = (d[l + 1] - d[l]) / (2.0 * below[l]);
            let mut g = d[m] - d[l] + below[l] / (slope + slope.hypot(1.0).copysign(slope));
            let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let f = sine * below[i];
                let b = cosine * below[i];
                let r = length(f, g);
                below[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= shift;
                    split = true;
                    break;
                }
                sine = f / r;
                cosine = g / r;
                g = d[i + 1] - shift;
                let t = (d[i] - g) * sine + 2.0 * cosine * b;
                shift = sine * t;
                d[i + 1] = g + shift;
                g = cosine * t - b;
                let (upper, lower) = v.split_at_mut((i + 1) * n);
                for (x, y) in upper[i * n..].iter_mut().zip(&mut lower[..n]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            if !split {
                d[l] -= shift;
                below[l] = g;
            }
            below[m] = 0.0;
        }
    }
    true
}

/// Sorts eigenvalues and their vectors by decreasing absolute value.
fn sort(values: &mut [f64], vectors: &mut [f64], n: usize) {
    for i in 0..n {
        let rest = i..n;
        let largest = rest.max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()).then(b.cmp(&a)));
        let Some(largest) = largest.filter(|&largest| largest != i) else {
            continue;
        };
        values.swap(i, largest);
        let (upper, lower) = vectors.split_at_mut(largest * n);
        upper[i * n..(i + 1) * n].swap_with_slice(&mut lower[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    fn check(matrix: &DMatrix<f64>) {
        let n = matrix.nrows();
        let mut a: Vec<f64> = matrix.iter().copied().collect();
        let (mut values, mut vectors, mut spare) = (vec![0.0; n], vec![0.0; n * n], vec![0.0; n]);
        assert!(symmetric_eigen(&mut a, &mut values, &mut vectors, &mut spare));
        let v = DMatrix::from_row_slice(n, n, &vectors);
        let tolerance = 1e-13 * n as f64;
        let identity = &v * v.transpose() - DMatrix::<f64>::identity(n, n);
        assert!(identity.amax() < tolerance, "{n}: {}", identity.amax());
        let again = v.transpose() * DMatrix::from_diagonal(&nalgebra::DVector::from_vec(values.clone())) * &v;
        let error = (again - matrix).amax();
        assert!(error <= tolerance * matrix.amax(), "{n}: {error}");
        let mut expected: Vec<f64> =
            nalgebra::SymmetricEigen::new(matrix.clone()).eigenvalues.iter().copied().collect();
        expected.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
        for (found, expected) in values.iter().zip(&expected) {
            assert!(
                (found.abs() - expected.abs()).abs() <= tolerance * matrix.amax(),
                "{values:?} {expected}"
            );
        }
        assert!(values.is_sorted_by(|a, b| a.abs() >= b.abs()));
    }

    #[test]
    fn agrees_with_nalgebra() {
        let mut random = fastrand::Rng::with_seed(1);
        for n in (1..40).chain([64, 83]) {
            let g = DMatrix::from_fn(n, n, |_, _| random.f64() - 0.5);
            check(&(&g + g.transpose()));
            // Positive, with a spectrum over many decades.
            let g = DMatrix::from_fn(n, n, |i, _| (random.f64() - 0.5) * 10f64.powi(-(i as i32 % 9)));
            check(&(&g * g.transpose()));
            // Of rank 1, diagonal, zero.
            let g = DMatrix::from_fn(n, 1, |_, _| random.f64());
            check(&(&g * g.transpose()));
            check(&DMatrix::from_fn(n, n, |i, j| if i == j { (i % 3) as f64 } else { 0.0 }));
            check(&DMatrix::zeros(n, n));
        }
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let mut spare = [0.0; 2];
        let mut a = [1.0, f64::NAN, f64::NAN, 1.0];
        assert!(!symmetric_eigen(&mut a, &mut [0.0; 2], &mut [0.0; 4], &mut spare));
    }
}
