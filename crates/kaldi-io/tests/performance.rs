//! Speed of reading and writing large matrices, against copying memory. Not run by default:
//! `cargo test --release -p kaldi-io --test performance -- --ignored --nocapture`.

mod common;

use std::time::Instant;

use common::Folder;
use kaldi_io::{CompressedMatrix, CompressionMethod, DenseMatrix, read_object, write_object};

fn timed<T>(what: &str, bytes: usize, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = run();
    println!("{what:>28}: {:6.2} GB/s", bytes as f64 / start.elapsed().as_secs_f64() / 1e9);
    value
}

#[test]
#[ignore = "takes gigabytes"]
fn large_matrices() {
    let folder = Folder::new();
    let path = folder.path("m");
    let (rows, cols) = (250_000, 1000);
    let m = DenseMatrix { rows, cols, data: (0..rows * cols).map(|i| (i % 9973) as f32).collect() };
    let bytes = 4 * rows * cols;
    let copy = timed("copy in memory", bytes, || std::hint::black_box(m.data.clone()));
    drop(copy);
    timed("write", bytes, || write_object(&path, true, &m).unwrap());
    timed("write again", bytes, || write_object(&path, true, &m).unwrap());
    timed("std::fs::read", bytes, || std::fs::read(&path).unwrap());
    let back: DenseMatrix<f32> = timed("read", bytes, || read_object(&path).unwrap());
    assert!(back == m);
    let back: DenseMatrix<f64> = timed("read as double", bytes, || read_object(&path).unwrap());
    drop(back);
    timed("read from a pipe", bytes, || read_object::<DenseMatrix<f32>>(&format!("cat {path} |")).unwrap());

    let m = m.block(0, 20_000, 0, 40);
    let bytes = 4 * m.data.len();
    let c =
        timed("compress", bytes, || CompressedMatrix::compress(&m, CompressionMethod::Automatic).unwrap());
    timed("expand", bytes, || c.to_dense());
    timed("write text", bytes, || write_object(&path, false, &m).unwrap());
    timed("read text", bytes, || read_object::<DenseMatrix<f32>>(&path).unwrap());
}
