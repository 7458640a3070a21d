//! Random changes of images (`nnet3-egs-augment-image`): shift, flip, rotation.
//!
//! A row of the matrix is a horizontal position; its columns are the vertical positions, with all channels of one after
//! the other.

use kaldi_io::DenseMatrix;
use nnet3_core::CRand;

use crate::error::{Error, Result};
use crate::example::NnetExample;

/// The pixels beyond the edges of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillMode {
    /// The nearest pixel.
    Nearest,
    /// The image in a mirror that stands on the outermost pixels.
    Reflect,
}

impl std::str::FromStr for FillMode {
    type Err = Error;
    fn from_str(text: &str) -> Result<FillMode> {
        match text {
            "nearest" => Ok(FillMode::Nearest),
            "reflect" => Ok(FillMode::Reflect),
            _ => Err(Error::options(format!("`fill-mode`={text}: expected nearest or reflect"))),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct AugmentOptions {
    pub num_channels: usize,
    /// Probability of exchanging left and right.
    pub horizontal_flip_prob: f32,
    /// The largest shifts, as proportions of width and height.
    pub horizontal_shift: f32,
    pub vertical_shift: f32,
    /// The largest rotation, in degrees.
    pub rotation_degree: f32,
    pub rotation_prob: f32,
    pub fill_mode: FillMode,
}

impl AugmentOptions {
    /// Fails if a number is not in its range.
    pub fn check(&self) -> Result<()> {
        if self.num_channels == 0 {
            return Err(Error::options("`num-channels` must be above 0"));
        }
        for (name, value, most) in [
            ("horizontal-flip-prob", self.horizontal_flip_prob, 1.0),
            ("horizontal-shift", self.horizontal_shift, 1.0),
            ("vertical-shift", self.vertical_shift, 1.0),
            ("rotation-degree", self.rotation_degree, 180.0),
            ("rotation-prob", self.rotation_prob, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(Error::options(format!("`{name}`={value}: expected a number from 0 to {most}")));
            }
        }
        Ok(())
    }

    /// Changes the io `input` of an example at random; its matrix becomes a full one. If the draw gives no change, the
    /// input stays as stored.
    pub fn augment(&self, example: &mut NnetExample, rand: &mut CRand) -> Result<()> {
        let io = example.io_mut("input").ok_or_else(|| Error::data("the example has no 'input'"))?;
        let (width, cols) = (io.features.rows(), io.features.cols());
        if cols % self.num_channels != 0 {
            return Err(Error::data(format!(
                "'input' has {cols} columns, which is no multiple of `num-channels`={}",
                self.num_channels
            )));
        }
        let change = self.draw(width, cols / self.num_channels, rand);
        if change != Change::default() {
            io.features = change.apply(&io.features.to_dense(), self.num_channels, self.fill_mode).into();
        }
        Ok(())
    }

    /// Draws in the reference's order.
    fn draw(&self, width: usize, height: usize, rand: &mut CRand) -> Change {
        let mut shift = |proportion: f32, size: usize| {
            ((2.0 * f64::from(uniform(rand)) - 1.0) * f64::from(proportion) * size as f64) as f32
        };
        let horizontal = shift(self.horizontal_shift, width).round();
        let vertical = shift(self.vertical_shift, height).round();
        let flip = rand.with_probability(self.horizontal_flip_prob);
        let mut angle = 0.0;
        if uniform(rand) <= self.rotation_prob {
            let degrees = 2.0 * self.rotation_degree * uniform(rand) - self.rotation_degree;
            angle = (f64::from(degrees) / 180.0 * std::f64::consts::PI) as f32;
        }
        // Adding 0 makes one of the two zeros that compare as equal.
        Change { shift: [horizontal + 0.0, vertical + 0.0], flip, angle: angle + 0.0 }
    }
}

/// Above 0 and below 1.
fn uniform(rand: &mut CRand) -> f32 {
    ((f64::from(rand.next()) + 1.0) / (f64::from(i32::MAX) + 2.0)) as f32
}

/// One change: the mapping from new pixels to places in the old image.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Change {
    /// Shift of the view in pixels, to the right and down.
    shift: [f32; 2],
    flip: bool,
    /// The angle of the rotation, in radians.
    angle: f32,
}

impl Change {
    /// The matrix that maps new positions (from the centre of the image) to old ones: rotation · shift, the third row
    /// being 0 0 1.
    fn matrix(&self) -> [[f32; 3]; 2] {
        let (sin, cos) = (f64::from(self.angle).sin() as f32, f64::from(self.angle).cos() as f32);
        let sign = if self.flip { -1.0 } else { 1.0 };
        let [x, y] = self.shift;
        [[cos * sign, -sin, cos * x - sin * y], [sin * sign, cos, sin * x + cos * y]]
    }

    /// Makes the changed image. Each new pixel is interpolated between the four old ones around its place.
    fn apply(&self, image: &DenseMatrix<f32>, channels: usize, fill: FillMode) -> DenseMatrix<f32> {
        let (width, height) = (image.rows, image.cols / channels);
        let matrix = self.matrix();
        let centre = [width as f32 / 2.0 - 0.5, height as f32 / 2.0 - 0.5];
        // centre + matrix · (position - centre), as one matrix.
        let [row_map, column_map] = [0, 1].map(|i| {
            let [a, b, c] = matrix[i];
            [a, b, c - a * centre[0] - b * centre[1] + centre[i]]
        });
        let mut out = DenseMatrix::new(image.rows, image.cols);
        for r in 0..width {
            for c in 0..height {
                let old = |map: [f32; 3]| map[0] * r as f32 + map[1] * c as f32 + map[2];
                let rows = neighbours(old(row_map), width, fill);
                let columns = neighbours(old(column_map), height, fill);
                for channel in 0..channels {
                    let mut sum = 0.0;
                    for (row, row_weight) in rows {
                        for (column, weight) in columns {
                            sum += row_weight * weight * image.row(row)[column * channels + channel];
                        }
                    }
                    out.data[r * image.cols + c * channels + channel] = sum;
                }
            }
        }
        out
    }
}

/// The two pixels on either side of a position, and how much each counts.
fn neighbours(position: f32, size: usize, fill: FillMode) -> [(usize, f32); 2] {
    let before = position.floor();
    let inside = |offset: i64| {
        let (at, last) = (before as i64 + offset, size as i64 - 1);
        let at = match fill {
            FillMode::Nearest => at.clamp(0, last),
            FillMode::Reflect if last == 0 => 0,
            FillMode::Reflect => {
                let folded = at.rem_euclid(2 * last);
                folded.min(2 * last - folded)
            }
        };
        at as usize
    };
    [(inside(0), before + 1.0 - position), (inside(1), position - before)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::NnetIo;
    use kaldi_io::{CompressedMatrix, CompressionMethod, GeneralMatrix};

    fn image(width: usize, cols: usize) -> DenseMatrix<f32> {
        let data = (0..width * cols).map(|i| ((i * 37 + 11) % 101) as f32).collect();
        DenseMatrix { rows: width, cols, data }
    }

    const NEAREST: FillMode = FillMode::Nearest;

    #[test]
    fn flips_and_shifts() {
        let image = image(4, 6);
        let flipped = Change { flip: true, ..Change::default() }.apply(&image, 2, NEAREST);
        (0..4).for_each(|r| assert_eq!(flipped.row(r), image.row(3 - r)));
        // New pixels are taken from further right and further up; beyond the edge the last one is repeated.
        let moved = Change { shift: [1.0, -1.0], ..Change::default() }.apply(&image, 2, NEAREST);
        for r in 0..4 {
            let from = image.row((r + 1).min(3));
            assert_eq!(moved.row(r), [&from[..2], &from[..2], &from[2..4]].concat());
        }
        let mirrored = Change { shift: [0.0, 2.0], ..Change::default() }.apply(&image, 2, FillMode::Reflect);
        let from = image.row(1);
        assert_eq!(mirrored.row(1), [&from[4..], &from[2..4], &from[..2]].concat());
    }

    #[test]
    fn a_quarter_turn() {
        let image = image(5, 5);
        let angle = std::f32::consts::FRAC_PI_2;
        let turned = Change { angle, ..Change::default() }.apply(&image, 1, NEAREST);
        for r in 0..5 {
            for c in 0..5 {
                let expected = image.row(4 - c)[r];
                assert!((turned.row(r)[c] - expected).abs() < 1e-3, "{r} {c}");
            }
        }
    }

    /// Compares with sums over the whole plane. The image is laid out over the plane beforehand; the weight of a pixel
    /// is that of a hat function of width 1 around the viewed place.
    #[test]
    fn against_sums_over_the_whole_plane() {
        let (width, height, channels) = (6, 4, 3);
        let image = image(width, height * channels);
        let fold = |at: i64, size: usize, fill: FillMode| {
            let last = size as i64 - 1;
            let mut at = at;
            while !(0..=last).contains(&at) {
                at = match fill {
                    FillMode::Nearest => at.clamp(0, last),
                    FillMode::Reflect => {
                        if at < 0 {
                            -at
                        } else {
                            2 * last - at
                        }
                    }
                };
            }
            at as usize
        };
        for (shift, flip, angle) in
            [([1.0, -2.0], false, 0.3f32), ([0.0, 3.0], true, -2.5), ([-6.0, 4.0], true, 0.0)]
        {
            for fill in [FillMode::Nearest, FillMode::Reflect] {
                let found = Change { shift, flip, angle }.apply(&image, channels, fill);
                let (sin, cos) = f64::from(angle).sin_cos();
                let centre = (width as f64 / 2.0 - 0.5, height as f64 / 2.0 - 0.5);
                for (r, c, channel) in (0..width)
                    .flat_map(|r| (0..height).flat_map(move |c| (0..channels).map(move |ch| (r, c, ch))))
                {
                    let x = (r as f64 - centre.0) * if flip { -1.0 } else { 1.0 } + f64::from(shift[0]);
                    let y = c as f64 - centre.1 + f64::from(shift[1]);
                    let (x, y) = (cos * x - sin * y + centre.0, sin * x + cos * y + centre.1);
                    let mut expected = 0.0;
                    for i in -30..30i64 {
                        for j in -30..30i64 {
                            let hat = |d: f64| (1.0 - d.abs()).max(0.0);
                            let pixel =
                                image.row(fold(i, width, fill))[fold(j, height, fill) * channels + channel];
                            expected += hat(x - i as f64) * hat(y - j as f64) * f64::from(pixel);
                        }
                    }
                    let value = f64::from(found.row(r)[c * channels + channel]);
                    assert!((value - expected).abs() < 1e-3, "{fill:?} {r} {c}: {value} {expected}");
                }
            }
        }
    }

    fn options() -> AugmentOptions {
        AugmentOptions {
            num_channels: 2,
            horizontal_flip_prob: 0.5,
            horizontal_shift: 0.2,
            vertical_shift: 0.5,
            rotation_degree: 30.0,
            rotation_prob: 0.5,
            fill_mode: NEAREST,
        }
    }

    #[test]
    fn what_is_drawn() {
        let mut rand = CRand::new(3);
        let drawn: Vec<Change> = (0..4000).map(|_| options().draw(10, 4, &mut rand)).collect();
        let share = |f: &dyn Fn(&Change) -> bool| drawn.iter().filter(|c| f(c)).count() as f64 / 4000.0;
        assert!((share(&|c| c.flip) - 0.5).abs() < 0.05);
        assert!((share(&|c| c.angle != 0.0) - 0.5).abs() < 0.05);
        assert!((share(&|c| c.angle > 0.0) - 0.25).abs() < 0.05);
        // Up to 2 pixels: rounding gives the outermost half the share of the others.
        let expected = [(-2.0, 0.125), (-1.0, 0.25), (0.0, 0.25), (1.0, 0.25), (2.0, 0.125)];
        for (shift, expected) in expected {
            assert!((share(&|c| c.shift[0] == shift) - expected).abs() < 0.05, "{shift}");
            assert!((share(&|c| c.shift[1] == shift) - expected).abs() < 0.05, "{shift}");
        }
        assert!(drawn.iter().all(|c| c.angle.abs() <= 30f32.to_radians()));
    }

    #[test]
    fn examples() {
        let compressed = CompressedMatrix::compress(&image(4, 6), CompressionMethod::OneByteAuto).unwrap();
        let mut example = NnetExample { ios: vec![NnetIo::new("input", compressed.into(), 0, 1)] };
        let original = example.clone();
        let still = AugmentOptions {
            horizontal_flip_prob: 0.0,
            horizontal_shift: 0.0,
            vertical_shift: 0.0,
            rotation_prob: 0.0,
            ..options()
        };
        still.augment(&mut example, &mut CRand::new(1)).unwrap();
        assert_eq!(example, original);
        AugmentOptions { horizontal_flip_prob: 1.0, ..still.clone() }
            .augment(&mut example, &mut CRand::new(1))
            .unwrap();
        assert!(
            matches!(&example.ios[0].features, GeneralMatrix::Full(m) if m.row(0) == original.ios[0].features.to_dense().row(3))
        );
        let error = AugmentOptions { num_channels: 4, ..still }.augment(&mut example, &mut CRand::new(1));
        assert!(
            error.unwrap_err().to_string().contains("6 columns, which is no multiple of `num-channels`=4")
        );
        assert!(AugmentOptions { rotation_degree: 200.0, ..options() }.check().is_err());
        assert!(AugmentOptions { rotation_prob: f32::NAN, ..options() }.check().is_err());
        assert!("wrap".parse::<FillMode>().is_err());
    }
}
