//! Within each part between markers, inputs first and outputs last (spec compiler §6.12).

use crate::computation::{Command, Computation};

pub fn run(computation: &mut Computation) {
    for segment in computation.commands.split_mut(|c| matches!(c, Command::Marker)) {
        let rank = |c: &Command| match c {
            Command::AcceptInput { .. } => 0,
            Command::ProvideOutput { .. } => 2,
            _ => 1,
        };
        if !segment.is_sorted_by_key(rank) {
            let mut sorted = Vec::with_capacity(segment.len());
            for wanted in 0..=2 {
                sorted.extend(segment.iter().filter(|c| rank(c) == wanted));
            }
            segment.copy_from_slice(&sorted);
        }
    }
}
