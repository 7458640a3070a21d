//! Products of affine components that are done otherwise than one by one: as filters over time, or with a share that is worked
//! out for several steps at once.

use super::shortcuts::Shortcut;
use super::steps::Area;
use super::taps::Splice;
use super::{Executor, Program};
use crate::component::parameters::affine;
use crate::component::winograd::Filter;
use crate::component::{Component, Context};
use crate::computation::{Command, Propagate};
use nnet3_matrix::{Transpose::No, Transpose::Yes, View, ViewMut};
use std::ops::Range;

impl Executor {
    /// The product of an affine component's propagate, if it is one of these.
    pub(super) fn product(
        &self,
        context: Context<'_>,
        program: &Program,
        c: usize,
        run: &dyn Component,
    ) -> bool {
        let Command::Propagate(Propagate { input: Some(input), output, .. }) =
            program.computation().commands[c]
        else {
            return false;
        };
        let product = || {
            let (linear, bias) =
                run.as_affine().unwrap_or_else(|| unreachable!("these are products of affine components"));
            let (input, output) = (self.view(program, input).as_view(), self.view(program, output));
            Product { command: c, input, output, linear, bias }
        };
        match *self.shortcut(program, c) {
            Shortcut::Step(number) => self.step(context, program, number, product()),
            Shortcut::Ahead(number) if self.works_ahead() => {
                self.product_with_known_share(context, program, number, product())
            }
            _ => match self.filter(program, c) {
                Some((filter, splice)) => {
                    let Product { output, linear, bias, .. } = product();
                    let mut taps = [View::empty(); 3];
                    for (tap, source) in taps.iter_mut().zip(&splice.sources) {
                        *tap = self.area(program, source).as_view();
                    }
                    filter.forward(context, output, &taps, linear, bias, false)
                }
                None => return false,
            },
        }
        true
    }

    /// Whether a copy is needless, as products read what it would copy.
    pub(super) fn is_read_in_place(&self, program: &Program, c: usize) -> bool {
        match self.shortcut(program, c) {
            Shortcut::Ahead(_) => self.works_ahead(),
            _ => self.filter(program, c).is_some(),
        }
    }

    /// Elsewhere than on the host, the memory plan counts.
    fn works_ahead(&self) -> bool {
        self.device.cached_elements().is_some()
    }

    /// The filter that a propagate is done by, or that makes a copy needless.
    fn filter<'p>(&self, program: &'p Program, c: usize) -> Option<(Filter, &'p Splice)> {
        let splice = program.shortcuts.splice(c).filter(|_| !self.literal)?;
        let (_, rows, cols, _) = program.place_of(splice.sources[0].matrix, &splice.sources[0].part);
        let Command::Propagate(Propagate { output, .. }) = program.computation().commands[splice.propagate]
        else {
            return None;
        };
        let dims = (cols, program.computation().submatrix(output).cols);
        let filter = Filter::new(&*self.device, splice.taps.count, splice.taps.step, rows, dims)?;
        Some((filter, splice))
    }

    fn area(&self, program: &Program, area: &Area) -> ViewMut<'_> {
        let (offset, rows, cols, stride) = program.place_of(area.matrix, &area.part);
        self.arena.view(offset, rows, cols, stride)
    }

    /// A product of which a share is known before others, or is worked out now for all.
    fn product_with_known_share(
        &self,
        context: Context<'_>,
        program: &Program,
        number: usize,
        product: Product<'_>,
    ) {
        let (ahead, c) = (program.shortcuts.ahead(number), product.command);
        let mut shares = self.ahead.borrow_mut();
        let place = shares.iter().position(|&(n, _)| n == number).unwrap_or_else(|| {
            let source = self.area(program, &ahead.source).as_view();
            let mut share = self.workspace.hand_out(source.rows(), product.linear.rows());
            let known = product.linear.col_range(ahead.known.clone());
            affine(context, share.view_mut(), source, known, product.bias);
            shares.push((number, share));
            shares.len() - 1
        });
        let own = ahead.products.iter().find(|&&(product, _)| product == c);
        let rows = own.map_or(0..0, |(_, rows)| rows.clone());
        context.backend.copy(product.output, shares[place].1.view().row_range(rows));
        product.add(context, ahead.rest.clone());
        if ahead.products.last().is_some_and(|&(last, _)| last == c) {
            self.workspace.take_back(shares.swap_remove(place).1);
        }
    }

    /// A product of these steps, before the first of them also what can be done for all.
    fn step(&self, context: Context<'_>, program: &Program, number: usize, product: Product<'_>) {
        let (commands, steps) = (&program.computation().commands, program.shortcuts.steps(number));
        if steps.products.first() == Some(&product.command) {
            steps.copies.iter().for_each(|&copy| self.copy(program, &commands[copy], copy));
            let input = self.area(program, &steps.input).as_view().col_range(steps.known.clone());
            let known = product.linear.col_range(steps.known.clone());
            affine(context, self.area(program, &steps.output), input, known, product.bias);
        }
        product.add(context, steps.rest.clone());
    }
}

/// output = input · linearᵀ + bias.
struct Product<'a> {
    /// The propagate.
    command: usize,
    input: View<'a>,
    output: ViewMut<'a>,
    linear: View<'a>,
    bias: View<'a>,
}

impl Product<'_> {
    /// Adds the share of these columns of the input.
    fn add(&self, context: Context<'_>, columns: Range<usize>) {
        let (input, linear) = (self.input.col_range(columns.clone()), self.linear.col_range(columns));
        context.backend.gemm(self.output, 1.0, input, No, linear, Yes, 1.0);
    }
}
