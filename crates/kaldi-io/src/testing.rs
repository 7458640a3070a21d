//! Helpers of tests: objects from text and in both forms, and folders of figures; not for programs.

use std::io::Write;
use std::path::PathBuf;

use crate::{KaldiObject, KaldiReader, KaldiWriter, Result};

pub fn from_text<T: KaldiObject>(text: &str) -> Result<T> {
    T::read(&mut KaldiReader::from_bytes("test", text.as_bytes().to_vec()))
}

pub fn from_binary<T: KaldiObject>(bytes: &[u8]) -> Result<T> {
    let mut r = KaldiReader::from_bytes("test", bytes.to_vec());
    r.set_binary(true);
    T::read(&mut r)
}

/// Returns the text and the binary form; both must read back as the same object.
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

/// Returns the folder of figures that the environment variable `variable` names. Without it a test compares less, or
/// makes no comparison: it is listed in the file that `NNET3_SKIPPED` names. With `NNET3_REQUIRE_DATA=1` it fails.
///
/// # Panics
/// If the variable is not set and `NNET3_REQUIRE_DATA=1`, or if it names no folder.
pub fn data_folder(variable: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(variable).map(PathBuf::from) {
        assert!(folder.is_dir(), "{variable}: {} is no folder", folder.display());
        return Some(folder);
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(
        std::env::var_os("NNET3_REQUIRE_DATA").is_none_or(|value| value != "1"),
        "{test} needs {variable}"
    );
    eprintln!("skipped: {test} needs {variable}");
    if let Some(list) = std::env::var_os("NNET3_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        writeln!(file, "{variable} {test}").unwrap();
    }
    None
}
