//! Products and extensions of linear and affine transforms (`featbin/compose-transforms.cc`, `extend-transform-dim.cc`,
//! `bin/get-full-lda-mat.cc`).

use nalgebra::DMatrix;

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

fn double(matrix: &DenseMatrix<f32>) -> DMatrix<f64> {
    DMatrix::from_row_iterator(matrix.rows, matrix.cols, matrix.data.iter().map(|&x| f64::from(x)))
}

fn single(matrix: &DMatrix<f64>) -> DenseMatrix<f32> {
    let data = matrix.transpose().iter().map(|&x| x as f32).collect();
    DenseMatrix { rows: matrix.nrows(), cols: matrix.ncols(), data }
}

/// Multiplies two transforms, `second` being applied first. If `first` has one column more than `second` has rows, its last
/// column is an offset; then `second` is affine too if `second_is_affine`, else linear. Fails for other sizes.
pub fn compose(
    first: &DenseMatrix<f32>,
    second: &DenseMatrix<f32>,
    second_is_affine: bool,
) -> Result<DenseMatrix<f32>> {
    let (a, mut b) = (double(first), double(second));
    if first.rows == 0 || second.rows == 0 {
        return Err(Error::data("Empty matrix in ComposeTransforms"));
    }
    if first.cols == second.rows + 1 {
        if !second_is_affine {
            b = b.insert_column(second.cols, 0.0);
        }
        b = b.insert_row(second.rows, 0.0);
        let corner = (b.nrows() - 1, b.ncols() - 1);
        b[corner] = 1.0;
    } else if first.cols != second.rows {
        return Err(Error::data(format!(
            "ComposeTransforms: mismatched dimensions, a has {} columns and b has {} rows.",
            first.cols, second.rows
        )));
    }
    Ok(single(&(a * b)))
}

/// Extends a D×D or D×(D+1) transform to `dim` dimensions. The new dimensions stay unchanged by the transform. It is an
/// error if `dim` is less than D, or if the transform has another shape.
pub fn extend(transform: &DenseMatrix<f32>, dim: usize) -> Result<DenseMatrix<f32>> {
    let (old, cols) = (transform.rows, transform.cols);
    if cols != old && cols != old + 1 {
        return Err(Error::data(format!(
            "a {old}×{cols} matrix is not a linear or affine transform of {old} dimensions"
        )));
    }
    if dim < old {
        return Err(Error::data(format!("a transform of {old} dimensions cannot be extended to {dim}")));
    }
    let mut out = DenseMatrix::new(dim, dim + cols - old);
    for i in 0..old {
        out.row_mut(i)[..old].copy_from_slice(&transform.row(i)[..old]);
        if cols > old {
            out.row_mut(i)[dim] = transform.row(i)[old];
        }
    }
    (old..dim).for_each(|i| out.row_mut(i)[i] = 1.0);
    Ok(out)
}

/// Replaces the first rows of the full LDA matrix, which is square, by the rows of LDA and MLLT. Also returns the
/// inverse. It is an error if the sizes do not fit, or if the result is singular.
pub fn full_lda(
    part: &DenseMatrix<f32>,
    full: &DenseMatrix<f32>,
) -> Result<(DenseMatrix<f32>, DenseMatrix<f32>)> {
    if full.rows != full.cols || part.cols != full.cols || part.rows > full.rows {
        return Err(Error::data(format!(
            "a {}×{} matrix cannot be completed by one of {}×{}: expected a square matrix with as many columns",
            part.rows, part.cols, full.rows, full.cols
        )));
    }
    let mut out = full.clone();
    out.data[..part.data.len()].copy_from_slice(&part.data);
    let inverse = double(&out).try_inverse().ok_or_else(|| Error::data("the full matrix is singular"))?;
    Ok((out, single(&inverse)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};
    use crate::transform::apply;

    /// Applying both transforms one after the other, and their product.
    fn check(first: &DenseMatrix<f32>, second: &DenseMatrix<f32>, second_is_affine: bool) -> usize {
        let frames = matrix(7, 3, 9);
        let expected = apply(&apply(&frames, second).unwrap(), first).unwrap();
        let product = compose(first, second, second_is_affine).unwrap();
        let found = apply(&frames, &product).unwrap();
        assert_close(&found.data, &expected.data.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), 1e-5);
        product.cols
    }

    #[test]
    fn products() {
        let of = |rows, cols| matrix(rows, cols, (rows * 10 + cols) as u64);
        assert_eq!(check(&of(2, 4), &of(4, 3), false), 3);
        assert_eq!(check(&of(2, 4), &of(4, 4), false), 4);
        assert_eq!(check(&of(2, 5), &of(4, 3), false), 4);
        assert_eq!(check(&of(2, 5), &of(4, 4), true), 4);
        assert!(
            compose(&of(2, 6), &of(4, 4), true)
                .unwrap_err()
                .to_string()
                .contains("a has 6 columns and b has 4 rows")
        );
        assert!(compose(&DenseMatrix::default(), &of(4, 4), true).unwrap_err().to_string().contains("Empty"));
    }

    #[test]
    fn extensions() {
        let frame = matrix(1, 4, 3);
        for cols in [2, 3] {
            let small = matrix(2, cols, 4);
            let large = apply(&frame, &extend(&small, 4).unwrap()).unwrap();
            let expected = apply(&frame.block(0, 1, 0, 2), &small).unwrap();
            assert_eq!((&large.data[..2], &large.data[2..]), (&expected.data[..], &frame.data[2..]));
        }
        assert!(extend(&matrix(2, 4, 1), 5).is_err() && extend(&matrix(2, 2, 1), 1).is_err());
    }

    #[test]
    fn full_matrices() {
        let (part, full) = (matrix(2, 4, 1), matrix(4, 4, 2));
        let (out, inverse) = full_lda(&part, &full).unwrap();
        assert_eq!((&out.data[..8], &out.data[8..]), (&part.data[..], &full.data[8..]));
        let product = double(&out) * double(&inverse);
        assert!((product - DMatrix::identity(4, 4)).amax() < 1e-4);
        assert!(full_lda(&full, &part).is_err());
    }
}
