//! Images as features: their pixels in one row, or a row for each column of pixels.

use kaldi_io::DenseMatrix;

/// Faults of shapes, and of images that do not have them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("'{0}' is not the shape of an image: expected WIDTHxHEIGHT or WIDTHxHEIGHTxCHANNELS")]
    Shape(String),

    #[error("an image of {} x {} with {} channels does not have {found} numbers", shape.width, shape.height, shape.channels)]
    Size { shape: ImageShape, found: usize },
}

pub type Result<T> = std::result::Result<T, Error>;

/// Order of the numbers of an image: row by row from the top, the channels of a pixel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageShape {
    pub width: usize,
    pub height: usize,
    pub channels: usize,
}

impl ImageShape {
    /// Parses `WIDTHxHEIGHT` or `WIDTHxHEIGHTxCHANNELS`.
    pub fn parse(text: &str) -> Result<ImageShape> {
        let sides: Option<Vec<usize>> =
            text.split('x').map(|side| side.parse().ok().filter(|&side| side > 0)).collect();
        match sides.as_deref() {
            Some(&[width, height]) => Ok(ImageShape { width, height, channels: 1 }),
            Some(&[width, height, channels]) => Ok(ImageShape { width, height, channels }),
            _ => Err(Error::Shape(text.to_string())),
        }
    }

    /// Number of values in an image; `None` on overflow.
    pub fn len(&self) -> Option<usize> {
        self.width.checked_mul(self.height)?.checked_mul(self.channels)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// A row for each column of pixels, from the left; in it y · channels + channel counts. So t is the place along the
    /// width, as convolutions over time and height expect it.
    pub fn columns(&self, values: &[f32]) -> Result<DenseMatrix<f32>> {
        if self.len() != Some(values.len()) {
            return Err(Error::Size { shape: *self, found: values.len() });
        }
        let depth = self.height * self.channels;
        let mut out = DenseMatrix::new(self.width, depth);
        for (y, line) in values.chunks_exact(self.width * self.channels).enumerate() {
            for (x, pixel) in line.chunks_exact(self.channels).enumerate() {
                out.row_mut(x)[y * self.channels..(y + 1) * self.channels].copy_from_slice(pixel);
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_pixels() {
        let shape = ImageShape::parse("2x3").unwrap();
        let image = shape.columns(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(image, DenseMatrix::from_rows(&[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]));
        let color = ImageShape::parse("2x1x2").unwrap().columns(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(color, DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]]));
        let error = shape.columns(&[1.0; 5]).unwrap_err().to_string();
        assert_eq!(error, "an image of 2 x 3 with 1 channels does not have 5 numbers");
        for bad in ["", "8", "0x8", "8x8x3x1", "8*8"] {
            assert!(ImageShape::parse(bad).is_err(), "{bad}");
        }
    }
}
