//! Helpers of the tests. They write bytes in the notation of the format description.
#![allow(dead_code)] // Each test program uses some of these.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use kaldi_io::{KaldiReader, KaldiWriter, Result};

/// `46 4D 20 'SV ' 04`: hexadecimal bytes and quoted text.
pub fn hex(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, part) in text.split('\'').enumerate() {
        if i % 2 == 1 {
            out.extend_from_slice(part.as_bytes());
        } else {
            out.extend(part.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        }
    }
    out
}

/// Returns the output of `write` without a header.
pub fn written(binary: bool, write: impl FnOnce(&mut KaldiWriter) -> Result<()>) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    write(&mut w).unwrap();
    w.into_bytes()
}

pub fn reader(binary: bool, bytes: &[u8]) -> KaldiReader {
    let mut r = KaldiReader::from_bytes("test", bytes.to_vec());
    r.set_binary(binary);
    r
}

/// Reads an object, and asserts that no bytes are left.
pub fn read_all<T>(binary: bool, bytes: &[u8], read: impl FnOnce(&mut KaldiReader) -> Result<T>) -> T {
    let mut r = reader(binary, bytes);
    let value = read(&mut r).unwrap();
    assert!(r.at_eof().unwrap(), "bytes left after {} of {}", r.position(), bytes.len());
    value
}

pub fn message<T>(result: Result<T>) -> String {
    result.err().expect("an error").chain()
}

/// A folder that disappears with the value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kaldi-io-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub fn list(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
