//! Single elements of a matrix, by row and column.

use super::CpuBackend;
use super::access::{destination, source};
use crate::backend::SingleElements;
use crate::view::{View, ViewMut};

impl SingleElements for CpuBackend {
    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]) {
        assert_eq!(values.len(), places.len(), "values for as many places");
        let src = source(src);
        for (out, &[r, c]) in values.iter_mut().zip(places) {
            *out = src.row(r as usize)[c as usize];
        }
    }
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]) {
        assert_eq!(values.len(), places.len(), "values for as many places");
        let mut dst = destination(dst);
        for (x, &[r, c]) in values.iter().zip(places) {
            dst.row(r as usize)[c as usize] += alpha * x;
        }
    }
}
