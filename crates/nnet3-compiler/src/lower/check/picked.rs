//! Operations on an input whose rows are picked from a table.

use super::derivatives::InputDerivatives;
use super::*;

impl Symbolic<'_> {
    /// The symbols of a row of a component's input, each with its first column.
    fn picked_row(
        &self,
        node: NodeId,
        terms: &[PickedTerm],
        i: usize,
    ) -> Result<Vec<(usize, Symbol)>, String> {
        let (seed, starts) = self.inputs.get(&node).ok_or("an input is used before it is there")?;
        let of_term = |term: &PickedTerm| {
            let (row, first) = (term.rows[i], term.columns.start);
            let symbol = move |start| usize::try_from(row).map_or(0, |row| given(*seed, row, start));
            starts.iter().map(move |&start| (first + start, symbol(start))).collect::<Vec<_>>()
        };
        Ok(terms.iter().flat_map(of_term).collect())
    }

    pub(super) fn picked_propagate(&mut self, picked: &PickedPropagate) -> Done {
        let &PickedPropagate { component, node, ref terms, output } = picked;
        let mut sums = vec![bias(component); self.computation.submatrix(output).rows];
        for (i, sum) in sums.iter_mut().enumerate() {
            for (column, symbol) in self.picked_row(node, terms, i)? {
                *sum = sum.wrapping_add(symbol.wrapping_mul(weight(component, column)));
            }
        }
        self.affine_rows(component, &sums, output, false)
    }

    pub(super) fn picked_backprop(&mut self, PickedBackprop { args, node, terms }: &PickedBackprop) -> Done {
        let rows = self.computation.submatrix(args.out_deriv).rows;
        let mut input = mix(rows as u64, 3);
        for i in 0..rows {
            let row = self.picked_row(*node, terms, i)?;
            input = row.into_iter().fold(input, |all, (start, symbol)| mix(all, mix(symbol, start as u64)));
        }
        let deriv = self.values(&self.memory.cells(args.out_deriv))?;
        let component = args.component;
        let parts = [input, 0, deriv.whole(), 0, self.chance(component)];
        let all = parts.into_iter().fold(mix(u64::from(component.0), 7), mix);
        if args.in_deriv.is_some() {
            let derivs = self.input_derivatives(args, all, &deriv);
            self.picked.insert(*node, (derivs, terms.clone()));
        }
        if args.update_model {
            self.affect(component, all);
        }
        Ok(())
    }

    /// Returns a symbol for the derivative of a node's input, of the rows and columns of `matrix`.
    pub(super) fn picked_derivative(
        &self,
        matrix: SubmatrixId,
        derivs: &InputDerivatives,
        terms: &[PickedTerm],
    ) -> Symbol {
        let cells = self.memory.cells(matrix);
        let mut sums = vec![0 as Symbol; cells.rows * cells.starts.len()];
        for term in terms {
            for (i, &row) in term.rows.iter().enumerate().filter(|&(_, &row)| row >= 0) {
                for (k, start) in cells.starts.iter().enumerate() {
                    let sum = &mut sums[row as usize * cells.starts.len() + k];
                    *sum = sum.wrapping_add(derivs.at(i, term.columns.start + start));
                }
            }
        }
        let starts = cells.starts.iter().cycle();
        sums.iter()
            .zip(starts)
            .fold(mix(cells.rows as u64, 3), |all, (&symbol, &start)| mix(all, mix(symbol, start as u64)))
    }
}
