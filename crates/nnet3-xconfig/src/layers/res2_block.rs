//! Residual blocks with the nonlinearities after the convolutions; may halve the height.

use super::convolution::PASSED_ON;
use super::res_block::{Bottleneck, OPTIONS, RESIDUAL, around, relu, zero_padding};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};
use crate::value::Value;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "res2-block",
    purpose: "Two, or with a bottleneck three, rounds of convolution, batch normalisation, trainable scale and offset \
              and rectified linear; the input, convolved if its shape differs, is added before the last rectification.",
    keys: &[
        &[
            INPUT,
            key("height", Default::Int(-1), "of input and output"),
            key("height-in", Default::Int(-1), "of the input, with height-out in place of height"),
            key("height-out", Default::Int(-1), "of the output: height-in or about half of it"),
            key("num-filters", Default::RequiredInt, "of the output"),
        ],
        RESIDUAL,
        PASSED_ON,
    ],
    example: "height-in=40 height-out=20 num-filters=8 time-period=2",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let (height_in, height_out) = heights(layer)?;
    let input = layer.input();
    layer.require(input.dim % height_in == 0, "height-in", || {
        format!("a divisor of the input dimension {}", input.dim)
    })?;
    let filters_in = input.dim / height_in;
    let filters = layer.positive("num-filters")?;
    let step = if height_out == height_in { 1 } else { 2 };
    let bottleneck = Bottleneck::of(layer)?;
    let period = layer.positive("time-period")?;
    // If height is halved without a bottleneck, the first convolution has inputs at twice the rate.
    let first_period = match (bottleneck.rounds(), step) {
        (2, 2) => {
            layer.require(period % 2 == 0, "time-period", || "even, as the height is halved".into())?;
            period / 2
        }
        _ => period,
    };

    let same_shape = step == 1 && filters_in == filters;
    let bypass = if same_shape { input.expression.clone() } else { format!("{}.conv_bypass", layer.name) };
    let options = layer.given(OPTIONS);
    let mut b = Builder::new(layer);
    let mut node = input.expression.clone();
    let (mut height, mut cur) = (height_in, filters_in);
    for n in 1..=bottleneck.rounds() {
        let next = bottleneck.filters(n, filters);
        let (heights, times) = match bottleneck.is_wide(n) {
            true => ("-1,0,1", around(if n == 1 { first_period } else { period })),
            false => ("0", "0".to_owned()),
        };
        let step = format!("height-subsample-out={}", if n == 1 { step } else { 1 });
        let shape = format!("height-in={height} height-out={height_out} height-offsets={heights}");
        let filters = format!("num-filters-in={cur} num-filters-out={next}");
        let order = match bottleneck.rounds() {
            2 => format!("{shape} {step} time-offsets={times} {filters}"),
            _ => format!("{shape} time-offsets={times} {filters} {step}"),
        };
        let conv = format!("{order} {} {options}", zero_padding(layer));
        node = b.stage(&format!("conv{n}"), "TimeHeightConvolutionComponent", conv, node);
        (height, cur) = (height_out, next);

        let blocks = format!("dim={} block-dim={cur}", cur * height);
        node = b.stage(&format!("batchnorm{n}"), "BatchNormComponent", &blocks, node);
        node = b.stage(&format!("scaleoffset{n}"), "ScaleAndOffsetComponent", &blocks, node);
        if n == bottleneck.rounds() {
            node = format!("Sum({node}, {bypass})");
        }
        node = b.stage(&format!("relu{n}"), "RectifiedLinearComponent", relu(layer, &blocks, n), node);
    }
    if !same_shape {
        let conv = format!(
            "height-in={height_in} height-out={height_out} height-offsets=0 time-offsets=0 \
             height-subsample-out={step} num-filters-in={filters_in} num-filters-out={filters} {options}"
        );
        b.stage("conv_bypass", "TimeHeightConvolutionComponent", conv, input.expression);
    }
    Ok(b.finish(node, height_out * filters))
}

/// Returns the heights of input and output.
fn heights(layer: &mut Layer) -> Result<(i64, i64), Problem> {
    let (both, input, output) = (layer.int("height"), layer.int("height-in"), layer.int("height-out"));
    let (input, output) = match (both > 0, input > 0, output > 0) {
        (_, true, true) => (input, output),
        (true, _, _) if input == -1 && output == -1 => (both, both),
        _ => return Err(layer.bad("height", "a positive integer, or positive height-in and height-out")),
    };
    layer.set("height-in", Value::Int(input));
    layer.set("height-out", Value::Int(output));
    let good = output == input || (2 * output - input).abs() <= 2;
    layer.require(good, "height-out", || format!("height-in={input}, or half of it give or take 1"))?;
    Ok((input, output))
}
