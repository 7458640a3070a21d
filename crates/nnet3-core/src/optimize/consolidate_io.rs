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
            let old = segment.to_vec();
            let sorted = (0..=2).flat_map(|wanted| old.iter().filter(move |c| rank(c) == wanted));
            segment.iter_mut().zip(sorted).for_each(|(place, command)| *place = *command);
        }
    }
}
