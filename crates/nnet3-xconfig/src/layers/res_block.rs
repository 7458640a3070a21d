//! Residual blocks with the nonlinearities before the convolutions.

use super::convolution::PASSED_ON;
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, key};
use crate::value::Value;

/// Keys of both kinds of residual blocks.
pub(super) const RESIDUAL: &[Key] = &[
    key(
        "num-bottleneck-filters",
        Default::Int(-1),
        "filters of the inner one of three convolutions; -1: two convolutions",
    ),
    key("time-period", Default::Int(1), "distance of times of 3x3 convolutions"),
    key("self-repair-scale", Default::Float(2e-5), "of the relus"),
    key("self-repair-lower-threshold1", Default::Float(0.05), "of the first relu"),
    key("self-repair-lower-threshold2", Default::Float(0.05), "of the second relu"),
    key("self-repair-lower-threshold3", Default::Float(0.05), "of the third relu"),
    key("allow-zero-padding", Default::Bool(true), "zeros for times that are missing at the edges"),
];

pub const TYPES: &[LayerType] = &[LayerType {
    name: "res-block",
    purpose: "The sum of the input and two, or with a bottleneck three, rounds of rectified linear, batch \
              normalisation and convolution.",
    keys: &[
        &[
            INPUT,
            key("height", Default::RequiredInt, "of input and output; divides the dimension"),
            key("num-filters", Default::Int(-1), "of input and output; -1: dimension / height"),
            key("height-period", Default::Int(1), "distance of heights of 3x3 convolutions"),
            key(
                "bypass-source",
                Default::Text("noop"),
                "what is added: input, relu or batchnorm (the first ones); noop is the input, with the sum in a \
                 component of its own",
            ),
        ],
        RESIDUAL,
        PASSED_ON,
    ],
    example: "height=20 num-filters=2",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let input = layer.input();
    let height = layer.positive("height")?;
    layer.require(input.dim % height == 0, "height", || {
        format!("a divisor of the input dimension {}", input.dim)
    })?;
    let filters = input.dim / height;
    let good = layer.int("num-filters") == -1 || layer.int("num-filters") == filters;
    layer
        .require(good, "num-filters", || format!("{filters}, the input dimension {} / height", input.dim))?;
    layer.set("num-filters", Value::Int(filters));
    let bypass = layer.text("bypass-source");
    let good = matches!(bypass, "noop" | "input" | "relu" | "batchnorm");
    layer.require(good, "bypass-source", || "noop, input, relu or batchnorm".into())?;

    let bottleneck = Bottleneck::of(layer)?;
    let (heights, times) = (around(layer.int("height-period")), around(layer.int("time-period")));
    let options = format!("{} {}", zero_padding(layer), layer.given(OPTIONS));
    let mut b = Builder::new(layer);
    let mut node = input.expression.clone();
    let mut cur = filters;
    for n in 1..=bottleneck.rounds() {
        let blocks = format!("dim={} block-dim={cur}", cur * height);
        node = b.stage(&format!("relu{n}"), "RectifiedLinearComponent", relu(layer, &blocks, n), node);
        node = b.stage(&format!("batchnorm{n}"), "BatchNormComponent", blocks, node);
        let next = bottleneck.filters(n, filters);
        let (heights, times) = if bottleneck.is_wide(n) { (&*heights, &*times) } else { ("0", "0") };
        let conv = format!(
            "height-in={height} height-out={height} height-offsets={heights} time-offsets={times} \
             num-filters-in={cur} num-filters-out={next} {options}"
        );
        node = b.stage(&format!("conv{n}"), "TimeHeightConvolutionComponent", conv, node);
        cur = next;
    }
    let output = match bypass {
        "noop" => {
            let sum = format!("Sum({}, {node})", input.expression);
            // The dimension comes before the type here.
            b.line(format!("component name={}.noop dim={} type=NoOpComponent", layer.name, input.dim));
            b.node("noop", "noop", sum)
        }
        "input" => format!("Sum({node}, {})", input.expression),
        first => format!("Sum({node}, {}.{first}1)", layer.name),
    };
    Ok(b.finish(output, input.dim))
}

/// Number of convolutions, and their numbers of filters.
pub(super) struct Bottleneck(Option<i64>);

impl Bottleneck {
    pub(super) fn of(layer: &Layer) -> Result<Bottleneck, Problem> {
        let filters = layer.int("num-bottleneck-filters");
        let good = filters == -1 || filters > 0;
        layer.require(good, "num-bottleneck-filters", || {
            "a positive integer, or -1 for no bottleneck".into()
        })?;
        Ok(Bottleneck((filters > 0).then_some(filters)))
    }

    pub(super) fn rounds(&self) -> usize {
        if self.0.is_some() { 3 } else { 2 }
    }

    /// Filters after the `n`-th convolution, `filters` being those at the end.
    pub(super) fn filters(&self, n: usize, filters: i64) -> i64 {
        self.0.filter(|_| n < 3).unwrap_or(filters)
    }

    /// True if the `n`-th convolution is 3x3; the others are 1x1.
    pub(super) fn is_wide(&self, n: usize) -> bool {
        self.0.is_none() || n == 2
    }
}

/// `-p,0,p`.
pub(super) fn around(period: i64) -> String {
    format!("-{period},0,{period}")
}

pub(super) fn zero_padding(layer: &Layer) -> &'static str {
    if layer.flag("allow-zero-padding") { "required-time-offsets=0" } else { "" }
}

pub(super) fn relu(layer: &Layer, blocks: &str, n: usize) -> String {
    let threshold = layer.value(&format!("self-repair-lower-threshold{n}"));
    format!("{blocks} {} self-repair-lower-threshold={threshold}", layer.given(&["self-repair-scale"]))
}

/// The keys of [`PASSED_ON`] in the order of config lines.
pub(super) const OPTIONS: &[&str] = &[
    "param-stddev",
    "bias-stddev",
    "use-natural-gradient",
    "max-change",
    "rank-in",
    "rank-out",
    "num-minibatches-history",
    "alpha-in",
    "alpha-out",
    "l2-regularize",
];
