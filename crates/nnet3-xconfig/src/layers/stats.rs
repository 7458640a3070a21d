//! Statistics over windows of time.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};
use crate::value::Value;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "stats-layer",
    purpose: "Means, and if wanted standard deviations and logarithms of counts, over a window of time. Frames that \
              are missing are left out: the window is not required context.",
    keys: &[&[
        INPUT,
        key("dim", Default::Int(-1), "the dimension that results, or -1"),
        key(
            "config",
            Default::RequiredText,
            "such as mean+stddev(-99:3:9:99): mean, mean+stddev, mean+count or mean+stddev+count, with first frame of \
             the window, period of the input, period of the output, last frame",
        ),
    ]],
    example: "config=mean+stddev(-99:3:9:99)",
    build,
}];

struct Window {
    stddev: bool,
    count: bool,
    left: i64,
    input_period: i64,
    output_period: i64,
    right: i64,
}

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let w = window(layer)?;
    let input = layer.input();
    let times = if w.stddev { 2 } else { 1 };
    let dim = times * input.dim + i64::from(w.count);
    let given = layer.int("dim");
    layer.require(given <= 0 || given == dim, "dim", || format!("{dim}, or nothing"))?;
    layer.set("dim", Value::Int(dim));

    let names = format!("{}-{}", w.left, w.right);
    let (extraction, pooling) =
        (format!("{}-extraction-{names}", layer.name), format!("{}-pooling-{names}", layer.name));
    let mut b = Builder::new(layer);
    b.line(format!(
        "component name={extraction} type=StatisticsExtractionComponent input-dim={} input-period={} \
         output-period={} include-variance={}",
        input.dim, w.input_period, w.output_period, w.stddev
    ));
    b.line(format!("component-node name={extraction} component={extraction} input={}", input.expression));
    b.line(format!(
        "component name={pooling} type=StatisticsPoolingComponent input-dim={} input-period={} left-context={} \
         right-context={} num-log-count-features={} output-stddevs={}",
        1 + times * input.dim,
        w.output_period,
        w.left,
        w.right,
        u8::from(w.count),
        w.stddev
    ));
    b.line(format!("component-node name={pooling} component={pooling} input={extraction}"));
    Ok(b.finish(format!("Round({pooling}, {})", w.output_period), dim))
}

/// The key `config`.
fn window(layer: &Layer) -> Result<Window, Problem> {
    let parts = || {
        let (kinds, rest) = layer.text("config").split_once('(')?;
        let numbers: Vec<i64> =
            rest.strip_suffix(')')?.split(':').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let (stddev, count) = match kinds {
            "mean" => (false, false),
            "mean+stddev" => (true, false),
            "mean+count" => (false, true),
            "mean+stddev+count" => (true, true),
            _ => return None,
        };
        let [first, input_period, output_period, right] = numbers[..] else { return None };
        let left = first.checked_neg()?;
        Some(Window { stddev, count, left, input_period, output_period, right })
    };
    let form =
        "mean, mean+stddev, mean+count or mean+stddev+count, then (-left:input period:output period:right)";
    let w = parts().ok_or_else(|| layer.bad("config", form))?;
    let good = w.left >= 0
        && w.right >= 0
        && w.input_period > 0
        && w.output_period > 0
        && w.left % w.output_period == 0
        && w.right % w.output_period == 0
        && w.output_period % w.input_period == 0;
    layer.require(good, "config", || {
        "left and right to be multiples of the output period, and that of the input period".into()
    })?;
    Ok(w)
}
