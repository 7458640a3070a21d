//! Pnorm, SumGroup and SumBlock components: sums and norms over groups of columns; no parameters.

use crate::declared::*;
use crate::fields::key;
use crate::parameters::{BLOCK_COLUMNS, INPUT_DIM, OUTPUT_DIM};
use crate::{Backprop, Component, ComponentType, Context, Kind, Propagate, Properties, Update};
use nnet3_base::error::Result;
use nnet3_matrix::IndexTable;

pub const TYPES: &[&ComponentType] = &[Pnorm::TYPE, SumGroup::TYPE, SumBlock::TYPE];

const NUM_GROUPS: Field<usize> = OUTPUT_DIM.meaning("number of groups; divides input-dim");

const SIZES: Key =
    key("sizes", Kind::IntList, "none", "columns of each group; instead of the two dimensions");

#[derive(Clone, Debug)]
struct Pnorm {
    input_dim: usize,
    output_dim: usize,
}

impl Declared for Pnorm {
    const TYPE: &'static ComponentType = &ComponentType::of::<Pnorm>(
        "PnormComponent",
        "2-norm of each group of adjacent columns.",
        "input-dim=6 output-dim=3",
    );

    fn fields(f: &mut Fields<'_, Pnorm>) -> Result<Option<Pnorm>> {
        let input_dim = f.get(&INPUT_DIM, |c| c.input_dim)?;
        let output_dim = f.get(&NUM_GROUPS, |c| c.output_dim)?;
        f.check_divides((&INPUT_DIM, input_dim), (&NUM_GROUPS, output_dim))?;
        f.done(Pnorm { input_dim, output_dim })
    }
}

impl Component for Pnorm {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::BACKPROP_NEEDS_INPUT | Properties::BACKPROP_NEEDS_OUTPUT
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
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
}

impl Declared for SumGroup {
    const TYPE: &'static ComponentType = &ComponentType::of::<SumGroup>(
        "SumGroupComponent",
        "Sum of each group of adjacent columns.",
        "sizes=1,3,2",
    );

    fn fields(f: &mut Fields<'_, SumGroup>) -> Result<Option<SumGroup>> {
        let sizes = match f.ints(&SIZES, "<Sizes>", |c| &c.sizes)? {
            Some(sizes) => sizes,
            None => SumGroup::equal_sizes(f)?,
        };
        f.note_dims();
        // Older files repeat the opening token at the end.
        f.may_end_with("<SumGroupComponent>")?;
        f.build(|| {
            let defect = "the sizes of groups must be integers greater than 0, one or more";
            SumGroup::new(sizes).ok_or_else(|| defect.to_string())
        })
    }
}

impl SumGroup {
    /// Takes the dimensions, for groups of one size.
    fn equal_sizes(f: &mut Fields<'_, SumGroup>) -> Result<Vec<i32>> {
        const COLUMNS: Field<usize> =
            INPUT_DIM.or_by("none").meaning("columns of the input, in groups of one size");
        const GROUPS: Field<usize> = NUM_GROUPS.or_by("none");
        let neither = f.config().is_some_and(|(line, _)| !line.has(COLUMNS.key) && !line.has(GROUPS.key));
        f.check(!neither, || "'sizes', or 'input-dim' and 'output-dim', are missing".to_string())?;
        let (input_dim, output_dim) = (f.key(&COLUMNS)?, f.key(&GROUPS)?);
        f.check_divides((&COLUMNS, input_dim), (&GROUPS, output_dim))?;
        Ok(vec![(input_dim / output_dim) as i32; output_dim])
    }
}

impl Component for SumGroup {
    fn input_dim(&self) -> usize {
        self.groups.len()
    }
    fn output_dim(&self) -> usize {
        self.sizes.len()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
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
    fn blocks(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let dim = self.output_dim;
        (0..self.input_dim).step_by(dim).map(move |first| first..first + dim)
    }
}

impl Declared for SumBlock {
    const TYPE: &'static ComponentType = &ComponentType::of::<SumBlock>(
        "SumBlockComponent",
        "Sum of blocks of columns, times a number.",
        "input-dim=6 output-dim=3 scale=0.5",
    );

    fn fields(f: &mut Fields<'_, SumBlock>) -> Result<Option<SumBlock>> {
        const SCALE: Field<f32> = field("scale", "<Scale>", "multiplies the sum").or(1.0);
        let input_dim = f.get(&INPUT_DIM, |c| c.input_dim)?;
        let output_dim = f.get(&BLOCK_COLUMNS, |c| c.output_dim)?;
        f.check_divides((&INPUT_DIM, input_dim), (&BLOCK_COLUMNS, output_dim))?;
        let scale = f.get(&SCALE, |c| c.scale)?;
        f.done(SumBlock { input_dim, output_dim, scale })
    }
}

impl Component for SumBlock {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::PROPAGATE_ADDS | Properties::BACKPROP_ADDS
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
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
    use crate::testing::*;

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
        read_refused("<SumGroupComponent> <Sizes> [ 2 -1 ]\n</SumGroupComponent> ", "sizes of groups");
        read_refused("<SumBlockComponent> <InputDim> 6 <OutputDim> 4 ", "does not divide");
    }
}
