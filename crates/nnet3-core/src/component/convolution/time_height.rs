//! `TimeHeightConvolutionComponent`: two-dimensional convolution with time as one dimension.

use crate::component::convolution_model::{self, ConvolutionModel};
use crate::component::convolution_plan::{self, PRECOMPUTED_NAME, Plan, padded_grid};
use crate::component::fields::{self, key};
use crate::component::grid::shifted;
use crate::component::parameters::*;
use crate::component::preconditioners::NaturalGradientSettings;
use crate::component::preconditioners::Preconditioners;
use crate::component::preconditioners::Preconditioning;
use crate::component::registry::PrecomputedReader;
use crate::component::tdnn_keys::*;
use crate::component::updatable::{Updatable, UpdatableSettings};
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;

const NAME: &str = "TimeHeightConvolutionComponent";

pub const TYPES: &[ComponentType] = &[ComponentType {
    name: NAME,
    purpose: "Convolution over time and height.",
    keys: &[
        convolution_model::KEYS[0],
        convolution_model::KEYS[1],
        convolution_model::KEYS[2],
        convolution_model::KEYS[3],
        convolution_model::KEYS[4],
        convolution_model::KEYS[5],
        convolution_model::KEYS[6],
        convolution_model::KEYS[7],
        convolution_model::KEYS[8],
        key("max-memory-mb", Kind::Float, "200", "limit on the temporary matrix"),
        stddev_key("param-stddev", "1/sqrt(num-filters-in * number of offsets)"),
        stddev_key("bias-stddev", "0"),
        key(
            "init-unit",
            Kind::Bool,
            "false",
            "start as the identity at offset 0,0 instead of from random numbers; needs equal numbers of filters",
        ),
        USE_NATURAL_GRADIENT,
        key(
            "rank-in",
            Kind::Int,
            "min(80, (num-filters-in * number of offsets + 2)/2)",
            "natural gradient: rank on the input side",
        ),
        key(
            "rank-out",
            Kind::Int,
            "min(80, (num-filters-out + 1)/2)",
            "natural gradient: rank on the output side",
        ),
        ALPHA_IN,
        ALPHA_OUT,
        key(
            "num-minibatches-history",
            Kind::Float,
            "4",
            "natural gradient: minibatches after which one's weight has fallen to 1/e",
        ),
    ],
    updatable: true,
    example: "num-filters-in=2 num-filters-out=3 height-in=4 height-out=2 height-subsample-out=2 \
              time-offsets=-1,0,1 height-offsets=-1,0,1 required-time-offsets=0",
    from_config: TimeHeightConvolution::from_config,
    read: TimeHeightConvolution::read,
}];

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[(PRECOMPUTED_NAME, convolution_plan::read_precomputed)];

#[derive(Clone, Debug)]
pub(crate) struct TimeHeightConvolution {
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
    pub(crate) fn linear_params(&self) -> &Matrix {
        &self.linear
    }

    pub(crate) fn bias_params(&self) -> &Matrix {
        &self.bias
    }

    /// Sets other parameters of the same shapes. Panics on other shapes.
    pub(crate) fn set_params(&mut self, linear: Matrix, bias: Matrix) {
        let shape = |m: &Matrix| (m.rows(), m.cols());
        assert!(
            shape(&linear) == shape(&self.linear) && shape(&bias) == shape(&self.bias),
            "{linear:?} and {bias:?}"
        );
        (self.linear, self.bias) = (linear, bias);
    }

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let model = ConvolutionModel::from_config(line)?;
        let max_memory_mb = line.get_f32("max-memory-mb")?.unwrap_or(200.0);
        if max_memory_mb.is_nan() || max_memory_mb <= 0.0 {
            return Err(line.error(format!("max-memory-mb must be greater than 0, found {max_memory_mb}")));
        }
        let (rows, cols) = (model.filters_out, model.param_cols());
        let stddev = get_stddev_or_default(line, "param-stddev", cols)?;
        let bias_stddev = line.get_f32("bias-stddev")?.unwrap_or(0.0);
        let linear = match line.get_bool("init-unit")?.unwrap_or(false) {
            true => unit(line, &model)?,
            false => normal_matrix(line, random, rows, cols, 0.0, stddev)?,
        };
        let bias = normal_matrix(line, random, 1, rows, 0.0, bias_stddev)?;
        let use_natural_gradient = line.get_bool("use-natural-gradient")?.unwrap_or(true);
        let rank_in = get_rank(line, "rank-in", cols + 1, 80)?;
        let rank_out = get_rank(line, "rank-out", rows, 80)?;
        let alpha_in = fields::get_at_least(line, "alpha-in", 0.0, 4.0)?;
        let alpha_out = fields::get_at_least(line, "alpha-out", 0.0, 4.0)?;
        let history = line.get_f32("num-minibatches-history")?.unwrap_or(4.0);
        if history.is_nan() || history <= 1.0 {
            return Err(
                line.error(format!("num-minibatches-history must be greater than 1, found {history}"))
            );
        }
        let new = preconditioners((rank_in, rank_out), (alpha_in, alpha_out), history);
        let natural_gradient = check_preconditioners(line, new)?;
        Ok(Box::new(TimeHeightConvolution {
            settings,
            model,
            linear,
            bias,
            max_memory_mb,
            use_natural_gradient,
            natural_gradient,
        }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        r.expect_token("<Model>")?;
        let model = ConvolutionModel::read(r)?;
        let (linear, bias) = read_linear_and_bias(r)?;
        let (rows, cols) = (linear.rows(), linear.cols());
        fields::check(r, (rows, cols) == (model.filters_out, model.param_cols()), || {
            let (wanted_rows, wanted_cols) = (model.filters_out, model.param_cols());
            format!("<LinearParams>: expected {wanted_rows} x {wanted_cols}, found {rows} x {cols}")
        })?;
        let max_memory_mb = fields::read_f32(r, "<MaxMemoryMb>")?;
        fields::check(r, max_memory_mb > 0.0, || {
            format!("<MaxMemoryMb>: expected a number greater than 0, found {max_memory_mb}")
        })?;
        let use_natural_gradient = fields::read_bool(r, "<UseNaturalGradient>")?;
        let history = fields::read_f32(r, "<NumMinibatchesHistory>")?;
        r.expect_token("<AlphaInOut>")?;
        let alphas = (r.read_f32()?, r.read_f32()?);
        let natural_gradient = preconditioners(read_ranks(r)?, alphas, history).check(r)?;
        r.expect_token("</TimeHeightConvolutionComponent>")?;
        Ok(Box::new(TimeHeightConvolution {
            settings,
            model,
            linear,
            bias,
            max_memory_mb,
            use_natural_gradient,
            natural_gradient,
        }))
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

impl Component for TimeHeightConvolution {
    fn type_name(&self) -> &'static str {
        "TimeHeightConvolutionComponent"
    }
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

    fn info(&self, _: bool) -> String {
        let mut out = self.settings.info(self) + " " + &self.model.info();
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

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, NAME)?;
        w.write_token("<Model>")?;
        self.model.write(w)?;
        write_linear_and_bias(w, &self.linear, &self.bias)?;
        fields::write_f32(w, "<MaxMemoryMb>", self.max_memory_mb)?;
        fields::write_bool(w, "<UseNaturalGradient>", self.use_natural_gradient)?;
        let Preconditioners { input, output } = &self.natural_gradient;
        fields::write_f32(w, "<NumMinibatchesHistory>", input.num_minibatches_history)?;
        fields::write_f32(w, "<AlphaInOut>", input.alpha)?;
        w.write_f32(output.alpha)?;
        fields::write_dim(w, "<RankInOut>", input.rank)?;
        w.write_i32(output.rank as i32)?;
        w.write_token("</TimeHeightConvolutionComponent>")?;
        Ok(())
    }

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

    fn propagate(
        &self,
        context: Context<'_>,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        let plan: &Plan = precomputed(indexes);
        let rows = output.reshape(output.rows() * self.model.height_out, self.model.filters_out);
        context.backend.set_rows(rows, self.bias.view());
        plan.forward(context, output, input, self.linear.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let plan: &Plan = precomputed(args.indexes);
        update.products(context, Products::Patches { plan, input: args.in_value, deriv: args.out_deriv });
        if let Some(in_deriv) = args.in_deriv {
            plan.backward_data(context, in_deriv, args.out_deriv, self.linear.view());
        }
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
