//! DistributeComponent: blocks of columns become rows with different x.

use crate::capabilities::Indexed;
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::copy_unless_same;
use crate::parameters::{BLOCK_COLUMNS, INPUT_DIM};
use crate::registry::PrecomputedReader;
use crate::{
    Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update, fit,
    precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::{Error, Result};
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::Index;
use nnet3_matrix::IndexTable;
use std::sync::OnceLock;

pub const TYPES: &[&ComponentType] = &[Distribute::TYPE];

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("DistributeComponentPrecomputedIndexes", Places::read)];

/// Output (n, t, x) is block x mod K of input (n, t, ⌊x / K⌋), with K = input_dim / output_dim.
#[derive(Clone, Debug)]
struct Distribute {
    input_dim: usize,
    output_dim: usize,
}

impl Distribute {
    fn blocks(&self) -> usize {
        self.input_dim / self.output_dim
    }

    /// Returns the input index and the number of its block that an output row comes from.
    fn source(&self, output: Index) -> (Index, i32) {
        let blocks = self.blocks() as i32;
        (Index { x: output.x.div_euclid(blocks), ..output }, output.x.rem_euclid(blocks))
    }
}

/// Input row and first column for each output row.
#[derive(Debug)]
struct Places {
    pairs: Vec<(i32, i32)>,
    /// Made at the first use, when the component's dimensions are known.
    tables: OnceLock<Tables>,
}

/// Row numbers in terms of blocks: the input seen as a matrix of `output_dim` columns.
#[derive(Debug)]
struct Tables {
    /// The block of each output row.
    blocks: IndexTable,
    /// The output row of each block, or -1.
    outputs: IndexTable,
}

impl Places {
    fn new(pairs: Vec<(i32, i32)>) -> Places {
        Places { pairs, tables: OnceLock::new() }
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        r.expect_token("<Pairs>")?;
        let pairs = r.read_i32_pairs()?;
        fields::check(r, pairs.iter().all(|&(row, column)| row >= 0 && column >= 0), || {
            "<Pairs>: expected rows and columns of 0 or more".to_string()
        })?;
        r.expect_token("</DistributeComponentPrecomputedIndexes>")?;
        Ok(Box::new(Places::new(pairs)))
    }

    fn tables(&self, component: &Distribute, input_rows: usize) -> &Tables {
        self.tables.get_or_init(|| {
            let blocks: Vec<i32> = self
                .pairs
                .iter()
                .map(|&(row, column)| row * component.blocks() as i32 + column / component.output_dim as i32)
                .collect();
            let mut outputs = vec![-1; input_rows * component.blocks()];
            for (output, &block) in blocks.iter().enumerate() {
                outputs[block as usize] = output as i32;
            }
            Tables { blocks: IndexTable::new(blocks), outputs: IndexTable::new(outputs) }
        })
    }
}

impl PrecomputedIndexes for Places {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<DistributeComponentPrecomputedIndexes>")?;
        w.write_token("<Pairs>")?;
        w.write_i32_pairs(&self.pairs)?;
        w.write_token("</DistributeComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for Distribute {
    const TYPE: &'static ComponentType = &ComponentType::of::<Distribute>(
        "DistributeComponent",
        "Turns blocks of columns into rows with different x.",
        "input-dim=6 output-dim=2",
    );

    fn fields(f: &mut Fields<'_, Distribute>) -> Result<Option<Distribute>> {
        let input_dim = f.get(&INPUT_DIM, |c| c.input_dim)?;
        let output_dim = f.get(&BLOCK_COLUMNS, |c| c.output_dim)?;
        f.check_divides((&INPUT_DIM, input_dim), (&BLOCK_COLUMNS, output_dim))?;
        f.done(Distribute { input_dim, output_dim })
    }
}

impl Component for Distribute {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.output_dim
    }
    fn properties(&self) -> Properties {
        Properties::empty()
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, .. }: Propagate<'_>) {
        let tables = precomputed::<Places>(indexes).tables(self, input.rows());
        let rows = input.rows() * self.blocks();
        if input.is_contiguous() {
            let blocks = input.reshape(rows, self.output_dim);
            return context.backend.copy_rows(output, 1.0, blocks, &tables.blocks);
        }
        let mut copy = context.workspace.take(input.rows(), input.cols());
        copy_unless_same(context, copy.view_mut(), input);
        context.backend.copy_rows(output, 1.0, copy.view().reshape(rows, self.output_dim), &tables.blocks);
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let tables = precomputed::<Places>(args.indexes).tables(self, in_deriv.rows());
        let rows = in_deriv.rows() * self.blocks();
        if in_deriv.is_contiguous() {
            let blocks = in_deriv.reshape(rows, self.output_dim);
            return context.backend.copy_rows(blocks, 1.0, args.out_deriv, &tables.outputs);
        }
        let mut copy = context.workspace.take(in_deriv.rows(), in_deriv.cols());
        let blocks = copy.view_mut().reshape(rows, self.output_dim);
        context.backend.copy_rows(blocks, 1.0, args.out_deriv, &tables.outputs);
        context.backend.copy(in_deriv, copy.view());
    }
}

impl Indexed for Distribute {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.push(self.source(output).0);
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        _need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let rows: FastMap<Index, usize> =
            inputs.iter().enumerate().map(|(row, &input)| (input, row)).collect();
        let pairs = outputs.iter().map(|&output| {
            let (input, block) = self.source(output);
            match rows.get(&input) {
                Some(&row) => Ok((row as i32, block * self.output_dim as i32)),
                None => Err(Error::network(format!(
                    "DistributeComponent: no input {input:?} for output {output:?}"
                ))),
            }
        });
        Ok(Some(Box::new(Places::new(pairs.collect::<Result<_>>()?))))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        let places: &Places = fit::own(indexes)?;
        fit::count("output rows", places.pairs.len(), output_rows)?;
        let exists = |&(row, column): &(i32, i32)| {
            let (row, column) = (row as usize, column as usize);
            row < input_rows && column < self.input_dim && column.is_multiple_of(self.output_dim)
        };
        fit::require(places.pairs.iter().all(exists), || {
            format!("the precomputed indexes name blocks beyond the {input_rows} input rows or their columns")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_index::{self, assert_rows_near, zeros_like};
    use crate::testing::*;
    use nnet3_base::random::Random;

    #[test]
    fn derivatives_and_forms() {
        let inputs: Vec<Index> = [(0, -1), (0, 0), (1, 0)].map(|(n, x)| Index::new(n, 5, x)).into();
        let outputs = [(1, 2), (0, -1), (0, -3), (1, 0), (0, 1)].map(|(n, x)| Index::new(n, 5, x)).into();
        Check::new("type=DistributeComponent input-dim=6 output-dim=2").indexes(inputs, outputs).run();
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=DistributeComponent input-dim=6", "'output-dim' is missing");
        refused("type=DistributeComponent input-dim=6 output-dim=4", "does not divide");
        read_refused("<DistributeComponent> <InputDim> 6 <OutputDim> -2 ", "greater than 0");
        let c = component("type=DistributeComponent input-dim=6 output-dim=2");
        assert!(c.precompute_indexes(&[], &[Index::new(0, 0, 0)], true).is_err());
    }

    #[test]
    fn blocks_by_index() {
        let random = Random::new(1);
        let c = component("type=DistributeComponent input-dim=6 output-dim=2");
        let wanted: Vec<Index> = (-4..7).map(|x| Index::new(x & 1, 3, x)).collect();
        let trial = by_index::run(&*c, &wanted, &|input| input.x != 1, PRECOMPUTED[0].1, &random);
        let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.in_deriv));
        for (index, row) in output.iter_mut() {
            // Blocks count up with x, from one input to the next.
            let x = if index.x >= 0 { index.x / 3 } else { (index.x - 2) / 3 };
            let first = 2 * (index.x - 3 * x) as usize;
            let input = Index { x, ..*index };
            row.copy_from_slice(&trial.input[&input][first..first + 2]);
            in_deriv.get_mut(&input).unwrap()[first..first + 2].copy_from_slice(&trial.out_deriv[index]);
        }
        assert!(output.keys().all(|index| !(3..6).contains(&index.x)));
        assert_rows_near(&trial.output, &output, "output");
        assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
    }
}
