//! Moves inputs first and outputs last, within each part between markers.

use crate::computation::{Command, Computation};

pub fn run(computation: &mut Computation) {
    for segment in computation.commands.split_mut(|c| matches!(c, Command::Marker)) {
        // Few commands move, past many.
        let (mut start, mut end) = (0, segment.len());
        for c in 0..segment.len() {
            if matches!(segment[c], Command::AcceptInput { .. }) {
                segment[start..=c].rotate_right(1);
                start += 1;
            }
        }
        for c in (0..segment.len()).rev() {
            if matches!(segment[c], Command::ProvideOutput { .. }) {
                segment[c..end].rotate_left(1);
                end -= 1;
            }
        }
    }
}
