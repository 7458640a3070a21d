//! Pnorm, SumGroup and SumBlock components: sums and norms over groups of columns; no parameters.

use crate::component::fields::{self, key};
use crate::component::{
    Backprop, Component, ComponentType, Context, Kind, PrecomputedIndexes, Properties, Update,
};
use crate::config::ConfigLine;
use crate::error::Result;
use crate::text::number;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{IndexTable, View, ViewMut};

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: "PnormComponent",
        purpose: "2-norm of each group of adjacent columns.",
        keys: &[
            key("input-dim", Kind::Int, "", "columns of the input"),
            key("output-dim", Kind::Int, "", "number of groups; divides input-dim"),
        ],
        updatable: false,
        example: "input-dim=6 output-dim=3",
        from_config: |line, _| Pnorm::from_config(line),
        read: Pnorm::read,
    },
    ComponentType {
        name: "SumGroupComponent",
        purpose: "Sum of each group of adjacent columns.",
        keys: &[
            key("sizes", Kind::IntList, "none", "columns of each group; instead of the two dimensions"),
            key("input-dim", Kind::Int, "none", "columns of the input, in groups of one size"),
            key("output-dim", Kind::Int, "none", "number of groups; divides input-dim"),
        ],
        updatable: false,
        example: "sizes=1,3,2",
        from_config: |line, _| SumGroup::from_config(line),
        read: SumGroup::read,
    },
    ComponentType {
        name: "SumBlockComponent",
        purpose: "Sum of blocks of columns, times a number.",
        keys: &[
            key("input-dim", Kind::Int, "", "columns of the input"),
            key("output-dim", Kind::Int, "", "columns of the output and of each block; divides input-dim"),
            key("scale", Kind::Float, "1", "multiplies the sum"),
        ],
        updatable: false,
        example: "input-dim=6 output-dim=3 scale=0.5",
        from_config: |line, _| SumBlock::from_config(line),
        read: SumBlock::read,
    },
];

#[derive(Clone, Debug)]
struct Pnorm {
    input_dim: usize,
    output_dim: usize,
}

impl Pnorm {
    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        let (input_dim, output_dim) = fields::divided_dims(line)?;
        Ok(Box::new(Pnorm { input_dim, output_dim }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let (input_dim, output_dim) = fields::read_divided_dims(r)?;
        r.expect_token("</PnormComponent>")?;
        Ok(Box::new(Pnorm { input_dim, output_dim }))
    }
}

impl Component for Pnorm {
    fn type_name(&self) -> &'static str {
        "PnormComponent"
    }

    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::BACKPROP_NEEDS_INPUT | Properties::BACKPROP_NEEDS_OUTPUT
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<PnormComponent>")?;
        fields::write_dims(w, self.input_dim, self.output_dim)?;
        w.write_token("</PnormComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
        context.backend.group_norm(output, input);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            context.backend.group_norm_backward(in_deriv, args.in_value, args.out_value, args.out_deriv);
        }
    }
}

/// Groups of adjacent columns, of any sizes.
#[derive(Clone, Debug)]
struct SumGroup {
    sizes: Vec<i32>,
    /// First column and the one after the last, for each group.
    ranges: IndexTable,
    /// The group of each column.
    groups: IndexTable,
}

/// More columns than a matrix can have in practice.
const MOST_COLUMNS: i64 = 1 << 25;

impl SumGroup {
    /// `None` unless there are sizes and all are greater than 0 (and small enough to have memory for).
    fn new(sizes: Vec<i32>) -> Option<SumGroup> {
        let columns: i64 = sizes.iter().map(|&size| size as i64).sum();
        if sizes.is_empty() || sizes.iter().any(|&size| size <= 0) || columns > MOST_COLUMNS {
            return None;
        }
        let (mut ranges, mut groups) = (Vec::new(), Vec::new());
        for (group, &size) in sizes.iter().enumerate() {
            let begin = groups.len() as i32;
            ranges.extend([begin, begin + size]);
            groups.extend(std::iter::repeat_n(group as i32, size as usize));
        }
        Some(SumGroup { sizes, ranges: IndexTable::new(ranges), groups: IndexTable::new(groups) })
    }

    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        let sizes = match line.get_i32_list("sizes")? {
            Some(sizes) => sizes,
            None if !line.has("input-dim") && !line.has("output-dim") => {
                return Err(line.error("'sizes', or 'input-dim' and 'output-dim', are missing"));
            }
            None => {
                let (input_dim, output_dim) = fields::divided_dims(line)?;
                vec![(input_dim / output_dim) as i32; output_dim]
            }
        };
        match SumGroup::new(sizes) {
            Some(sum) => Ok(Box::new(sum)),
            None => Err(line.error("the sizes of groups must be integers greater than 0, one or more")),
        }
    }

    /// Older files repeat the opening token at the end.
    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        r.expect_token("<Sizes>")?;
        let sizes = r.read_i32_vector()?;
        if !r.accept_token("<SumGroupComponent>")? {
            r.expect_token("</SumGroupComponent>")?;
        }
        match SumGroup::new(sizes) {
            Some(sum) => Ok(Box::new(sum)),
            None => Err(r.error("<Sizes>: expected integers greater than 0, one or more").into()),
        }
    }
}

impl Component for SumGroup {
    fn type_name(&self) -> &'static str {
        "SumGroupComponent"
    }

    fn input_dim(&self) -> usize {
        self.groups.len()
    }
    fn output_dim(&self) -> usize {
        self.sizes.len()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<SumGroupComponent>")?;
        w.write_token("<Sizes>")?;
        w.write_i32_vector(&self.sizes)?;
        w.write_token("</SumGroupComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
        context.backend.sum_col_ranges(output, input, &self.ranges);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            context.backend.copy_cols(in_deriv, args.out_deriv, &self.groups);
        }
    }
}

/// output += scale · (sum of the blocks of `output_dim` columns).
#[derive(Clone, Debug)]
struct SumBlock {
    input_dim: usize,
    output_dim: usize,
    scale: f32,
}

impl SumBlock {
    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        let (input_dim, output_dim) = fields::divided_dims(line)?;
        let scale = line.get_f32("scale")?.unwrap_or(1.0);
        Ok(Box::new(SumBlock { input_dim, output_dim, scale }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let (input_dim, output_dim) = fields::read_divided_dims(r)?;
        let scale = fields::read_f32(r, "<Scale>")?;
        r.expect_token("</SumBlockComponent>")?;
        Ok(Box::new(SumBlock { input_dim, output_dim, scale }))
    }

    fn blocks(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let dim = self.output_dim;
        (0..self.input_dim).step_by(dim).map(move |first| first..first + dim)
    }
}

impl Component for SumBlock {
    fn type_name(&self) -> &'static str {
        "SumBlockComponent"
    }

    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::PROPAGATE_ADDS | Properties::BACKPROP_ADDS
    }
    fn info(&self, _detailed: bool) -> String {
        format!(
            "SumBlockComponent, input-dim={}, output-dim={}, scale={}",
            self.input_dim,
            self.output_dim,
            number(self.scale as f64)
        )
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<SumBlockComponent>")?;
        fields::write_dims(w, self.input_dim, self.output_dim)?;
        fields::write_f32(w, "<Scale>", self.scale)?;
        w.write_token("</SumBlockComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
        for block in self.blocks() {
            context.backend.add(output, self.scale, input.col_range(block));
        }
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        for block in self.blocks() {
            context.backend.add(in_deriv.col_range(block), self.scale, args.out_deriv);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::component::testing::*;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=PnormComponent input-dim=6 output-dim=2");
        check_component("type=SumGroupComponent sizes=1,3,2");
        check_component("type=SumGroupComponent input-dim=6 output-dim=2");
        check_component("type=SumBlockComponent input-dim=6 output-dim=2 scale=-0.5");
    }

    #[test]
    fn reads_the_older_end_of_groups() {
        let c = from_text("<SumGroupComponent> <Sizes> [ 2 1 ]\n<SumGroupComponent> ");
        assert_eq!(written_text(&*c), "<SumGroupComponent> <Sizes> [ 2 1 ]\n</SumGroupComponent> ");
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=PnormComponent input-dim=6 output-dim=4", "does not divide");
        refused("type=PnormComponent output-dim=4", "'input-dim' is missing");
        refused("type=SumGroupComponent", "missing");
        refused("type=SumGroupComponent input-dim=4", "'output-dim' is missing");
        refused("type=SumGroupComponent sizes=1,2 input-dim=3", "input-dim=3");
        refused("type=SumGroupComponent sizes=2000000000,2000000000", "sizes");
        for sizes in ["", "1,0", "-1"] {
            refused(&format!("type=SumGroupComponent sizes={sizes}"), "sizes");
        }
        refused("type=SumBlockComponent input-dim=6 output-dim=4", "does not divide");
        read_refused("<SumGroupComponent> <Sizes> [ 2 -1 ]\n</SumGroupComponent> ", "<Sizes>");
        read_refused("<SumBlockComponent> <InputDim> 6 <OutputDim> 4 ", "does not divide");
    }
}
