//! Means of the matrices of a table: `archives scp:feats.scp ark,t:means.txt`.

use std::error::Error;

use nnet3_toolkit::tables::{MatrixHolder, VectorHolder};
use nnet3_toolkit::{TableReader, TableWriter};

/// Reads a table of matrices (an rspecifier), and writes the mean row of each (to a wspecifier). Returns their number.
pub fn means(from: &str, to: &str) -> Result<usize, Box<dyn Error>> {
    let mut reader = TableReader::<MatrixHolder>::open(from)?;
    let mut writer = TableWriter::<VectorHolder>::open(to)?;
    let mut count = 0;
    while let Some((key, matrix)) = reader.next()? {
        let mut mean = vec![0.0; matrix.cols];
        for i in 0..matrix.rows {
            mean.iter_mut().zip(matrix.row(i)).for_each(|(sum, x)| *sum += x / matrix.rows as f32);
        }
        writer.write(&key, &mean)?;
        count += 1;
    }
    reader.close()?;
    writer.close()?;
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, from, to] = &arguments[..] else { return Err("expected two tables".into()) };
    eprintln!("{} matrices", means(from, to)?);
    Ok(())
}
