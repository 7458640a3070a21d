//! The primitives on an [`Engine`]: memory and transfers here, kernels in [`mod@super::launch`].

#![allow(unsafe_code)]

use super::engine::Engine;
use super::queue::Queue;
use super::table::Block;
use crate::backend::{Abilities, Backend, Memory, Storage, WholeMatrices};
use crate::element::Element;
use crate::fault::DeviceFault;
use crate::low_rank::LowRank;
use crate::view::{View, ViewMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Places for partial sums in `f64` (16 MiB).
pub(super) const PARTIALS: usize = 1 << 21;

/// Further places behind them, for the list of updates that are due.
pub(super) const DUE_LIST: usize = 1 << 12;

/// The primitives on one device.
pub struct GpuBackend<E: Engine> {
    pub(super) queue: Queue<E>,
    pub(super) id: u32,
    /// Address of [`PARTIALS`] numbers that sums go through, and of [`DUE_LIST`] behind them.
    pub(super) partials: u64,
    _partials: Block<E>,
    /// Memory for factors of products in another form.
    pub(super) converted: Mutex<Option<Block<E>>>,
}

impl<E: Engine> GpuBackend<E> {
    /// The backend of a device. Fails if the device has no memory to begin with, or fails.
    pub fn new(engine: E) -> Result<GpuBackend<E>, DeviceFault> {
        static LAST_ID: AtomicU32 = AtomicU32::new(0);
        let queue = Queue::new(Arc::new(engine));
        let partials = Block::new(&queue, 8 * (PARTIALS + DUE_LIST) as u64);
        if let Some(fault) = queue.lock().fault() {
            return Err(fault);
        }
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        let (address, converted) = (partials.address, Mutex::default());
        Ok(GpuBackend { queue, id, partials: address, _partials: partials, converted })
    }

    pub fn engine(&self) -> &E {
        self.queue.engine()
    }

    /// Passes the view to `with` if it is plain, or else scratch memory for its elements as floats.
    fn through_plain(&self, view: View<'_>, with: impl FnOnce(View<'_>)) {
        match is_plain(&view) {
            true => with(view),
            false => {
                let bytes = 4 * (view.rows() * view.cols()) as u64;
                let block = Block::new(&self.queue, bytes);
                let (rows, cols) = (view.rows(), view.cols());
                // SAFETY: the block has this size and outlives the call; its address is not a host address.
                with(unsafe { View::new(block.address as usize as *const f32, rows, cols, cols, self.id) })
            }
        }
    }
}

/// True if the view is floats without gaps, as the host keeps them.
fn is_plain(view: &View<'_>) -> bool {
    view.is_contiguous() && view.element() == Element::Float
}

impl<E: Engine> Backend for GpuBackend<E> {}

impl<E: Engine> Storage for GpuBackend<E> {
    fn name(&self) -> &str {
        self.engine().name()
    }

    fn id(&self) -> u32 {
        self.id
    }

    fn memory(&self) -> Option<Memory> {
        self.engine().memory()
    }

    fn mark(&self) {
        self.queue.lock().mark()
    }

    fn synchronize(&self) {
        self.queue.lock().synchronize()
    }

    fn allocate(&self, len: usize) -> *mut f32 {
        if len == 0 {
            return std::ptr::without_provenance_mut(64);
        }
        self.queue.lock().allocate(4 * len as u64) as usize as *mut f32
    }

    fn fault(&self) -> Option<DeviceFault> {
        self.queue.lock().fault()
    }

    unsafe fn free(&self, pointer: *mut f32, len: usize) {
        if len != 0 && !std::thread::panicking() {
            self.queue.lock().free(pointer.addr() as u64, 4 * len as u64)
        }
    }

    fn upload(&self, dst: ViewMut<'_>, data: &[f32]) {
        assert_eq!(
            data.len(),
            dst.rows() * dst.cols(),
            "elements for a {} x {} matrix",
            dst.rows(),
            dst.cols()
        );
        if dst.is_empty() {
            return;
        }
        // SAFETY: floats have no padding, and bytes no alignment.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) };
        self.through_plain(dst.as_view(), |place| {
            self.queue.lock().upload(self.mat(place).address, bytes);
            self.copy(dst, place);
        })
    }

    fn download(&self, src: View<'_>) -> Vec<f32> {
        let mut out = vec![0.0; src.rows() * src.cols()];
        self.download_into(src, &mut out);
        out
    }

    fn download_into(&self, src: View<'_>, out: &mut [f32]) {
        assert_eq!(
            out.len(),
            src.rows() * src.cols(),
            "elements of a {} x {} matrix",
            src.rows(),
            src.cols()
        );
        if src.is_empty() {
            return;
        }
        self.through_plain(src, |place| {
            if !is_plain(&src) {
                let (rows, cols) = (place.rows(), place.cols());
                // SAFETY: the place is scratch memory of this size, known only here.
                let place = unsafe { ViewMut::new(place.pointer.cast_mut(), rows, cols, cols, self.id) };
                self.copy(place, src);
            }
            // SAFETY: any bytes are floats, and floats have no padding.
            let bytes = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), size_of_val(out)) };
            self.queue.lock().download(self.mat(place).address, bytes);
        })
    }
}

impl<E: Engine> Abilities for GpuBackend<E> {
    fn between_layers(&self) -> Element {
        self.engine().math().between_layers()
    }
    fn low_rank(&self) -> Option<&dyn LowRank> {
        Some(self)
    }
}
