//! Feature maps side by side become one feature map.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "combine-feature-maps-layer",
    purpose: "Reorders two or three appended feature maps of the same height into one that has the filters of all.",
    keys: &[&[
        INPUT,
        key("height", Default::RequiredInt, "of all maps"),
        key("num-filters1", Default::RequiredInt, "of the first map"),
        key("num-filters2", Default::RequiredInt, "of the second map"),
        key("num-filters3", Default::Int(0), "of the third map; 0: there is none"),
    ]],
    example: "height=10 num-filters1=1 num-filters2=3",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let height = layer.positive("height")?;
    let filters = [
        layer.positive("num-filters1")?,
        layer.positive("num-filters2")?,
        layer.not_negative("num-filters3")?,
    ];
    let input = layer.input();
    let [f1, f2, f3] = filters;
    let expected = f1.checked_add(f2).and_then(|f| f.checked_add(f3)).and_then(|f| f.checked_mul(height));
    layer.require(expected == Some(input.dim), "height", || {
        format!("height times {f1} + {f2} + {f3} filters to be the input dimension {}", input.dim)
    })?;
    let first = [0, height * f1, height * (f1 + f2)];
    let row = |h: i64| {
        (0..3).flat_map(move |map| (0..filters[map]).map(move |f| first[map] + h * filters[map] + f))
    };
    let columns: Vec<String> = (0..height).flat_map(row).map(|column| column.to_string()).collect();
    let mut b = Builder::new(layer);
    let arguments = format!("column-map={}", columns.join(","));
    let node = b.stage("", "PermuteComponent", arguments, input.expression);
    Ok(b.finish(node, input.dim))
}
