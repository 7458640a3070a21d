//! The settings of natural gradient that components have in config lines and files. The crate `nnet3-learning` applies them.

use crate::Component;
use crate::declared::*;
use nnet3_base::error::Result;

/// Settings of one estimate of the Fisher matrix, as components have them in their files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NaturalGradientSettings {
    pub rank: usize,
    pub update_period: usize,
    pub num_samples_history: f32,
    /// Overrides `num_samples_history` if > 0.
    pub num_minibatches_history: f32,
    pub alpha: f32,
}

/// The default of the reference: rank 40, every minibatch.
impl Default for NaturalGradientSettings {
    fn default() -> Self {
        NaturalGradientSettings::with_rank(40, 1)
    }
}

impl NaturalGradientSettings {
    pub fn new(rank: usize, update_period: usize, num_samples_history: f32, alpha: f32) -> Self {
        NaturalGradientSettings {
            rank,
            update_period,
            num_samples_history,
            num_minibatches_history: 0.0,
            alpha,
        }
    }

    /// Makes settings with the default history and alpha.
    pub fn with_rank(rank: usize, update_period: usize) -> Self {
        NaturalGradientSettings::new(rank, update_period, 2000.0, 4.0)
    }

    /// Describes the defect of these settings, if there is one.
    pub fn defect(&self) -> Option<String> {
        let positive =
            |name: &str, ok: bool, value: f64| (!ok).then(|| format!("{name} {value} is out of range"));
        let history = self.num_minibatches_history;
        positive("rank", self.rank > 0, self.rank as f64)
            .or(positive("update-period", self.update_period > 0, self.update_period as f64))
            .or(positive(
                "num-samples-history",
                self.num_samples_history > 0.0 && self.num_samples_history < 1e6,
                self.num_samples_history as f64,
            ))
            .or(positive(
                "num-minibatches-history",
                history == 0.0 || (history > 1.0 && history < 1e6),
                history as f64,
            ))
            .or(positive("alpha", self.alpha >= 0.0, self.alpha as f64))
    }
}

/// The kind of natural gradient that a component asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preconditioning {
    /// Gradients are plain.
    None,
    /// Inputs and output derivatives of a linear part are both preconditioned.
    BothSides(Preconditioners),
    /// One-sided: preconditions the rows that add up to a gradient, or the gradient's own rows, with an estimate for
    /// each parameter.
    Rows {
        settings: NaturalGradientSettings,
        /// True if the estimate obeys a freeze by the training.
        freezes: bool,
    },
}

/// Preconditioners of the inputs (extended by 1 if there is a bias) and of the output derivatives. They share all
/// settings but the rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preconditioners {
    pub input: NaturalGradientSettings,
    pub output: NaturalGradientSettings,
}

pub(crate) const NUM_SAMPLES_HISTORY: Field<f32> = field(
    "num-samples-history",
    "<NumSamplesHistory>",
    "natural gradient: rows after which a minibatch's weight has fallen to 1/e",
)
.or(2000.0);
pub(crate) const ALPHA: Field<f32> =
    field("alpha", "<Alpha>", "natural gradient: how much of the identity is mixed in").or(4.0);
pub(crate) const UPDATE_PERIOD: Field<usize> = field(
    "update-period",
    "<UpdatePeriod>",
    "natural gradient: minibatches between updates of the Fisher matrix",
)
.or(4);
pub(crate) const RANK_IN: Field<usize> =
    field("rank-in", "<RankIn>", "natural gradient: rank on the input side");
pub(crate) const RANK_OUT: Field<usize> =
    field("rank-out", "<RankOut>", "natural gradient: rank on the output side");
pub(crate) const RANK: Field<usize> = field("rank", "<Rank>", "natural gradient: rank");
/// The two ranks of `<RankInOut>`.
pub(crate) const RANKS_IN_OUT: [Field<usize>; 2] =
    [RANK_IN.with_token("<RankInOut>"), RANK_OUT.with_token("<RankInOut>").follows()];
/// The two numbers of `<AlphaInOut>`.
pub(crate) const ALPHAS_IN_OUT: [Field<f32>; 2] = [
    field(
        "alpha-in",
        "<AlphaInOut>",
        "natural gradient: how much of the identity is mixed in on the input side",
    )
    .or(4.0)
    .range_of_key(FROM_0)
    .hidden(),
    field(
        "alpha-out",
        "<AlphaInOut>",
        "natural gradient: how much of the identity is mixed in on the output side",
    )
    .or(4.0)
    .range_of_key(FROM_0)
    .hidden()
    .follows(),
];

/// Takes a rank; absent or negative means `default`. An error says so in `zero`, if that is the reason.
pub(crate) fn take_rank<C: Component>(
    f: &mut Fields<'_, C>,
    field: &Field<usize>,
    default: usize,
    zero: impl FnOnce(&str) -> String,
) -> Result<usize> {
    f.document_field(field);
    let Some((line, _)) = f.config() else { return Ok(default) };
    match line.get_i32(field.key)? {
        Some(0) => Err(line.error(zero(field.key))),
        rank => Ok(rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(default)),
    }
}

impl Preconditioners {
    pub fn new(
        rank_in: usize,
        rank_out: usize,
        update_period: usize,
        num_samples_history: f32,
        alpha: f32,
    ) -> Self {
        let with_rank = |rank| NaturalGradientSettings::new(rank, update_period, num_samples_history, alpha);
        Preconditioners { input: with_rank(rank_in), output: with_rank(rank_out) }
    }

    /// Takes the keys of both sides of a linear part of these dimensions.
    pub fn take<C: Component>(
        f: &mut Fields<'_, C>,
        input_dim: usize,
        output_dim: usize,
    ) -> Result<Preconditioners> {
        let mut rank = |field: &Field<usize>, default: usize| {
            take_rank(f, field, default, |key| format!("{key} must not be 0; -1 means {default}"))
        };
        let rank_in = rank(&RANK_IN.or_by("min(20, (input-dim+1)/2)"), input_dim.div_ceil(2).min(20))?;
        let rank_out = rank(&RANK_OUT.or_by("min(80, (output-dim+1)/2)"), output_dim.div_ceil(2).min(80))?;
        let period = f.key(&UPDATE_PERIOD)?;
        let history = f.key(&NUM_SAMPLES_HISTORY)?;
        let new = Preconditioners::new(rank_in, rank_out, period, history, f.key(&ALPHA)?);
        f.refuse(|| new.defect())?;
        Ok(new)
    }

    /// Visits `<UpdatePeriod>` in a file.
    pub(crate) fn store_period<C: Component>(
        &mut self,
        f: &mut Fields<'_, C>,
        of: impl FnOnce(&C) -> NaturalGradientSettings,
    ) -> Result<()> {
        let period = f.stored(&UPDATE_PERIOD.hidden(), self.input.update_period, |c| of(c).update_period)?;
        (self.input.update_period, self.output.update_period) = (period, period);
        Ok(())
    }

    /// Visits `<NumSamplesHistory>` in a file.
    pub(crate) fn store_history<C: Component>(
        &mut self,
        f: &mut Fields<'_, C>,
        of: impl FnOnce(&C) -> NaturalGradientSettings,
    ) -> Result<()> {
        let own = self.input.num_samples_history;
        let history = f.stored(&NUM_SAMPLES_HISTORY.hidden(), own, |c| of(c).num_samples_history)?;
        (self.input.num_samples_history, self.output.num_samples_history) = (history, history);
        Ok(())
    }

    /// Visits `<Alpha>` in a file.
    pub(crate) fn store_alpha<C: Component>(
        &mut self,
        f: &mut Fields<'_, C>,
        of: impl FnOnce(&C) -> NaturalGradientSettings,
    ) -> Result<()> {
        let alpha = f.stored(&ALPHA.hidden(), self.input.alpha, |c| of(c).alpha)?;
        (self.input.alpha, self.output.alpha) = (alpha, alpha);
        Ok(())
    }

    /// Visits `<RankInOut>` in a file.
    pub(crate) fn store_ranks<C: Component>(
        &mut self,
        f: &mut Fields<'_, C>,
        of: impl Fn(&C) -> Preconditioners,
    ) -> Result<()> {
        let [rank_in, rank_out] = RANKS_IN_OUT;
        self.input.rank = f.stored(&rank_in.hidden(), self.input.rank, |c| of(c).input.rank)?;
        self.output.rank = f.stored(&rank_out.hidden(), self.output.rank, |c| of(c).output.rank)?;
        Ok(())
    }

    /// Visits `<AlphaInOut>` in a file. Older files have `<Alpha>`, for both sides.
    pub(crate) fn store_alphas<C: Component>(
        &mut self,
        f: &mut Fields<'_, C>,
        of: impl Fn(&C) -> Preconditioners,
    ) -> Result<()> {
        if let Some(alpha) = f.skip("<Alpha>")? {
            (self.input.alpha, self.output.alpha) = (alpha, alpha);
            return Ok(());
        }
        let [alpha_in, alpha_out] = ALPHAS_IN_OUT;
        self.input.alpha = f.stored(&alpha_in, self.input.alpha, |c| of(c).input.alpha)?;
        self.output.alpha = f.stored(&alpha_out, self.output.alpha, |c| of(c).output.alpha)?;
        Ok(())
    }

    /// Describes the defect of these settings, if there is one.
    pub fn defect(&self) -> Option<String> {
        self.input.defect().or(self.output.defect())
    }

    pub fn info(&self) -> String {
        format!(
            ", rank-in={}, rank-out={}, num-samples-history={}, update-period={}, alpha={}",
            self.input.rank,
            self.output.rank,
            nnet3_base::text::number(self.input.num_samples_history as f64),
            self.input.update_period,
            nnet3_base::text::number(self.input.alpha as f64)
        )
    }
}
