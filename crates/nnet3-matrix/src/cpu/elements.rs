//! Single elements of a matrix, by row and column.

use super::access::{destination, source};
use crate::view::{View, ViewMut};

pub(super) fn fetch(values: &mut [f32], src: View<'_>, places: &[[u32; 2]]) {
    assert_eq!(values.len(), places.len(), "values for as many places");
    let src = source(src);
    for (out, &[r, c]) in values.iter_mut().zip(places) {
        *out = src.row(r as usize)[c as usize];
    }
}

pub(super) fn add(dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]) {
    assert_eq!(values.len(), places.len(), "values for as many places");
    let mut dst = destination(dst);
    for (x, &[r, c]) in values.iter().zip(places) {
        dst.row(r as usize)[c as usize] += alpha * x;
    }
}
