//! Recordings in a file without a name, for decoders that have to seek.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use symphonia::core::io::MediaSource;

use crate::{Error, Result};

/// The largest recording from a pipe that is kept in a file, in bytes.
pub(crate) const MOST: u64 = 4 << 30;
const BLOCK: usize = 1 << 16;

/// Keeps all bytes in a temporary file, at most `most` of them. `found` is the kind of the recording.
pub(crate) fn keep(file: &str, found: &str, mut bytes: impl Read, most: u64) -> Result<File> {
    let failed = |source| Error::NotWritten { file: file.to_owned(), found: found.to_owned(), source };
    let mut kept = tempfile::tempfile().map_err(failed)?;
    let (mut block, mut size) = (vec![0; BLOCK], 0);
    loop {
        let read = match bytes.read(&mut block) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(kaldi_io::IoError::Io { name: file.to_owned(), source }.into()),
        };
        size += read as u64;
        if size > most {
            let reason = format!("it may have {most} bytes; a recording in a file may have more");
            return Err(Error::NotKept { file: file.to_owned(), found: found.to_owned(), reason });
        }
        kept.write_all(&block[..read]).map_err(failed)?;
    }
    kept.rewind().map_err(failed)?;
    Ok(kept)
}

/// A part of a file, as a file of its own.
pub(crate) struct Window {
    file: File,
    start: u64,
    end: u64,
    position: u64,
    patches: Vec<(u64, u64)>,
}

impl Window {
    pub fn new(mut file: File, start: u64, end: u64) -> io::Result<Window> {
        file.seek(SeekFrom::Start(start))?;
        Ok(Window { file, start, end, position: start, patches: Vec::new() })
    }

    /// Gives other numbers of 8 bytes, big-endian, at places of the file.
    pub fn with_patches(self, patches: Vec<(u64, u64)>) -> Window {
        Window { patches, ..self }
    }
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = self.end.saturating_sub(self.position).min(out.len() as u64) as usize;
        let read = self.file.read(&mut out[..most])?;
        let (begin, end) = (self.position, self.position + read as u64);
        let first = self.patches.partition_point(|&(at, _)| at + 8 <= begin);
        for &(at, number) in self.patches[first..].iter().take_while(|&&(at, _)| at < end) {
            for (at, byte) in (at..).zip(number.to_be_bytes()).filter(|(at, _)| (begin..end).contains(at)) {
                out[(at - begin) as usize] = byte;
            }
        }
        self.position = end;
        Ok(read)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => self.start.checked_add(at),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "a position outside the file");
        let target = target.filter(|&at| at >= self.start).ok_or_else(outside)?;
        self.position = self.file.seek(SeekFrom::Start(target))?;
        Ok(target - self.start)
    }
}

impl MediaSource for Window {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        Some(self.end - self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_is_too_long_is_an_error_that_says_so() {
        let error = keep("x.mp4", "an MP4 file", io::repeat(1).take(200_000), 100_000).unwrap_err();
        assert!(error.to_string().starts_with("x.mp4: an MP4 file from a pipe"), "{error}");
        assert!(error.to_string().contains("100000 bytes"), "{error}");
    }

    #[test]
    fn a_window_has_its_bytes_alone() {
        let bytes: Vec<u8> = (0..200).collect();
        let file = keep("x", "a file", &bytes[..], 1000).unwrap();
        let mut window = Window::new(file, 20, 50).unwrap();
        let mut all = Vec::new();
        window.read_to_end(&mut all).unwrap();
        assert_eq!(all, bytes[20..50]);
        assert_eq!(window.seek(SeekFrom::End(-5)).unwrap(), 25);
        all.clear();
        window.read_to_end(&mut all).unwrap();
        assert_eq!(all, bytes[45..50]);
        assert!(window.seek(SeekFrom::Current(-100)).is_err());
        let mut window =
            window.with_patches(vec![(16, 0x0102_0304_0506_0708), (30, 7), (45, 0x0900_0000_0000_0000)]);
        window.seek(SeekFrom::Start(0)).unwrap();
        let (mut all, mut piece) = (Vec::<u8>::new(), [0; 3]);
        while let read @ 1.. = window.read(&mut piece).unwrap() {
            all.extend(&piece[..read]);
        }
        let expected =
            [&[5, 6, 7, 8][..], &bytes[24..30], &[0, 0, 0, 0, 0, 0, 0, 7], &bytes[38..45], &[9, 0, 0, 0, 0]];
        assert_eq!(all, expected.concat());
    }
}
