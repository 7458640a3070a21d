//! SpecAugmentTimeMaskComponent: zeroes random stretches of time (Park et al., "SpecAugment", 2019).

use crate::capabilities::{DropoutMode, Indexed};
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::DIM;
use crate::parameters::copy_unless_same;
use crate::registry::PrecomputedReader;
use crate::{
    Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update, fit,
    precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::random::Random;

pub const TYPES: &[&ComponentType] = &[TimeMask::TYPE];

const ZEROED_PROPORTION: Field<f32> =
    field("zeroed-proportion", "<ZeroedProportion>", "proportion of rows that are zeroed, on average")
        .or(0.25)
        .range(FROM_0_TO_1);
const MAX_FRAMES: Field<i32> = field(
    "time-mask-max-frames",
    "<TimeMaskMaxFrames>",
    "length of the longest zeroed stretch, in rows; 2 or more",
)
.or(10);
const TEST_MODE: Field<bool> = field("", "<TestMode>", "no zeros").or(false).flag();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("SpecAugmentTimeMaskComponentPrecomputedIndexes", SequenceRows::read)];

#[derive(Clone, Debug)]
struct TimeMask {
    dim: usize,
    zeroed_proportion: f32,
    max_frames: i32,
    test_mode: bool,
}

impl TimeMask {
    fn is_identity(&self) -> bool {
        self.test_mode || self.zeroed_proportion == 0.0
    }

    /// Longest stretch between two zeroed ones.
    fn max_kept_frames(&self) -> i32 {
        let z = self.zeroed_proportion;
        (self.max_frames as f32 * (1.0 - z) / z) as i32
    }

    /// Draws one factor a row: stretches of ones and of zeros take turns in each sequence.
    fn draw_mask(&self, random: &Random, sequences: &SequenceRows, mask: &mut [f32]) {
        mask.fill(0.0);
        for rows in &sequences.rows {
            let mut t = 0;
            while t < rows.len() {
                if t > 0 || random.with_probability(self.zeroed_proportion) {
                    let kept = random.int(1, self.max_kept_frames()) as usize;
                    for &row in rows.iter().skip(t).take(kept) {
                        mask[row as usize] = 1.0;
                    }
                    t += kept;
                }
                t += random.int(1, self.max_frames) as usize;
            }
        }
    }
}

/// The rows of each sequence in the order of t, sequences in the order of n.
#[derive(Clone, Debug)]
struct SequenceRows {
    rows: Vec<Vec<i32>>,
    num_rows: usize,
}

impl SequenceRows {
    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        let count = fields::read_i32(r, "<Indexes>")?;
        let mut rows = Vec::new();
        for _ in 0..count {
            rows.push(r.read_i32_vector()?);
        }
        let num_rows = rows.iter().map(Vec::len).sum();
        let mut seen = vec![false; num_rows];
        for &row in rows.iter().flatten() {
            let place = usize::try_from(row).ok().and_then(|row| seen.get_mut(row));
            fields::check(r, place.is_some_and(|seen| !std::mem::replace(seen, true)), || {
                format!("<Indexes>: expected each of {num_rows} rows once, found row {row}")
            })?;
        }
        r.expect_token("</SpecAugmentTimeMaskComponentPrecomputedIndexes>")?;
        Ok(Box::new(SequenceRows { rows, num_rows }))
    }
}

impl PrecomputedIndexes for SequenceRows {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<SpecAugmentTimeMaskComponentPrecomputedIndexes>")?;
        fields::write_dim(w, "<Indexes>", self.rows.len())?;
        for rows in &self.rows {
            w.write_i32_vector(rows)?;
        }
        w.write_token("</SpecAugmentTimeMaskComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for TimeMask {
    const TYPE: &'static ComponentType = &ComponentType::of::<TimeMask>(
        "SpecAugmentTimeMaskComponent",
        "Zeroes random stretches of time.",
        "dim=4 zeroed-proportion=0.5 time-mask-max-frames=2",
    );

    fn fields(f: &mut Fields<'_, TimeMask>) -> Result<Option<TimeMask>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let zeroed_proportion = f.get(&ZEROED_PROPORTION, |c| c.zeroed_proportion)?;
        let max_frames = f.get(&MAX_FRAMES, |c| c.max_frames)?;
        let test_mode = f.get(&TEST_MODE, |c| c.test_mode)?;
        let c = TimeMask { dim, zeroed_proportion, max_frames, test_mode };
        let least = if f.is_config() { 2 } else { 1 };
        f.check(max_frames >= least, || {
            format!("time-mask-max-frames must be at least {least}, found {max_frames}")
        })?;
        f.check(zeroed_proportion == 0.0 || c.max_kept_frames() > 0, || {
            "time-mask-max-frames is too small for this zeroed-proportion".to_string()
        })?;
        f.done(c)
    }
}

impl Component for TimeMask {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::RANDOM
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_IN_PLACE
            | Properties::USES_MEMO
    }

    fn memo_shape(&self, _indexes: Option<&dyn PrecomputedIndexes>, output_rows: usize) -> (usize, usize) {
        if self.is_identity() { (0, 0) } else { (output_rows, 1) }
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }
    fn as_dropout_mut(&mut self) -> Option<&mut dyn DropoutMode> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, memo, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        if !self.is_identity() {
            let sequences: &SequenceRows = precomputed(indexes);
            let mut mask = context.workspace.floats(sequences.num_rows);
            self.draw_mask(context.random, sequences, &mut mask);
            context.backend.upload(memo, &mask);
            context.backend.scale_rows(output, memo.as_view());
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        copy_unless_same(context, in_deriv, args.out_deriv);
        if !args.memo.is_empty() {
            context.backend.scale_rows(in_deriv, args.memo);
        }
    }
}

impl Indexed for TimeMask {
    fn precompute_indexes(
        &self,
        inputs: &[Index],
        _outputs: &[Index],
        _need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        order.sort_by_key(|&row| (inputs[row].n, inputs[row].t, row));
        let sequences = order.chunk_by(|&a, &b| inputs[a].n == inputs[b].n);
        let rows = sequences.map(|rows| rows.iter().map(|&row| row as i32).collect()).collect();
        Ok(Some(Box::new(SequenceRows { rows, num_rows: inputs.len() })))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        fit::same_rows(input_rows, output_rows)?;
        let sequences: &SequenceRows = fit::own(indexes)?;
        fit::count("rows", sequences.num_rows, output_rows)
    }
}

impl DropoutMode for TimeMask {
    fn set_test_mode(&mut self, on: bool) {
        self.test_mode = on;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    fn rows(sequences: i32, times: i32) -> Vec<Index> {
        (0..times).flat_map(|t| (0..sequences).map(move |n| Index::new(n, 3 * t, 0))).collect()
    }

    #[test]
    fn derivatives_and_forms() {
        for keys in ["", "zeroed-proportion=0", "zeroed-proportion=0.5 time-mask-max-frames=2"] {
            let config = format!("type=SpecAugmentTimeMaskComponent dim=3 {keys}");
            Check::new(&config).indexes(rows(3, 8), rows(3, 8)).run();
            Check::new(&config)
                .component(|c| assert!(c.set_dropout_test_mode(true)))
                .indexes(rows(3, 8), rows(3, 8))
                .run();
        }
    }

    #[test]
    fn refuses_bad_input() {
        let refused =
            |keys: &str, part: &str| refused(&format!("type=SpecAugmentTimeMaskComponent {keys}"), part);
        refused("", "'dim' is missing");
        refused("dim=3 zeroed-proportion=1.5", "from 0 to 1");
        refused("dim=3 time-mask-max-frames=1", "at least 2");
        refused("dim=3 zeroed-proportion=0.9 time-mask-max-frames=3", "too small");
        refused("dim=3 test-mode=true", "test-mode");
        read_refused(
            "<SpecAugmentTimeMaskComponent> <Dim> 2 <ZeroedProportion> 0.5 <TimeMaskMaxFrames> 0 ",
            "at least 1",
        );
    }

    #[test]
    fn stretches() {
        let (harness, indexes) = (Harness::new(), rows(50, 200));
        let mut c = component(
            "type=SpecAugmentTimeMaskComponent dim=1 zeroed-proportion=0.25 time-mask-max-frames=4",
        );
        let precomputed = c.precompute_indexes(&indexes, &indexes, true).unwrap();
        let input = filled(indexes.len(), 1, 1.0);
        let forward = harness.forward(&*c, precomputed.as_deref(), &input, indexes.len());
        let output = forward.output.to_vec();
        let deriv = harness.backward(&mut *c, precomputed.as_deref(), &input, &forward, &input, Update::None);
        assert_eq!(output, deriv.to_vec(), "backprop uses the mask of propagate");

        let zeros = output.iter().filter(|&&v| v == 0.0).count() as f32 / output.len() as f32;
        assert!((0.22..0.32).contains(&zeros), "{zeros}");
        let mut starts_with_one = 0;
        for n in 0..50 {
            let sequence: Vec<f32> = output.iter().copied().skip(n).step_by(50).collect();
            starts_with_one += (sequence[0] == 1.0) as usize;
            for run in sequence.chunk_by(|a, b| a == b) {
                assert!(run.len() <= if run[0] == 0.0 { 4 } else { 12 }, "{run:?}");
            }
        }
        assert!((3..25).contains(&starts_with_one), "{starts_with_one}");
    }

    #[test]
    fn stored_indexes() {
        let c = component("type=SpecAugmentTimeMaskComponent dim=4");
        let indexes = c.precompute_indexes(&rows(2, 2), &rows(2, 2), true).unwrap().unwrap();
        let mut w = KaldiWriter::in_memory(false);
        indexes.write(&mut w).unwrap();
        let text = "<SpecAugmentTimeMaskComponentPrecomputedIndexes> <Indexes> 2 [ 0 2 ]\n[ 1 3 ]\n\
                    </SpecAugmentTimeMaskComponentPrecomputedIndexes> ";
        let bytes = w.into_bytes();
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), text);
        let read = |bytes: Vec<u8>| {
            let mut r = KaldiReader::from_bytes("test", bytes);
            r.set_binary(false);
            r.read_token().unwrap();
            (PRECOMPUTED[0].1)(&mut r)
        };
        assert_eq!(format!("{:?}", read(bytes).unwrap()), format!("{indexes:?}"));
        assert!(read(text.replace("[ 1 3 ]", "[ 1 4 ]").into_bytes()).is_err());
        assert!(read(text.replace("[ 1 3 ]", "[ 1 2 ]").into_bytes()).is_err());
    }
}
