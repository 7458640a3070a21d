//! Numbers, tokens and vectors of integers against the bytes in the format description.

use crate::common::{hex, message, read_all, reader, written};
use kaldi_io::{KaldiReader, KaldiWriter};

#[test]
fn basic_types() {
    macro_rules! case {
        ($write:ident, $read:ident, $value:expr, $binary:literal, $text:literal) => {
            assert_eq!(written(true, |w| w.$write($value)), hex($binary), stringify!($write));
            assert_eq!(written(false, |w| w.$write($value)), $text.as_bytes(), stringify!($write));
            assert_eq!(read_all(true, &hex($binary), KaldiReader::$read), $value);
            let mut r = reader(false, $text.as_bytes());
            let read = r.$read().unwrap();
            assert_eq!(written(false, |w| w.$write(read)), $text.as_bytes());
        };
    }
    case!(write_i8, read_i8, -5, "01 FB", "-5 ");
    case!(write_u8, read_u8, 200, "FF C8", "200 ");
    case!(write_i16, read_i16, -2, "02 FE FF", "-2 ");
    case!(write_u16, read_u16, 513, "FE 01 02", "513 ");
    case!(write_i32, read_i32, -3, "04 FD FF FF FF", "-3 ");
    case!(write_u32, read_u32, 7, "FC 07 00 00 00", "7 ");
    case!(write_i64, read_i64, 1, "08 01 00 00 00 00 00 00 00", "1 ");
    case!(write_u64, read_u64, 2, "F8 02 00 00 00 00 00 00 00", "2 ");
    case!(write_f32, read_f32, 1.5, "04 00 00 C0 3F", "1.5 ");
    case!(write_f32, read_f32, 1.0 / 3.0, "04 AB AA AA 3E", "0.3333333 ");
    case!(write_f32, read_f32, 12345678.0, "04 4E 61 3C 4B", "1.234568e+07 ");
    case!(write_f64, read_f64, 0.1, "08 9A 99 99 99 99 99 B9 3F", "0.1 ");
    case!(write_bool, read_bool, true, "54", "T ");
    case!(write_bool, read_bool, false, "46", "F ");
}

#[test]
fn either_precision_is_read_as_the_other() {
    assert_eq!(read_all(true, &hex("08 00 00 00 00 00 00 E0 3F"), KaldiReader::read_f32), 0.5);
    assert_eq!(read_all(true, &hex("04 00 00 00 3F"), KaldiReader::read_f64), 0.5);
}

#[test]
fn wrong_size_byte_is_an_error() {
    let error = message(reader(true, &hex("FC 07 00 00 00")).read_i32());
    assert!(error.contains("byte 0") && error.contains("size byte -4"), "{error}");
    assert!(message(reader(true, &hex("04 07 00")).read_i32()).contains("ends"));
    assert!(message(reader(true, b"").read_i32()).contains("end of the file"));
    assert!(reader(true, b"x").read_bool().is_err());
    assert!(reader(true, b" T").read_bool().is_err(), "binary does not skip blanks");
}

#[test]
fn text_numbers_are_what_cxx_extraction_takes() {
    for (text, value) in [("1", 1.0), ("-1", -1.0), ("+1", 1.0), (".5", 0.5), ("1.", 1.0), (" \n1e-3", 1e-3)]
    {
        assert_eq!(reader(false, text.as_bytes()).read_f32().unwrap(), value, "{text}");
    }
    for text in ["inf", "nan", "1e99", "x", "", "-", "1e"] {
        assert!(reader(false, text.as_bytes()).read_f32().is_err(), "{text}");
    }
    assert!(reader(false, b"2147483648").read_i32().is_err());
    let mut r = reader(false, b" +12,7");
    assert_eq!(r.read_i32().unwrap(), 12);
    assert_eq!(r.peek_byte().unwrap(), Some(b','), "what follows the number is not consumed");
    let error = message(reader(false, b"1\n2\nx").read_i32_vector());
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn header() {
    assert_eq!(written(true, KaldiWriter::write_header), hex("00 42"));
    assert_eq!(written(false, KaldiWriter::write_header), hex(""));
    let mut r = KaldiReader::from_bytes("x", hex("00 42 'abc '"));
    assert!(r.detect_header().unwrap() && r.binary());
    assert_eq!(r.read_token().unwrap(), "abc");
    let mut r = KaldiReader::from_bytes("x", b"abc ".to_vec());
    assert!(!r.detect_header().unwrap());
    assert!(!KaldiReader::from_bytes("x", vec![]).detect_header().unwrap());
    assert!(KaldiReader::from_bytes("x", hex("00 41")).detect_header().is_err());
    assert!(KaldiReader::from_bytes("x", hex("00")).detect_header().is_err());
}

#[test]
fn tokens() {
    assert_eq!(written(true, |w| w.write_token("<Foo>")), hex("3C 46 6F 6F 3E 20"));
    assert!(KaldiWriter::in_memory(true).write_token("a b").is_err());
    assert!(KaldiWriter::in_memory(true).write_token("").is_err());
    let mut r = reader(false, b" <Nnet3> \nconfig\n");
    assert_eq!(r.peek_token().unwrap(), Some(b'N'));
    assert_eq!(r.read_token().unwrap(), "<Nnet3>");
    assert_eq!(r.read_line().unwrap().unwrap(), "", "the newline stays for line-based reading");
    assert_eq!(r.read_line().unwrap().unwrap(), "config");
    assert_eq!(r.read_line().unwrap(), None);
    assert!(reader(true, b"<A>").read_token().is_err(), "no blank after the token");
    // A token begins directly after raw data.
    let mut r = reader(true, &hex("04 00 00 80 3F '</X> '"));
    assert_eq!(r.read_f32().unwrap(), 1.0);
    r.expect_token("</X>").unwrap();
}

#[test]
fn expecting_tokens() {
    reader(true, b"<Foo> ").expect_token("<Foo>").unwrap();
    reader(true, b"Foo> ").expect_token("<Foo>").unwrap();
    let error = message(reader(true, b"<Bar> ").expect_token("<Foo>"));
    assert!(error.contains("<Foo>") && error.contains("<Bar>"), "{error}");
    reader(true, b"<A> <B> ").expect_one_or_two_tokens("<A>", "<B>").unwrap();
    reader(true, b"<B> ").expect_one_or_two_tokens("<A>", "<B>").unwrap();
    assert!(reader(true, b"<A> <C> ").expect_one_or_two_tokens("<A>", "<B>").is_err());
    assert!(reader(true, b"<C> ").expect_one_or_two_tokens("<A>", "<B>").is_err());
}

#[test]
fn integer_vectors() {
    let bytes = hex("04 02 00 00 00 01 00 00 00 FF FF FF FF");
    assert_eq!(written(true, |w| w.write_i32_vector(&[1, -1])), bytes);
    assert_eq!(written(false, |w| w.write_i32_vector(&[1, -1])), b"[ 1 -1 ]\n");
    assert_eq!(read_all(true, &bytes, KaldiReader::read_i32_vector), [1, -1]);
    assert_eq!(reader(false, b" [1 -1]\n").read_i32_vector().unwrap(), [1, -1]);
    assert_eq!(written(true, |w| w.write_i32_vector(&[])), hex("04 00 00 00 00"));
    assert_eq!(written(false, |w| w.write_i32_vector(&[])), b"[ ]\n");
    assert_eq!(written(true, |w| w.write_u8_vector(&[0, 255])), hex("01 02 00 00 00 00 FF"));
    assert_eq!(written(false, |w| w.write_u8_vector(&[0, 255])), b"[ 0 255 ]\n");
    assert_eq!(read_all(true, &hex("01 02 00 00 00 00 FF"), KaldiReader::read_u8_vector), [0, 255]);
    assert_eq!(reader(false, b"[ 0 255 ]").read_u8_vector().unwrap(), [0, 255]);
    // WriteVectorAsChar of {0, 0.5, 1}.
    assert_eq!(read_all(true, &hex("01 03 00 00 00 00 80 FF"), KaldiReader::read_u8_vector), [0, 128, 255]);

    let bytes = hex("04 02 00 00 00 01 00 00 00 02 00 00 00 FF FF FF FF FF FF FF FF");
    let pairs = [(1, 2), (-1, -1)];
    assert_eq!(written(true, |w| w.write_i32_pairs(&pairs)), bytes);
    assert_eq!(written(false, |w| w.write_i32_pairs(&pairs)), b"[ 1,2 -1,-1 ]\n");
    assert_eq!(read_all(true, &bytes, KaldiReader::read_i32_pairs), pairs);
    assert_eq!(reader(false, b"[ 1,2 -1, -1 ]").read_i32_pairs().unwrap(), pairs);
    assert!(reader(false, b"[ 1 ,2 ]").read_i32_pairs().is_err());
}

#[test]
fn counts_that_lie_are_errors_before_memory_is_taken() {
    for bytes in ["04 FF FF FF 7F 01 00 00 00", "04 FF FF FF FF", "04 01 00"] {
        assert!(reader(true, &hex(bytes)).read_i32_vector().is_err(), "{bytes}");
        assert!(reader(true, &hex(bytes)).read_i32_pairs().is_err(), "{bytes}");
    }
}

#[test]
fn long_vectors_in_pieces() {
    // Longer than any buffer and than the first block that is read.
    let values: Vec<i32> = (0..1_000_003).collect();
    let bytes = written(true, |w| w.write_i32_vector(&values));
    let mut r = KaldiReader::from_read("x", std::io::Cursor::new(bytes));
    r.set_binary(true);
    assert_eq!(r.read_i32_vector().unwrap(), values);
    assert!(r.at_eof().unwrap());
}
