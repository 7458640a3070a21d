//! Values in tables against the bytes in the format description.

use crate::common::{hex, reader, written};
use kaldi_io::holder::*;

/// Writes a value in both modes, and reads it back from both.
fn check<H: Holder>(value: H::T, binary: &str, text: &str)
where
    H::T: PartialEq + std::fmt::Debug,
{
    assert_eq!(written(true, |w| H::write(w, &value)), hex(binary));
    assert_eq!(written(false, |w| H::write(w, &value)), text.as_bytes());
    for bytes in [hex(binary), text.as_bytes().to_vec()] {
        // Bytes after an object are left for the next read.
        let mut r = reader(false, &[&bytes[..], b"next "].concat());
        assert_eq!(H::read(&mut r).unwrap(), value);
        assert_eq!(r.read_token().unwrap(), "next");
    }
}

fn fails<H: Holder>(texts: &[&str]) {
    for text in texts {
        assert!(H::read(&mut reader(false, text.as_bytes())).is_err(), "{text:?}");
    }
}

#[test]
fn numbers() {
    check::<I32Holder>(5, "00 42 04 05 00 00 00", "5 \n");
    check::<FloatHolder>(0.5, "00 42 04 00 00 00 3F", "0.5 \n");
    check::<DoubleHolder>(0.5, "00 42 08 00 00 00 00 00 00 E0 3F", "0.5 \n");
    check::<BoolHolder>(true, "00 42 54", "T \n");
    fails::<I32Holder>(&["5", "\n5\n", "5 6\n", "x\n", ""]);
    assert_eq!(I32Holder::read(&mut reader(false, b"  5\t \n")).unwrap(), 5);
}

#[test]
fn lists_of_integers() {
    check::<I32VectorHolder>(vec![3, 4], "00 42 04 02 00 00 00 04 03 00 00 00 04 04 00 00 00", "3 4 \n");
    check::<I32VectorHolder>(vec![], "00 42 04 00 00 00 00", "\n");
    // Without its line break the last number may be the beginning of another one.
    fails::<I32VectorHolder>(&["3 x\n", "3 4", ""]);
    check::<I8VectorHolder>(vec![-5, 127], "00 42 04 02 00 00 00 01 FB 01 7F", "-5 127 \n");
    fails::<I8VectorHolder>(&["128\n", ""]);
    let int = |n: i32| format!("04 {n:02X} 00 00 00 ");
    let lists = format!("00 42 {}", [3, 2, 1, 2, 0, 1, 3].map(int).concat());
    assert_eq!(hex(&lists).len(), 37);
    check::<I32VectorVectorHolder>(vec![vec![1, 2], vec![], vec![3]], &lists, "1 2 ; ; 3 ; \n");
    fails::<I32VectorVectorHolder>(&["1 2\n", "1 x ;\n", "1 2 ;", ""]);
    let pairs = format!("00 42 {}", [2, 1, 2, 3, 4].map(int).concat());
    check::<I32PairVectorHolder>(vec![(1, 2), (3, 4)], &pairs, "1 2 ; 3 4 \n");
    check::<I32PairVectorHolder>(vec![], "00 42 04 00 00 00 00", "\n");
    fails::<I32PairVectorHolder>(&["1 2 ; 3\n", "1\n", "1 2 ;\n", "1 2 ; 3 4"]);
}

#[test]
fn tokens() {
    check::<TokenHolder>("abc".to_owned(), "61 62 63 0A", "abc\n");
    fails::<TokenHolder>(&["abc", "a b\n", "\n", ""]);
    check::<TokenVectorHolder>(vec!["a".into(), "b".into()], "61 20 62 20 0A", "a b \n");
    check::<TokenVectorHolder>(vec![], "0A", "\n");
    // An editor may omit the last line break.
    assert_eq!(TokenVectorHolder::read(&mut reader(false, b"a b")).unwrap(), ["a", "b"]);
    assert!(TokenHolder::write(&mut kaldi_io::KaldiWriter::in_memory(false), &"a b".to_owned()).is_err());
}

#[test]
fn posteriors() {
    let bytes = "00 42 04 02 00 00 00 04 02 00 00 00 04 03 00 00 00 04 00 00 00 3F 04 07 00 00 00 04 00 00 00 3F 04 00 \
                 00 00 00";
    check::<PosteriorHolder>(vec![vec![(3, 0.5), (7, 0.5)], vec![]], bytes, "[ 3 0.5 7 0.5 ] [ ] \n");
    fails::<PosteriorHolder>(&[
        "[3 0.5 ]\n",
        "[ 3 ]\n",
        "[ 3 0.5\n",
        "3 0.5\n",
        "[ 3 x ]\n",
        "[ 3 0.5 ] [ 4 1 ]",
        "",
    ]);
    assert_eq!(PosteriorHolder::read(&mut reader(false, b"[ 3 0.5]\n")).unwrap(), [[(3, 0.5)]]);
    // 2^31−1 frames.
    assert!(PosteriorHolder::read(&mut reader(false, &hex("00 42 04 FF FF FF 7F"))).is_err());
}

#[test]
fn ranges_are_for_matrices_and_vectors() {
    let m = kaldi_io::DenseMatrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.0]]);
    assert_eq!(MatrixHolder::extract_range(&m, "1:1,0:0").unwrap().data, [3.0]);
    assert_eq!(
        GeneralMatrixHolder::extract_range(&m.clone().into(), ":,1:1").unwrap().to_dense().data,
        [2.0, 4.0]
    );
    assert_eq!(VectorHolder::extract_range(&vec![1.0, 2.0, 3.0], "1:2").unwrap(), [2.0, 3.0]);
    assert!(I32VectorHolder::extract_range(&vec![1], "0:0").is_err());
    assert!(MatrixHolder::extract_range(&m, "0:9").is_err());
}

#[test]
fn posteriors_of_gaussians() {
    let one = vec![vec![(4, vec![1.0, -2.0])]];
    let binary =
        "00 42 04 01 00 00 00 04 01 00 00 00 04 04 00 00 00 46 56 20 04 02 00 00 00 00 00 80 3F 00 00 00 C0";
    check::<GaussPostHolder>(one, binary, "1 1 4  [ 1 -2 ]\n\n");
    check::<GaussPostHolder>(
        vec![vec![], vec![]],
        "00 42 04 02 00 00 00 04 00 00 00 00 04 00 00 00 00",
        "2 0 0 \n",
    );
    fails::<GaussPostHolder>(&["-1 \n", "1 -1 \n", "1 1 4 2 \n", "1 1 [ 2 ]\n", ""]);
    check::<F32PairVectorHolder>(
        vec![(0.5, -2.0)],
        "00 42 04 01 00 00 00 04 00 00 00 3F 04 00 00 00 C0",
        "0.5 -2 \n",
    );
}
