//! Observations on a device that updates estimates itself. The rows stay as they are, and the host does not wait: the factor
//! of the norm stays on the device. The caller corrects the gradient.

use super::{BEFORE, Estimate, NaturalGradient, Pass, Piece, size};
use nnet3_component::Context;
use nnet3_component::gradient::{PieceRows, RowProducts};
use nnet3_matrix::low_rank::Observed;
use nnet3_matrix::{Accumulator, Gemm, View, ViewMut};

/// The observation of rows X, of which X - X̂ = H W.
pub(crate) struct SeenThere<'w> {
    estimate: Estimate,
    pass: Pass<'w>,
    /// ‖X‖² of the column of ones.
    ones: f64,
}

impl SeenThere<'_> {
    /// R × D.
    pub fn w(&self) -> View<'_> {
        self.estimate.w()
    }
}

/// One side of a gradient: dimension of its rows, and rank of its estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub dim: usize,
    pub rank: usize,
}

/// True if correcting a gradient moves less memory than preconditioned copies of N rows on both sides.
pub(crate) fn correction_moves_less(rows: usize, sides: [Side; 2]) -> bool {
    // A copy, H, what is subtracted, ‖X‖² before and after, and a scaling: X is read six times and written three times, H
    // is written and read.
    let copies: usize = sides.iter().map(|side| rows * (9 * side.dim + 2 * side.rank)).sum();
    // ‖X‖² and H; Hᵀ H has two factors.
    let observations: usize = sides.iter().map(|side| rows * (2 * side.dim + 3 * side.rank)).sum();
    // The gradient is written, read for two products, read and written by the third, and read to be added. Products of copies
    // are added at once. Directions are read, copied and read again, and so are the products with them.
    let [a, b] = sides;
    let correction =
        6 * a.dim * b.dim + 4 * (a.rank * a.dim + b.rank * b.dim) + 3 * (a.rank * b.dim + b.rank * a.dim);
    observations + correction < copies
}

impl NaturalGradient {
    /// The side of a gradient with these rows; `None` if the rows are left as they are.
    pub(crate) fn side(&self, dim: usize) -> Option<Side> {
        let rank = self.settings.rank.min(dim.saturating_sub(1));
        (rank > 0).then_some(Side { dim, rank })
    }

    /// Observes X, some rows of at least two columns. `rows_of_x` are the same rows as the pieces, if known. If `one`, X has a last
    /// column of ones beside them. `energy` adds ‖X‖² without it to a sum. The caller calls [`restore_norms`] and [`NaturalGradient::learn_there`] afterwards.
    pub(crate) fn observe_there<'a, 'w>(
        &mut self,
        context: Context<'w>,
        x: impl Iterator<Item = Piece<'a>> + Clone,
        rows_of_x: Option<&RowProducts<'_>>,
        one: bool,
        energy: impl FnOnce(&mut Accumulator, usize),
    ) -> SeenThere<'w> {
        self.catch_up(context);
        let (backend, workspace, (rows, dim)) = (context.backend, context.workspace, size(x.clone()));
        let width = dim + usize::from(one);
        let needs_ones = one && (self.estimate.is_none() || self.updating());
        let ones = needs_ones.then(|| {
            let mut ones = workspace.take(rows, 1);
            backend.set(ones.view_mut(), 1.0);
            ones
        });
        let mut estimate = match self.estimate.take() {
            Some(estimate) => estimate.on_device(context),
            None => {
                let one =
                    ones.as_ref().map(|ones| Piece { x: PieceRows::Dense(ones.view()), columns: dim..width });
                // Pieces with the shorter lifetime of the ones.
                #[allow(clippy::map_identity)]
                let with_one = x.clone().map(|Piece { x, columns }| Piece { x, columns }).chain(one);
                self.initial_estimate_of(context, with_one)
            }
        };
        assert_eq!(estimate.dim, width, "rows of another dimension");
        self.energies.scale(0.0);
        energy(&mut self.energies, BEFORE);
        estimate.know_products(context);

        let rank = estimate.rank();
        let mut pass = Pass::new(context, &estimate, (rows, 0), self.updating());
        let h = pass.wide_h.as_mut().expect("H, of a pass over rows").view_mut();
        let once = rows_of_x.filter(|_| !one);
        if !once.is_some_and(|rows| rows.product_once(context, h, estimate.w())) {
            directions_of(context, h, x.clone(), estimate.w());
        }
        let h = h.as_view();
        if let Some(j) = &mut pass.j
            && !once.is_some_and(|rows| rows.gradient_once(context, j.view_mut().col_range(0..width), h))
        {
            for Piece { x, columns } in x {
                x.gradient(context, j.view_mut().col_range(columns), 1.0, h, 0.0);
            }
            if let Some(ones) = &ones {
                backend.gemm(Gemm::set(j.view_mut().col_range(dim..width), h.transposed(), ones.view()));
            }
        }
        let mut moments = workspace.take(2 * rank, rank);
        backend.gemm(Gemm::set(moments.view_mut().row_range(0..rank), h.transposed(), h));
        pass.moments = Some(moments);
        SeenThere { estimate, pass, ones: if one { rows as f64 } else { 0.0 } }
    }

    /// Updates the estimate with the observation.
    pub(crate) fn learn_there(&mut self, context: Context<'_>, seen: SeenThere<'_>) {
        self.update_later(context, seen.estimate, seen.pass);
        self.calls += 1;
    }

    fn observed<'s>(&'s mut self, seen: &'s SeenThere<'_>) -> Observed<'s> {
        let (estimate, rank) = (&seen.estimate, seen.estimate.rank());
        let l = seen.pass.moments.as_ref().expect("moments of an observation").view().row_range(0..rank);
        let products = estimate.products.as_ref().expect("made before").view();
        let alpha = self.settings.alpha as f64;
        Observed { energies: &mut self.energies, more: seen.ones, products, l, dim: estimate.dim, alpha }
    }
}

/// Sets `factor`, 1 × 1: X̂ᵀ Ê times it has the size of a product of rows with the norms of X and E.
pub(crate) fn restore_norms(
    context: Context<'_>,
    factor: ViewMut<'_>,
    [(natural, seen), (other_natural, other)]: [(&mut NaturalGradient, &SeenThere<'_>); 2],
) {
    let device = context.backend.low_rank().expect("a device that updates estimates itself");
    device.low_rank_factor(factor, [natural.observed(seen), other_natural.observed(other)]);
}

/// h = X Wᵀ. If W has one more column than the pieces, X has a column of ones, too.
fn directions_of<'a>(
    context: Context<'_>,
    h: ViewMut<'_>,
    mut x: impl Iterator<Item = Piece<'a>> + Clone,
    w: View<'_>,
) {
    let (backend, (_, dim)) = (context.backend, size(x.clone()));
    let mut beta = 0.0;
    if dim < w.cols() {
        let mut of_one = context.workspace.take(1, w.rows());
        backend.copy_transposed(of_one.view_mut(), w.col_range(dim..w.cols()));
        if let Some(Piece { x: PieceRows::Dense(first), columns }) = x.clone().next() {
            backend.gemm_with_bias(
                Gemm::set(h, first, w.col_range(columns).transposed()).with_bias(of_one.view()),
            );
            x.next();
        } else {
            backend.set_rows(h, of_one.view());
        }
        beta = 1.0;
    }
    for Piece { x, columns } in x {
        x.product(context, h, w.col_range(columns), beta);
        beta = 1.0;
    }
}
