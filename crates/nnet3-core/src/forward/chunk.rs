//! Cuts an utterance into chunks, and finds the frames that each chunk reads.

use nnet3_base::error::{Error, Result};
use nnet3_network::descriptor::eval::lcm;

/// Options for cutting an utterance. Frames are counted at the input's rate. Output frames come every
/// `frame_subsampling_factor` input frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunking {
    /// Frames added to the network's own left context.
    pub extra_left_context: i32,
    pub extra_right_context: i32,
    /// Takes the place of `extra_left_context` at the start of an utterance; negative: no exception there.
    pub extra_left_context_initial: i32,
    /// Takes the place of `extra_right_context` at the end of an utterance; negative: no exception there.
    pub extra_right_context_final: i32,
    pub frame_subsampling_factor: i32,
    pub frames_per_chunk: i32,
}

impl Default for Chunking {
    fn default() -> Self {
        Chunking {
            extra_left_context: 0,
            extra_right_context: 0,
            extra_left_context_initial: -1,
            extra_right_context_final: -1,
            frame_subsampling_factor: 1,
            frames_per_chunk: 50,
        }
    }
}

/// One piece of an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Output row of the utterance that the chunk begins with.
    pub first_row: usize,
    /// Output rows.
    pub rows: usize,
    /// Time of the first output.
    pub first_output: i32,
    pub last_output: i32,
    /// Time of the first input frame; before the utterance (< 0) the first frame is repeated.
    pub first_input: i32,
    /// Time of the last input frame; behind the utterance its last frame is repeated.
    pub last_input: i32,
}

impl Chunking {
    /// Refuses settings that cannot be meant.
    pub fn check(&self) -> Result<()> {
        let at_least = |name: &str, value: i32, least: i32| match value >= least {
            true => Ok(()),
            false => Err(Error::Execution(format!("{name} must be at least {least}, found {value}"))),
        };
        at_least("extra-left-context", self.extra_left_context, 0)?;
        at_least("extra-right-context", self.extra_right_context, 0)?;
        at_least("frame-subsampling-factor", self.frame_subsampling_factor, 1)?;
        at_least("frames-per-chunk", self.frames_per_chunk, 1)
    }

    /// Rounds `frames_per_chunk` up, so that all chunks have the same structure for a network with period `modulus` (in
    /// frames). Returns the old number if it changes.
    pub fn round_up(&mut self, modulus: i32) -> Result<Option<i32>> {
        let step = lcm(i64::from(self.frame_subsampling_factor), i64::from(modulus));
        let old = self.frames_per_chunk;
        let rounded = step.saturating_mul((i64::from(old) + step - 1) / step);
        self.frames_per_chunk = i32::try_from(rounded).map_err(|_| {
            Error::Execution(format!(
                "frames-per-chunk={old} cannot be made a multiple of {step} (frame-subsampling-factor={}, the network's \
                 structure repeats after {modulus} frames)",
                self.frame_subsampling_factor
            ))
        })?;
        Ok((self.frames_per_chunk != old).then_some(old))
    }

    /// Rows of the output for this many input frames.
    pub(crate) fn output_rows(&self, frames: usize) -> usize {
        frames.div_ceil(self.frame_subsampling_factor as usize)
    }

    /// The chunks of an utterance, in order, for a network that needs `left` and `right` frames around each output.
    pub fn chunks(&self, frames: usize, left: i32, right: i32) -> impl Iterator<Item = Chunk> + use<> {
        let settings = self.clone();
        let factor = settings.frame_subsampling_factor;
        let total = settings.output_rows(frames);
        let rows_per_chunk = (settings.frames_per_chunk / factor).max(1) as usize;
        (0..total).step_by(rows_per_chunk).map(move |first_row| {
            let rows = rows_per_chunk.min(total - first_row);
            let first_output = first_row as i32 * factor;
            let last_output = (first_row + rows - 1) as i32 * factor;
            let is_last = first_row + rows == total;
            let extra_left = match settings.extra_left_context_initial {
                initial if first_row == 0 && initial >= 0 => initial,
                _ => settings.extra_left_context,
            };
            let extra_right = match settings.extra_right_context_final {
                last if is_last && last >= 0 => last,
                _ => settings.extra_right_context,
            };
            Chunk {
                first_row,
                rows,
                first_output,
                last_output,
                first_input: first_output - left - extra_left,
                last_input: last_output + right + extra_right,
            }
        })
    }
}

impl Chunk {
    /// Joins this chunk and the next one.
    pub fn joined(&self, next: &Chunk) -> Chunk {
        Chunk {
            rows: self.rows + next.rows,
            last_output: next.last_output,
            last_input: next.last_input,
            ..*self
        }
    }

    /// The utterance's frame for each input frame of the chunk.
    pub fn input_frames(&self, frames: usize) -> impl Iterator<Item = usize> + use<> {
        let last = frames.saturating_sub(1) as i32;
        (self.first_input..=self.last_input).map(move |t| t.clamp(0, last) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(settings: &Chunking, frames: usize, left: i32, right: i32) -> Vec<(i32, i32, i32, i32)> {
        settings
            .chunks(frames, left, right)
            .map(|c| (c.first_input, c.first_output, c.last_output, c.last_input))
            .collect()
    }

    #[test]
    fn contexts_at_the_edges() {
        let mut settings = Chunking { frames_per_chunk: 4, extra_left_context: 10, ..Default::default() };
        assert_eq!(spans(&settings, 9, 2, 1), [(-12, 0, 3, 4), (-8, 4, 7, 8), (-4, 8, 8, 9)]);
        settings.extra_left_context_initial = 0;
        settings.extra_right_context = 5;
        settings.extra_right_context_final = 1;
        assert_eq!(spans(&settings, 8, 2, 1), [(-2, 0, 3, 9), (-8, 4, 7, 9)]);
        assert_eq!(spans(&settings, 0, 2, 1), []);
    }

    #[test]
    fn subsampled_outputs() {
        let settings = Chunking { frames_per_chunk: 6, frame_subsampling_factor: 3, ..Default::default() };
        assert_eq!(settings.output_rows(10), 4);
        assert_eq!(spans(&settings, 10, 1, 1), [(-1, 0, 3, 4), (5, 6, 9, 10)]);
        assert_eq!(spans(&settings, 7, 0, 0), [(0, 0, 3, 3), (6, 6, 6, 6)]);
    }

    #[test]
    fn edges_are_repeated() {
        let chunk = Chunking::default().chunks(3, 2, 1).next().unwrap();
        assert_eq!(chunk.input_frames(3).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2]);
    }

    #[test]
    fn rounding() {
        let mut settings = Chunking { frame_subsampling_factor: 3, ..Default::default() };
        assert_eq!(settings.round_up(2).unwrap(), Some(50));
        assert_eq!(settings.frames_per_chunk, 54);
        assert_eq!(settings.round_up(2).unwrap(), None);
        settings.frames_per_chunk = i32::MAX;
        assert!(settings.round_up(i32::MAX).is_err());
        for bad in [
            Chunking { extra_left_context: -1, ..Default::default() },
            Chunking { frame_subsampling_factor: 0, ..Default::default() },
            Chunking { frames_per_chunk: 0, ..Default::default() },
        ] {
            assert!(bad.check().is_err());
        }
    }
}
