//! The dense form of the natural gradient, for tests: the D × D Fisher matrix in `f64`, updated by an eigen
//! decomposition of Q T.

use nalgebra::DMatrix;

/// Dense Fisher estimate Qᵀ diag(d) Q + ρ I.
pub(crate) struct Dense {
    q: DMatrix<f64>,
    d: Vec<f64>,
    rho: f64,
    calls: usize,
    period: usize,
    history: f64,
    alpha: f64,
}

impl Dense {
    pub(crate) fn new(rank: usize, dim: usize, period: usize, history: f64, alpha: f64) -> Dense {
        let mut q = DMatrix::zeros(rank, dim);
        for r in 0..rank {
            for c in (r..dim).step_by(rank) {
                q[(r, c)] = if c == r { 1.1 } else { 1.0 };
            }
            let norm = q.row(r).norm();
            q.row_mut(r).scale_mut(1.0 / norm);
        }
        Dense { q, d: vec![1e-10; rank], rho: 1e-10, calls: 0, period, history, alpha }
    }

    fn fisher(&self) -> DMatrix<f64> {
        let dim = self.q.ncols();
        let d = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(self.d.clone()));
        self.q.transpose() * d * &self.q + DMatrix::identity(dim, dim) * self.rho
    }

    fn update(&mut self, x: &DMatrix<f64>) {
        let (rank, dim) = self.q.shape();
        let n = x.nrows() as f64;
        let eta = (1.0 - (-n / self.history).exp()).min(0.9);
        let target = x.transpose() * x * (eta / n) + self.fisher() * (1.0 - eta);
        let y = &self.q * &target;
        let eigen = nalgebra::SymmetricEigen::new(&y * y.transpose());
        let mut order: Vec<usize> = (0..rank).collect();
        order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
        let floor = (self.rho * (1.0 - eta)).powi(2);
        let root: Vec<f64> = order.iter().map(|&i| eigen.eigenvalues[i].max(floor).sqrt()).collect();
        let u = eigen.eigenvectors.select_columns(&order);
        let mut q = u.transpose() * y;
        for (i, root) in root.iter().enumerate() {
            q.row_mut(i).scale_mut(1.0 / root);
        }
        self.q = q;
        let rho = (target.trace() - root.iter().sum::<f64>()) / (dim - rank) as f64;
        let least = 1e-10f64.max(5e-4 * root[0]);
        self.d = root.iter().map(|r| (r - rho).max(least)).collect();
        self.rho = rho.max(least);
    }

    /// β X G⁻¹ scaled to the norm of X, G = F + (α/D) tr(F) I.
    pub(crate) fn precondition(&mut self, x: &DMatrix<f64>, frozen: bool) -> DMatrix<f64> {
        if self.calls == 0 {
            for _ in 0..if x.nrows() <= self.d.len() { 1 } else { 3 } {
                self.update(x);
            }
        }
        let fisher = self.fisher();
        let dim = fisher.nrows();
        let g = &fisher + DMatrix::identity(dim, dim) * (self.alpha / dim as f64 * fisher.trace());
        let out = x * g.try_inverse().unwrap();
        let out = &out * (x.norm() / out.norm()).max(0.0);
        if !frozen && (self.calls <= 10 || (self.calls - 10).is_multiple_of(self.period)) {
            self.update(x);
        }
        self.calls += 1;
        out
    }
}
