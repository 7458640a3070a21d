//! Statistics of classes for discriminant analysis (`transform/lda-estimate.cc`).
//!
//! On disk: `<LDAACCS> <VECSIZE> dim <NUMCLASSES> n` and, in any order, `<ZERO_ACCS>` (counts), `<FIRST_ACCS>` (sums),
//! `<SECOND_ACCS>` (sums of squares minus those of the class means, which loses less in single precision).

use crate::error::{Error, Result};
use kaldi_io::{DenseMatrix, GeneralMatrix, IoError, KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix};

/// Counts, sums and squares of vectors of several classes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LdaStats {
    /// The count of each class.
    pub counts: Vec<f64>,
    /// Classes × dimensions.
    pub sums: DenseMatrix<f64>,
    /// The sum of squares over all classes together.
    pub squares: SymmetricMatrix<f64>,
}

impl LdaStats {
    pub fn new(classes: usize, dim: usize) -> Self {
        LdaStats {
            counts: vec![0.0; classes],
            sums: DenseMatrix::new(classes, dim),
            squares: SymmetricMatrix::new(dim),
        }
    }

    pub fn dim(&self) -> usize {
        self.squares.dim
    }

    pub fn classes(&self) -> usize {
        self.counts.len()
    }

    pub fn count(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Adds a vector that belongs to classes with weights.
    fn add_vector(&mut self, vector: &[f32], classes: impl Iterator<Item = (usize, f32)>) {
        let mut total = 0.0;
        for (class, weight) in classes {
            let weight = f64::from(weight);
            total += weight;
            self.counts[class] += weight;
            let sums = self.sums.row_mut(class).iter_mut();
            sums.zip(vector).for_each(|(sum, &x)| *sum += weight * f64::from(x));
        }
        if total != 0.0 {
            add_square(&mut self.squares, vector.iter().map(|&x| f64::from(x)), total);
        }
    }

    /// Adds the rows of `vectors`, each with the class weights that are the same row of `classes`. `prune` may change a
    /// weight before it counts.
    pub fn add(
        &mut self,
        vectors: &DenseMatrix<f32>,
        classes: &GeneralMatrix,
        mut prune: impl FnMut(f32) -> f32,
    ) -> Result<()> {
        if vectors.rows != classes.rows() {
            return Err(Error::data(format!(
                "{} vectors for {} rows of classes",
                vectors.rows,
                classes.rows()
            )));
        }
        if vectors.rows > 0 && (vectors.cols, classes.cols()) != (self.dim(), self.classes()) {
            return Err(Error::data(format!(
                "vectors of dimension {} and {} classes, those before had dimension {} and {} classes",
                vectors.cols,
                classes.cols(),
                self.dim(),
                self.classes()
            )));
        }
        let dense;
        let classes = match classes {
            GeneralMatrix::Sparse(classes) => {
                for (i, row) in classes.rows.iter().enumerate() {
                    let weights = row.pairs.iter().map(|&(class, weight)| (class as usize, prune(weight)));
                    self.add_vector(vectors.row(i), weights);
                }
                return Ok(());
            }
            GeneralMatrix::Full(classes) => classes,
            GeneralMatrix::Compressed(classes) => {
                dense = classes.to_dense();
                &dense
            }
        };
        for i in 0..vectors.rows {
            let weights = classes.row(i).iter().map(|&weight| prune(weight)).enumerate();
            self.add_vector(vectors.row(i), weights.filter(|(_, weight)| *weight != 0.0));
        }
        Ok(())
    }

    /// Adds other statistics. Empty statistics take the size of the others.
    pub fn merge(&mut self, other: LdaStats) -> Result<()> {
        if self.classes() == 0 && self.dim() == 0 {
            *self = other;
            return Ok(());
        }
        if (self.classes(), self.dim()) != (other.classes(), other.dim()) {
            return Err(Error::data(format!(
                "statistics of {} classes and dimension {}, those before have {} and {}",
                other.classes(),
                other.dim(),
                self.classes(),
                self.dim()
            )));
        }
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut self.counts, &other.counts);
        add(&mut self.sums.data, &other.sums.data);
        add(&mut self.squares.data, &other.squares.data);
        Ok(())
    }

    /// Returns the squares, plus `sign` times the squares of the class means.
    fn with_class_means(&self, sign: f64) -> SymmetricMatrix<f64> {
        let mut squares = self.squares.clone();
        for (class, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count != 0.0) {
            add_square(&mut squares, self.sums.row(class).iter().copied(), sign / count);
        }
        squares
    }
}

/// Adds `factor · x xᵀ`.
fn add_square(m: &mut SymmetricMatrix<f64>, x: impl Iterator<Item = f64>, factor: f64) {
    let x: Vec<f64> = x.collect();
    for (i, &value) in x.iter().enumerate() {
        let start = SymmetricMatrix::<f64>::offset(i, 0);
        let scaled = factor * value;
        m.data[start..=start + i].iter_mut().zip(&x).for_each(|(to, other)| *to += scaled * other);
    }
}

impl KaldiObject for LdaStats {
    fn read(r: &mut KaldiReader) -> std::result::Result<Self, IoError> {
        r.expect_token("<LDAACCS>")?;
        r.expect_token("<VECSIZE>")?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "dimensions"))?;
        r.expect_token("<NUMCLASSES>")?;
        let classes = r.read_i32().and_then(|n| r.check_count(n, "classes"))?;
        let (mut counts, mut sums, mut squares) = (None, None, None);
        loop {
            match r.read_token()?.as_str() {
                "<ZERO_ACCS>" => counts = Some(Vec::read(r)?),
                "<FIRST_ACCS>" => sums = Some(DenseMatrix::read(r)?),
                "<SECOND_ACCS>" => squares = Some(SymmetricMatrix::read(r)?),
                "</LDAACCS>" => break,
                other => {
                    return Err(r.error(format!("expected a section of LDA statistics, found '{other}'")));
                }
            }
        }
        let (Some(counts), Some(sums), Some(squares)) = (counts, sums, squares) else {
            return Err(r.error("counts, sums or squares are missing in these LDA statistics"));
        };
        let stats = LdaStats { counts, sums, squares };
        let found = (stats.counts.len(), stats.sums.rows, stats.sums.cols, stats.squares.dim);
        if found != (classes, classes, dim, dim) {
            return Err(r.error(format!(
                "LDA statistics of {classes} classes and dimension {dim} have {} counts, {}×{} sums and squares of \
                 dimension {}",
                found.0, found.1, found.2, found.3
            )));
        }
        Ok(LdaStats { squares: stats.with_class_means(1.0), ..stats })
    }

    fn write(&self, w: &mut KaldiWriter) -> std::result::Result<(), IoError> {
        let count = |n: usize| {
            i32::try_from(n)
                .map_err(|_| IoError::Value(format!("the size {n} is too large for LDA statistics")))
        };
        w.write_token("<LDAACCS>")?;
        w.write_token("<VECSIZE>")?;
        w.write_i32(count(self.dim())?)?;
        w.write_token("<NUMCLASSES>")?;
        w.write_i32(count(self.classes())?)?;
        w.write_token("<ZERO_ACCS>")?;
        self.counts.iter().map(|&x| x as f32).collect::<Vec<f32>>().write(w)?;
        w.write_token("<FIRST_ACCS>")?;
        self.sums.convert::<f32>().write(w)?;
        w.write_token("<SECOND_ACCS>")?;
        self.with_class_means(-1.0).convert::<f32>().write(w)?;
        w.write_token("</LDAACCS>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::matrix;
    use kaldi_io::{SparseMatrix, SparseVector};

    fn keep(weight: f32) -> f32 {
        weight
    }

    fn bytes(stats: &LdaStats) -> Vec<u8> {
        let mut w = KaldiWriter::in_memory(true);
        stats.write(&mut w).unwrap();
        w.into_bytes()
    }

    fn read(bytes: Vec<u8>) -> std::result::Result<LdaStats, IoError> {
        let mut r = KaldiReader::from_bytes("f", bytes);
        r.set_binary(true);
        LdaStats::read(&mut r)
    }

    /// The example of the format's description.
    #[test]
    fn files() {
        let mut stats = LdaStats::new(2, 1);
        let vectors = DenseMatrix::from_rows(&[[2.0f32], [3.0]]);
        let classes = DenseMatrix::from_rows(&[[1.0f32, 0.0], [0.0, 1.0]]).into();
        stats.add(&vectors, &classes, keep).unwrap();
        let mut expected =
            b"<LDAACCS> <VECSIZE> \x04\x01\0\0\0<NUMCLASSES> \x04\x02\0\0\0<ZERO_ACCS> FV \x04\x02\0\0\0"
                .to_vec();
        expected.extend(
            b"\0\0\x80\x3f\0\0\x80\x3f<FIRST_ACCS> FM \x04\x02\0\0\0\x04\x01\0\0\0\0\0\0\x40\0\0\x40\x40",
        );
        expected.extend(b"<SECOND_ACCS> FP \x04\x01\0\0\0\0\0\0\0</LDAACCS> ");
        assert_eq!(bytes(&stats), expected);
        assert_eq!(expected.len(), 142);
        assert_eq!(read(expected).unwrap(), stats);
    }

    #[test]
    fn sparse_and_dense_classes_give_the_sums_of_weighted_vectors() {
        let vectors = matrix(6, 3, 1);
        let weights = [(0, 0, 1.0), (1, 1, 0.25), (1, 3, 0.5), (2, 3, 2.0), (4, 0, 0.125), (5, 2, 1.0)];
        let mut dense = DenseMatrix::<f32>::new(6, 4);
        let mut rows = vec![Vec::new(); 6];
        let mut expected = LdaStats::new(4, 3);
        for (row, class, weight) in weights {
            dense.row_mut(row)[class] = weight;
            rows[row].push((class as i32, weight));
            let weight = f64::from(weight);
            expected.counts[class] += weight;
            for i in 0..3 {
                let x = f64::from(vectors.row(row)[i]);
                expected.sums.row_mut(class)[i] += weight * x;
                for j in 0..=i {
                    expected.squares.data[i * (i + 1) / 2 + j] += weight * x * f64::from(vectors.row(row)[j]);
                }
            }
        }
        let rows = rows.into_iter().map(|pairs| SparseVector::new(4, pairs).unwrap()).collect();
        for classes in [GeneralMatrix::from(dense), GeneralMatrix::from(SparseMatrix { rows })] {
            let mut stats = LdaStats::new(4, 3);
            stats.add(&vectors, &classes, keep).unwrap();
            assert_eq!(stats.count(), 4.875);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close(&stats.counts, &expected.counts) && close(&stats.sums.data, &expected.sums.data));
            assert!(close(&stats.squares.data, &expected.squares.data));
            let mut sum = LdaStats::default();
            sum.merge(read(bytes(&stats)).unwrap()).unwrap();
            sum.merge(stats.clone()).unwrap();
            assert!(
                sum.squares.data.iter().zip(&expected.squares.data).all(|(a, b)| (a - 2.0 * b).abs() < 1e-5)
            );
            let mut pruned = LdaStats::new(4, 3);
            pruned.add(&vectors, &classes, |weight| if weight < 1.0 { 0.0 } else { weight }).unwrap();
            assert_eq!(pruned.counts, [1.0, 0.0, 1.0, 2.0]);
        }
    }

    #[test]
    fn errors() {
        let mut stats = LdaStats::new(2, 3);
        let classes = |rows| GeneralMatrix::from(DenseMatrix::new(rows, 2));
        assert!(
            stats
                .add(&matrix(2, 3, 1), &classes(3), keep)
                .unwrap_err()
                .to_string()
                .contains("2 vectors for 3")
        );
        assert!(
            stats.add(&matrix(2, 4, 1), &classes(2), keep).unwrap_err().to_string().contains("dimension 4")
        );
        assert!(stats.merge(LdaStats::new(2, 2)).is_err());
        let good = String::from_utf8_lossy(&bytes(&LdaStats::new(1, 1))).into_owned();
        let missing = good.replace("<ZERO_ACCS>", "<ZERO_ACC>");
        assert!(read(missing.into_bytes()).unwrap_err().to_string().contains("'<ZERO_ACC>'"));
        let mut wrong = bytes(&LdaStats::new(1, 1));
        wrong[21] = 2;
        assert!(read(wrong).unwrap_err().to_string().contains("dimension 2 have 1 counts"));
    }
}
