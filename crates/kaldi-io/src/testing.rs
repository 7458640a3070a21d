//! Objects from text and in both forms, for tests of the crates that have objects (feature `testing`).

use crate::{KaldiObject, KaldiReader, KaldiWriter, Result};

pub fn from_text<T: KaldiObject>(text: &str) -> Result<T> {
    T::read(&mut KaldiReader::from_bytes("test", text.as_bytes().to_vec()))
}

pub fn from_binary<T: KaldiObject>(bytes: &[u8]) -> Result<T> {
    let mut r = KaldiReader::from_bytes("test", bytes.to_vec());
    r.set_binary(true);
    T::read(&mut r)
}

/// The text and the binary form, each of which reads back as the same object.
pub fn in_both_forms<T: KaldiObject + PartialEq + std::fmt::Debug>(object: &T) -> (String, Vec<u8>) {
    let write = |binary| {
        let mut w = KaldiWriter::in_memory(binary);
        object.write(&mut w).unwrap();
        w.into_bytes()
    };
    let (text, binary) = (String::from_utf8(write(false)).unwrap(), write(true));
    assert_eq!(from_text::<T>(&text).unwrap(), *object);
    assert_eq!(from_binary::<T>(&binary).unwrap(), *object);
    (text, binary)
}
