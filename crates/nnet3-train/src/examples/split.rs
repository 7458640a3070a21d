//! Cutting utterances into chunks.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::split_table::SplitTable;
use kaldi_io::log::num;
use kaldi_io::text::{format_g, split_integers};
use nnet3_core::CRand;

/// Digits of the percentages in the line about chunk sizes.
const SHORT_PRECISION: usize = 4;

/// Options for cutting utterances; see the options of nnet3-get-egs.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitOptions {
    /// Frames of input before and after a chunk.
    pub left_context: i32,
    pub right_context: i32,
    /// The same for the first and the last chunk of an utterance, if not negative.
    pub left_context_initial: i32,
    pub right_context_final: i32,
    /// Sizes separated by commas, the principal one first; `-1`: the whole utterance.
    pub num_frames: String,
    pub num_frames_overlap: i32,
    pub frame_subsampling_factor: i32,
    /// An utterance that is shorter than all sizes becomes a chunk of nearly its own length ([`own_size`]). Without this
    /// it has no chunk, as in the reference.
    pub keep_short: bool,
}

impl Default for SplitOptions {
    fn default() -> Self {
        SplitOptions {
            left_context: 0,
            right_context: 0,
            left_context_initial: -1,
            right_context_final: -1,
            num_frames: "1".to_owned(),
            num_frames_overlap: 0,
            frame_subsampling_factor: 1,
            keep_short: false,
        }
    }
}

/// A part of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub first_frame: usize,
    pub num_frames: usize,
    /// Frames of input before and after it.
    pub left_context: usize,
    pub right_context: usize,
    /// For each output frame, 1 divided by the number of chunks of the utterance that have it.
    pub output_weights: Vec<f32>,
}

/// Cuts one utterance after another and counts.
pub struct UtteranceSplitter {
    left_context: (usize, usize),
    right_context: (usize, usize),
    subsampling: usize,
    /// `None`: whole utterances.
    table: Option<SplitTable>,
    keep_short: bool,
    rounding: Option<String>,
    /// Chooses sizes and their order.
    rand: CRand,
    /// Places gaps; apart, so that it does not disturb the choices.
    gap_rand: CRand,
    counts: SplitCounts,
}

/// Counts of the cuts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SplitCounts {
    pub utterances: u64,
    pub input_frames: u64,
    pub overlap_frames: u64,
    pub chunks: u64,
    pub chunk_frames: u64,
    /// Number of chunks of each size.
    pub sizes: BTreeMap<usize, u64>,
}

impl UtteranceSplitter {
    pub fn new(options: &SplitOptions) -> Result<UtteranceSplitter> {
        let not_negative = |name: &str, value: i32| {
            usize::try_from(value)
                .map_err(|_| Error::options(format!("`{name}` must not be negative, found {value}")))
        };
        let left = not_negative("left-context", options.left_context)?;
        let right = not_negative("right-context", options.right_context)?;
        let overlap = not_negative("num-frames-overlap", options.num_frames_overlap)?;
        let subsampling = usize::try_from(options.frame_subsampling_factor).unwrap_or(0);
        if subsampling == 0 {
            let found = options.frame_subsampling_factor;
            return Err(Error::options(format!("`frame-subsampling-factor` must be above 0, found {found}")));
        }
        let or = |special: i32, plain: usize| usize::try_from(special).unwrap_or(plain);
        let (table, rounding) = match options.num_frames.as_str() {
            "-1" => (None, None),
            _ => {
                let (sizes, rounding) = parse_sizes(&options.num_frames, subsampling)?;
                (Some(SplitTable::new(&sizes, overlap)?), rounding)
            }
        };
        Ok(UtteranceSplitter {
            left_context: (or(options.left_context_initial, left), left),
            right_context: (right, or(options.right_context_final, right)),
            subsampling,
            table,
            keep_short: options.keep_short,
            rounding,
            rand: CRand::default(),
            gap_rand: CRand::new(2),
            counts: SplitCounts::default(),
        })
    }

    /// A message about sizes that are not multiples of the subsampling factor.
    pub fn rounding(&self) -> Option<&str> {
        self.rounding.as_deref()
    }

    pub fn subsampling(&self) -> usize {
        self.subsampling
    }

    /// Makes other choices than without.
    pub fn seed(&mut self, seed: i32) {
        self.rand = CRand::new(seed);
    }

    /// The random numbers that also place chunks, for further choices about them.
    pub fn rand(&mut self) -> &mut CRand {
        &mut self.rand
    }

    pub fn counts(&self) -> &SplitCounts {
        &self.counts
    }

    /// Output frames of an utterance.
    pub fn output_frames(&self, length: usize) -> usize {
        length.div_ceil(self.subsampling)
    }

    /// A message if a target list of `found` frames does not fit an utterance of `length` input frames, else `None`.
    pub fn length_mismatch(
        &self,
        utterance: &str,
        length: usize,
        found: usize,
        tolerance: i32,
    ) -> Option<String> {
        let expected = self.output_frames(length);
        if expected.abs_diff(found) as i64 <= i64::from(tolerance) {
            return None;
        }
        let start = format!("Supervision does not have expected length for utterance {utterance}");
        let hint = factor_hint(expected, found, self.subsampling);
        Some(match self.subsampling {
            1 => format!("{start}: expected length = {length}, got {found}{hint}"),
            s => format!(
                "{start}: expected length = ({length} + {s} - 1) / {s} = {expected}, got: {found} (note: \
                 `frame-subsampling-factor`={s}){hint}"
            ),
        })
    }

    /// The chunks of an utterance of `length` frames, in order; none if it is too short.
    pub fn split(&mut self, length: usize) -> Vec<Chunk> {
        let sizes = self.choose_sizes(length);
        let gaps = if self.table.is_some() { self.choose_gaps(length, &sizes) } else { vec![0; sizes.len()] };
        let mut frame = 0i64;
        let mut chunks = Vec::with_capacity(sizes.len());
        for (i, (&num_frames, gap)) in sizes.iter().zip(gaps).enumerate() {
            frame += gap;
            chunks.push(Chunk {
                first_frame: frame as usize,
                num_frames,
                left_context: if i == 0 { self.left_context.0 } else { self.left_context.1 },
                right_context: if i + 1 == sizes.len() { self.right_context.1 } else { self.right_context.0 },
                output_weights: Vec::new(),
            });
            frame += num_frames as i64;
        }
        self.set_output_weights(length, &mut chunks);
        self.count(length, &chunks);
        chunks
    }

    fn choose_sizes(&mut self, length: usize) -> Vec<usize> {
        let Some(table) = &self.table else {
            return if length > 0 { vec![length] } else { Vec::new() };
        };
        let (choices, repeats) = table.choices(length);
        if choices.is_empty() {
            let own = if self.keep_short { own_size(length, self.subsampling) } else { None };
            return own.into_iter().collect();
        }
        let mut sizes = choices[self.rand.int(0, choices.len() as i32 - 1) as usize].clone();
        sizes.extend(std::iter::repeat_n(table.principal(), repeats));
        sizes.sort_unstable();
        if self.rand.int(0, 1) == 0 {
            sizes.reverse();
        }
        sizes
    }

    /// Frames left out before each chunk, negative for an overlap; multiples of the subsampling factor.
    fn choose_gaps(&mut self, length: usize, sizes: &[usize]) -> Vec<i64> {
        let unit = self.subsampling;
        let total: usize = sizes.iter().map(|size| size / unit).sum();
        let available = length.div_ceil(unit);
        let mut gaps = if total > available {
            overlaps(total - available, &sizes.iter().map(|size| size / unit).collect::<Vec<_>>())
        } else {
            let places = sizes.len() + 1;
            let left_out = available - total;
            let mut gaps: Vec<i64> =
                (0..places).map(|i| (left_out / places) as i64 + i64::from(i < left_out % places)).collect();
            self.gap_rand.shuffle(&mut gaps);
            gaps.truncate(sizes.len());
            gaps
        };
        gaps.iter_mut().for_each(|gap| *gap *= unit as i64);
        gaps
    }

    fn set_output_weights(&self, length: usize, chunks: &mut [Chunk]) {
        let unit = self.subsampling;
        let frames = |chunk: &Chunk| chunk.first_frame / unit..(chunk.first_frame + chunk.num_frames) / unit;
        let mut counts = vec![0u32; self.output_frames(length)];
        chunks.iter().flat_map(frames).for_each(|t| counts[t] += 1);
        for chunk in chunks {
            chunk.output_weights = frames(chunk).map(|t| 1.0 / counts[t] as f32).collect();
        }
    }

    fn count(&mut self, length: usize, chunks: &[Chunk]) {
        let counts = &mut self.counts;
        counts.utterances += 1;
        counts.input_frames += length as u64;
        for (i, chunk) in chunks.iter().enumerate() {
            if let Some(previous) = i.checked_sub(1).map(|p| &chunks[p]) {
                let end = previous.first_frame + previous.num_frames;
                counts.overlap_frames += end.saturating_sub(chunk.first_frame) as u64;
            }
            counts.chunks += 1;
            counts.chunk_frames += chunk.num_frames as u64;
            *counts.sizes.entry(chunk.num_frames).or_default() += 1;
        }
    }
}

/// The largest permitted size of a chunk that holds a whole utterance of `length` frames; `None` if that is less than two
/// frames of output. Permitted sizes are multiples of `unit` that grow by at most a tenth where `unit` allows it. So there
/// are few of them, which matters because examples of different sizes share no minibatch.
pub fn own_size(length: usize, unit: usize) -> Option<usize> {
    const STEP: usize = 10;
    let step = |size: usize| (size / STEP / unit).max(1) * unit;
    let mut size = 2 * unit;
    if size > length {
        return None;
    }
    while size + step(size) <= length {
        size += step(size);
    }
    Some(size)
}

/// Shares `excess` frames among the junctions of chunks in proportion to the smaller neighbour. The remainder after
/// rounding down goes to the first junctions.
fn overlaps(excess: usize, sizes: &[usize]) -> Vec<i64> {
    let magnitudes: Vec<usize> = sizes.windows(2).map(|pair| pair[0].min(pair[1])).collect();
    let total: usize = magnitudes.iter().sum();
    let mut shares: Vec<usize> =
        magnitudes.iter().map(|&m| (excess as f32 * m as f32 / total as f32) as usize).collect();
    let shared: usize = shares.iter().sum();
    shares.iter_mut().take(excess - shared).for_each(|share| *share += 1);
    std::iter::once(0).chain(shares.into_iter().map(|share| -(share as i64))).collect()
}

/// Largest factor between two numbers of frames that a wrong option would explain.
const MOST_FACTOR: usize = 10;

/// The options that may be wrong if the lengths differ by a factor; empty otherwise.
fn factor_hint(expected: usize, found: usize, subsampling: usize) -> String {
    let (long, short) = (expected.max(found), expected.min(found));
    let fits = |factor: &usize| long.div_ceil(*factor).abs_diff(short) <= 1;
    let Some(factor) = (2..=MOST_FACTOR).find(fits).filter(|factor| short > *factor) else {
        return String::new();
    };
    format!(
        "; lengths differ by a factor of {factor}: is --frame-subsampling-factor={subsampling} right here, and that of \
         chain-get-supervision (--alignment-subsampling-factor of train.sh)?"
    )
}

/// Parses the sizes of `--num-frames`, rounded up to multiples of `unit`, and returns a message about the rounding.
pub fn parse_sizes(text: &str, unit: usize) -> Result<(Vec<usize>, Option<String>)> {
    let invalid = || {
        Error::options(format!(
            "`num-frames`={text}: expected numbers above 0 separated by commas, or -1 for whole utterances"
        ))
    };
    let given: Vec<usize> = split_integers(text, &[','], false)
        .filter(|sizes| !sizes.is_empty())
        .ok_or_else(invalid)?
        .into_iter()
        .map(|size| usize::try_from(size).ok().filter(|&size| size > 0).ok_or_else(invalid))
        .collect::<Result<_>>()?;
    let rounded: Vec<usize> = given.iter().map(|size| size.next_multiple_of(unit)).collect();
    let message = (rounded != given).then(|| {
        let list: Vec<String> = rounded.iter().map(usize::to_string).collect();
        format!(
            "Rounding up --num-frames={text} to multiples of --frame-subsampling-factor={unit}, to: {}",
            list.join(",")
        )
    });
    Ok((rounded, message))
}

impl SplitCounts {
    /// Returns the log lines that programs print after making examples.
    pub fn lines(&self) -> Vec<String> {
        let input = self.input_frames as f64;
        let percent = |frames: u64, of: f64| f64::from((frames as f64 * 100.0 / of) as f32);
        let split = format!(
            "Split {} utts, with total length {} frames ({} hours assuming 100 frames per second) into {} chunks.",
            self.utterances,
            self.input_frames,
            num(input / 360_000.0),
            self.chunks
        );
        // (Averages of nothing are no numbers.)
        if self.chunks == 0 || self.input_frames == 0 {
            return vec![split];
        }
        let (overlap, output) = (percent(self.overlap_frames, input), percent(self.chunk_frames, input));
        let average = f64::from((self.chunk_frames as f64 / self.chunks as f64) as f32);
        let mut lines = vec![
            split,
            format!(
                "Average chunk length was {} frames; overlap between adjacent chunks was {}% of input length; \
                 length of output was {}% of input length (minus overlap = {}%).",
                num(average),
                num(overlap),
                num(output),
                num(f64::from((output - overlap) as f32))
            ),
        ];
        if self.sizes.len() > 1 {
            let share = |(&size, &count): (&usize, &u64)| {
                let percent = percent(size as u64 * count, self.chunk_frames as f64);
                format!("{size} = {}%", format_g(percent, SHORT_PRECISION))
            };
            let shares: Vec<String> = self.sizes.iter().map(share).collect();
            lines.push(format!(
                "Output frames are distributed among chunk-sizes as follows: {}",
                shares.join(", ")
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_differ_by_a_factor_name_the_options() {
        for (expected, found, factor) in
            [(300, 100, Some(3)), (301, 101, Some(3)), (100, 299, Some(3)), (90, 30, Some(3))]
                .into_iter()
                .chain([(300, 290, None), (300, 7, None), (3, 1, None), (300, 0, None)])
        {
            let hint = factor_hint(expected, found, 1);
            match factor {
                Some(factor) => {
                    assert!(
                        hint.contains(&format!("by a factor of {factor}: ")),
                        "{expected} {found}: {hint}"
                    );
                    assert!(hint.contains("--alignment-subsampling-factor"), "{hint}");
                }
                None => assert_eq!(hint, "", "{expected} {found}"),
            }
        }
    }

    #[test]
    fn a_splitter_that_made_nothing_has_no_averages() {
        let none = SplitCounts::default().lines();
        assert_eq!(none.len(), 1, "{none:?}");
        assert!(none[0].starts_with("Split 0 utts") && none[0].ends_with("into 0 chunks."), "{none:?}");
    }

    fn splitter(num_frames: &str, overlap: i32, subsampling: i32) -> UtteranceSplitter {
        UtteranceSplitter::new(&SplitOptions {
            num_frames: num_frames.to_owned(),
            num_frames_overlap: overlap,
            frame_subsampling_factor: subsampling,
            left_context: 3,
            right_context: 1,
            left_context_initial: 0,
            ..Default::default()
        })
        .unwrap()
    }

    /// Chunks lie inside the utterance, in order; weights of each covered frame add up to 1.
    #[test]
    fn weights_sum_to_one() {
        for (sizes, overlap, unit) in [("8", 0, 1), ("20", 5, 1), ("9,6", 0, 3), ("12,7,5", 2, 1)] {
            let mut splitter = splitter(sizes, overlap, unit);
            for length in 1..200 {
                let chunks = splitter.split(length);
                let outputs = splitter.output_frames(length);
                let mut weights = vec![0.0; outputs];
                for chunk in &chunks {
                    assert_eq!(chunk.first_frame % unit as usize, 0);
                    assert_eq!(chunk.output_weights.len(), chunk.num_frames / unit as usize);
                    for (i, weight) in chunk.output_weights.iter().enumerate() {
                        weights[chunk.first_frame / unit as usize + i] += weight;
                    }
                }
                assert!(chunks.is_sorted_by_key(|c| c.first_frame), "{chunks:?}");
                assert!(weights.iter().all(|&w| w == 0.0 || (w - 1.0f32).abs() < 1e-6), "{weights:?}");
                if length >= 20 {
                    let covered = weights.iter().filter(|&&w| w > 0.0).count();
                    assert!(covered as f32 > 0.6 * outputs as f32, "{length}: {covered} frames of {outputs}");
                }
            }
        }
    }

    #[test]
    fn contexts_of_first_and_last_chunks() {
        let chunks = splitter("8", 0, 1).split(24);
        let contexts: Vec<_> = chunks.iter().map(|c| (c.left_context, c.right_context)).collect();
        assert_eq!(contexts, [(0, 1), (3, 1), (3, 1)]);
    }

    #[test]
    fn excess_goes_to_junctions() {
        assert_eq!(overlaps(7, &[10, 10, 10]), [0, -4, -3]);
        assert_eq!(overlaps(3, &[4, 4, 8, 8]), [0, -1, -1, -1]);
        assert_eq!(overlaps(5, &[5, 20, 20]), [0, -1, -4]);
    }

    #[test]
    fn whole_utterances() {
        let chunks = splitter("-1", 0, 1).split(17);
        assert_eq!(chunks.len(), 1);
        assert_eq!((chunks[0].first_frame, chunks[0].num_frames, chunks[0].left_context), (0, 17, 0));
        assert!(splitter("-1", 0, 1).split(0).is_empty());
    }

    /// An utterance below the smallest size loses less than a tenth, or less than an output frame.
    #[test]
    fn short_utterances_are_kept_if_asked_for() {
        let options = SplitOptions {
            num_frames: "150,60".to_owned(),
            frame_subsampling_factor: 3,
            keep_short: true,
            ..Default::default()
        };
        let mut splitter = UtteranceSplitter::new(&options).unwrap();
        for length in 0..60 {
            let sizes: Vec<_> = splitter.split(length).iter().map(|chunk| chunk.num_frames).collect();
            match length {
                0..6 => assert!(sizes.is_empty(), "{length}: {sizes:?}"),
                _ => {
                    let [size] = sizes[..] else { panic!("{length}: {sizes:?}") };
                    assert!(size <= length && size % 3 == 0, "{length}: {size}");
                    assert!(length - size < 3.max(length / 10 + 1), "{length}: {size}");
                }
            }
        }
        assert!(
            UtteranceSplitter::new(&SplitOptions { keep_short: false, ..options })
                .unwrap()
                .split(57)
                .is_empty()
        );
    }

    #[test]
    fn own_sizes_are_few() {
        let sizes: std::collections::BTreeSet<_> =
            (2..150).filter_map(|length| own_size(length, 1)).collect();
        assert!(sizes.len() < 45, "{sizes:?}");
        assert_eq!(own_size(1, 1), None);
        assert_eq!(own_size(2, 1), Some(2));
    }

    #[test]
    fn sizes_are_rounded_and_checked() {
        let splitter = splitter("8,6", 0, 3);
        assert_eq!(
            splitter.rounding(),
            Some("Rounding up --num-frames=8,6 to multiples of --frame-subsampling-factor=3, to: 9,6")
        );
        for bad in ["", "0", "8,", "x", "-2", "8:9"] {
            let options = SplitOptions { num_frames: bad.to_owned(), ..Default::default() };
            assert!(UtteranceSplitter::new(&options).is_err(), "{bad}");
        }
    }

    /// The figures that the reference logs for the same utterances.
    #[test]
    fn lines_look_like_the_references() {
        let counts = SplitCounts {
            utterances: 3,
            input_frames: 368,
            overlap_frames: 132,
            chunks: 25,
            chunk_frames: 500,
            sizes: [(20, 25)].into(),
        };
        assert_eq!(
            counts.lines(),
            [
                "Split 3 utts, with total length 368 frames (0.00102222 hours assuming 100 frames per second) into 25 \
                 chunks.",
                "Average chunk length was 20 frames; overlap between adjacent chunks was 35.8696% of input length; \
                 length of output was 135.87% of input length (minus overlap = 100%)."
            ]
        );
    }
}
