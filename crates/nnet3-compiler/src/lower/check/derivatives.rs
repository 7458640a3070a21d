//! Derivatives at the input of a component.

use super::super::Lowered;
use super::super::op::InputDerivative;
use super::normalized::Values;
use super::symbols::{Symbol, mix};
use super::{Done, Symbolic, weight};
use crate::computation::Backprop;
use nnet3_base::index::ComponentId;

/// The symbols of the derivative at a component's input, by row and first column.
pub(super) enum InputDerivatives {
    /// They depend on everything that this symbol stands for.
    Any(Symbol),
    /// Products of an affine component's parameters. For each row the sum over the columns of the output's derivative.
    Products(ComponentId, Vec<Symbol>),
}

impl InputDerivatives {
    fn products(component: ComponentId, out_deriv: &Values) -> InputDerivatives {
        let factor = |start: usize| mix(u64::from(component.0), mix(start as u64, 10)) | 1;
        let sum = |row: &Vec<Symbol>| {
            let terms = row.iter().zip(&out_deriv.starts);
            terms
                .fold(0, |sum: Symbol, (symbol, &start)| sum.wrapping_add(symbol.wrapping_mul(factor(start))))
        };
        InputDerivatives::Products(component, out_deriv.rows.iter().map(sum).collect())
    }

    pub fn at(&self, row: usize, start: usize) -> Symbol {
        match self {
            InputDerivatives::Any(all) => mix(mix(*all, row as u64), start as u64),
            InputDerivatives::Products(component, sums) => sums[row].wrapping_mul(weight(*component, start)),
        }
    }
}

impl Symbolic<'_> {
    /// The results of a backprop that depends on everything that `all` stands for. An affine component that updates nothing only
    /// multiplies; parts of such a product may be separate operations.
    pub(super) fn input_derivatives(
        &self,
        args: &Backprop,
        all: Symbol,
        out_deriv: &Values,
    ) -> InputDerivatives {
        match self.nnet.component(args.component).as_affine().filter(|_| !args.update_model) {
            Some(_) => InputDerivatives::products(args.component, out_deriv),
            None => InputDerivatives::Any(all),
        }
    }

    pub(super) fn input_derivative(&mut self, list: &Lowered, product: &InputDerivative) -> Done {
        let out_deriv = self.values(&self.memory.cells(product.out_deriv))?;
        let derivs = InputDerivatives::products(product.component, &out_deriv);
        let cells = self.memory.cells(product.in_deriv);
        let lists = product.rows.map(|rows| &list.row_lists()[rows]);
        let in_order = (0..cells.rows).map(|row| row as i32).collect::<Vec<i32>>();
        let rows: Vec<&[i32]> = match lists {
            Some(lists) => lists.iter().collect(),
            None => in_order.chunks(1).collect(),
        };
        self.results(&cells, product.adds, |i, start| {
            let terms = rows[i].iter().map(|&row| derivs.at(row as usize, product.columns.start + start));
            terms.fold(0, Symbol::wrapping_add)
        })
    }
}
