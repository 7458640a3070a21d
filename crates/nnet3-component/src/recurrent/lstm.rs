//! `LstmNonlinearityComponent`: the part of an LSTM cell with peepholes that is not a matrix product (Hochreiter and
//! Schmidhuber, 1997; Gers, Schraudolph and Schmidhuber, 2002).

use crate::declared::*;
use crate::fields::{self};
use crate::parameters::{normal_matrix, stddev_key};
use crate::preconditioners::NaturalGradientSettings;
use crate::preconditioners::Preconditioning;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use kaldi_io::text::format_g;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::{number, rms_stats, summarize};
use nnet3_matrix::{Accumulator, Averages, Band, Count, LstmBackward, LstmSums};

pub const TYPES: &[&ComponentType] = &[LstmNonlinearity::TYPE];

const CELL_DIM: Field<usize> = field("cell-dim", "", "number of cells");
const USE_DROPOUT: Field<bool> =
    field("use-dropout", "<UseDropout>", "three more input columns scale i, f and o, row by row")
        .or(false)
        .written_if_set()
        .hidden();
const PARAM_STDDEV: Field<f32> =
    stddev_key("param-stddev").or(1.0).meaning("standard deviation of the initial peephole weights");
const TANH_THRESHOLD: Field<f32> =
    field("tanh-self-repair-threshold", "", "average derivative below which tanh units are repaired, 0 to 1")
        .or(0.2)
        .range_of_key(FROM_0_TO_1);
const SIGMOID_THRESHOLD: Field<f32> = field(
    "sigmoid-self-repair-threshold",
    "",
    "average derivative below which sigmoid units are repaired, 0 to 0.25",
)
.or(0.05)
.range_of_key(Range {
    contains: |value| (0.0..=0.25).contains(&value),
    must: "be from 0 to 0.25",
    expected: "a number from 0 to 0.25",
});
const SCALE: Field<f32> =
    field("self-repair-scale", "", "size of the repair term, 0 to 0.1").or(1e-5).range_of_key(Range {
        contains: |value| (0.0..=0.1).contains(&value),
        must: "be from 0 to 0.1",
        expected: "a number from 0 to 0.1",
    });

/// The nonlinearities, in the order of all statistics: i, f, g = tanh(c part), o, h = tanh(c).
const UNITS: [&str; 5] = ["i_t_sigmoid", "f_t_sigmoid", "c_t_tanh", "o_t_sigmoid", "m_t_tanh"];

/// A function of columns i, f, c, o and previous cell (C each), and with dropout of three factors, to columns cell and m
/// (C each).
#[derive(Clone, Debug)]
pub(crate) struct LstmNonlinearity {
    settings: UpdatableSettings,
    /// 3 × C: peepholes from the previous cell to i and f, and from the cell to o.
    params: Matrix,
    use_dropout: bool,
    /// Sums over rows, unit by unit (5 · C).
    value_sum: Accumulator,
    deriv_sum: Accumulator,
    /// A threshold for each of the five nonlinearities, then a scale for each of them.
    self_repair: [f32; 10],
    /// For each of the five nonlinearities the cells under repair, summed over rows; at [`COUNT`] the number of rows.
    totals: Accumulator,
}

/// The settings have no keys, and are not in files.
const NATURAL_GRADIENT: NaturalGradientSettings = NaturalGradientSettings {
    rank: 20,
    update_period: 2,
    num_samples_history: 1000.0,
    num_minibatches_history: 0.0,
    alpha: 4.0,
};

/// The place in [`LstmNonlinearity::totals`] after those of the units.
const COUNT: usize = UNITS.len();

impl LstmNonlinearity {
    fn new(settings: UpdatableSettings, params: Matrix, use_dropout: bool, self_repair: [f32; 10]) -> Self {
        let cells = params.cols();
        LstmNonlinearity {
            settings,
            params,
            use_dropout,
            value_sum: Accumulator::zeros(5 * cells),
            deriv_sum: Accumulator::zeros(5 * cells),
            self_repair,
            totals: Accumulator::zeros(UNITS.len() + 1),
        }
    }

    fn cells(&self) -> usize {
        self.params.cols()
    }

    /// Decides from the statistics so far which cells' units are repaired: those are 1 in `chosen` (5 × C), others 0.
    fn choose_repairs(&mut self, context: Context<'_>, chosen: ViewMut<'_>) {
        let cells = self.cells();
        for unit in 0..UNITS.len() {
            // One more, so that there is no division by zero.
            let count = Count::OneMore(&mut self.totals, COUNT);
            // Below it, not at it.
            let low = (self.self_repair[unit] as f64).next_down();
            let averages = Averages { sums: &mut self.deriv_sum, first: unit * cells, blocks: 1, count };
            let band = Band { low, high: f64::INFINITY };
            context.backend.compare_averages(chosen.row(unit), averages, band);
        }
    }

    fn count(&self) -> f64 {
        self.totals.values()[COUNT]
    }

    fn unit_info(&self, unit: usize) -> String {
        let (threshold, scale) = (self.self_repair[unit] as f64, self.self_repair[5 + unit] as f64);
        let mut out = format!(
            ", {}={{ self-repair-lower-threshold={}, self-repair-scale={}",
            UNITS[unit],
            number(threshold),
            number(scale)
        );
        let totals = self.totals.values();
        let (repaired, count) = (totals[unit], totals[COUNT]);
        if count != 0.0 {
            let cells = self.cells();
            let proportion = (repaired / (count * cells as f64)) as f32;
            let average = |sums: &Accumulator| {
                summarize(&fields::averages(sums, count)[unit * cells..(unit + 1) * cells])
            };
            out += &format!(
                ", self-repaired-proportion={}, value-avg={}, deriv-avg={}",
                number(proportion as f64),
                average(&self.value_sum),
                average(&self.deriv_sum)
            );
        }
        out + " }"
    }

    fn sums(&self) -> [&Accumulator; 3] {
        [&self.value_sum, &self.deriv_sum, &self.totals]
    }

    fn sums_mut(&mut self) -> [&mut Accumulator; 3] {
        [&mut self.value_sum, &mut self.deriv_sum, &mut self.totals]
    }
}

/// Reads 5 × C averages, row by row.
fn read_averages(r: &mut KaldiReader, token: &str, cells: usize) -> Result<Accumulator> {
    r.expect_token(token)?;
    let m = kaldi_io::matrix::DenseMatrix::<f64>::read(r)?;
    let (rows, cols) = (m.rows, m.cols);
    fields::check(r, rows == 5 && cols == cells, || {
        format!("{token}: expected 5 x {cells}, found {rows} x {cols}")
    })?;
    Ok(Accumulator::from_vec(m.data))
}

fn read_array<const N: usize>(r: &mut KaldiReader, token: &str) -> Result<[f32; N]> {
    r.expect_token(token)?;
    let values = kaldi_io::matrix::read_vector::<f32>(r)?;
    let found = values.len();
    values.try_into().map_err(|_| r.error(format!("{token}: expected {N} elements, found {found}")).into())
}

impl Declared for LstmNonlinearity {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<LstmNonlinearity>(
        "LstmNonlinearityComponent",
        "The nonlinear part of an LSTM cell with peepholes; columns of the input: i, f, c, o, previous cell, and \
         three dropout factors if use-dropout; of the output: cell, m.",
        "cell-dim=3",
    );

    fn fields(f: &mut Fields<'_, LstmNonlinearity>) -> Result<Option<LstmNonlinearity>> {
        let settings = f.settings(|c| &c.settings)?;
        let (cells, use_dropout) = (f.key(&CELL_DIM)?, f.key(&USE_DROPOUT)?);
        let stddev = f.key(&PARAM_STDDEV)?;
        let (tanh, sigmoid, scale) = (f.key(&TANH_THRESHOLD)?, f.key(&SIGMOID_THRESHOLD)?, f.key(&SCALE)?);
        let self_repair = [sigmoid, sigmoid, tanh, sigmoid, tanh, scale, scale, scale, scale, scale];
        let params = match f.config() {
            Some((line, random)) => normal_matrix(line, random, 3, cells, 0.0, stddev)?,
            None => f.matrix("<Params>", |c| &c.params)?,
        };
        let (rows, cells) = (params.rows(), params.cols());
        f.check(rows == 3 && cells > 0, || format!("<Params>: expected 3 rows, found {rows} x {cells}"))?;
        let mut c = LstmNonlinearity::new(settings, params, use_dropout, self_repair);
        if let Some(r) = f.reader() {
            c.value_sum = read_averages(r, "<ValueAvg>", cells)?;
            c.deriv_sum = read_averages(r, "<DerivAvg>", cells)?;
            c.self_repair = read_array(r, "<SelfRepairConfig>")?;
            let repaired: [f32; 5] = read_array(r, "<SelfRepairProb>")?;
            let repaired = repaired.map(f64::from);
            c.totals = Accumulator::from_vec([&repaired[..], &[0.0]].concat());
        } else if let Some((w, c)) = f.writer() {
            c.write_statistics(w)?;
        }
        c.use_dropout = f.stored(&USE_DROPOUT, use_dropout, |c| c.use_dropout)?;
        if let Some(r) = f.reader() {
            c.count_averages(fields::read_f64(r, "<Count>")?);
        } else if let Some((w, c)) = f.writer() {
            fields::write_f64(w, "<Count>", c.count())?;
        }
        f.note(|c, _| c.info_of_units());
        f.done(c)
    }
}

impl LstmNonlinearity {
    /// Turns averages over `count` rows into sums.
    fn count_averages(&mut self, count: f64) {
        self.value_sum.scale(count);
        self.deriv_sum.scale(count);
        let mut totals = self.totals.values().into_owned();
        totals.iter_mut().for_each(|total| *total *= count * self.cells() as f64);
        totals[COUNT] = count;
        self.totals = Accumulator::from_vec(totals);
    }

    /// Writes all but `<Count>`.
    fn write_statistics(&self, w: &mut KaldiWriter) -> Result<()> {
        let mut totals = self.totals.values().into_owned();
        let count = totals.pop().expect("the last one is the count");
        for (token, sums) in [("<ValueAvg>", &self.value_sum), ("<DerivAvg>", &self.deriv_sum)] {
            w.write_token(token)?;
            let data = fields::averages(sums, count);
            kaldi_io::matrix::DenseMatrix { rows: 5, cols: self.cells(), data }.write(w)?;
        }
        fields::write_vector(w, "<SelfRepairConfig>", &self.self_repair)?;
        let proportions = fields::averages(&Accumulator::from_vec(totals), count * self.cells() as f64);
        fields::write_vector(w, "<SelfRepairProb>", &proportions)
    }

    fn info_of_units(&self) -> String {
        let mut out = format!(", cell-dim={}, use-dropout={}", self.cells(), self.use_dropout);
        for (name, row) in ["w_ic", "w_fc", "w_oc"].iter().zip(self.params.to_vec().chunks(self.cells())) {
            out += &rms_stats(name, row);
        }
        let count = self.count();
        if count > 0.0 {
            out += &format!(", count={}", format_g(count, 3));
        }
        (0..UNITS.len()).for_each(|unit| out += &self.unit_info(unit));
        out
    }
}

impl Component for LstmNonlinearity {
    fn parameters(&self) -> Parameters<'_> {
        named([("peephole", &self.params)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("peephole", &mut self.params)])
    }
    fn input_dim(&self) -> usize {
        5 * self.cells() + if self.use_dropout { 3 } else { 0 }
    }
    fn output_dim(&self) -> usize {
        2 * self.cells()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::UPDATABLE | Properties::BACKPROP_NEEDS_INPUT
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        context.backend.lstm_cell(output, input, self.params.view());
    }

    fn as_stepwise_mut(&mut self) -> Option<&mut dyn Stepwise> {
        Some(self)
    }
    fn is_stepwise(&self) -> bool {
        true
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let rows = args.in_value.rows();
        let (height, cells) = self.step_sums();
        let mut sums = context.workspace.take(height, cells);
        self.begin_steps(context, sums.view_mut(), rows, update.reborrow());
        self.backprop_step(context, args, sums.view_mut(), update.reborrow());
        self.end_steps(context, sums.view_mut(), rows, update);
    }

    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }
}

/// Rows of the sums of steps: the amounts of repair of the units, then the gradient of the peephole weights.
const AMOUNTS: std::ops::Range<usize> = 0..UNITS.len();
const GRADIENT: std::ops::Range<usize> = UNITS.len()..UNITS.len() + 3;

/// The units under repair are chosen once, from the statistics before the update.
impl Stepwise for LstmNonlinearity {
    fn step_sums(&self) -> (usize, usize) {
        (GRADIENT.end, self.cells())
    }

    fn begin_steps(&mut self, context: Context<'_>, sums: ViewMut<'_>, rows: usize, mut update: Update<'_>) {
        let backend = context.backend;
        let amounts = sums.row_range(AMOUNTS);
        self.choose_repairs(context, amounts);
        for unit in 0..UNITS.len() {
            let amounts = amounts.row(unit);
            if let Some(target) = update.reborrow().target(self) {
                let chosen = amounts.as_view();
                backend.accumulate_dot(&mut target.totals, unit, rows as f64, chosen, chosen);
            }
            backend.scale(amounts, self.self_repair[UNITS.len() + unit]);
        }
        if !update.is_none() {
            backend.set(sums.row_range(GRADIENT), 0.0);
        }
    }

    fn backprop_step(
        &mut self,
        context: Context<'_>,
        args: Backprop<'_>,
        sums: ViewMut<'_>,
        mut update: Update<'_>,
    ) {
        let self_repair = sums.row_range(AMOUNTS).as_view();
        let mut nothing = context.workspace.take(0, 0);
        let nothing = nothing.view_mut();
        let in_deriv = args.in_deriv.unwrap_or(nothing);
        let run = |own: &Self, params_deriv: ViewMut<'_>, sums: Option<LstmSums<'_>>| {
            let (input, params, out_deriv) = (args.in_value, own.params.view(), args.out_deriv);
            context.backend.lstm_cell_backward(LstmBackward {
                input,
                params,
                out_deriv,
                self_repair,
                in_deriv,
                params_deriv,
                sums,
            })
        };

        // The sums leave the target while the cells run: it may be this object, whose parameters are read.
        let Some(target) = update.reborrow().target(self) else { return run(self, nothing, None) };
        let (mut values, mut derivs) =
            (std::mem::take(&mut target.value_sum), std::mem::take(&mut target.deriv_sum));
        let of_cells = LstmSums { values: &mut values, derivs: &mut derivs };
        run(self, sums.row_range(GRADIENT), Some(of_cells));
        if let Some(target) = update.target(self) {
            (target.value_sum, target.deriv_sum) = (values, derivs);
        }
    }

    fn end_steps(&mut self, context: Context<'_>, sums: ViewMut<'_>, rows: usize, mut update: Update<'_>) {
        let Some(target) = update.reborrow().target(self) else { return };
        let mut one = context.workspace.take(1, 1);
        context.backend.set(one.view_mut(), 1.0);
        context.backend.accumulate_row(&mut target.totals, COUNT, rows as f64, one.view());
        update.dense(context, "peephole", sums.row_range(GRADIENT));
    }
}

impl Statistics for LstmNonlinearity {
    fn scale_stats(&mut self, factor: f32) {
        self.sums_mut().into_iter().for_each(|sums| sums.scale(factor as f64));
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let other = downcast::<Self>(other);
        self.sums_mut().into_iter().zip(other.sums()).for_each(|(sums, more)| sums.add(alpha as f64, more));
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        let lens = self.sums().map(Accumulator::len);
        self.sums_mut().into_iter().zip(lens).try_for_each(|(sums, len)| keeper.sums(sums, len))
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.sums_mut().into_iter().for_each(|sums| backend.scale_sums_by(sums, factor));
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let other = downcast::<Self>(other);
        let pairs = self.sums_mut().into_iter().zip(other.sums());
        pairs.for_each(|(sums, more)| backend.add_sums_by(sums, alpha, more));
    }
}

impl Updatable for LstmNonlinearity {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        Preconditioning::Rows { settings: NATURAL_GRADIENT, freezes: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Plain;
    use crate::testing::*;
    use nnet3_base::random::Random;

    const NO_REPAIR: &str = "self-repair-scale=0";

    #[test]
    fn derivatives_and_files() {
        for keys in ["", "use-dropout=true learning-rate-factor=2 max-change=0.5", "param-stddev=0.3"] {
            for cells in [1, 3, 70] {
                let rows = if cells > 10 { 1 } else { 4 };
                let config = format!("type=LstmNonlinearityComponent cell-dim={cells} {NO_REPAIR} {keys}");
                // The dropout factors are constants: the component leaves their derivatives alone.
                if keys.contains("dropout") {
                    round_trip(&*component(&config));
                } else {
                    Check::new(&config).rows(rows).run();
                }
            }
        }
    }

    /// Works out the same sums from the formulas of the cell, in double precision.
    fn values_and_derivs(input: &[f32], params: &[f32]) -> ([f64; 5], [f64; 5], [f64; 2]) {
        let x: Vec<f64> = input.iter().map(|&v| v as f64).collect();
        let w: Vec<f64> = params.iter().map(|&v| v as f64).collect();
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let (i, f, g) = (sigmoid(x[0] + w[0] * x[4]), sigmoid(x[1] + w[1] * x[4]), x[2].tanh());
        let keep = if x.len() > 5 { [x[5], x[6], x[7]] } else { [1.0; 3] };
        let c = f * keep[1] * x[4] + i * keep[0] * g;
        let o = sigmoid(x[3] + w[2] * c);
        let h = c.tanh();
        let s = |y: f64| y * (1.0 - y);
        let t = |y: f64| 1.0 - y * y;
        ([i, f, g, o, h], [s(i), s(f), t(g), s(o), t(h)], [c, o * keep[2] * h])
    }

    #[test]
    fn statistics_and_repair_by_hand() {
        let random = Random::new(2);
        let harness = Harness::new();
        let mut new =
            component("type=LstmNonlinearityComponent cell-dim=1 use-dropout=true self-repair-scale=0.1");
        let input = random_matrix(&random, 8, 8);
        let deriv = random_matrix(&random, 8, 2);
        let forward = harness.forward(&*new, None, &input, 8);
        let params = downcast::<LstmNonlinearity>(&*new).params.to_vec();
        let (mut values, mut derivs) = ([0.0; 5], [0.0; 5]);
        for (x, y) in input.to_vec().chunks(8).zip(forward.output.to_vec().chunks(2)) {
            let (v, d, out) = values_and_derivs(x, &params);
            (0..5).for_each(|k| (values[k] += v[k], derivs[k] += d[k]).0);
            (0..2).for_each(|k| assert!((out[k] - y[k] as f64).abs() < 1e-5));
        }
        // Without rows so far, all averages are below their thresholds. With the statistics of the first call, none
        // are.
        let first = harness.backward(&mut *new, None, &input, &forward, &deriv, Update::Own);
        let lstm = downcast::<LstmNonlinearity>(&*new);
        assert_eq!(*lstm.totals.values(), [8.0; 6]);
        for k in 0..5 {
            assert!((lstm.value_sum.values()[k] - values[k]).abs() < 1e-4);
            assert!((lstm.deriv_sum.values()[k] - derivs[k]).abs() < 1e-4);
            assert!(derivs[k] / 9.0 > lstm.self_repair[k] as f64);
        }
        let info = new.info(false);
        assert!(
            info.contains(", count=8, i_t_sigmoid={ self-repair-lower-threshold=0.05, self-repair-scale=0.1"),
            "{info}"
        );
        assert!(info.contains("self-repaired-proportion=1, value-avg=["), "{info}");

        let mut plain = new.clone_box();
        downcast_mut::<LstmNonlinearity>(&mut *plain).params = Matrix::from_vec(3, 1, params);
        let second = harness.backward(&mut *plain, None, &input, &forward, &deriv, Update::None);
        let (first, second) = (first.to_vec(), second.to_vec());
        for ((a, b), x) in first.chunks(8).zip(second.chunks(8)).zip(input.to_vec().chunks(8)) {
            // The o part has only its own repair term; g also has those of the parts after it.
            let (v, ..) = values_and_derivs(x, &downcast::<LstmNonlinearity>(&*plain).params.to_vec());
            let expected = -0.1 * (2.0 * v[3] - 1.0);
            assert!(((a[3] - b[3]) as f64 - expected).abs() < 1e-5, "{} {expected}", a[3] - b[3]);
        }
        round_trip(&*new);
        new.zero_stats();
        assert!(!new.info(false).contains("count="));
    }

    /// Two steps that collect an update: the same as one backprop of all rows, with units under repair.
    #[test]
    fn steps_collect_an_update() {
        let random = Random::new(5);
        let harness = Harness::new();
        let mut new = component("type=LstmNonlinearityComponent cell-dim=4 self-repair-scale=0.1");
        let (input, deriv) = (random_matrix(&random, 7, 20), random_matrix(&random, 7, 8));
        let forward = harness.forward(&*new, None, &input, 7);
        harness.backward(&mut *new, None, &input, &forward, &deriv, Update::Own);
        let empty = || {
            let mut delta = new.clone_box();
            delta.scale(0.0);
            delta.zero_stats();
            delta
        };
        let (mut whole, mut collected) = (empty(), empty());
        let mut own = new.clone_box();
        let mut gradients = Plain;
        let update = Update::to(&mut *whole, &mut gradients);
        let expected = harness.backward(&mut *own, None, &input, &forward, &deriv, update);

        let context = harness.context();
        let stepwise = own.as_stepwise_mut().unwrap();
        let (rows, cols) = stepwise.step_sums();
        let (mut sums, mut in_deriv) = (filled(rows, cols, f32::NAN), filled(7, 20, f32::NAN));
        let sums = sums.view_mut();
        stepwise.begin_steps(context, sums, 7, Update::to(&mut *collected, &mut Plain));
        for rows in [3..7, 0..3] {
            let args = Backprop {
                name: "lstm",
                indexes: None,
                in_value: input.view().row_range(rows.clone()),
                out_value: View::empty(),
                out_deriv: deriv.view().row_range(rows.clone()),
                memo: View::empty(),
                in_deriv: Some(in_deriv.view_mut().row_range(rows)),
                sets: false,
                taps: None,
            };
            stepwise.backprop_step(context, args, sums, Update::to(&mut *collected, &mut Plain));
        }
        stepwise.end_steps(context, sums, 7, Update::to(&mut *collected, &mut Plain));
        assert_eq!(in_deriv.to_vec(), expected.to_vec());
        let of = |delta: &dyn Component| {
            let lstm = downcast::<LstmNonlinearity>(delta);
            let sums = lstm.sums().map(|sums| sums.values().iter().map(|&x| x as f32).collect::<Vec<_>>());
            [lstm.params.to_vec()].into_iter().chain(sums).collect::<Vec<_>>()
        };
        for (found, expected) in of(&*collected).iter().zip(of(&*whole)) {
            assert!(expected.iter().any(|&x| x != 0.0));
            assert_near(found, &expected, 1e-6, "parameters and statistics");
        }
    }

    #[test]
    fn gradients_and_statistics_go_to_the_target() {
        let random = Random::new(2);
        let harness = Harness::new();
        let new = component("type=LstmNonlinearityComponent cell-dim=4");
        let mut delta = new.clone_box();
        delta.scale(0.0);
        let (input, deriv) = (random_matrix(&random, 3, 20), random_matrix(&random, 3, 8));
        let forward = harness.forward(&*new, None, &input, 3);
        let before = written(&*new, true);
        let mut own = new.clone_box();
        harness.backward(&mut *own, None, &input, &forward, &deriv, Update::to(&mut *delta, &mut Plain));
        assert_eq!(written(&*own, true), before);
        assert_eq!(downcast::<LstmNonlinearity>(&*delta).count(), 3.0);
        own.add(2.0, &*delta);
        assert_eq!(downcast::<LstmNonlinearity>(&*own).totals.values()[..5], [24.0; 5]);
        assert!(delta.as_updatable().unwrap().vectorize().iter().any(|&p| p != 0.0));
    }

    #[test]
    fn wrong_configs_and_files_are_refused() {
        let base = "type=LstmNonlinearityComponent cell-dim=2";
        refused("type=LstmNonlinearityComponent", "'cell-dim' is missing");
        for (keys, part) in [
            ("use-dropout=1", "use-dropout"),
            ("param-stddev=-1", "param-stddev"),
            ("tanh-self-repair-threshold=1.5", "from 0 to 1"),
            ("sigmoid-self-repair-threshold=0.3", "from 0 to 0.25"),
            ("self-repair-scale=0.2", "from 0 to 0.1"),
            ("dim=3", "dim=3"),
        ] {
            refused(&format!("{base} {keys}"), part);
        }
        let text = written_text(&*component("type=LstmNonlinearityComponent cell-dim=1 param-stddev=0"));
        read_refused(&text.replacen("  0 \n  0 \n  0 ]", "  0 \n  0 ]", 1), "expected 3 rows, found 2 x 1");
        read_refused(
            &text.replace("<SelfRepairProb>  [ 0 0 0 0 0 ]", "<SelfRepairProb>  [ 0 ]"),
            "expected 5 elements",
        );
        read_refused(
            &text.replace("<ValueAvg>  [\n  0 \n", "<ValueAvg>  [\n"),
            "expected 5 x 1, found 4 x 1",
        );
    }
}
