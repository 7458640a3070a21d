//! Features of words: a sparse matrix that makes embeddings of words of those of features (`ReadSparseWordFeatures`).

use kaldi_io::text::{excerpt, parse_integer, parse_real};
use kaldi_io::{DenseMatrix, KaldiReader};
use nnet3_matrix::{IndexTable, Matrix, View, ViewMut, Workspace};

use crate::error::Result;

/// Elements that a block of a product may take at a time.
const BLOCK: usize = 1 << 20;

/// Rows of features with their values: words × features.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WordFeatures {
    dim: usize,
    rows: Vec<Vec<(i32, f32)>>,
}

impl WordFeatures {
    /// Reads a text file. Each line has a word, counted from 0 on, and pairs of a feature below `dim` and its value, in the order
    /// of the features.
    pub fn load(rxfilename: &str, dim: usize) -> Result<WordFeatures> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let features = WordFeatures::read(&mut r, dim)?;
        r.close()?;
        Ok(features)
    }

    /// Does what [`WordFeatures::load`] does, to the end of the file.
    pub fn read(r: &mut KaldiReader, dim: usize) -> Result<WordFeatures> {
        let mut rows = Vec::new();
        while let Some(line) = r.read_line()? {
            let wrong = |message: String| {
                let (name, number) = (r.name(), rows.len() + 1);
                let shown = excerpt(line.as_bytes());
                crate::Error::data(format!("{name}, line {number}: {message} (in {shown})"))
            };
            let mut fields = line.split_ascii_whitespace();
            let word = fields.next().and_then(parse_integer::<usize>);
            if word != Some(rows.len()) {
                return Err(wrong(format!("expected word {}: words are in order, from 0", rows.len())));
            }
            let mut row: Vec<(i32, f32)> = Vec::new();
            while let Some(field) = fields.next() {
                let feature = parse_integer::<i32>(field).filter(|&f| f >= 0 && (f as usize) < dim);
                let feature = feature.ok_or_else(|| {
                    wrong(format!("expected a feature from 0 to below {dim}, found {field}"))
                })?;
                let value = fields.next().and_then(parse_real).filter(|value| value.is_finite());
                let value = value.ok_or_else(|| wrong(format!("expected a value of feature {feature}")))?;
                if row.last().is_some_and(|&(last, _)| last >= feature) {
                    return Err(wrong(format!("feature {feature} is not above the one before it")));
                }
                row.push((feature, value as f32));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(crate::Error::data(format!("{}: expected features of words, found none", r.name())));
        }
        Ok(WordFeatures { dim, rows })
    }

    pub fn num_words(&self) -> usize {
        self.rows.len()
    }

    /// The number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The rows of these words, in this order.
    pub fn select(&self, words: &[i32]) -> WordFeatures {
        WordFeatures {
            dim: self.dim,
            rows: words.iter().map(|&word| self.rows[word as usize].clone()).collect(),
        }
    }

    /// Features × words.
    pub fn transposed(&self) -> WordFeatures {
        let mut rows = vec![Vec::new(); self.dim];
        for (word, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|&(feature, value)| rows[feature as usize].push((word as i32, value)));
        }
        WordFeatures { dim: self.rows.len(), rows }
    }

    /// dst = this · src.
    pub fn multiply(&self, workspace: &Workspace, dst: ViewMut<'_>, src: View<'_>) {
        let backend = workspace.device();
        let most = (BLOCK / src.cols().max(1)).max(1);
        let mut first = 0;
        while first < self.rows.len() {
            let (mut end, mut count) = (first, 0);
            while end < self.rows.len() && (end == first || count + self.rows[end].len() <= most) {
                count += self.rows[end].len();
                end += 1;
            }
            let dst = dst.row_range(first..end);
            backend.set(dst, 0.0);
            let rows = &self.rows[first..end];
            first = end;
            if count == 0 {
                continue;
            }
            let picked = rows.iter().flatten().map(|&(column, _)| column).collect();
            let values: Vec<f32> = rows.iter().flatten().map(|&(_, value)| value).collect();
            let mut last = 0;
            let ranges = rows.iter().flat_map(|row| {
                let begin = last;
                last += row.len() as i32;
                if row.is_empty() { [-1, -1] } else { [begin, last] }
            });
            let ranges = IndexTable::new(ranges.collect());
            let mut terms = workspace.take(count, src.cols());
            let mut column = workspace.take(count, 1);
            backend.upload(column.view_mut(), &values);
            backend.copy_rows(terms.view_mut(), 1.0, src, &IndexTable::new(picked));
            backend.scale_rows(terms.view_mut(), column.view());
            backend.add_row_ranges(dst, 1.0, terms.view(), &ranges);
        }
    }

    /// The embeddings of words, words × dimension, from those of features.
    pub fn word_embedding(&self, features: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        if features.rows != self.dim {
            return Err(crate::Error::data(format!(
                "the words have {} features, but the feature embedding has {} rows",
                self.dim, features.rows
            )));
        }
        let device = nnet3_matrix::cpu();
        let src = Matrix::from_slice(&device, features.rows, features.cols, &features.data);
        let mut dst = Matrix::zeros(&device, self.rows.len(), features.cols);
        self.multiply(&Workspace::new(&device), dst.view_mut(), src.view());
        Ok(DenseMatrix { rows: self.rows.len(), cols: features.cols, data: dst.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, dim: usize) -> Result<WordFeatures> {
        WordFeatures::read(&mut KaldiReader::from_bytes("f.txt", text.as_bytes().to_vec()), dim)
    }

    #[test]
    fn products_by_hand() {
        let features = read("0\t0 2.0\n1\n2 0 1 2 0.5\n", 3).unwrap();
        let matrix = DenseMatrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let words = features.word_embedding(&matrix).unwrap();
        assert_eq!(words, DenseMatrix::from_rows(&[[2.0, 4.0], [0.0, 0.0], [3.5, 5.0]]));
        let back = features.transposed().word_embedding(&matrix).unwrap();
        assert_eq!(back, DenseMatrix::from_rows(&[[7.0, 10.0], [0.0, 0.0], [2.5, 3.0]]));
        assert_eq!(features.select(&[2, 0]).rows, [features.rows[2].clone(), features.rows[0].clone()]);
    }

    /// Blocks of a large product agree with a loop over all terms.
    #[test]
    fn large_products() {
        const COLS: usize = 1 << 16;
        let text: String =
            (0..40).map(|word| format!("{word} {} 0.5 {} 2\n", word % 5, 5 + word % 3)).collect();
        let features = read(&text, 8).unwrap();
        let matrix =
            DenseMatrix { rows: 8, cols: COLS, data: (0..8 * COLS).map(|i| (i % 251) as f32).collect() };
        let words = features.word_embedding(&matrix).unwrap();
        for (word, row) in features.rows.iter().enumerate() {
            for col in (0..COLS).step_by(997) {
                let expected: f32 = row.iter().map(|&(f, value)| value * matrix.row(f as usize)[col]).sum();
                assert_eq!(words.row(word)[col], expected);
            }
        }
    }

    #[test]
    fn wrong_lines() {
        for (text, expected) in [
            ("", "expected features of words, found none"),
            ("0 1 1\n2 1 1\n", "f.txt, line 2: expected word 1"),
            ("0 3 1\n", "expected a feature from 0 to below 3, found 3"),
            ("0 1\n", "expected a value of feature 1"),
            ("0 1 x\n", "expected a value of feature 1"),
            ("0 1 1 1 1\n", "feature 1 is not above the one before it"),
        ] {
            let error = read(text, 3).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read("0 1 1\n", 3).unwrap().word_embedding(&DenseMatrix::new(2, 2)).unwrap_err();
        assert!(error.to_string().contains("3 features"), "{error}");
    }
}
