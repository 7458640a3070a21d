//! Single elements, which go through scratch memory.

use super::GpuBackend;
use crate::backend::SingleElements;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Mat};
use crate::view::{View, ViewMut};

/// Places and values that go through scratch memory at a time.
const MOST_ELEMENTS: usize = 1 << 20;

impl<E: Engine> GpuBackend<E> {
    /// Puts places of a matrix into scratch memory, in which there is room for a value of each, too.
    fn upload_places(&self, places: &[[u32; 2]], of: Mat) -> (Arg, Mat) {
        let inside = places.iter().all(|&[row, col]| row < of.rows && col < of.cols);
        assert!(inside, "an element outside of a {} x {} matrix", of.rows, of.cols);
        let bytes: Vec<u8> = places.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
        self.queue.lock().upload(self.partials, &bytes);
        let cols = places.len() as u32;
        let address = self.partials + 8 * MOST_ELEMENTS as u64;
        (Arg::Ints(self.partials), Mat::plain(address, 1, cols))
    }
}

impl<E: Engine> SingleElements for GpuBackend<E> {
    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]) {
        assert_eq!(values.len(), places.len(), "values and places");
        let src = self.mat(src);
        for (values, places) in values.chunks_mut(MOST_ELEMENTS).zip(places.chunks(MOST_ELEMENTS)) {
            let (there, found) = self.upload_places(places, src);
            self.fill("fetch_elements", found, &[Arg::Mat(found), Arg::Mat(src), there]);
            let mut bytes = vec![0; 4 * values.len()];
            self.queue.lock().download(found.address, &mut bytes);
            let numbers = bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b));
            values.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
        }
    }
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]) {
        assert_eq!(values.len(), places.len(), "values and places");
        let dst = self.mat(dst.as_view());
        for (values, places) in values.chunks(MOST_ELEMENTS).zip(places.chunks(MOST_ELEMENTS)) {
            let (there, more) = self.upload_places(places, dst);
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.queue.lock().upload(more.address, &bytes);
            self.each("add_elements", more, &[Arg::Mat(dst), Arg::Float(alpha), Arg::Mat(more), there]);
        }
    }
}
