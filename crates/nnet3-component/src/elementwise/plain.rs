//! NoOp, ElementwiseProduct and Permute components: columns passed on, multiplied or reordered; no parameters.

use crate::declared::*;
use crate::fields::{self, key};
use crate::parameters::copy_unless_same;
use crate::parameters::{DIM, INPUT_DIM, OUTPUT_DIM};
use crate::{Backprop, Component, ComponentType, Context, Kind, Propagate, Properties, Update};
use kaldi_io::reader::KaldiReader;
use nnet3_base::error::Result;
use nnet3_matrix::{IndexTable, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[NoOp::TYPE, ElementwiseProduct::TYPE, Permute::TYPE];

const BACKPROP_SCALE: Field<f32> =
    field("backprop-scale", "<BackpropScale>", "multiplies derivatives").or(1.0).shown_if_set();
const COLUMN_MAP: Key =
    key("column-map", Kind::IntList, "", "for each output column the input column: a permutation of 0, 1, …");

#[derive(Clone, Debug)]
struct NoOp {
    dim: usize,
    backprop_scale: f32,
}

impl Declared for NoOp {
    const TYPE: &'static ComponentType = &ComponentType::of::<NoOp>(
        "NoOpComponent",
        "Passes its input on; may scale derivatives.",
        "dim=4 backprop-scale=0.5",
    );

    fn fields(f: &mut Fields<'_, NoOp>) -> Result<Option<NoOp>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let backprop_scale = match NoOp::read_old_statistics(f)? {
            true => 1.0,
            false => f.get(&BACKPROP_SCALE, |c| c.backprop_scale)?,
        };
        f.done(NoOp { dim, backprop_scale })
    }
}

impl NoOp {
    /// Reads the statistics of a nonlinearity, which older files have in place of `<BackpropScale>`.
    fn read_old_statistics(f: &mut Fields<'_, NoOp>) -> Result<bool> {
        let Some(r) = f.reader() else { return Ok(false) };
        if !r.accept_token("<ValueAvg>")? {
            return Ok(false);
        }
        crate::read_row(r)?;
        fields::read_row(r, "<DerivAvg>")?;
        fields::read_f32(r, "<Count>")?;
        if r.accept_token("<OderivRms>")? {
            crate::read_row(r)?;
            fields::read_f32(r, "<OderivCount>")?;
        }
        f.skip::<f32>("<NumDimsSelfRepaired>")?;
        f.skip::<f32>("<NumDimsProcessed>")?;
        Ok(true)
    }
}

impl Component for NoOp {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::PROPAGATE_IN_PLACE | Properties::BACKPROP_IN_PLACE
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        match self.backprop_scale == 1.0 {
            true => copy_unless_same(context, in_deriv, args.out_deriv),
            false => context.backend.copy_scaled(in_deriv, self.backprop_scale, args.out_deriv),
        }
    }
}

/// The input is blocks of `output_dim` columns, two or more.
#[derive(Clone, Debug)]
struct ElementwiseProduct {
    input_dim: usize,
    output_dim: usize,
}

impl ElementwiseProduct {
    fn block<'a>(&self, input: View<'a>, i: usize) -> View<'a> {
        input.col_range(i * self.output_dim..(i + 1) * self.output_dim)
    }

    /// dst = the product of all factors.
    fn product<'a>(
        &self,
        context: Context<'_>,
        dst: ViewMut<'_>,
        mut factors: impl Iterator<Item = View<'a>>,
    ) {
        match (factors.next(), factors.next()) {
            (Some(a), Some(b)) => context.backend.product(dst, a, b),
            (Some(a), None) => context.backend.copy(dst, a),
            (None, _) => unreachable!("a product of no factors"),
        }
        for factor in factors {
            context.backend.multiply(dst, factor);
        }
    }
}

impl Declared for ElementwiseProduct {
    const TYPE: &'static ComponentType = &ComponentType::of::<ElementwiseProduct>(
        "ElementwiseProductComponent",
        "Product of blocks of columns, element by element.",
        "input-dim=6 output-dim=3",
    );

    fn fields(f: &mut Fields<'_, ElementwiseProduct>) -> Result<Option<ElementwiseProduct>> {
        const WHOLE: Field<usize> = INPUT_DIM.meaning("columns of the input, 2 or more times output-dim");
        const BLOCK: Field<usize> = OUTPUT_DIM.meaning("columns of the output and of each block");
        let input_dim = f.get(&WHOLE, |c| c.input_dim)?;
        let output_dim = f.get(&BLOCK, |c| c.output_dim)?;
        f.check_divides((&WHOLE, input_dim), (&BLOCK, output_dim))?;
        if f.is_config() {
            f.check(input_dim > output_dim, || "input-dim must be 2 or more times output-dim".to_string())?;
        }
        f.done(ElementwiseProduct { input_dim, output_dim })
    }
}

impl Component for ElementwiseProduct {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::BACKPROP_NEEDS_INPUT
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let blocks = self.input_dim / self.output_dim;
        self.product(context, output, (0..blocks).map(|i| self.block(input, i)));
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let blocks = self.input_dim / self.output_dim;
        for i in 0..blocks {
            let others = (0..blocks).filter(|&j| j != i).map(|j| self.block(args.in_value, j));
            let columns = i * self.output_dim..(i + 1) * self.output_dim;
            self.product(context, in_deriv.col_range(columns), std::iter::once(args.out_deriv).chain(others));
        }
    }
}

/// Output column i is input column map\[i\].
#[derive(Clone, Debug)]
struct Permute {
    map: IndexTable,
    inverse: IndexTable,
}

impl Permute {
    /// `None` if `map` is no permutation of 0, 1, ….
    fn new(map: Vec<i32>) -> Option<Permute> {
        let mut inverse = vec![-1; map.len()];
        for (i, &column) in map.iter().enumerate() {
            let place = usize::try_from(column).ok().and_then(|column| inverse.get_mut(column))?;
            if *place != -1 {
                return None;
            }
            *place = i as i32;
        }
        (!map.is_empty()).then(|| Permute { map: IndexTable::new(map), inverse: IndexTable::new(inverse) })
    }

    /// Accepts the older binary form, a vector of floats with an unreliable last element.
    fn read_map(r: &mut KaldiReader) -> Result<Vec<i32>> {
        r.expect_token("<ColumnMap>")?;
        if !r.binary() || r.peek_byte()? != Some(b'F') {
            return Ok(r.read_i32_vector()?);
        }
        let floats = kaldi_io::matrix::read_vector::<f32>(r)?;
        let mut map: Vec<i32> = floats.iter().map(|v| (v + 0.5) as i32).collect();
        let last = map.len() as i32 - 1;
        map.iter_mut().last().into_iter().for_each(|column| *column = last);
        Ok(map)
    }
}

impl Declared for Permute {
    const TYPE: &'static ComponentType =
        &ComponentType::of::<Permute>("PermuteComponent", "Reorders columns.", "column-map=2,0,1,3");

    fn fields(f: &mut Fields<'_, Permute>) -> Result<Option<Permute>> {
        let map = match f.reader() {
            Some(r) => Some(Permute::read_map(r)?),
            None => f.ints(&COLUMN_MAP, "<ColumnMap>", |c| c.map.values())?,
        };
        f.note(|c, _| {
            const LISTED: usize = 5;
            let map = c.map.values();
            let first: String = map.iter().take(LISTED).map(|column| format!("{column} ")).collect();
            let more = if map.len() > LISTED { "... " } else { "" };
            format!(", dim={} , column-map=[ {first}{more}]", map.len())
        });
        f.check(map.is_some(), || "'column-map' is missing".to_string())?;
        f.build(|| {
            let defect = "column-map must be a permutation of 0, 1, … up to its length less 1";
            Permute::new(map.unwrap_or_default()).ok_or_else(|| defect.to_string())
        })
    }
}

impl Component for Permute {
    fn input_dim(&self) -> usize {
        self.map.len()
    }
    fn output_dim(&self) -> usize {
        self.map.len()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        context.backend.copy_cols(output, input, &self.map);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            context.backend.copy_cols(in_deriv, args.out_deriv, &self.inverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=NoOpComponent dim=4");
        check_component("type=ElementwiseProductComponent input-dim=6 output-dim=3");
        check_component("type=ElementwiseProductComponent input-dim=6 output-dim=2");
        check_component("type=PermuteComponent column-map=5,0,2,1,3,4");
    }

    #[test]
    fn scaled_derivatives() {
        let harness = Harness::new();
        let mut c = component("type=NoOpComponent dim=2 backprop-scale=0.5");
        round_trip(&*c);
        assert_eq!(c.info(false), "NoOpComponent, dim=2, backprop-scale=0.5");
        let ones = filled(1, 2, 1.0);
        let forward = harness.forward(&*c, None, &ones, 1);
        let deriv = harness.backward(&mut *c, None, &ones, &forward, &ones, crate::Update::None);
        assert_eq!(deriv.to_vec(), [0.5, 0.5]);
    }

    #[test]
    fn reads_older_forms() {
        let expected = "<NoOpComponent> <Dim> 2 <BackpropScale> 1 </NoOpComponent> ";
        let stats = "<ValueAvg>  [ 1 2 ]\n<DerivAvg>  [ ]\n<Count> 3 ";
        for old in
            ["", "<OderivRms>  [ 1 2 ]\n<OderivCount> 3 ", "<NumDimsSelfRepaired> 0 <NumDimsProcessed> 1 "]
        {
            let c = from_text(&format!("<NoOpComponent> <Dim> 2 {stats}{old}</NoOpComponent> "));
            assert_eq!(written_text(&*c), expected);
        }
        let mut old = b"<PermuteComponent> <ColumnMap> FV \x04\x03\0\0\0".to_vec();
        for value in [1.0f32, 0.0, 0.0] {
            old.extend(value.to_le_bytes());
        }
        old.extend(b"</PermuteComponent> ");
        let c = try_read(&old, true).unwrap();
        assert_eq!(written_text(&*c), "<PermuteComponent> <ColumnMap> [ 1 0 2 ]\n</PermuteComponent> ");
        assert_eq!(c.info(false), "PermuteComponent, dim=3 , column-map=[ 1 0 2 ]");
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=NoOpComponent backprop-scale=1", "'dim' is missing");
        refused("type=ElementwiseProductComponent input-dim=6", "'output-dim' is missing");
        refused("type=ElementwiseProductComponent input-dim=6 output-dim=6", "2 or more");
        refused("type=ElementwiseProductComponent input-dim=6 output-dim=4", "does not divide");
        for map in ["", "0,0", "1,2", "-1,0", "0,3"] {
            refused(&format!("type=PermuteComponent column-map={map}"), "permutation");
        }
        refused("type=PermuteComponent column-map=0,x", "list of integers");
        read_refused("<PermuteComponent> <ColumnMap> [ 0 2 ]\n</PermuteComponent> ", "permutation");
        read_refused("<PermuteComponent> <ColumnMap> [ ]\n</PermuteComponent> ", "permutation");
        read_refused("<ElementwiseProductComponent> <InputDim> 4 <OutputDim> 0 ", "greater than 0");
    }
}
