//! Selecting, trimming, weighting and renaming examples.

use crate::error::{Error, Result};
use crate::example::{Example, NnetExample, NnetIo};
use kaldi_io::GeneralMatrix;
use nnet3_core::{CRand, Index};

/// Inputs that keep their times when the others are shifted.
pub const NOT_SHIFTED: &str = "ivector";

/// Choice of the output frames to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrameChoice {
    #[default]
    All,
    /// One at random.
    Random,
    /// The one with this time; examples without it are left out.
    At(i32),
}

impl std::str::FromStr for FrameChoice {
    type Err = Error;
    fn from_str(text: &str) -> Result<FrameChoice> {
        match text {
            "" => Ok(FrameChoice::All),
            "random" => Ok(FrameChoice::Random),
            _ => text.trim().parse().map(FrameChoice::At).map_err(|_| {
                Error::options(format!("`frame`={text}: expected a number, 'random' or nothing"))
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CopyOptions {
    pub frame: FrameChoice,
    /// Context kept around the outputs; `None` keeps all of it.
    pub left_context: Option<i32>,
    pub right_context: Option<i32>,
    /// Added to all times.
    pub frame_shift: i32,
}

/// Makes copies of examples.
#[derive(Debug)]
pub struct Copier {
    options: CopyOptions,
    /// True after a warning about missing context: left, right.
    warned: [bool; 2],
}

impl Copier {
    /// Explains why no example was left.
    pub fn why_nothing(&self) -> String {
        match self.options.frame {
            FrameChoice::At(t) => format!(
                ": `frame`={t} takes the output frame with t={t}, which none of them has (the first has t=0; give a smaller number)"
            ),
            FrameChoice::All | FrameChoice::Random => {
                ": `keep-proportion` is too small for so few".to_owned()
            }
        }
    }
}

/// A copy, and its warnings.
pub type Copied<E = NnetExample> = (E, Vec<String>);

/// A kind of example that can be copied with changes.
pub trait CopyExample: Example {
    /// Returns the example changed by the copier's options; `None` if it lacks the frame to keep. Merged examples can
    /// only be copied unchanged; other options are an error.
    fn copied(self, copier: &mut Copier, rand: &mut CRand) -> Result<Option<Copied<Self>>>;

    /// Multiplies the targets of `output`, or how much they count.
    fn scale_targets(&mut self, weight: f32) -> Result<()>;

    /// Gives `output` another name.
    fn rename_output(&mut self, name: &str) -> Result<()>;
}

impl CopyExample for NnetExample {
    fn copied(self, copier: &mut Copier, rand: &mut CRand) -> Result<Option<Copied>> {
        if copier.options == CopyOptions::default() {
            return Ok(Some((self, Vec::new())));
        }
        let (mut input, mut output) = time_ranges(&self)?;
        match copier.options.frame {
            FrameChoice::All => {}
            FrameChoice::Random => {
                let t = rand.int(output.0, output.1);
                output = (t, t);
            }
            FrameChoice::At(t) if output.0 <= t && t <= output.1 => output = (t, t),
            FrameChoice::At(_) => return Ok(None),
        }
        let warnings = copier.trim(&mut input, output);
        let mut copy = NnetExample { ios: Vec::with_capacity(self.ios.len()) };
        for io in self.ios {
            copy.ios.push(match io.name.as_str() {
                "input" => select_times(&io, input)?,
                "output" => select_times(&io, output)?,
                _ => io,
            });
        }
        for io in copy.ios.iter_mut().filter(|io| io.name != NOT_SHIFTED) {
            io.indexes.iter_mut().for_each(|index| index.t += copier.options.frame_shift);
        }
        Ok(Some((copy, warnings)))
    }

    fn scale_targets(&mut self, weight: f32) -> Result<()> {
        if weight == 1.0 {
            return Ok(());
        }
        match &mut output_of(self)?.features {
            GeneralMatrix::Full(m) => m.data.iter_mut().for_each(|value| *value *= weight),
            GeneralMatrix::Compressed(m) => m.scale(weight),
            GeneralMatrix::Sparse(m) => {
                m.rows.iter_mut().flat_map(|row| &mut row.pairs).for_each(|(_, value)| *value *= weight)
            }
        }
        Ok(())
    }

    fn rename_output(&mut self, name: &str) -> Result<()> {
        name.clone_into(&mut output_of(self)?.name);
        Ok(())
    }
}

impl Copier {
    pub fn new(options: CopyOptions) -> Copier {
        Copier { options, warned: [false; 2] }
    }

    pub fn options(&self) -> &CopyOptions {
        &self.options
    }

    /// Reduces the range of input times to the context that the options allow around the outputs. Warns about missing
    /// context, once for each side.
    pub fn trim(&mut self, input: &mut (i32, i32), output: (i32, i32)) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut warn = |warned: &mut bool, side: &str, edge: &str, wanted: i32, present: i32| {
            if present < wanted && !*warned {
                *warned = true;
                warnings.push(format!(
                    "You requested --{side}-context={wanted}, but example only has {side}-context of {present} (will warn \
                     only once; this may be harmless if using any --*{side}-context-{edge} options)"
                ));
            }
        };
        if let Some(left) = self.options.left_context {
            warn(&mut self.warned[0], "left", "initial", left, output.0 - input.0);
            input.0 = input.0.max(output.0 - left);
        }
        if let Some(right) = self.options.right_context {
            warn(&mut self.warned[1], "right", "final", right, input.1 - output.1);
            input.1 = input.1.min(output.1 + right);
        }
        warnings
    }
}

/// Times of the first and last frame of `input` and of `output`. Fails if the example is a minibatch already.
fn time_ranges(example: &NnetExample) -> Result<((i32, i32), (i32, i32))> {
    if let Some(io) = example.ios.iter().find(|io| io.indexes.iter().any(|index| index.n != 0)) {
        return Err(Error::data(format!(
            "'{}' has several sequences: frames and context of merged examples cannot be reduced",
            io.name
        )));
    }
    let range = |name: &str| {
        let range = example.io(name).and_then(NnetIo::time_range);
        range.ok_or_else(|| Error::data(format!("the example has no frames named '{name}'")))
    };
    Ok((range("input")?, range("output")?))
}

/// The rows with times in this range, both ends included.
pub fn select_times(io: &NnetIo, (first, last): (i32, i32)) -> Result<NnetIo> {
    let selected = |index: &Index| (first..=last).contains(&index.t);
    let ends = (io.indexes.iter().position(selected), io.indexes.iter().rposition(selected));
    let (Some(start), Some(end)) = ends else {
        return Err(Error::data(format!("no frame of '{}' has a time between {first} and {last}", io.name)));
    };
    let range = &io.indexes[start..=end];
    // A range of rows keeps the matrix in the form it is stored in.
    let (features, indexes) = if range.iter().all(selected) {
        (io.features.extract_rows(start as i64, range.len(), false)?, range.to_vec())
    } else {
        let rows: Vec<usize> = (start..=end).filter(|&row| selected(&io.indexes[row])).collect();
        (io.features.select_rows(&rows)?, rows.iter().map(|&row| io.indexes[row]).collect())
    };
    Ok(NnetIo { name: io.name.clone(), indexes, features })
}

fn output_of(example: &mut NnetExample) -> Result<&mut NnetIo> {
    example.io_mut("output").ok_or_else(|| Error::data("the example has no 'output'"))
}

/// Draws the number of copies: the whole part of `proportion`, plus one with the remainder as probability.
pub fn number_of_copies(proportion: f32, rand: &mut CRand) -> u32 {
    let whole = f64::from(proportion).floor();
    let rest = (f64::from(proportion) - whole) as f32;
    whole as u32 + u32::from(rand.with_probability(rest))
}

/// Chooses the next of several outputs: in turn, or at random.
pub fn choose_output(outputs: usize, written: u64, random: bool, rand: &mut CRand) -> usize {
    if random { rand.next() as usize % outputs } else { (written % outputs as u64) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::matrix::DenseMatrix;
    use kaldi_io::{CompressedMatrix, CompressionMethod};

    fn example() -> NnetExample {
        let input = DenseMatrix { rows: 12, cols: 1, data: (0..12).map(|v| v as f32).collect() };
        let input = CompressedMatrix::compress(&input, CompressionMethod::OneByteAuto).unwrap();
        let output = DenseMatrix { rows: 8, cols: 1, data: (0..8).map(|v| v as f32).collect() };
        NnetExample {
            ios: vec![
                NnetIo::new("input", input.into(), -2, 1),
                NnetIo::new("ivector", DenseMatrix::new(1, 3).into(), 0, 1),
                NnetIo::new("output", output.into(), 0, 1),
            ],
        }
    }

    fn copy(options: CopyOptions) -> Option<NnetExample> {
        let copied = example().copied(&mut Copier::new(options), &mut CRand::default()).unwrap()?.0;
        Some(copied)
    }

    #[test]
    fn one_frame_with_its_context() {
        let options = CopyOptions {
            frame: FrameChoice::At(3),
            left_context: Some(1),
            right_context: Some(2),
            frame_shift: 10,
        };
        let copy = copy(options).unwrap();
        assert_eq!(copy.ios[0].time_range(), Some((12, 15)));
        assert!(matches!(copy.ios[0].features, GeneralMatrix::Compressed(_)));
        let kept: Vec<f32> = copy.ios[0].features.to_dense().data.iter().map(|v| v.round()).collect();
        assert_eq!(kept, [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(copy.ios[1].time_range(), Some((0, 0)), "i-vectors do not move");
        assert_eq!(copy.ios[2].time_range(), Some((13, 13)));
        assert_eq!(copy.ios[2].features.to_dense().data, [3.0]);
    }

    #[test]
    fn frames_that_are_not_there() {
        assert_eq!(copy(CopyOptions { frame: FrameChoice::At(8), ..Default::default() }), None);
        assert!("x".parse::<FrameChoice>().is_err());
        assert_eq!("random".parse::<FrameChoice>().unwrap(), FrameChoice::Random);
    }

    #[test]
    fn too_much_context_is_warned_about_once() {
        let mut copier = Copier::new(CopyOptions { left_context: Some(5), ..Default::default() });
        let example = example();
        let (copy, warnings) = example.clone().copied(&mut copier, &mut CRand::default()).unwrap().unwrap();
        assert_eq!(copy.ios[0].indexes.len(), 12);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with(
            "You requested --left-context=5, but example only has left-context of 2 (will warn only once"
        ));
        assert!(example.clone().copied(&mut copier, &mut CRand::default()).unwrap().unwrap().1.is_empty());
    }

    #[test]
    fn merged_examples_are_refused() {
        let mut merged = example();
        merged.ios[2].indexes[7].n = 1;
        let options = CopyOptions { frame: FrameChoice::Random, ..Default::default() };
        let error =
            merged.clone().copied(&mut Copier::new(options), &mut CRand::default()).unwrap_err().to_string();
        assert!(error.contains("has several sequences"), "{error}");
        assert!(
            merged.clone().copied(&mut Copier::new(CopyOptions::default()), &mut CRand::default()).is_ok()
        );
    }

    #[test]
    fn weights_and_names() {
        let mut example = example();
        example.scale_targets(0.5).unwrap();
        assert_eq!(example.ios[2].features.to_dense().data[3], 1.5);
        example.rename_output("output-0").unwrap();
        assert!(example.io("output").is_none() && example.io("output-0").is_some());
        assert!(example.rename_output("x").is_err() && example.scale_targets(2.0).is_err());
    }

    #[test]
    fn copies() {
        let mut rand = CRand::default();
        assert_eq!(number_of_copies(2.0, &mut rand), 2);
        let total: u32 = (0..10_000).map(|_| number_of_copies(1.25, &mut rand)).sum();
        assert!((12_300..12_700).contains(&total), "{total}");
    }
}
