//! Regular grids of times for the components that read their input at several time offsets: Tdnn, TimeHeightConvolution
//! and RestrictedAttention.
//!
//! Such a component orders the rows of its input and output by time, and within a time by *image*, a pair (n, x). Then
//! "the input at an offset" is a range of rows (or every k-th row). Blank indexes (`t` = [`NO_TIME`]) fill the holes of
//! an index list.

use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Index, NO_TIME};

/// A request with more rows than this, for two times very far from each other, cannot be meant.
const MOST_ROWS: i64 = 1 << 24;

/// `index` at a time offset.
pub(crate) fn shifted(index: Index, offset: i32) -> Index {
    Index { t: index.t.saturating_add(offset), ..index }
}

/// Greatest common divisor of numbers that are not negative; 0 is a multiple of everything.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Times `start`, `start + step`, …: `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub start: i64,
    /// 0 if there is only one time and no step was chosen.
    pub step: i64,
    pub count: i64,
}

impl Times {
    /// The coarsest grid from the first to the last of these indexes' times that contains all of them.
    fn of(indexes: &[Index]) -> Result<Times> {
        let mut times: Vec<i64> = Vec::new();
        let mut last = NO_TIME;
        for index in indexes.iter().filter(|index| index.t != NO_TIME) {
            if index.t != last {
                last = index.t;
                times.push(last as i64);
            }
        }
        times.sort_unstable();
        times.dedup();
        let (Some(&start), Some(&last)) = (times.first(), times.last()) else {
            return Err(error("a component has no input or no output".into()));
        };
        let step = times.windows(2).fold(0, |step, pair| gcd(step, pair[1] - pair[0]));
        Ok(Times { start, step, count: if step == 0 { 1 } else { 1 + (last - start) / step } })
    }

    pub fn last(&self) -> i64 {
        self.start + (self.count - 1) * self.step
    }

    /// The same first and last time with another step, which divides the old one (a step of 0 fits any).
    pub fn refine(&mut self, step: i64) {
        let last = self.last();
        (self.step, self.count) = (step, 1 + (last - self.start).checked_div(step).unwrap_or(0));
    }

    /// Position of `t` among the times, if it is on the grid; it may lie before the first or after the last.
    pub fn position(&self, t: i64) -> Option<i64> {
        let (distance, step) = (t - self.start, self.step.max(1));
        (distance % step == 0).then_some(distance.div_euclid(step))
    }

    /// Makes `count` a multiple of `factor` by times after the last one.
    pub fn round_up(&mut self, factor: i64) {
        self.count = (self.count + factor - 1) / factor * factor;
    }
}

/// The grids of one component's input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The pairs (n, x), in order.
    pub images: Vec<(i32, i32)>,
    pub input: Times,
    pub output: Times,
    /// Number of consecutive input times of one image in consecutive rows. It is above 1 if the output has fewer times:
    /// every `reorder`-th row of the input then belongs to one time offset.
    pub reorder: i64,
}

impl Grid {
    /// The grids that contain these indexes; blank ones count for their (n, x) only.
    pub fn of(inputs: &[Index], outputs: &[Index]) -> Result<Grid> {
        let grid = Grid {
            images: images(inputs),
            input: Times::of(inputs)?,
            output: Times::of(outputs)?,
            reorder: 1,
        };
        if images(outputs) != grid.images {
            return Err(error("a component's input and output have different pairs (n, x)".into()));
        }
        Ok(grid)
    }

    pub(crate) fn num_images(&self) -> i64 {
        self.images.len() as i64
    }

    /// Returns both lists in the order and with the blanks that this grid asks for.
    pub fn arrange(&self, inputs: &[Index], outputs: &[Index]) -> Result<(Vec<Index>, Vec<Index>)> {
        Ok((
            arrange(&self.images, &self.input, self.reorder, inputs)?,
            arrange(&self.images, &self.output, 1, outputs)?,
        ))
    }

    /// Fails unless both lists are as [`Grid::arrange`] makes them.
    pub(crate) fn check_arranged(&self, inputs: &[Index], outputs: &[Index]) -> Result<()> {
        let inputs = is_arranged(&self.images, &self.input, self.reorder, inputs);
        match inputs && is_arranged(&self.images, &self.output, 1, outputs) {
            true => Ok(()),
            false => Err(error("a component's indexes are not in the order that it asked for".into())),
        }
    }
}

pub(crate) fn error(message: String) -> Error {
    Error::Request(message)
}

/// The distinct pairs (n, x), sorted.
fn images(indexes: &[Index]) -> Vec<(i32, i32)> {
    let image = |index: &Index| (index.n, index.x);
    // Usually all images of one time follow each other, then all of the next time.
    let first = indexes.windows(2).take_while(|pair| image(&pair[0]) < image(&pair[1])).count() + 1;
    let block = &indexes[..first.min(indexes.len())];
    let repeats = |chunk: &[Index]| chunk.iter().map(image).eq(block.iter().map(image));
    let mut images: Vec<(i32, i32)>;
    if indexes.chunks(first).all(repeats) {
        images = block.iter().map(image).collect();
    } else {
        images = Vec::new();
        for pair in indexes.iter().map(image) {
            if images.last() != Some(&pair) {
                images.push(pair);
            }
        }
        images.sort_unstable();
        images.dedup();
    }
    images
}

/// Lists the indexes by blocks of `block` consecutive times, then by image, then by time; an index that `original`
/// lacks is blank.
fn arrange(images: &[(i32, i32)], times: &Times, block: i64, original: &[Index]) -> Result<Vec<Index>> {
    let rows = times.count.saturating_mul(images.len() as i64);
    if rows > MOST_ROWS {
        let Times { start, step, count } = times;
        return Err(error(format!(
            "{count} times from {start}, {step} apart, are too many for one computation"
        )));
    }
    let mut list = Vec::with_capacity(rows as usize);
    for _ in 0..times.count / block {
        let blanks = images.iter().map(|&(n, x)| Index { n, t: NO_TIME, x });
        match block {
            1 => list.extend(blanks),
            _ => list.extend(blanks.flat_map(|blank| std::iter::repeat_n(blank, block as usize))),
        }
    }
    // Usually many indexes have one time.
    let (mut image, mut last) = (0, None);
    for index in original.iter().filter(|index| index.t != NO_TIME) {
        let pair = (index.n, index.x);
        if images[image] != pair {
            image = (image + 1) % images.len();
        }
        if images[image] != pair {
            image = images.binary_search(&pair).map_err(|_| error(format!("unexpected index {index:?}")))?;
        }
        let first_row = match last {
            Some((t, row)) if t == index.t => row,
            _ => {
                let position = times.position(index.t as i64).filter(|p| (0..times.count).contains(p));
                let position =
                    position.ok_or_else(|| error(format!("the time of {index:?} is not expected")))?;
                position / block * block * images.len() as i64 + position % block
            }
        };
        last = Some((index.t, first_row));
        list[(first_row + image as i64 * block) as usize].t = index.t;
    }
    Ok(list)
}

/// True if `list` equals its own arrangement by [`arrange`].
fn is_arranged(images: &[(i32, i32)], times: &Times, block: i64, list: &[Index]) -> bool {
    if list.len() as i64 != times.count / block * block * images.len() as i64 {
        return false;
    }
    let mut rows = list.iter();
    (0..times.count / block).all(|b| {
        let first = times.start + b * block * times.step;
        images.iter().all(|&image| {
            rows.by_ref().take(block as usize).zip(0_i64..).all(|(index, i)| {
                let t = first + i * times.step;
                (index.n, index.x) == image && (index.t as i64 == t || index.t == NO_TIME)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(values: &[(i32, i32)]) -> Vec<Index> {
        values.iter().map(|&(n, t)| Index::new(n, t, 0)).collect()
    }

    #[test]
    fn times_of_holes_and_single_values() {
        assert_eq!(
            Times::of(&indexes(&[(0, 9), (1, 3), (0, -3)])).unwrap(),
            Times { start: -3, step: 6, count: 3 }
        );
        assert_eq!(Times::of(&indexes(&[(0, 5), (1, 5)])).unwrap(), Times { start: 5, step: 0, count: 1 });
        assert!(Times::of(&indexes(&[(0, NO_TIME)])).is_err());
    }

    #[test]
    fn blocks_of_times_and_blanks() {
        let inputs = indexes(&[(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]);
        let outputs = indexes(&[(1, 0), (0, 0), (0, 2), (1, 2)]);
        let grid = Grid { reorder: 2, ..Grid::of(&inputs, &outputs).unwrap() };
        let (arranged_inputs, arranged_outputs) = grid.arrange(&inputs, &outputs).unwrap();
        let expected = [(0, 0), (0, 1), (1, 0), (1, 1), (0, NO_TIME), (0, 3), (1, 2), (1, 3)];
        assert_eq!(arranged_inputs, indexes(&expected));
        assert_eq!(arranged_outputs, indexes(&[(0, 0), (1, 0), (0, 2), (1, 2)]));
        grid.check_arranged(&arranged_inputs, &arranged_outputs).unwrap();
        assert!(grid.check_arranged(&inputs, &outputs).is_err());
        for i in 0..arranged_inputs.len() {
            let changed = |f: fn(&mut Index)| {
                let mut list = arranged_inputs.clone();
                f(&mut list[i]);
                grid.check_arranged(&list, &arranged_outputs)
            };
            assert!(changed(|index| index.t = 7).is_err());
            assert!(changed(|index| index.n = 7).is_err());
            assert!(changed(|index| index.x = 7).is_err());
            assert!(changed(|index| index.t = NO_TIME).is_ok());
        }
        assert!(grid.check_arranged(&arranged_inputs[..6], &arranged_outputs).is_err());
        assert!(grid.check_arranged(&arranged_inputs, &arranged_outputs[1..]).is_err());
    }

    #[test]
    fn far_times_and_foreign_images_are_errors() {
        let far = indexes(&[(0, 0), (0, 1), (0, 2_000_000_000)]);
        assert!(Grid::of(&far, &far).unwrap().arrange(&far, &far).is_err());
        assert!(Grid::of(&far, &indexes(&[(1, 0)])).is_err());
    }
}
