//! Operations that normalise together with the steps around it, and their way back.

use super::super::op::{Backprop, Mode, NormalizedBackprop, NormalizedSum, Propagate};
use super::symbols::{Cells, Symbol, mix};
use super::{Done, Symbolic, weight};
use crate::computation::SubmatrixId;
use nnet3_base::index::ComponentId;

/// The symbols of a sub-matrix, by row and piece, and the first column of each piece.
pub(super) struct Values {
    pub rows: Vec<Vec<Symbol>>,
    pub starts: Vec<usize>,
}

impl Values {
    /// The output of a component that treats rows one by one and draws no random numbers, as a propagate makes it.
    pub fn through(&self, component: ComponentId, starts: &[usize]) -> Values {
        let seed = mix(mix(u64::from(component.0), 6), 0);
        let row = |row: &Vec<Symbol>| {
            let terms = row.iter().zip(&self.starts);
            let sum: Symbol = terms.fold(0, |sum: Symbol, (symbol, &start)| {
                sum.wrapping_add(symbol.wrapping_mul(weight(component, start)))
            });
            starts.iter().map(|&start| mix(mix(seed, sum), start as u64)).collect()
        };
        Values { rows: self.rows.iter().map(row).collect(), starts: starts.to_vec() }
    }

    /// One symbol for all, as [`Symbolic::whole`] makes it.
    pub fn whole(&self) -> Symbol {
        let symbols = |row: &Vec<Symbol>| row.iter().copied().zip(self.starts.clone()).collect::<Vec<_>>();
        let all = self.rows.iter().flat_map(symbols);
        all.fold(mix(self.rows.len() as u64, 3), |all, (symbol, start)| mix(all, mix(symbol, start as u64)))
    }
}

impl Symbolic<'_> {
    pub(super) fn values(&self, cells: &Cells) -> Result<Values, String> {
        let row = |i: usize| (0..cells.starts.len()).map(|k| self.memory.read(cells, i, k)).collect();
        let rows = (0..cells.rows).map(row).collect::<Result<_, String>>()?;
        Ok(Values { rows, starts: cells.starts.clone() })
    }

    pub(super) fn normalized_sum(&mut self, sum: &NormalizedSum) -> Done {
        let unrectified = match sum.relu.and_then(|relu| relu.args.input) {
            None => None,
            Some(input) => {
                let cells = self.memory.cells(input);
                Some((self.values(&cells)?, cells, input))
            }
        };
        for part in sum.parts() {
            self.propagate(&Propagate { args: part.args, mode: Mode::Ordinary })?;
        }
        if let Some(bypass) = sum.bypass {
            self.command(&bypass.copy)?;
            self.command(&bypass.add)?;
        }
        // Other results are not written.
        let values = sum.normalize.args.output;
        let unwritten = (!sum.keeps_values && values != sum.dest).then_some(values);
        let masked = sum.masks.map(|masks| masks.args.output).filter(|&masked| masked != sum.dest);
        unwritten.into_iter().chain(masked).try_for_each(|s| self.memory.forget(s))?;
        if let Some((values, cells, input)) = unrectified
            && input != sum.dest
        {
            let relu = sum.relu.map(|relu| relu.args.component);
            self.unrectified.extend(relu.map(|relu| (self.computation.matrix_of(input), relu)));
            for (i, row) in values.rows.iter().enumerate() {
                for (k, &symbol) in row.iter().enumerate() {
                    self.memory.write(&cells, i, k, symbol)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn normalized_backprop(&mut self, back: &NormalizedBackprop) -> Done {
        if let Some(copy) = back.copy {
            self.command(&copy)?;
        }
        let absent = || "a value is missing".to_string();
        let input: SubmatrixId = back.relu.args.out_value.ok_or_else(absent)?;
        let values = self.values(&self.memory.cells(input))?;
        let rectified = match self.unrectified.get(&self.computation.matrix_of(input)) {
            Some(&relu) => values.through(relu, &values.starts),
            None => values,
        };
        // The output of the normalisation is made again.
        let normalize = back.normalize.args;
        let output = normalize.out_value.ok_or_else(absent)?;
        let normalized = rectified.through(normalize.component, &self.memory.cells(output).starts);
        let ordinary = |args| Backprop { args, mode: Mode::Ordinary, taps: None };
        if let Some(masks) = back.masks {
            self.backprop(&ordinary(masks.args))?;
        }
        self.backprop_with(&ordinary(normalize), normalized.whole())?;
        self.backprop_with(&ordinary(back.relu.args), rectified.whole())?;
        // The derivatives in between are not written.
        let between = back.masks.and_then(|masks| masks.args.in_deriv).into_iter().chain(normalize.in_deriv);
        between.into_iter().try_for_each(|s| self.memory.forget(s))
    }
}
