//! The semi-orthogonal constraint of factored layers (Povey et al., "Semi-orthogonal low-rank matrix factorization for
//! deep neural networks", Interspeech 2018).

use nnet3_base::text::number;
use nnet3_component::Context;
use nnet3_matrix::backend::{Constant, Decision};
use nnet3_matrix::{Accumulator, Factor, Gemm, Matrix, SumRange};

/// Moves `matrix` one step towards rows (columns, if there are more rows than columns) that are orthogonal and of equal
/// length. The length is `constraint`. If `constraint` is negative, the length makes the change orthogonal to the
/// matrix. `matrix` is on the context's device. A constraint of 0 has no effect.
///
/// With a negative constraint, adds the squared norms of the matrix and of its products to `norms`, which must be zero.
/// [`warning`] reads them.
pub fn constrain(context: Context<'_>, matrix: &mut Matrix, constraint: f32, norms: Norms<'_>) {
    // Rounded to bf16, the products would differ from those of orthogonal rows by more than a step corrects.
    let (backend, workspace) = (context.in_floats().backend, context.workspace);
    let (rows, cols) = (matrix.rows(), matrix.cols());
    if constraint == 0.0 || matrix.is_empty() {
        return;
    }
    let small = rows.min(cols);
    let mut products = workspace.take(small, small);
    let (m, m_transposed) = (matrix.view().into(), matrix.view().transposed());
    let (left, right) = if rows <= cols { (m, m_transposed) } else { (m_transposed, m) };
    backend.gemm(Gemm::set(products.view_mut(), left, right));

    // M = keep M + take P M, or keep M + take M P.
    let mut taken = workspace.take(rows, cols);
    match rows <= cols {
        true => backend.gemm(Gemm::set(taken.view_mut(), products.view(), matrix.view())),
        false => backend.gemm(Gemm::set(taken.view_mut(), matrix.view(), products.view())),
    }
    if constraint > 0.0 {
        let square = (constraint as f64).powi(2);
        let coefficient = 4.0 * 0.125 / square;
        matrix.scale((1.0 + coefficient * square) as f32);
        return backend.add(matrix.view_mut(), -coefficient as f32, taken.view());
    }
    let Norms { sums, index } = norms;
    matrix.accumulate_square(sums, index);
    products.accumulate_square(sums, index + 1);
    let mut factors = workspace.take(1, 2);
    let norms = SumRange { sums, first: index, count: 2 };
    backend.decide(factors.view_mut(), &mut [norms], &FloatingStep { dim: small });
    let factor = |k: usize| Factor { times: 1.0, element: factors.view().col_range(k..k + 1) };
    matrix.scale_by(factor(0));
    backend.add_by(matrix.view_mut(), factor(1), taken.view());
}

/// Two of the sums of a device, `index` and the next.
pub struct Norms<'s> {
    pub sums: &'s mut Accumulator,
    pub index: usize,
}

/// Decides the size of the step for a negative constraint, from the squared norms of the matrix and of its products,
/// which are `dim` × `dim`. It makes two numbers: M becomes the first · M + the second · P M.
pub struct FloatingStep {
    pub dim: usize,
}

impl Decision for FloatingStep {
    fn on_host(&self, results: &mut [f32], sums: &mut [SumRange<'_>]) {
        let norms = sums[0].values();
        let step = floating_step(norms[0], norms[1], self.dim);
        results.copy_from_slice(&[step.keep as f32, step.take as f32]);
    }

    fn kernel(&self) -> (&'static str, Vec<Constant>) {
        ("orthogonal_step", vec![Constant::Int(self.dim as i32)])
    }
}

/// M becomes `keep` · M + `take` · P M, P = M Mᵀ.
struct Coefficients {
    keep: f64,
    take: f64,
    /// The mean of the squared eigenvalues of P by the square of their mean: 1 if all are equal, else above 1, up to
    /// rounding. Also 1 if M is zero.
    ratio: f64,
}

/// Squared norms below this are of a matrix that is not used.
const UNUSED: f64 = 1e-15;
/// A ratio below this is not explained by rounding: the matrix is then faulty.
const IMPOSSIBLE: f64 = 0.9;

/// The step for a matrix with this squared norm; P is `dim` × `dim`, with the second squared norm. The length of the
/// rows floats: it makes the change orthogonal to the matrix. There is no step if the numbers are impossible.
fn floating_step(square: f64, products_square: f64, dim: usize) -> Coefficients {
    if square < UNUSED {
        return Coefficients { keep: 1.0, take: 0.0, ratio: 1.0 };
    }
    let ratio = products_square * dim as f64 / (square * square);
    if ratio.is_nan() || ratio <= IMPOSSIBLE {
        return Coefficients { keep: 1.0, take: 0.0, ratio };
    }
    // M -= c (P - s² I) M
    let length = products_square / square;
    let coefficient = 4.0 * (0.125 * speed(ratio)) / length;
    Coefficients { keep: 1.0 + coefficient * length, take: -coefficient, ratio }
}

/// Matrices far from the goal take smaller steps.
fn speed(ratio: f64) -> f64 {
    match ratio {
        _ if ratio > 1.1 => 0.25,
        _ if ratio > 1.02 => 0.5,
        _ => 1.0,
    }
}

/// Returns a warning about a step with a negative constraint if the matrix is far from converged. Arguments: its
/// squared norm, the squared norm of its products, and its smaller side `small`.
pub fn warning(square: f64, products_square: f64, small: usize) -> Option<String> {
    let ratio = floating_step(square, products_square, small).ratio;
    let shown = number(ratio);
    match ratio {
        _ if ratio.is_nan() || ratio <= IMPOSSIBLE => {
            Some(format!("Ratio is {shown} (should be >= 1.0), leaving the matrix as it is"))
        }
        _ if ratio <= 0.99 => Some(format!("Ratio is {shown} (should be >= 1.0)")),
        _ if ratio > 1.02 => {
            Some(format!("Ratio is {shown}, multiplying update speed (currently 0.125) by 0.5"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;
    use nnet3_base::random::Random;
    use nnet3_matrix::Workspace;

    fn run(matrix: &mut Matrix, constraint: f32) -> Option<String> {
        let device = nnet3_matrix::cpu();
        let workspace = Workspace::new(&device);
        let context = Context { backend: &*device, workspace: &workspace, random: &Random::new(1) };
        let mut sums = Accumulator::zeros(2);
        constrain(context, matrix, constraint, Norms { sums: &mut sums, index: 0 });
        let norms = sums.values();
        warning(norms[0], norms[1], matrix.rows().min(matrix.cols()))
    }

    fn dense(m: &Matrix) -> DMatrix<f64> {
        DMatrix::from_row_iterator(m.rows(), m.cols(), m.to_vec().iter().map(|&v| v as f64))
    }

    /// The formula, term by term, in `f64`.
    fn expected(matrix: &Matrix, constraint: f64) -> DMatrix<f64> {
        let given = dense(matrix);
        let wide = given.nrows() <= given.ncols();
        let m = if wide { given } else { given.transpose() };
        let p = &m * m.transpose();
        let (mut speed, mut scale) = (0.125, constraint);
        if constraint < 0.0 {
            let trace_square = (&p * p.transpose()).trace();
            scale = (trace_square / p.trace()).sqrt();
            let ratio = trace_square * p.nrows() as f64 / p.trace().powi(2);
            if ratio > 1.02 {
                speed /= 2.0;
            }
            if ratio > 1.1 {
                speed /= 2.0;
            }
        }
        let rows = p.nrows();
        let new =
            &m - (&p - DMatrix::identity(rows, rows) * scale * scale) * &m * (4.0 * speed / (scale * scale));
        if wide { new } else { new.transpose() }
    }

    #[test]
    fn one_step_is_the_formula() {
        for (rows, cols, constraint) in
            [(3, 7, 1.0), (7, 3, 1.0), (3, 7, -1.0), (7, 3, -1.0), (2, 40, -1.0), (1, 5, 0.5)]
        {
            let mut matrix = Matrix::from_vec(rows, cols, Random::new(2).normal_vec(rows * cols, 0.0, 0.4));
            let wanted = expected(&matrix, constraint as f64);
            run(&mut matrix, constraint);
            let error = (dense(&matrix) - &wanted).norm() / wanted.norm();
            assert!(error < 3e-6, "{rows} x {cols}, {constraint}: {error}");
        }
    }

    #[test]
    fn many_steps_converge() {
        let mut matrix = Matrix::from_vec(4, 30, Random::new(3).normal_vec(120, 0.0, 0.2));
        let first = run(&mut matrix, -1.0).unwrap();
        assert!(first.contains("multiplying update speed"), "{first}");
        for _ in 0..50 {
            run(&mut matrix, -1.0);
        }
        let products = dense(&matrix) * dense(&matrix).transpose();
        let scale = products[(0, 0)];
        assert!((products / scale - DMatrix::identity(4, 4)).amax() < 1e-4);
        for _ in 0..50 {
            run(&mut matrix, 1.0);
        }
        assert!((dense(&matrix) * dense(&matrix).transpose() - DMatrix::identity(4, 4)).amax() < 1e-4);
    }

    #[test]
    fn unusable_matrices_stay() {
        let mut zero = Matrix::from_vec(2, 3, vec![0.0; 6]);
        assert_eq!(run(&mut zero, -1.0), None);
        assert_eq!(zero.to_vec(), [0.0; 6]);
        let mut bad = Matrix::from_vec(1, 2, vec![f32::NAN, 1.0]);
        assert!(run(&mut bad, -1.0).is_some());
    }
}
