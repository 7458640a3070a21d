//! Singular values and left singular vectors of square matrices, with the signs that the reference gives to vectors.
//!
//! Any sign is correct, but rows of LDA matrices come from these vectors, and later meet random numbers. Models are
//! reproducible only if the signs are. So the order of operations is the same as in LAPACK's `dgesvd`: Householder
//! reflections to a bidiagonal matrix, then implicit QR steps. The steps have a shift or not, and go from the larger
//! end to the smaller one (Demmel and Kahan, Accurate singular values of bidiagonal matrices).

use nalgebra::DMatrix;

/// Half of the distance from 1 to the next number.
const EPSILON: f64 = f64::EPSILON / 2.0;
/// The largest number of passes for each singular value.
const MOST_PASSES: usize = 6;

/// Singular values, descending, and left singular vectors as columns.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftSvd {
    pub values: Vec<f64>,
    pub vectors: DMatrix<f64>,
}

impl LeftSvd {
    /// Decomposes a square matrix. Returns `None` if its elements are not finite, or if the iteration does not end.
    pub fn new(matrix: &DMatrix<f64>) -> Option<LeftSvd> {
        if matrix.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let (diagonal, above, vectors) = bidiagonal(matrix.clone());
        let mut iteration = Iteration { diagonal, above, vectors };
        iteration.run()?;
        // Negative values belong to the right vectors.
        let mut values: Vec<f64> = iteration.diagonal.iter().map(|d| d.abs()).collect();
        let mut vectors = iteration.vectors;
        for end in (1..values.len()).rev() {
            let mut least = 0;
            for i in 1..=end {
                if values[i] <= values[least] {
                    least = i;
                }
            }
            values.swap(least, end);
            vectors.swap_columns(least, end);
        }
        Some(LeftSvd { values, vectors })
    }
}

/// Makes all but the first element of x zero, by a reflection I − τ v vᵀ with v = 1 in its first element. Returns the new
/// first element, v and τ.
fn reflection(x: &[f64]) -> (f64, Vec<f64>, f64) {
    let rest: f64 = x[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut v = vec![1.0];
    if rest == 0.0 {
        v.resize(x.len(), 0.0);
        return (x[0], v, 0.0);
    }
    let beta = -x[0].hypot(rest).copysign(x[0]);
    v.extend(x[1..].iter().map(|element| element / (x[0] - beta)));
    (beta, v, (beta - x[0]) / beta)
}

/// Diagonal and elements above it of Qᵀ A P, and Q.
fn bidiagonal(mut a: DMatrix<f64>) -> (Vec<f64>, Vec<f64>, DMatrix<f64>) {
    let n = a.nrows();
    let (mut diagonal, mut above, mut reflections) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let column: Vec<f64> = (i..n).map(|row| a[(row, i)]).collect();
        let (value, v, tau) = reflection(&column);
        diagonal.push(value);
        for j in i + 1..n {
            let factor = tau * v.iter().enumerate().map(|(k, v)| v * a[(i + k, j)]).sum::<f64>();
            v.iter().enumerate().for_each(|(k, v)| a[(i + k, j)] -= factor * v);
        }
        reflections.push((v, tau));
        if i + 1 < n {
            let row: Vec<f64> = (i + 1..n).map(|j| a[(i, j)]).collect();
            let (value, v, tau) = reflection(&row);
            above.push(value);
            for row in i + 1..n {
                let factor = tau * v.iter().enumerate().map(|(k, v)| v * a[(row, i + 1 + k)]).sum::<f64>();
                v.iter().enumerate().for_each(|(k, v)| a[(row, i + 1 + k)] -= factor * v);
            }
        }
    }
    let mut q = DMatrix::identity(n, n);
    for (i, (v, tau)) in reflections.iter().enumerate().rev() {
        for j in i..n {
            let factor = tau * v.iter().enumerate().map(|(k, v)| v * q[(i + k, j)]).sum::<f64>();
            v.iter().enumerate().for_each(|(k, v)| q[(i + k, j)] -= factor * v);
        }
    }
    (diagonal, above, q)
}

/// Cosine and sine of the rotation that makes the second of two elements zero, and the first one after it.
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        (1.0, 0.0, f)
    } else if f == 0.0 {
        (0.0, 1f64.copysign(g), g.abs())
    } else {
        let r = (f * f + g * g).sqrt().copysign(f);
        (f.abs() / r.abs(), g / r, r)
    }
}

/// The smaller singular value of (f g; 0 h).
fn smaller_value(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (small, large) = (f.min(h), f.max(h));
    if small == 0.0 {
        return 0.0;
    }
    let (sum, difference) = (1.0 + small / large, (large - small) / large);
    if g < large {
        let square = (g / large) * (g / large);
        return small * (2.0 / ((sum * sum + square).sqrt() + (difference * difference + square).sqrt()));
    }
    let ratio = large / g;
    if ratio == 0.0 {
        return small * large / g;
    }
    let root = |x: f64| (1.0 + (x * ratio) * (x * ratio)).sqrt();
    2.0 * (small * (1.0 / (root(sum) + root(difference)))) * ratio
}

/// Signed singular values (larger, smaller) of (f g; 0 h), and cosine and sine of the left rotation.
fn two_by_two(f: f64, g: f64, h: f64) -> (f64, f64, f64, f64) {
    let swapped = h.abs() > f.abs();
    let (ft, ht) = if swapped { (h, f) } else { (f, h) };
    let (fa, ha, ga) = (ft.abs(), ht.abs(), g.abs());
    // Cosines and sines of the left and the right rotation.
    let (clt, slt, crt, srt, max, min);
    let mut largest_is_g = false;
    if ga == 0.0 {
        (clt, slt, crt, srt, max, min) = (1.0, 0.0, 1.0, 0.0, fa, ha);
    } else if ga > fa && fa / ga < EPSILON {
        largest_is_g = true;
        let least = if ha > 1.0 { fa / (ga / ha) } else { (fa / ga) * ha };
        (clt, slt, crt, srt, max, min) = (1.0, ht / g, ft / g, 1.0, ga, least);
    } else {
        largest_is_g = ga > fa;
        let d = fa - ha;
        let l = if d == fa { 1.0 } else { d / fa };
        let m = g / ft;
        let t = 2.0 - l;
        let s = (t * t + m * m).sqrt();
        let r = if l == 0.0 { m.abs() } else { (l * l + m * m).sqrt() };
        let a = 0.5 * (s + r);
        let t = if m * m == 0.0 {
            if l == 0.0 { 2f64.copysign(ft) * 1f64.copysign(g) } else { g / d.copysign(ft) + m / t }
        } else {
            (m / (s + t) + m / (r + l)) * (1.0 + a)
        };
        let l = (t * t + 4.0).sqrt();
        let (cosine, sine) = (2.0 / l, t / l);
        let left = (cosine + sine * m) / a;
        (clt, slt, crt, srt, max, min) = (left, (ht / ft) * sine / a, cosine, sine, fa * a, ha / a);
    }
    let (csl, snl, csr, snr) = if swapped { (srt, crt, slt, clt) } else { (clt, slt, crt, srt) };
    let sign = |x: f64| 1f64.copysign(x);
    let sign_of_max = match (largest_is_g, swapped) {
        (true, _) => sign(snr) * sign(csl) * sign(g),
        (_, true) => sign(snr) * sign(snl) * sign(h),
        _ => sign(csr) * sign(csl) * sign(f),
    };
    (max * sign_of_max, min * (sign_of_max * sign(f) * sign(h)), csl, snl)
}

struct Iteration {
    diagonal: Vec<f64>,
    above: Vec<f64>,
    vectors: DMatrix<f64>,
}

impl Iteration {
    /// Rotates columns k and k + 1.
    fn rotate(&mut self, k: usize, (c, s): (f64, f64)) {
        for mut row in self.vectors.row_iter_mut() {
            let (first, second) = (row[k], row[k + 1]);
            row[k + 1] = c * second - s * first;
            row[k] = s * second + c * first;
        }
    }

    /// Makes the elements above the diagonal zero.
    fn run(&mut self) -> Option<()> {
        let n = self.diagonal.len();
        let tolerance = EPSILON.powf(-0.125).clamp(10.0, 100.0) * EPSILON;
        let mut mu = self.diagonal.first()?.abs();
        let mut least = mu;
        for i in 1..n {
            mu = self.diagonal[i].abs() * (mu / (mu + self.above[i - 1].abs()));
            least = least.min(mu);
        }
        let threshold =
            (tolerance * least / (n as f64).sqrt()).max((MOST_PASSES * n * n) as f64 * f64::MIN_POSITIVE);
        let (mut end, mut left) = (n, MOST_PASSES * n * n);
        let mut known: Option<(usize, usize)> = None;
        let mut downwards = true;
        while end > 1 {
            let last = end - 1;
            let zero = (0..last).rev().find(|&i| self.above[i].abs() <= threshold);
            let first = zero.map_or(0, |zero| zero + 1);
            if let Some(zero) = zero {
                self.above[zero] = 0.0;
            }
            if first == last {
                end -= 1;
                continue;
            }
            if first + 1 == last {
                let (d, e) = (&mut self.diagonal, &mut self.above);
                let (max, min, c, s) = two_by_two(d[first], e[first], d[last]);
                (d[first], e[first], d[last]) = (max, 0.0, min);
                self.rotate(first, (c, s));
                end -= 2;
                continue;
            }
            if known.is_none_or(|(old_first, old_last)| first > old_last || last < old_first) {
                downwards = self.diagonal[first].abs() >= self.diagonal[last].abs();
            }
            let Some(least) = self.split(first, last, downwards, tolerance) else { continue };
            known = Some((first, last));
            left = left.checked_sub(last - first)?;
            let block = self.diagonal[first..=last].iter().chain(&self.above[first..last]);
            let largest = block.fold(0.0f64, |max, x| max.max(x.abs()));
            let shift =
                self.shift(first, last, downwards, n as f64 * tolerance * (least / largest), tolerance);
            match (shift == 0.0, downwards) {
                (true, true) => self.plain_down(first, last),
                (true, false) => self.plain_up(first, last),
                (false, true) => self.shifted_down(first, last, shift),
                (false, false) => self.shifted_up(first, last, shift),
            }
            let end_of_chase = if downwards { last - 1 } else { first };
            if self.above[end_of_chase].abs() <= threshold {
                self.above[end_of_chase] = 0.0;
            }
        }
        Some(())
    }

    /// Makes a small element zero and returns `None`, or returns a lower bound of the block's singular values.
    fn split(&mut self, first: usize, last: usize, downwards: bool, tolerance: f64) -> Option<f64> {
        let (d, e) = (&self.diagonal, &mut self.above);
        let (start, stop) = if downwards { (first, last) } else { (last, first) };
        let at_stop = if downwards { last - 1 } else { first };
        if e[at_stop].abs() <= tolerance * d[stop].abs() {
            e[at_stop] = 0.0;
            return None;
        }
        let mut mu = d[start].abs();
        let mut least = mu;
        for step in 0..last - first {
            let (element, next) =
                if downwards { (first + step, first + step + 1) } else { (last - 1 - step, last - 1 - step) };
            if e[element].abs() <= tolerance * mu {
                e[element] = 0.0;
                return None;
            }
            mu = d[next].abs() * (mu / (mu + e[element].abs()));
            least = least.min(mu);
        }
        Some(least)
    }

    /// The shift of the next step; 0 if a shift would spoil small values.
    fn shift(&self, first: usize, last: usize, downwards: bool, accuracy: f64, tolerance: f64) -> f64 {
        if accuracy <= EPSILON.max(0.01 * tolerance) {
            return 0.0;
        }
        let (d, e) = (&self.diagonal, &self.above);
        let (start, shift) = match downwards {
            true => (d[first].abs(), smaller_value(d[last - 1], e[last - 1], d[last])),
            false => (d[last].abs(), smaller_value(d[first], e[first], d[first + 1])),
        };
        let negligible = start > 0.0 && (shift / start) * (shift / start) < EPSILON;
        if negligible { 0.0 } else { shift }
    }

    fn plain_down(&mut self, first: usize, last: usize) {
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        for i in first..last {
            let (next_c, s, r) = rotation(self.diagonal[i] * c, self.above[i]);
            c = next_c;
            if i > first {
                self.above[i - 1] = old_s * r;
            }
            (old_c, old_s, self.diagonal[i]) = rotation(old_c * r, self.diagonal[i + 1] * s);
            self.rotate(i, (old_c, old_s));
        }
        let h = self.diagonal[last] * c;
        self.diagonal[last] = h * old_c;
        self.above[last - 1] = h * old_s;
    }

    fn plain_up(&mut self, first: usize, last: usize) {
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        for i in (first + 1..=last).rev() {
            let (next_c, s, r) = rotation(self.diagonal[i] * c, self.above[i - 1]);
            c = next_c;
            if i < last {
                self.above[i] = old_s * r;
            }
            (old_c, old_s, self.diagonal[i]) = rotation(old_c * r, self.diagonal[i - 1] * s);
            self.rotate(i - 1, (c, -s));
        }
        let h = self.diagonal[first] * c;
        self.diagonal[first] = h * old_c;
        self.above[first] = h * old_s;
    }

    fn shifted_down(&mut self, first: usize, last: usize, shift: f64) {
        let Iteration { diagonal: d, above: e, .. } = self;
        let mut rotations = Vec::with_capacity(last - first);
        let mut f = (d[first].abs() - shift) * (1f64.copysign(d[first]) + shift / d[first]);
        let mut g = e[first];
        for i in first..last {
            let (c, s, r) = rotation(f, g);
            if i > first {
                e[i - 1] = r;
            }
            f = c * d[i] + s * e[i];
            e[i] = c * e[i] - s * d[i];
            g = s * d[i + 1];
            d[i + 1] *= c;
            let (c, s, r) = rotation(f, g);
            d[i] = r;
            f = c * e[i] + s * d[i + 1];
            d[i + 1] = c * d[i + 1] - s * e[i];
            if i + 1 < last {
                g = s * e[i + 1];
                e[i + 1] *= c;
            }
            rotations.push((i, (c, s)));
        }
        e[last - 1] = f;
        rotations.into_iter().for_each(|(i, rotation)| self.rotate(i, rotation));
    }

    fn shifted_up(&mut self, first: usize, last: usize, shift: f64) {
        let Iteration { diagonal: d, above: e, .. } = self;
        let mut rotations = Vec::with_capacity(last - first);
        let mut f = (d[last].abs() - shift) * (1f64.copysign(d[last]) + shift / d[last]);
        let mut g = e[last - 1];
        for i in (first + 1..=last).rev() {
            let (c, s, r) = rotation(f, g);
            if i < last {
                e[i] = r;
            }
            f = c * d[i] + s * e[i - 1];
            e[i - 1] = c * e[i - 1] - s * d[i];
            g = s * d[i - 1];
            d[i - 1] *= c;
            rotations.push((i - 1, (c, -s)));
            let (c, s, r) = rotation(f, g);
            d[i] = r;
            f = c * e[i - 1] + s * d[i - 1];
            d[i - 1] = c * d[i - 1] - s * e[i - 1];
            if i > first + 1 {
                g = s * e[i - 2];
                e[i - 2] *= c;
            }
        }
        e[first] = f;
        rotations.into_iter().for_each(|(i, rotation)| self.rotate(i, rotation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_matrix;

    /// A = U Σ Vᵀ and A Aᵀ = U Σ² Uᵀ. Singular values agree with another implementation.
    #[test]
    fn decomposition() {
        for n in [1, 2, 3, 4, 9, 30] {
            let matrix = random_matrix(n, n, n as u64);
            for matrix in [&matrix * matrix.transpose(), matrix] {
                let LeftSvd { values, vectors } = LeftSvd::new(&matrix).unwrap();
                assert!((vectors.transpose() * &vectors - DMatrix::identity(n, n)).amax() < 1e-12);
                let squares =
                    DMatrix::from_diagonal(&values.iter().map(|x| x * x).collect::<Vec<_>>().into());
                let product = &vectors * squares * vectors.transpose();
                let expected = &matrix * matrix.transpose();
                assert!((product - &expected).amax() < 1e-11 * (1.0 + expected.amax()), "{n}");
                let other = matrix.singular_values();
                assert!(values.iter().zip(other.iter()).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b)));
            }
        }
        assert_eq!(LeftSvd::new(&DMatrix::from_element(2, 2, f64::NAN)), None);
        let zero = LeftSvd::new(&DMatrix::zeros(3, 3)).unwrap();
        assert_eq!(zero.values, [0.0; 3]);
    }
}
