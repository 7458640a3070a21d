//! IDX files, in which MNIST and its like come: arrays of numbers with their sizes before them, all big-endian.

use kaldi_io::{KaldiReader, Result};

/// Limit on the number of dimensions. Real data sets have fewer.
const MOST_DIMENSIONS: u8 = 8;

/// An array; its first dimension counts the items.
pub struct Idx {
    reader: KaldiReader,
    kind: Kind,
    /// Items that are still to be read.
    left: usize,
    /// Sizes of an item: of an image its height and width.
    pub item: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl Kind {
    fn of(code: u8) -> Option<Kind> {
        Some(match code {
            0x08 => Kind::U8,
            0x09 => Kind::I8,
            0x0B => Kind::I16,
            0x0C => Kind::I32,
            0x0D => Kind::F32,
            0x0E => Kind::F64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 => 1,
            Kind::I16 => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    fn number(self, bytes: &[u8]) -> f64 {
        let array = |k: usize| bytes.get(k).copied().unwrap_or(0);
        let four = [array(0), array(1), array(2), array(3)];
        match self {
            Kind::U8 => array(0).into(),
            Kind::I8 => i8::from_be_bytes([array(0)]).into(),
            Kind::I16 => i16::from_be_bytes([array(0), array(1)]).into(),
            Kind::I32 => i32::from_be_bytes(four).into(),
            Kind::F32 => f32::from_be_bytes(four).into(),
            Kind::F64 => f64::from_be_bytes(std::array::from_fn(array)),
        }
    }
}

impl Idx {
    /// Reads the sizes.
    pub fn open(mut reader: KaldiReader) -> Result<Idx> {
        let mut magic = [0; 4];
        reader.read_exact(&mut magic)?;
        let [0, 0, code, dimensions] = magic else {
            return Err(reader.error("expected an IDX file, which begins with two zero bytes"));
        };
        let Some(kind) = Kind::of(code) else {
            return Err(reader.error(format!("expected the type of an IDX file, found {code:#04x}")));
        };
        if dimensions == 0 || dimensions > MOST_DIMENSIONS {
            let message = format!("expected from 1 to {MOST_DIMENSIONS} dimensions, found {dimensions}");
            return Err(reader.error(message));
        }
        let mut sizes = Vec::new();
        for _ in 0..dimensions {
            let mut size = [0; 4];
            reader.read_exact(&mut size)?;
            sizes.push(u32::from_be_bytes(size) as usize);
        }
        let (left, item) = (sizes[0], sizes[1..].to_vec());
        let bytes = item.iter().try_fold(kind.bytes(), |bytes, &size| bytes.checked_mul(size));
        if bytes == Some(0) {
            return Err(
                reader.error(format!("expected items with at least one number, found the shape {item:?}"))
            );
        }
        if bytes.is_none_or(|bytes| bytes > i32::MAX as usize) {
            return Err(reader.error(format!("items of the shape {item:?} are too large")));
        }
        Ok(Idx { reader, kind, left, item })
    }

    /// Number of remaining items.
    pub fn len(&self) -> usize {
        self.left
    }
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Returns the next item; `None` after the last. Further data after the last item are an error.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Vec<f32>>> {
        if self.left == 0 {
            return match self.reader.at_eof()? {
                true => Ok(None),
                false => Err(self.reader.error("expected the end of the file")),
            };
        }
        self.left -= 1;
        let (width, count) = (self.kind.bytes(), self.item.iter().product::<usize>());
        let mut out = Vec::new();
        let mut bytes = [0; 8];
        for _ in 0..count {
            self.reader.read_exact(&mut bytes[..width])?;
            out.push(self.kind.number(&bytes) as f32);
        }
        Ok(Some(out))
    }

    /// Ends reading: the failure of a command that wrote the file is an error.
    pub fn close(self) -> Result<()> {
        self.reader.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idx(bytes: &[&[u8]]) -> Result<Idx> {
        Idx::open(KaldiReader::from_bytes("file", bytes.concat()))
    }

    #[test]
    fn images_and_labels() {
        let sizes = [2u32, 1, 3].map(u32::to_be_bytes).concat();
        let mut images = idx(&[&[0, 0, 8, 3], &sizes, &[0, 128, 255, 1, 2, 3]]).unwrap();
        assert_eq!((images.len(), images.item.clone()), (2, vec![1, 3]));
        assert_eq!(images.next().unwrap(), Some(vec![0.0, 128.0, 255.0]));
        assert_eq!(images.next().unwrap(), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(images.next().unwrap(), None);
        let numbers = [1.5f32, -2.0].map(f32::to_be_bytes).concat();
        let mut floats = idx(&[&[0, 0, 13, 1], &2u32.to_be_bytes(), &numbers]).unwrap();
        assert_eq!((floats.next().unwrap(), floats.next().unwrap()), (Some(vec![1.5]), Some(vec![-2.0])));
        let mut shorts = idx(&[&[0, 0, 11, 1], &1u32.to_be_bytes(), &(-300i16).to_be_bytes()]).unwrap();
        assert_eq!(shorts.next().unwrap(), Some(vec![-300.0]));
    }

    #[test]
    fn damaged_files() {
        for (bytes, message) in [
            (&b"PK\x03\x04"[..], "begins with two zero bytes"),
            (&[0, 0, 7, 1], "expected the type"),
            (&[0, 0, 8, 0], "dimensions"),
            (&[0, 0, 8, 2, 255, 255, 255, 255, 0, 0, 0, 0], "at least one number"),
            (&[0, 0, 8, 3, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255], "too large"),
        ] {
            let error = idx(&[bytes]).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(message), "{error}");
        }
        let mut long = idx(&[&[0, 0, 8, 1], &1u32.to_be_bytes(), &[1, 2]]).unwrap();
        long.next().unwrap();
        assert!(long.next().is_err());
        let mut short = idx(&[&[0, 0, 8, 1], &2u32.to_be_bytes(), &[1]]).unwrap();
        short.next().unwrap();
        assert!(short.next().is_err());
    }
}
