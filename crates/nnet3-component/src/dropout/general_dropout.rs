//! GeneralDropoutComponent: dropout with masks that rows of a sequence, or of a stretch of time, share; also masks of
//! frequency bands (Park et al., "SpecAugment", 2019).

use crate::capabilities::{DropoutMode, Indexed, Masks};
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::{BLOCK_DIM, DIM};
use crate::parameters::{copy_unless_same, in_blocks_mut};
use crate::registry::PrecomputedReader;
use crate::{
    Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update, fit,
    precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_base::text::number;
use nnet3_matrix::{IndexTable, Map, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[GeneralDropout::TYPE];

const BLOCK: Field<usize> = BLOCK_DIM.meaning("blocks of this many columns share a mask");
const TIME_PERIOD: Field<i32> = field(
    "time-period",
    "<TimePeriod>",
    "rows whose t / time-period is the same share a mask; 0: whole sequences do",
)
.or(0)
.range(COUNT)
.hidden();
const PROPORTION: Field<f32> =
    field("dropout-proportion", "<DropoutProportion>", "probability of a zero").or(0.5).range(FROM_0_TO_1);
const MAX_PROPORTION: Field<f32> = field(
    "specaugment-max-proportion",
    "<SpecAugmentMaxProportion>",
    "largest proportion of columns masked as a band; 0 is off",
)
.or(0.0)
.range(FROM_0_TO_1)
.written_if_set()
.hidden();
const MAX_REGIONS: Field<i32> =
    field("specaugment-max-regions", "<SpecAugmentMaxRegions>", "into how many pieces a band may fall")
        .or(1)
        .written_if_set()
        .hidden();
const CONTINUOUS: Field<bool> =
    field("continuous", "<Continuous>", "uniform factors between 1-2p and 1+2p instead of zeros")
        .or(false)
        .flag();
const TEST_MODE: Field<bool> = field("test-mode", "<TestMode>", "no masks").or(false).flag().hidden();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("GeneralDropoutComponentPrecomputedIndexes", MaskIndexes::read)];

/// No band has more pieces than this.
const MOST_REGIONS: i32 = 10_000;

#[derive(Clone, Debug)]
struct GeneralDropout {
    dim: usize,
    block_dim: usize,
    time_period: i32,
    proportion: f32,
    specaugment_max_proportion: f32,
    specaugment_max_regions: i32,
    continuous: bool,
    test_mode: bool,
}

impl GeneralDropout {
    fn masks_bands(&self) -> bool {
        self.specaugment_max_proportion != 0.0
    }

    /// True if there are no masks, so that the output is the input.
    fn is_identity(&self) -> bool {
        self.test_mode || (self.proportion == 0.0 && !self.masks_bands())
    }

    fn fill_masks(&self, context: Context<'_>, masks: ViewMut<'_>) {
        if self.masks_bands() {
            let mut row = context.workspace.floats(self.block_dim);
            for i in 0..masks.rows() {
                self.fill_band_mask(context.random, &mut row);
                context.backend.upload(masks.row(i), &row);
            }
            return;
        }
        let (p, backend) = (self.proportion, context.backend);
        backend.fill_uniform(masks, context.random.key());
        if self.continuous {
            backend.map(masks, masks.as_view(), Map::Affine { scale: 4.0 * p, offset: 1.0 - 2.0 * p });
        } else {
            let kept = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
            backend.map(masks, masks.as_view(), Map::Affine { scale: 1.0, offset: -p });
            backend.map(masks, masks.as_view(), Map::Heaviside);
            backend.scale(masks, kept);
        }
    }

    /// Fills a mask with ones, except for a band of zeros on the circle of columns. Then mirrors random halves of the
    /// circle, which breaks the band up.
    fn fill_band_mask(&self, random: &Random, mask: &mut [f32]) {
        mask.fill(1.0);
        let columns = mask.len();
        let most = (columns as f32 * self.specaugment_max_proportion + 0.5) as i32;
        let zeroed = random.int(0, most) as usize;
        if zeroed == 0 {
            return;
        }
        let anywhere = || random.int(0, columns as i32 - 1) as usize;
        let start = anywhere();
        for i in start..start + zeroed {
            mask[i % columns] = 0.0;
        }
        for _ in 1..self.specaugment_max_regions {
            let (half, start) = (columns / 2, anywhere());
            for i in 0..half / 2 {
                mask.swap((start + i) % columns, (start + half - i) % columns);
            }
        }
    }
}

/// The mask of each row (of a block).
#[derive(Clone, Debug)]
struct MaskIndexes {
    /// The number of rows of masks as the reference counts them: more than there are if the component has blocks.
    num_mask_rows: i32,
    /// Masks in use.
    num_masks: usize,
    indexes: IndexTable,
}

impl MaskIndexes {
    fn new(num_mask_rows: i32, indexes: Vec<i32>) -> MaskIndexes {
        let num_masks = indexes.iter().copied().max().map_or(0, |last| last as usize + 1);
        MaskIndexes { num_mask_rows, num_masks, indexes: IndexTable::new(indexes) }
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        let num_mask_rows = fields::read_i32(r, "<NumMaskRows>")?;
        r.expect_token("<Indexes>")?;
        let indexes = r.read_i32_vector()?;
        fields::check(r, indexes.iter().all(|index| (0..num_mask_rows).contains(index)), || {
            format!("<Indexes>: expected numbers of {num_mask_rows} masks")
        })?;
        r.expect_token("</GeneralDropoutComponentPrecomputedIndexes>")?;
        Ok(Box::new(MaskIndexes::new(num_mask_rows, indexes)))
    }
}

impl PrecomputedIndexes for MaskIndexes {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<GeneralDropoutComponentPrecomputedIndexes>")?;
        fields::write_i32(w, "<NumMaskRows>", self.num_mask_rows)?;
        w.write_token("<Indexes>")?;
        w.write_i32_vector(self.indexes.values())?;
        w.write_token("</GeneralDropoutComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for GeneralDropout {
    const TYPE: &'static ComponentType = &ComponentType::of::<GeneralDropout>(
        "GeneralDropoutComponent",
        "Dropout with masks shared over time, or masking of frequency bands.",
        "dim=6 block-dim=3 time-period=4 dropout-proportion=0.25",
    );

    fn fields(f: &mut Fields<'_, GeneralDropout>) -> Result<Option<GeneralDropout>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let block_dim = f.get_or(&BLOCK, dim, |c| c.block_dim)?;
        f.check_divides((&DIM, dim), (&BLOCK, block_dim))?;
        let time_period = f.get(&TIME_PERIOD, |c| c.time_period)?;
        let proportion = f.get(&PROPORTION, |c| c.proportion)?;
        let specaugment_max_proportion = f.get(&MAX_PROPORTION, |c| c.specaugment_max_proportion)?;
        let regions = |c: &GeneralDropout| if c.masks_bands() { c.specaugment_max_regions } else { 1 };
        let specaugment_max_regions = f.get(&MAX_REGIONS, regions)?;
        let continuous = f.key(&CONTINUOUS)?;
        let test_mode = f.get(&TEST_MODE, |c| c.test_mode)?;
        let continuous = f.stored(&CONTINUOUS, continuous, |c| c.continuous)?;
        f.note(|c, _| c.info_of_bands());
        let c = GeneralDropout {
            dim,
            block_dim,
            time_period,
            proportion,
            specaugment_max_proportion,
            specaugment_max_regions,
            continuous,
            test_mode,
        };
        let least = if f.is_config() { 1 } else { i32::MIN };
        f.check(!(f.is_config() && c.masks_bands() && continuous), || {
            "continuous=true does not go with specaugment-max-proportion".to_string()
        })?;
        f.check(!c.masks_bands() || (least..=MOST_REGIONS).contains(&specaugment_max_regions), || {
            format!("specaugment-max-regions must be 1 to {MOST_REGIONS}, found {specaugment_max_regions}")
        })?;
        f.done(c)
    }
}

impl GeneralDropout {
    fn info_of_bands(&self) -> String {
        let mut out = String::new();
        if self.masks_bands() {
            out += &format!(
                ", specaugment-max-proportion={}, specaugment-max-regions={}",
                number(self.specaugment_max_proportion as f64),
                self.specaugment_max_regions
            );
        }
        if self.time_period > 0 {
            out += &format!(", time-period={}", self.time_period);
        }
        out
    }
}

impl Component for GeneralDropout {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        let contiguous = Properties::INPUT_CONTIGUOUS | Properties::OUTPUT_CONTIGUOUS;
        Properties::RANDOM
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_IN_PLACE
            | Properties::USES_MEMO
            | contiguous.when(self.block_dim != self.dim)
    }

    fn memo_shape(&self, indexes: Option<&dyn PrecomputedIndexes>, _output_rows: usize) -> (usize, usize) {
        match self.is_identity() {
            true => (0, 0),
            false => (precomputed::<MaskIndexes>(indexes).num_masks, self.block_dim),
        }
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }
    fn as_dropout_mut(&mut self) -> Option<&mut dyn DropoutMode> {
        Some(self)
    }
    fn as_masks(&self) -> Option<&dyn Masks> {
        (self.block_dim == self.dim).then_some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, memo, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        if let Some(rows) = self.masks(context, indexes, memo) {
            context.backend.multiply_rows(in_blocks_mut(output, self.block_dim), memo.as_view(), rows);
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        copy_unless_same(context, in_deriv, args.out_deriv);
        if let Some(rows) = self.masks_left(args.indexes, args.memo) {
            context.backend.multiply_rows(in_blocks_mut(in_deriv, self.block_dim), args.memo, rows);
        }
    }
}

impl Masks for GeneralDropout {
    fn masks<'i>(
        &self,
        context: Context<'_>,
        indexes: Option<&'i dyn PrecomputedIndexes>,
        memo: ViewMut<'_>,
    ) -> Option<&'i IndexTable> {
        (!self.is_identity()).then(|| {
            self.fill_masks(context, memo);
            &precomputed::<MaskIndexes>(indexes).indexes
        })
    }

    fn masks_left<'i>(
        &self,
        indexes: Option<&'i dyn PrecomputedIndexes>,
        memo: View<'_>,
    ) -> Option<&'i IndexTable> {
        (!memo.is_empty()).then(|| &precomputed::<MaskIndexes>(indexes).indexes)
    }
}

impl Indexed for GeneralDropout {
    /// Masks in the order in which their first rows come.
    fn precompute_indexes(
        &self,
        inputs: &[Index],
        _outputs: &[Index],
        _need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let blocks = self.dim / self.block_dim;
        let mut masks: FastMap<(i32, i32), i32> = FastMap::default();
        let mut indexes = Vec::with_capacity(inputs.len() * blocks);
        for input in inputs {
            let period = if self.time_period == 0 { 0 } else { input.t.div_euclid(self.time_period) };
            let next = masks.len() as i32;
            let mask = *masks.entry((input.n, period)).or_insert(next);
            indexes.extend(std::iter::repeat_n(mask, blocks));
        }
        Ok(Some(Box::new(MaskIndexes::new((masks.len() * blocks) as i32, indexes))))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        fit::same_rows(input_rows, output_rows)?;
        let masks: &MaskIndexes = fit::own(indexes)?;
        fit::count("blocks of rows", masks.indexes.len(), output_rows * (self.dim / self.block_dim))
    }
}

impl DropoutMode for GeneralDropout {
    fn set_test_mode(&mut self, on: bool) {
        self.test_mode = on;
    }

    fn set_proportion(&mut self, proportion: f32) -> bool {
        self.proportion = proportion;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    fn rows(sequences: i32, times: i32) -> Vec<Index> {
        (0..times).flat_map(|t| (0..sequences).map(move |n| Index::new(n, t, 0))).collect()
    }

    #[test]
    fn derivatives_and_forms() {
        for keys in [
            "dim=4",
            "dim=4 block-dim=2 time-period=2",
            "dim=4 continuous=true dropout-proportion=0.2",
            "dim=6 specaugment-max-proportion=0.5 specaugment-max-regions=2",
            "dim=6 specaugment-max-proportion=0.5",
            "dim=4 test-mode=true",
            "dim=4 dropout-proportion=0",
        ] {
            let config = format!("type=GeneralDropoutComponent {keys}");
            Check::new(&config).indexes(rows(2, 5), rows(2, 5)).run();
        }
        let c = component("type=GeneralDropoutComponent dim=6 specaugment-max-proportion=0.5 time-period=3");
        assert_eq!(
            c.info(false),
            "GeneralDropoutComponent, dim=6, block-dim=6, dropout-proportion=0.5, \
             specaugment-max-proportion=0.5, specaugment-max-regions=1, time-period=3"
        );
    }

    #[test]
    fn refuses_bad_input() {
        let refused = |keys: &str, part: &str| refused(&format!("type=GeneralDropoutComponent {keys}"), part);
        refused("", "'dim' is missing");
        refused("dim=4 block-dim=3", "does not divide");
        refused("dim=4 time-period=-1", "time-period");
        refused("dim=4 dropout-proportion=1.1", "from 0 to 1");
        refused("dim=4 specaugment-max-proportion=-0.1", "from 0 to 1");
        refused("dim=4 specaugment-max-proportion=0.1 continuous=true", "continuous");
        refused("dim=4 specaugment-max-proportion=0.1 specaugment-max-regions=0", "specaugment-max-regions");
        read_refused("<GeneralDropoutComponent> <Dim> 4 <BlockDim> 3 ", "divide");
    }

    fn masked(config: &str, indexes: &[Index]) -> (Vec<f32>, usize) {
        let harness = Harness::new();
        let c = component(&format!("type=GeneralDropoutComponent {config}"));
        let precomputed = c.precompute_indexes(indexes, indexes, true).unwrap();
        let input = filled(indexes.len(), c.input_dim(), 1.0);
        let forward = harness.forward(&*c, precomputed.as_deref(), &input, indexes.len());
        let mut own = c.clone();
        let deriv = harness
            .backward(&mut *own, precomputed.as_deref(), &input, &forward, &input, Update::None)
            .to_vec();
        let output = forward.output.to_vec();
        assert_eq!(output, deriv, "backprop uses the masks of propagate");
        (output, c.input_dim())
    }

    #[test]
    fn masks_are_shared() {
        let (output, dim) = masked("dim=50", &rows(2, 3));
        let row = |i: usize| &output[i * dim..(i + 1) * dim];
        assert!(row(0) == row(2) && row(1) == row(5) && row(0) != row(1));
        let (output, dim) = masked("dim=50 time-period=2", &rows(1, 4));
        let row = |i: usize| &output[i * dim..(i + 1) * dim];
        assert!(row(0) == row(1) && row(2) == row(3) && row(0) != row(2));
        let (output, _) = masked("dim=50 block-dim=25", &rows(2, 1));
        let block = |i: usize| &output[i * 25..(i + 1) * 25];
        assert!(block(0) == block(1) && block(2) == block(3) && block(0) != block(2));
    }

    #[test]
    fn distributions() {
        let (output, _) = masked("dim=20 dropout-proportion=0.2", &rows(500, 1));
        assert!(output.iter().all(|&v| v == 0.0 || v == 1.25));
        let zeros = output.iter().filter(|&&v| v == 0.0).count();
        assert!((1800..2200).contains(&zeros), "{zeros}");
        let (output, _) = masked("dim=20 dropout-proportion=0.2 continuous=true", &rows(500, 1));
        assert!(output.iter().all(|&v| v > 0.6 && v < 1.4));
        let mean = output.iter().sum::<f32>() / 10000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn bands() {
        let (output, _) = masked("dim=20 specaugment-max-proportion=0.4", &rows(900, 1));
        let mut lengths = [0; 9];
        for mask in output.chunks(20) {
            assert!(mask.iter().all(|&v| v == 0.0 || v == 1.0));
            let edges = (0..20).filter(|&j| mask[j] != mask[(j + 1) % 20]).count();
            assert!(edges == 0 || edges == 2, "more than one band: {mask:?}");
            lengths[mask.iter().filter(|&&v| v == 0.0).count()] += 1;
        }
        assert!(lengths.iter().all(|count| (60..140).contains(count)), "{lengths:?}");
        let (output, _) =
            masked("dim=20 specaugment-max-proportion=0.4 specaugment-max-regions=3", &rows(900, 1));
        let edges = |mask: &[f32]| (0..20).filter(|&j| mask[j] != mask[(j + 1) % 20]).count();
        assert!(output.chunks(20).any(|mask| edges(mask) > 2));
        assert!(output.chunks(20).all(|mask| mask.iter().filter(|&&v| v == 0.0).count() <= 8));
    }

    #[test]
    fn stored_indexes() {
        let c = component("type=GeneralDropoutComponent dim=4 block-dim=2");
        let indexes = c.precompute_indexes(&rows(2, 2), &rows(2, 2), true).unwrap().unwrap();
        let mut w = KaldiWriter::in_memory(false);
        indexes.write(&mut w).unwrap();
        let text = "<GeneralDropoutComponentPrecomputedIndexes> <NumMaskRows> 4 <Indexes> [ 0 0 1 1 0 0 1 1 ]\n\
                    </GeneralDropoutComponentPrecomputedIndexes> ";
        let bytes = w.into_bytes();
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), text);
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(false);
        r.read_token().unwrap();
        let again = (PRECOMPUTED[0].1)(&mut r).unwrap();
        assert_eq!(format!("{again:?}"), format!("{indexes:?}"));
        assert_eq!(c.memo_shape(Some(&*again), 4), (2, 2));
    }
}
