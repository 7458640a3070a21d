//! Matrices and vectors in all their forms against the bytes in the format description.

use crate::common::{hex, message, read_all, reader, written};
use kaldi_io::{
    CompressedMatrix, CompressionMethod, DenseMatrix, GeneralMatrix, PackedMatrix, SparseMatrix,
    SparseVector, read_vector, write_vector,
};

const FM: &str = "46 4D 20 04 02 00 00 00 04 02 00 00 00 00 00 80 3F 00 00 00 40 00 00 40 40 00 00 00 BF";

fn m2() -> DenseMatrix<f32> {
    DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, -0.5]])
}

#[test]
fn full_matrix() {
    let m = m2();
    assert_eq!(written(true, |w| m.write(w)), hex(FM));
    assert_eq!(hex(FM).len(), 29);
    assert_eq!(written(false, |w| m.write(w)), b" [\n  1 2 \n  3 -0.5 ]\n");
    assert_eq!(read_all(true, &hex(FM), DenseMatrix::<f32>::read), m);
    assert_eq!(read_all(true, &hex(FM), DenseMatrix::<f64>::read), m.convert());
    assert_eq!(read_all(false, b" [\n  1 2 \n  3 -0.5 ]\n", DenseMatrix::<f32>::read), m);

    let d = DenseMatrix::from_rows(&[[0.25f64]]);
    let bytes = hex("44 4D 20 04 01 00 00 00 04 01 00 00 00 00 00 00 00 00 00 D0 3F");
    assert_eq!(written(true, |w| d.write(w)), bytes);
    assert_eq!(read_all(true, &bytes, DenseMatrix::<f64>::read), d);
    assert_eq!(read_all(true, &bytes, DenseMatrix::<f32>::read), d.convert());

    let empty = DenseMatrix::<f32>::default();
    assert_eq!(written(true, |w| empty.write(w)), hex("'FM ' 04 00 00 00 00 04 00 00 00 00"));
    assert_eq!(written(false, |w| empty.write(w)), b" [ ]\n");
    assert_eq!(read_all(false, b" [ ]\n", DenseMatrix::<f32>::read), empty);
    // Kaldi's `Resize` asserts that a matrix without rows has no columns, and the other way round.
    for (rows, cols) in [(0, 13), (13, 0)] {
        let no_rows_or_no_columns = DenseMatrix::<f32>::new(rows, cols);
        assert_eq!(written(true, |w| no_rows_or_no_columns.write(w)), written(true, |w| empty.write(w)));
    }
}

#[test]
fn vectors() {
    let bytes = hex("46 56 20 04 02 00 00 00 00 00 80 3F 00 00 00 C0");
    assert_eq!(written(true, |w| write_vector(w, &[1.0f32, -2.0])), bytes);
    assert_eq!(written(false, |w| write_vector(w, &[1.0f32, -2.0])), b" [ 1 -2 ]\n");
    assert_eq!(read_all(true, &bytes, read_vector::<f32>), [1.0, -2.0]);
    assert_eq!(read_all(true, &bytes, read_vector::<f64>), [1.0, -2.0]);
    assert_eq!(read_all(false, b" [ 1 -2 ]\n", read_vector::<f32>), [1.0, -2.0]);
    assert_eq!(written(true, |w| write_vector::<f32>(w, &[])), hex("'FV ' 04 00 00 00 00"));
    assert_eq!(written(false, |w| write_vector::<f64>(w, &[])), b" [ ]\n");
    for bad in ["[1 2 ]", "[ 1\n2 ]", "[ 1 2", "[ 1 x ]", "[ 1,2 ]", ""] {
        assert!(read_vector::<f32>(&mut reader(false, bad.as_bytes())).is_err(), "{bad}");
    }
    for (cut, expected) in [
        ("[ 1 2 3\n", "a vector must be on one line (is the ']' missing, or is this a matrix?)"),
        ("[ 1 2 3", "the file ends within a vector, before its ']'"),
    ] {
        let error = read_vector::<f32>(&mut reader(false, cut.as_bytes())).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(read_vector::<f32>(&mut reader(false, b"[ inf NaN 1 ]")).unwrap()[1].is_nan());
}

#[test]
fn matrices_in_other_peoples_text() {
    let read = |text: &str| DenseMatrix::<f32>::read(&mut reader(false, text.as_bytes()));
    for text in
        ["[ 1 2\n3 -0.5 ]", "[ 1 2 ; 3 -0.5\n]\r\n", " [\r\n\r\n 1\t2\r\n 3 -0.5]", "[ 1 2\n\n;3 -.5e0 ]"]
    {
        assert_eq!(read(text).unwrap(), m2(), "{text:?}");
    }
    assert_eq!(read("[]").unwrap(), DenseMatrix::default());
    let special = read("[ inf -inf nan ]").unwrap();
    assert_eq!(special.data[..2], [f32::INFINITY, f32::NEG_INFINITY]);
    for bad in ["[1 2 ]", "[ 1 2\n3 ]", "[ .5 ]", "[ +1 ]", "[ x ]", "[ 1", "FM 1 1", "[ 1e999 ]"] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
    assert!(message(read("[ 1 2\n3 4\n5 ]")).contains("line 3"));
}

#[test]
fn damaged_binary_matrices_are_errors() {
    let whole = hex(FM);
    for length in 0..whole.len() {
        assert!(DenseMatrix::<f32>::read(&mut reader(true, &whole[..length])).is_err(), "{length} bytes");
    }
    // 2^31−1 rows and columns, with almost no data behind them.
    let huge = hex("'FM ' 04 FF FF FF 7F 04 FF FF FF 7F 00 00 80 3F");
    assert!(DenseMatrix::<f32>::read(&mut reader(true, &huge)).is_err());
    let negative = hex("'FM ' 04 FF FF FF FF 04 01 00 00 00");
    assert!(message(DenseMatrix::<f32>::read(&mut reader(true, &negative))).contains("-1"));
    assert!(message(DenseMatrix::<f32>::read(&mut reader(true, b"SM "))).contains("sparse"));
    assert!(message(DenseMatrix::<f32>::read(&mut reader(true, b"XM "))).contains("XM"));
}

#[test]
fn packed_matrix() {
    let sp = PackedMatrix { dim: 2, data: vec![1.0f32, 2.0, 3.0] };
    let bytes = hex("46 50 20 04 02 00 00 00 00 00 80 3F 00 00 00 40 00 00 40 40");
    assert_eq!(written(true, |w| sp.write(w)), bytes);
    assert_eq!(written(false, |w| sp.write(w)), b"[\n1 \n2 3 ]\n");
    assert_eq!(read_all(true, &bytes, PackedMatrix::<f32>::read), sp);
    assert_eq!(read_all(true, &bytes, PackedMatrix::<f64>::read), sp.convert());
    assert_eq!(read_all(false, b"[\n1 \n2 3 ]\n", PackedMatrix::<f32>::read), sp);
    assert_eq!(PackedMatrix::<f32>::read(&mut reader(false, b"FP 2 1 2 3 ")).unwrap(), sp);
    assert_eq!(PackedMatrix::<f32>::read(&mut reader(false, b"DP 2 1 2 3 ")).unwrap(), sp);
    assert_eq!(written(false, |w| PackedMatrix::<f32>::default().write(w)), b"[ ]\n");
    assert_eq!(read_all(false, b"[ ]\n", PackedMatrix::<f32>::read), PackedMatrix::default());
    assert_eq!((sp.get(0, 1), sp.get(1, 0), sp.get(1, 1)), (2.0, 2.0, 3.0));
    assert!(PackedMatrix::<f32>::read(&mut reader(false, b"[ 1 2 ]")).is_err());
    assert!(PackedMatrix::<f32>::read(&mut reader(true, &hex("'FP ' 04 FF FF FF 7F 00"))).is_err());
}

fn compressed(m: &DenseMatrix<f32>, method: i32) -> CompressedMatrix {
    CompressedMatrix::compress(m, CompressionMethod::try_from(method).unwrap()).unwrap()
}

#[test]
fn compressed_matrix_bytes() {
    let m = DenseMatrix::from_rows(&[[0.0, 1.0], [2.0, 3.0]]);
    let column = DenseMatrix { rows: 10, cols: 1, data: (0..10).map(|i| i as f32).collect() };
    let five = DenseMatrix::from_rows(&[[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]);
    let constant = DenseMatrix { rows: 9, cols: 1, data: vec![2.0; 9] };
    #[rustfmt::skip]
    let cases = [
        (&m, 3, "43 4D 32 20 00 00 00 00 00 00 40 40 02 00 00 00 02 00 00 00 00 00 55 55 AA AA FF FF"),
        (&m, 1, "43 4D 32 20 00 00 00 00 00 00 40 40 02 00 00 00 02 00 00 00 00 00 55 55 AA AA FF FF"),
        (&m, 2, "43 4D 20 00 00 00 00 00 00 40 40 02 00 00 00 02 00 00 00 00 00 AA AA AB AA AC AA 55 55 FD FF FE FF FF FF 00 40 00 FF"),
        (&m, 4, "43 4D 32 20 00 00 00 C7 00 FF 7F 47 02 00 00 00 02 00 00 00 00 80 01 80 02 80 03 80"),
        (&m, 5, "43 4D 33 20 00 00 00 00 00 00 40 40 02 00 00 00 02 00 00 00 00 55 AA FF"),
        (&m, 6, "43 4D 33 20 00 00 00 00 00 00 7F 43 02 00 00 00 02 00 00 00 00 01 02 03"),
        (&m, 7, "43 4D 33 20 00 00 00 00 00 00 80 3F 02 00 00 00 02 00 00 00 00 FF FF FF"),
        (&column, 2, "43 4D 20 00 00 00 00 00 00 10 41 0A 00 00 00 01 00 00 00 00 00 E3 38 AA AA FF FF 00 20 40 60 80 A0 C0 D5 EA FF"),
        (&column, 1, "43 4D 20 00 00 00 00 00 00 10 41 0A 00 00 00 01 00 00 00 00 00 E3 38 AA AA FF FF 00 20 40 60 80 A0 C0 D5 EA FF"),
        (&five, 2, "43 4D 20 00 00 00 00 00 00 20 42 05 00 00 00 02 00 00 00 00 00 66 06 33 13 99 19 00 00 00 40 FF BF FF FF 00 40 80 C0 FF 00 40 80 C0 FF"),
        (&constant, 1, "43 4D 20 00 00 00 40 00 00 40 40 09 00 00 00 01 00 00 00 00 00 01 00 02 00 03 00 00 00 00 00 00 00 00 00 00"),
    ];
    for (m, method, bytes) in cases {
        let c = compressed(m, method);
        assert_eq!(written(true, |w| c.write(w)), hex(bytes), "method {method}");
        assert_eq!(read_all(true, &hex(bytes), CompressedMatrix::read), c);
        assert_eq!((c.rows(), c.cols()), (m.rows, m.cols));
        assert_eq!(read_all(true, &hex(bytes), DenseMatrix::<f32>::read), c.to_dense());
    }
    let decoded: Vec<u32> = compressed(&column, 2).to_dense().data.iter().map(|v| v.to_bits()).collect();
    let expected = [
        0, 0x3F7FFE80, 0x3FFFFE80, 0x403FFF70, 0x407FFFA0, 0x409FFFE8, 0x40C00000, 0x40E00000, 0x41000000,
        0x41100000,
    ];
    assert_eq!(decoded, expected);

    let integers = DenseMatrix { rows: 3, cols: 1, data: vec![-40000.0, -1.4, 1.5] };
    let c = compressed(&integers, 4);
    assert_eq!(written(true, |w| c.write(w))[20..], hex("00 00 FF 7F 01 80"));
    assert_eq!(c.to_dense().data, [-32768.0, -1.0, 1.0]);
}

#[test]
fn compressed_matrix_special_cases() {
    let empty = CompressedMatrix::default();
    assert_eq!(written(true, |w| empty.write(w)).len(), 23);
    assert_eq!(CompressedMatrix::read(&mut reader(true, &written(true, |w| empty.write(w)))).unwrap(), empty);
    // Text holds the numbers; reading text, or a full matrix, compresses.
    let m = DenseMatrix::from_rows(&[[0.0, 1.0], [2.0, 3.0]]);
    assert_eq!(written(false, |w| compressed(&m, 6).write(w)), b" [\n  0 1 \n  2 3 ]\n");
    assert_eq!(read_all(false, b" [\n  0 1 \n  2 3 ]\n", CompressedMatrix::read), compressed(&m, 1));
    assert_eq!(read_all(true, &written(true, |w| m.write(w)), CompressedMatrix::read), compressed(&m, 1));
    for bad in [f32::NAN, f32::INFINITY] {
        let m = DenseMatrix { rows: 1, cols: 2, data: vec![0.0, bad] };
        assert!(CompressedMatrix::compress(&m, CompressionMethod::Automatic).is_err());
    }
    let wide = DenseMatrix { rows: 1, cols: 2, data: vec![f32::MIN, f32::MAX] };
    assert!(CompressedMatrix::compress(&wide, CompressionMethod::Automatic).is_err());
    let mut c = compressed(&m, 5);
    c.scale(2.0);
    assert_eq!(c.to_dense().data, [0.0, 2.0, 4.0, 6.0]);
    let huge = hex("'CM ' 00 00 00 00 00 00 80 3F FF FF FF 7F FF FF FF 7F 00");
    assert!(CompressedMatrix::read(&mut reader(true, &huge)).is_err());
}

/// Compares values of every size with a decoder that follows the format description's order of operations.
#[test]
fn compressing_is_accurate() {
    let m = DenseMatrix {
        rows: 600,
        cols: 3,
        data: (0..1800).map(|i| ((i * 7919) % 1801) as f32 / 7.0 - 99.0).collect(),
    };
    for (method, tolerance) in [(2, 1.1), (3, 0.003), (5, 0.55)] {
        let back = compressed(&m, method).to_dense();
        let worst = m.data.iter().zip(&back.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < tolerance, "method {method}: {worst}");
    }
    // Long columns are decoded by a table, short ones number by number.
    let c = compressed(&m, 2);
    let (first, whole) = (c.sub_rows(0, 100).unwrap().to_dense(), c.to_dense());
    assert_eq!(first.data[..], whole.data[..300]);
}

#[test]
fn rows_of_compressed_matrices() {
    let m = DenseMatrix { rows: 12, cols: 2, data: (0..24).map(|i| i as f32).collect() };
    for method in [2, 3, 5] {
        let c = compressed(&m, method);
        let all = c.to_dense();
        let part = c.sub_rows(-2, 16).unwrap().to_dense();
        for i in 0..16usize {
            assert_eq!(part.row(i), all.row(i.saturating_sub(2).min(11)), "method {method}, row {i}");
        }
    }
    // Few rows of the form with quantiles are encoded again.
    let part = compressed(&m, 2).sub_rows(3, 7).unwrap();
    assert_eq!(written(true, |w| part.write(w))[..4], *b"CM2 ");
    assert_eq!(written(true, |w| compressed(&m, 2).sub_rows(3, 8).unwrap().write(w))[..3], *b"CM ");
}

#[test]
fn sparse() {
    let v = SparseVector { dim: 5, pairs: vec![(0, 0.5), (3, 1.0)] };
    let bytes = hex(
        "53 56 20 04 05 00 00 00 04 02 00 00 00 04 00 00 00 00 04 00 00 00 3F 04 03 00 00 00 04 00 00 80 3F",
    );
    assert_eq!(written(true, |w| v.write(w)), bytes);
    assert_eq!(written(false, |w| v.write(w)), b"dim=5 [ 0 0.5 3 1 ] ");
    assert_eq!(read_all(true, &bytes, SparseVector::read), v);
    assert_eq!(SparseVector::read(&mut reader(false, b"dim=5 [ 0 0.5 3 1 ] ")).unwrap(), v);
    assert_eq!(SparseVector::new(5, vec![(3, 0.5), (0, 0.5), (3, 0.5), (1, 0.0)]).unwrap(), v);
    assert!(SparseVector::new(5, vec![(5, 1.0)]).is_err());

    let m = SparseMatrix {
        rows: vec![SparseVector { dim: 3, pairs: vec![(1, 1.0)] }, SparseVector { dim: 3, pairs: vec![] }],
    };
    let bytes = hex(
        "53 4D 20 04 02 00 00 00 53 56 20 04 03 00 00 00 04 01 00 00 00 04 01 00 00 00 04 00 00 80 3F 53 56 20 04 03 \
         00 00 00 04 00 00 00 00",
    );
    assert_eq!(written(true, |w| m.write(w)), bytes);
    assert_eq!(written(false, |w| m.write(w)), b"rows=2 dim=3 [ 1 1 ] dim=3 [ ] \n");
    assert_eq!(read_all(true, &bytes, SparseMatrix::read), m);
    assert_eq!(SparseMatrix::read(&mut reader(false, b"rows=2 dim=3 [ 1 1 ] dim=3 [ ] \n")).unwrap(), m);
    assert_eq!(m.to_dense(), DenseMatrix::from_rows(&[[0.0, 1.0, 0.0], [0.0; 3]]));
    for bad in ["dim=3 [ 3 1 ]", "dim=3 [ 1 1 0 1 ]", "dim=x [ ]", "dim=3 [ 1 1", "[ ]"] {
        assert!(SparseVector::read(&mut reader(false, bad.as_bytes())).is_err(), "{bad}");
    }
    assert!(SparseMatrix::read(&mut reader(true, &hex("'SM ' 04 80 96 98 00"))).is_err());
}

fn sparse2() -> GeneralMatrix {
    let row = |i| SparseVector { dim: 2, pairs: vec![(i, 1.0)] };
    SparseMatrix { rows: vec![row(0), row(1)] }.into()
}

#[test]
fn general_matrix() {
    let full = GeneralMatrix::from(m2());
    let mut squeezed = full.clone();
    squeezed.compress().unwrap();
    for m in [&full, &squeezed, &sparse2()] {
        let bytes = written(true, |w| m.write(w));
        assert_eq!(read_all(true, &bytes, GeneralMatrix::read), *m);
    }
    assert_eq!(written(true, |w| full.write(w)), hex(FM));
    let text = written(false, |w| sparse2().write(w));
    assert_eq!(GeneralMatrix::read(&mut reader(false, &text)).unwrap(), sparse2());
    assert_eq!(GeneralMatrix::read(&mut reader(false, b" [\n  1 2 \n  3 -0.5 ]\n")).unwrap(), full);
    let empty = hex("46 4D 20 04 00 00 00 00 04 00 00 00 00");
    for m in [GeneralMatrix::default(), CompressedMatrix::default().into(), SparseMatrix::default().into()] {
        assert_eq!(written(true, |w| m.write(w)), empty);
    }
}

#[test]
fn rows_of_general_matrices() {
    let join = |parts: Vec<GeneralMatrix>| GeneralMatrix::append_rows(parts);
    let sparse = join(vec![sparse2(), GeneralMatrix::default(), sparse2()]).unwrap();
    assert!(matches!(&sparse, GeneralMatrix::Sparse(m) if m.rows.len() == 4));
    let mixed = join(vec![sparse2(), m2().into()]).unwrap();
    assert_eq!(mixed, DenseMatrix::from_rows(&[[1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [3.0, -0.5]]).into());
    assert_eq!(join(vec![]).unwrap(), GeneralMatrix::default());
    assert!(join(vec![sparse2(), DenseMatrix::new(1, 3).into()]).is_err());

    for m in [GeneralMatrix::from(m2()), sparse2()] {
        let dense = m.to_dense();
        let part = m.extract_rows(-1, 4, true).unwrap().into_dense();
        assert_eq!(part, DenseMatrix::from_rows(&[dense.row(0), dense.row(0), dense.row(1), dense.row(1)]));
        assert!(m.extract_rows(-1, 4, false).is_err() && m.extract_rows(1, 2, false).is_err());
        assert_eq!(m.extract_rows(1, 1, false).unwrap().into_dense().data, dense.row(1));
        assert_eq!(
            m.select_rows(&[1, 0]).unwrap().into_dense(),
            DenseMatrix::from_rows(&[dense.row(1), dense.row(0)])
        );
        assert!(m.select_rows(&[2]).is_err());
    }
    assert!(GeneralMatrix::default().extract_rows(0, 1, true).is_err());
}
