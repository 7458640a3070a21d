//! `random.cu`.

use super::{GpuBackend, elements};
use crate::backend::RandomNumbers;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Op};
use crate::view::ViewMut;

impl<E: Engine> GpuBackend<E> {
    /// Random numbers: no two calls have the same key, so these are in no segment that comes again.
    fn random(&self, kernel: &'static str, dst: ViewMut<'_>, key: u64) {
        let d = self.mat(dst.as_view());
        if d.rows > 0 {
            let (grid, block) = elements(d.rows, d.cols);
            let launch = Launch::new(kernel, grid, block, &[Arg::Mat(d), Arg::Key(key)]);
            self.queue.lock().push_once(Op::Launch(launch));
        }
    }
}

impl<E: Engine> RandomNumbers for GpuBackend<E> {
    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64) {
        self.random("fill_uniform", dst, key)
    }
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64) {
        self.random("fill_normal", dst, key)
    }
}
