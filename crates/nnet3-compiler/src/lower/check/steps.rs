//! Steps of an update, which may collect it.

use super::*;

/// Symbols of the rows of an update that steps have read: those of the input, and those of the output's derivative, by row, each with
/// its first column.
#[derive(Default)]
pub(super) struct Rows([FastMap<usize, Vec<(usize, Symbol)>>; 2]);

impl Symbolic<'_> {
    pub(super) fn step(&mut self, step: &Step) -> Done {
        let literal = Backprop { args: step.args, mode: Mode::Ordinary, taps: None };
        if !step.collects {
            return self.backprop(&literal);
        }
        let Some(Command::Backprop(update)) = self.computation.commands.get(step.update).copied() else {
            return Err(format!("command {} is no update of steps", step.update));
        };
        for (part, all, k) in
            [(step.args.in_value, update.in_value, 0), (Some(step.args.out_deriv), Some(update.out_deriv), 1)]
        {
            let (Some(part), Some(all)) = (part, all) else { return Err("a step without an input".into()) };
            let first =
                self.computation.submatrix(part).row_offset - self.computation.submatrix(all).row_offset;
            let cells = self.memory.cells(part);
            for i in 0..cells.rows {
                let symbols = cells.starts.iter().enumerate();
                let row: Result<Vec<_>, String> =
                    symbols.map(|(c, &start)| Ok((start, self.memory.read(&cells, i, c)?))).collect();
                let Rows(rows) = self.steps.entry(step.update).or_default();
                if rows[k].insert(first + i, row?).is_some() {
                    return Err(format!("row {} of an update is in two steps", first + i));
                }
            }
        }
        self.backprop(&literal)
    }

    /// The update at the turn of its command. If it was collected, the symbols are those that it would read now.
    pub(super) fn steps_update(&mut self, turn: usize, update: &StepsUpdate) -> Done {
        let StepsUpdate { args, collected } = *update;
        if !collected {
            return self.backprop(&Backprop { args, mode: Mode::Ordinary, taps: None });
        }
        let Rows(collected) = self.steps.remove(&turn).unwrap_or_default();
        let rows = self.computation.submatrix(args.out_deriv).rows;
        let mut parts = [mix(rows as u64, 3); 2];
        for (all, collected) in parts.iter_mut().zip(&collected) {
            for i in 0..rows {
                let row = collected.get(&i).ok_or_else(|| format!("row {i} of an update is in no step"))?;
                *all = row.iter().fold(*all, |all, &(start, symbol)| mix(all, mix(symbol, start as u64)));
            }
        }
        let [input, deriv] = parts;
        let parts = [input, 0, deriv, 0, self.chance(args.component)];
        let all = parts.into_iter().fold(mix(u64::from(args.component.0), 7), mix);
        self.affect(args.component, all);
        Ok(())
    }
}
