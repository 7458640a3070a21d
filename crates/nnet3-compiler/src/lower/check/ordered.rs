//! Steps of an output in the order of its rows in the request.

use super::super::Lowered;
use super::super::op::{Op, Ordered};
use super::derivatives::InputDerivatives;
use super::normalized::Values;
use super::symbols::{Symbol, mix};
use super::{Done, Symbolic, bias};
use crate::computation::{self, Command, IndexesId, SubmatrixId};

/// The sub-matrices between which such operations copy.
pub(super) fn links(lowered: &Lowered) -> Vec<(SubmatrixId, SubmatrixId)> {
    let link = |op: &Op| match *op {
        Op::Ordered(Ordered::AffineBackprop { args, in_deriv, .. }) => in_deriv.zip(args.in_deriv),
        _ => None,
    };
    lowered.ops.iter().filter_map(link).collect()
}

impl Symbolic<'_> {
    /// The rows with these numbers.
    fn picked_rows(&self, values: &Values, rows: IndexesId) -> Values {
        let list = &self.computation.indexes[rows.index()];
        let rows = list.iter().map(|&row| values.rows[row as usize].clone()).collect();
        Values { rows, starts: values.starts.clone() }
    }

    fn write_values(&mut self, s: SubmatrixId, values: &Values) -> Done {
        let cells = self.memory.cells(s);
        for (i, row) in values.rows.iter().enumerate() {
            for (k, &symbol) in row.iter().enumerate() {
                self.memory.write(&cells, i, k, symbol)?;
            }
        }
        Ok(())
    }

    /// The symbols of a derivative at an input, for these rows of it.
    fn derivative(&self, derivs: &InputDerivatives, rows: IndexesId, at: SubmatrixId) -> Values {
        let starts = self.memory.cells(at).starts;
        let row =
            |&row: &i32| starts.iter().map(|&start| derivs.at(row as usize, start)).collect::<Vec<Symbol>>();
        Values { rows: self.computation.indexes[rows.index()].iter().map(row).collect(), starts }
    }

    pub(super) fn ordered(&mut self, ordered: &Ordered) -> Done {
        match *ordered {
            Ordered::Propagate { affine, log_softmax, copy, .. } => {
                self.ordered_propagate(&affine, log_softmax.as_ref(), &copy)
            }
            Ordered::LogSoftmaxBackprop { copy, args, output, rows } => {
                let Command::CopyRows { src, rows: back, .. } = copy else { return Err(not_a_copy(&copy)) };
                let [value, deriv] = [output, src].map(|s| self.values(&self.memory.cells(s)));
                let (value, deriv) = (self.picked_rows(&value?, back), self.picked_rows(&deriv?, back));
                let parts = [0, value.whole(), deriv.whole(), 0, self.chance(args.component)];
                let all = parts.into_iter().fold(mix(u64::from(args.component.0), 7), mix);
                if args.update_model {
                    self.affect(args.component, all);
                }
                let Some(in_deriv) = args.in_deriv else { return Ok(()) };
                let values = self.derivative(&InputDerivatives::Any(all), rows, in_deriv);
                self.write_values(in_deriv, &values)
            }
            Ordered::AffineBackprop { copy, args, rows, back, input, in_deriv } => {
                let deriv = match copy {
                    Some(Command::CopyRows { src, .. }) => src,
                    Some(copy) => return Err(not_a_copy(&copy)),
                    None => args.out_deriv,
                };
                let deriv = self.picked_rows(&self.values(&self.memory.cells(deriv))?, back);
                let in_value = args.in_value.map_or(Ok(0), |s| self.whole(s, |_, symbol| Some(symbol)))?;
                let parts = [in_value, 0, deriv.whole(), 0, self.chance(args.component)];
                let all = parts.into_iter().fold(mix(u64::from(args.component.0), 7), mix);
                if args.update_model {
                    self.affect(args.component, all);
                }
                self.memory.forget(input)?;
                let Some(in_deriv) = in_deriv else { return Ok(()) };
                let derivs = self.input_derivatives(&args, all, &deriv);
                let values = self.derivative(&derivs, rows, in_deriv);
                self.write_values(in_deriv, &values)
            }
        }
    }

    fn ordered_propagate(
        &mut self,
        affine: &computation::Propagate,
        log_softmax: Option<&computation::Propagate>,
        copy: &Command,
    ) -> Done {
        let Command::CopyRows { dest, src, rows, .. } = *copy else { return Err(not_a_copy(copy)) };
        let input = affine.input.ok_or("an affine component without input")?;
        let sums = self.linear(affine.component, input, 0)?;
        let starts = self.memory.cells(affine.output).starts;
        let row = |sum: Symbol| {
            let sum = sum.wrapping_add(bias(affine.component));
            let factor = |start: usize| mix(u64::from(affine.component.0), mix(start as u64, 5)) | 1;
            starts.iter().map(|&start| sum.wrapping_mul(factor(start))).collect()
        };
        let product = Values { rows: sums.into_iter().map(row).collect(), starts: starts.clone() };
        let result = match log_softmax {
            None => product,
            Some(softmax) => {
                let result = product.through(softmax.component, &self.memory.cells(softmax.output).starts);
                if softmax.store_stats {
                    self.affect(softmax.component, mix(product.whole(), result.whole()));
                }
                result
            }
        };
        // The places of the steps before hold other values now.
        self.memory.forget(src)?;
        let result = self.picked_rows(&result, rows);
        self.write_values(dest, &result)
    }
}

fn not_a_copy(command: &Command) -> String {
    format!("{command:?} copies no rows")
}
