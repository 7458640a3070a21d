//! Cuts an utterance into chunks of equal length.

use super::Chunking;
use super::runner::Shape;

/// A piece of an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchChunk {
    /// Output row of the utterance that the chunk's outputs begin with.
    pub first_row: usize,
    /// Number of its first outputs that the previous chunk has already given.
    pub unused: usize,
    /// Number of outputs that the utterance takes, after the unused ones.
    pub used: usize,
    /// Time of the first input frame; frames outside of the utterance repeat its first or last.
    pub first_input: i32,
    pub shape: Shape,
    /// True if it has another context than chunks within an utterance.
    pub is_edge: bool,
    /// True if it has a length of its own.
    pub is_irregular: bool,
}

impl Chunking {
    /// The chunks of an utterance with at least one frame, for a network that needs `left` and `right` frames around
    /// each output. The last chunk is moved back to end with the utterance. An utterance shorter than a chunk is padded
    /// with its last frame. If `exact`, it gets a chunk of its own length instead.
    pub(super) fn batch_chunks(&self, frames: usize, left: i32, right: i32, exact: bool) -> Vec<BatchChunk> {
        let factor = self.frame_subsampling_factor;
        let (total, usual) = (self.output_rows(frames), (self.frames_per_chunk / factor).max(1) as usize);
        let is_irregular = exact && total < usual;
        let rows = if is_irregular { total } else { usual };
        let or_usual = |exception: i32, usual: i32| if exception < 0 { usual } else { exception };
        let chunk = |first_used: usize| {
            let first_row = first_used.min(total.saturating_sub(rows));
            let (is_first, is_last) = (first_row == 0, first_row + rows >= total);
            let extra_left = match is_first {
                true => or_usual(self.extra_left_context_initial, self.extra_left_context),
                false => self.extra_left_context,
            };
            let extra_right = match is_last {
                true => or_usual(self.extra_right_context_final, self.extra_right_context),
                false => self.extra_right_context,
            };
            let before = left + extra_left;
            let inputs = before + rows as i32 * factor + right + extra_right;
            BatchChunk {
                first_row,
                unused: first_used - first_row,
                used: rows.min(total - first_used),
                first_input: first_row as i32 * factor - before,
                shape: Shape { first_input: -before, inputs: inputs as usize, outputs: rows },
                is_edge: (extra_left, extra_right) != (self.extra_left_context, self.extra_right_context),
                is_irregular,
            }
        };
        (0..total).step_by(rows.max(1)).map(chunk).collect()
    }
}

impl BatchChunk {
    /// The utterance's frame for each input frame of the chunk.
    pub fn input_frames(&self, frames: usize) -> impl Iterator<Item = usize> + use<> {
        let times = self.first_input..self.first_input + self.shape.inputs as i32;
        times.map(move |t| t.clamp(0, frames.saturating_sub(1) as i32) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (first row, unused, used, first input, inputs, is edge) of each chunk.
    fn chunks(
        settings: &Chunking,
        frames: usize,
        exact: bool,
    ) -> Vec<(usize, usize, usize, i32, usize, bool)> {
        settings
            .batch_chunks(frames, 2, 1, exact)
            .iter()
            .map(|c| (c.first_row, c.unused, c.used, c.first_input, c.shape.inputs, c.is_edge))
            .collect()
    }

    #[test]
    fn the_last_chunk_is_moved_back() {
        let settings = Chunking { frames_per_chunk: 4, ..Default::default() };
        assert_eq!(
            chunks(&settings, 9, false),
            [(0, 0, 4, -2, 7, false), (4, 0, 4, 2, 7, false), (5, 3, 1, 3, 7, false)]
        );
        assert_eq!(chunks(&settings, 8, false), [(0, 0, 4, -2, 7, false), (4, 0, 4, 2, 7, false)]);
    }

    #[test]
    fn short_utterances() {
        let settings = Chunking { frames_per_chunk: 4, ..Default::default() };
        assert_eq!(chunks(&settings, 3, false), [(0, 0, 3, -2, 7, false)]);
        assert_eq!(chunks(&settings, 3, true), [(0, 0, 3, -2, 6, false)]);
        assert!(settings.batch_chunks(3, 2, 1, true)[0].is_irregular);
        assert!(!settings.batch_chunks(4, 2, 1, true)[0].is_irregular);
        let frames = settings.batch_chunks(3, 2, 1, false)[0].input_frames(3);
        assert_eq!(frames.collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2, 2]);
    }

    #[test]
    fn edges() {
        let mut settings = Chunking {
            frames_per_chunk: 4,
            extra_left_context: 10,
            extra_left_context_initial: 0,
            ..Default::default()
        };
        assert_eq!(
            chunks(&settings, 9, false),
            [(0, 0, 4, -2, 7, true), (4, 0, 4, -8, 17, false), (5, 3, 1, -7, 17, false)]
        );
        settings.extra_right_context_final = 3;
        assert_eq!(chunks(&settings, 4, false), [(0, 0, 4, -2, 10, true)]);
        settings.extra_left_context_initial = 10;
        settings.extra_right_context_final = 0;
        assert!(!chunks(&settings, 4, false)[0].5, "the same context as elsewhere");
    }

    #[test]
    fn subsampling() {
        let settings = Chunking { frames_per_chunk: 6, frame_subsampling_factor: 3, ..Default::default() };
        // 4 output rows, of which the last two chunks give rows 0 to 1 and 2 to 3, from 3 input frames each.
        assert_eq!(chunks(&settings, 10, false), [(0, 0, 2, -2, 9, false), (2, 0, 2, 4, 9, false)]);
    }
}
