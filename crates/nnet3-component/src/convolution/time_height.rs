//! `TimeHeightConvolutionComponent`: two-dimensional convolution with time as one dimension.

use crate::convolution_model::ConvolutionModel;
use crate::convolution_plan::{self, PRECOMPUTED_NAME, Plan, padded_grid};
use crate::declared::*;
use crate::grid::shifted;
use crate::parameters::*;
use crate::preconditioners::*;
use crate::registry::PrecomputedReader;
use crate::tdnn_keys::*;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::config::ConfigLine;
use nnet3_base::text;

const NAME: &str = "TimeHeightConvolutionComponent";

pub const TYPES: &[&ComponentType] = &[TimeHeightConvolution::TYPE];

const MAX_MEMORY_MB: Field<f32> = field("max-memory-mb", "<MaxMemoryMb>", "limit on the temporary matrix")
    .or(200.0)
    .range(ABOVE_0_OR_INFINITE);
const ABOVE_0_OR_INFINITE: Range<f32> = Range { contains: |value| value > 0.0, ..ABOVE_0 };
const STDDEV: &str = "standard deviation of these initial parameters";
const PARAM_STDDEV: Field<f32> =
    field("param-stddev", "", STDDEV).or_by("1/sqrt(num-filters-in * number of offsets)");
const BIAS_STDDEV: Field<f32> = field("bias-stddev", "", STDDEV).or(0.0);
const INIT_UNIT: Field<bool> = field(
    "init-unit",
    "",
    "start as the identity at offset 0,0 instead of from random numbers; needs equal numbers of filters",
)
.or(false);
const NUM_MINIBATCHES_HISTORY: Field<f32> = field(
    "num-minibatches-history",
    "<NumMinibatchesHistory>",
    "natural gradient: minibatches after which one's weight has fallen to 1/e",
)
.or(4.0)
.range_of_key(Range {
    contains: |value| value > 1.0,
    must: "be greater than 1",
    expected: "a number above 1",
})
.hidden();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[(PRECOMPUTED_NAME, convolution_plan::read_precomputed)];

#[derive(Clone, Debug)]
pub struct TimeHeightConvolution {
    settings: UpdatableSettings,
    model: ConvolutionModel,
    /// Output filters × (offsets · input filters), offsets in the model's order.
    linear: Matrix,
    /// 1 × output filters.
    bias: Matrix,
    max_memory_mb: f32,
    use_natural_gradient: bool,
    natural_gradient: Preconditioners,
}

impl TimeHeightConvolution {
    pub fn linear_params(&self) -> &Matrix {
        &self.linear
    }

    pub fn bias_params(&self) -> &Matrix {
        &self.bias
    }

    /// Sets other parameters of the same shapes. Panics on other shapes.
    pub fn set_params(&mut self, linear: Matrix, bias: Matrix) {
        let shape = |m: &Matrix| (m.rows(), m.cols());
        assert!(
            shape(&linear) == shape(&self.linear) && shape(&bias) == shape(&self.bias),
            "{linear:?} and {bias:?}"
        );
        (self.linear, self.bias) = (linear, bias);
    }

    fn times(&self, output: Index) -> impl Iterator<Item = (Index, bool)> {
        self.model.time_offsets.iter().map(move |&(time, required)| (shifted(output, time), required))
    }
}

/// Parameters that are the identity in the block of offset (0, 0), and else zeros.
fn unit(line: &ConfigLine, model: &ConvolutionModel) -> Result<Matrix> {
    let (filters, cols) = (model.filters_in, model.param_cols());
    if filters != model.filters_out {
        return Err(line.error("init-unit needs num-filters-in equal to num-filters-out"));
    }
    let Some(zero) = model.offsets.iter().position(|&offset| offset == (0, 0)) else {
        return Err(line.error("init-unit needs the offset 0,0"));
    };
    check_size(line, filters, cols)?;
    let mut data = vec![0.0; filters * cols];
    (0..filters).for_each(|f| data[f * cols + zero * filters + f] = 1.0);
    Ok(Matrix::from_vec(filters, cols, data))
}

fn preconditioners(ranks: (usize, usize), alphas: (f32, f32), history: f32) -> Preconditioners {
    let new = |rank, alpha| {
        let mut new = NaturalGradientSettings::new(rank, 1, 2000.0, alpha);
        new.num_minibatches_history = history;
        new
    };
    Preconditioners { input: new(ranks.0, alphas.0), output: new(ranks.1, alphas.1) }
}

impl Declared for TimeHeightConvolution {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<TimeHeightConvolution>(
        NAME,
        "Convolution over time and height.",
        "num-filters-in=2 num-filters-out=3 height-in=4 height-out=2 height-subsample-out=2 \
         time-offsets=-1,0,1 height-offsets=-1,0,1 required-time-offsets=0",
    );

    fn fields(f: &mut Fields<'_, TimeHeightConvolution>) -> Result<Option<TimeHeightConvolution>> {
        let settings = f.settings(|c| &c.settings)?;
        f.token("<Model>")?;
        let model = ConvolutionModel::fields(f, |c| &c.model)?;
        let max_memory_mb = f.key(&MAX_MEMORY_MB)?;
        let (linear, bias) = TimeHeightConvolution::parameters_of(f, &model)?;
        let max_memory_mb = f.stored(&MAX_MEMORY_MB.hidden(), max_memory_mb, |c| c.max_memory_mb)?;
        let use_natural_gradient = f.get(&USE_NATURAL_GRADIENT.hidden(), |c| c.use_natural_gradient)?;
        let natural_gradient = TimeHeightConvolution::natural_gradient(f, &model)?;
        f.note(|c, _| c.info_of_parameters());
        f.done(TimeHeightConvolution {
            settings,
            model,
            linear,
            bias,
            max_memory_mb,
            use_natural_gradient,
            natural_gradient,
        })
    }
}

impl TimeHeightConvolution {
    /// Visits linear part and bias: in a file, or initial numbers.
    fn parameters_of(
        f: &mut Fields<'_, TimeHeightConvolution>,
        model: &ConvolutionModel,
    ) -> Result<(Matrix, Matrix)> {
        let (rows, cols) = (model.filters_out, model.param_cols());
        let initial = Initial {
            shape: (rows, cols),
            stddev: take_stddev(f, &PARAM_STDDEV, cols)?,
            bias_dim: rows,
            bias_mean: 0.0,
            bias_stddev: f.key(&BIAS_STDDEV)?,
        };
        let init_unit = f.key(&INIT_UNIT)?;
        if let (true, Some((line, random))) = (init_unit, f.config()) {
            let linear = unit(line, model)?;
            return Ok((linear, normal_matrix(line, random, 1, rows, 0.0, initial.bias_stddev)?));
        }
        let (linear, bias) = f.initial_or_stored(initial, |c| (&c.linear, &c.bias))?;
        let found = (linear.rows(), linear.cols());
        f.check(found == (rows, cols), || {
            format!("<LinearParams>: expected {rows} x {cols}, found {} x {}", found.0, found.1)
        })?;
        Ok((linear, bias))
    }

    fn natural_gradient(
        f: &mut Fields<'_, TimeHeightConvolution>,
        model: &ConvolutionModel,
    ) -> Result<Preconditioners> {
        let rank_in = RANK_IN.or_by("min(80, (num-filters-in * number of offsets + 2)/2)");
        let rank_in = take_half_rank(f, &rank_in, model.param_cols() + 1, 80)?;
        let rank_out = RANK_OUT.or_by("min(80, (num-filters-out + 1)/2)");
        let rank_out = take_half_rank(f, &rank_out, model.filters_out, 80)?;
        let [alpha_in, alpha_out] = ALPHAS_IN_OUT;
        let alphas = (f.key(&alpha_in)?, f.key(&alpha_out)?);
        let history = |c: &TimeHeightConvolution| c.natural_gradient.input.num_minibatches_history;
        let history = f.get(&NUM_MINIBATCHES_HISTORY, history)?;
        let mut new = preconditioners((rank_in, rank_out), alphas, history);
        new.store_alphas(f, |c| c.natural_gradient)?;
        new.store_ranks(f, |c| c.natural_gradient)?;
        f.refuse(|| new.defect())?;
        Ok(new)
    }

    fn info_of_parameters(&self) -> String {
        let mut out = format!(" {}", self.model.info());
        out += &text::rms_stats("filter-params", &self.linear.to_vec());
        out += &text::mean_stats("bias-params", &self.bias.to_vec());
        out += &format!(
            ", num-params={}, max-memory-mb={}, use-natural-gradient={}",
            self.num_parameters(),
            text::number(self.max_memory_mb as f64),
            self.use_natural_gradient as i32
        );
        let Preconditioners { input, output } = &self.natural_gradient;
        if self.use_natural_gradient {
            out += &format!(
                ", num-minibatches-history={}, rank-in={}, rank-out={}, alpha={}",
                text::number(input.num_minibatches_history as f64),
                input.rank,
                output.rank,
                text::number(input.alpha as f64)
            );
        }
        out
    }
}

impl Component for TimeHeightConvolution {
    fn center(&self) -> Option<std::result::Result<std::ops::Range<usize>, &'static str>> {
        let (model, width) = (&self.model, self.model.filters_in);
        let zero = model.offsets.iter().position(|&offset| offset == (0, 0));
        Some(zero.map(|k| k * width..(k + 1) * width).ok_or("there is no offset 0,0"))
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.linear), ("bias", &self.bias)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.linear), ("bias", &mut self.bias)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.model.height_in * self.model.filters_in
    }
    fn output_dim(&self) -> usize {
        self.model.height_out * self.model.filters_out
    }
    fn properties(&self) -> Properties {
        Properties::UPDATABLE
            | Properties::REORDERS_INDEXES
            | Properties::BACKPROP_ADDS
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::INPUT_CONTIGUOUS
            | Properties::OUTPUT_CONTIGUOUS
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, .. }: Propagate<'_>) {
        let plan: &Plan = precomputed(indexes);
        plan.forward(context, output, input, (self.linear.view(), self.bias.view()));
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let plan: &Plan = precomputed(args.indexes);
        update.products(context, Products::Patches { plan, input: args.in_value, deriv: args.out_deriv });
        if let Some(in_deriv) = args.in_deriv {
            plan.backward_data(context, in_deriv, args.out_deriv, self.linear.view());
        }
    }
}

impl Indexed for TimeHeightConvolution {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.extend(self.times(output).map(|(input, _)| input));
    }

    fn has_optional_inputs(&self) -> bool {
        self.model.time_offsets.iter().any(|(_, required)| !required)
    }

    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        let computable = self.times(output).all(|(input, required)| !required || available(input));
        if let (true, Some(used)) = (computable, used) {
            used.extend(self.times(output).map(|(input, _)| input).filter(|&input| available(input)));
        }
        computable
    }

    fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        (*inputs, *outputs) = padded_grid(&self.model, inputs, outputs)?.arrange(inputs, outputs)?;
        Ok(())
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        _: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let grid = padded_grid(&self.model, inputs, outputs)?;
        grid.check_arranged(inputs, outputs)?;
        Ok(Some(Box::new(Plan::new(&self.model, &grid, self.max_memory_mb)?)))
    }

    /// The reference makes a plan for bringing lists into order, too. Each of four checks of a plan looks at up to five
    /// output times.
    fn draws_of_precomputing(&self, indexes: &dyn PrecomputedIndexes, reordering: bool) -> usize {
        const CHECKS: usize = 4;
        const MOST_TIMES: usize = 5;
        let plans = 1 + usize::from(reordering);
        let plan: std::result::Result<&Plan, _> = fit::own(Some(indexes));
        match plan.map_or(0, Plan::times_out) {
            ..2 => 0,
            times => plans * CHECKS * times.min(MOST_TIMES),
        }
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        let plan: &Plan = fit::own(indexes)?;
        plan.check_fit(&self.model, input_rows, output_rows)
    }
}

impl Updatable for TimeHeightConvolution {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        match self.use_natural_gradient {
            true => Preconditioning::BothSides(self.natural_gradient),
            false => Preconditioning::None,
        }
    }
}

#[cfg(test)]
mod tests;
